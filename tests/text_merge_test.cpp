// Merging by rank: against the definition applied word for word, on random merges and on pieces of every shape.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "text/merges.h"

namespace {

using reckon::TokenId;
using reckon::TokenMerge;
using Tokens = std::vector<TokenId>;

// The lowest rank anywhere, the leftmost of equal ones; again, until there is none.
Tokens by_definition(const std::vector<TokenMerge>& merges, Tokens tokens) {
  std::map<std::pair<TokenId, TokenId>, std::size_t> rank;
  for (std::size_t i = 0; i < merges.size(); ++i) rank.emplace(std::pair(merges[i].left, merges[i].right), i);
  while (true) {
    std::size_t best = merges.size(), at = 0;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const auto found = rank.find({tokens[i], tokens[i + 1]});
      if (found != rank.end() && found->second < best) best = found->second, at = i;
    }
    if (best == merges.size()) return tokens;
    tokens[at] = merges[best].product;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

// The same for merges whose parts are always made by earlier ones: each merge in turn over the whole, left to right.
Tokens rank_by_rank(const std::vector<TokenMerge>& merges, Tokens tokens) {
  for (const TokenMerge& merge : merges) {
    std::size_t out = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool pair = i + 1 < tokens.size() && tokens[i] == merge.left && tokens[i + 1] == merge.right;
      tokens[out++] = pair ? merge.product : tokens[i];
      i += pair;
    }
    tokens.resize(out);
  }
  return tokens;
}

Tokens merged(const std::vector<TokenMerge>& merges, const Tokens& symbols, std::size_t n_tokens) {
  const reckon::Merges table(merges, n_tokens);
  reckon::Merger merger;
  Tokens out;
  merger.merge(table, symbols, out);
  return out;
}

struct RandomMerges {
  std::vector<TokenMerge> merges;
  std::vector<std::string> tokens;
};

// Each merge joins two tokens that are there, as a trainer's would; no token is made twice.
RandomMerges random_merges(std::mt19937& random, int alphabet, int n_merges) {
  RandomMerges made;
  for (int i = 0; i < alphabet; ++i) made.tokens.emplace_back(1, static_cast<char>('a' + i));
  for (int i = 0; i < n_merges; ++i) {
    const auto left = static_cast<TokenId>(random() % made.tokens.size()),
               right = static_cast<TokenId>(random() % made.tokens.size());
    std::string product = made.tokens[static_cast<std::size_t>(left)] + made.tokens[static_cast<std::size_t>(right)];
    if (product.size() > 40 || std::find(made.tokens.begin(), made.tokens.end(), product) != made.tokens.end())
      continue;
    made.merges.push_back({left, right, static_cast<TokenId>(made.tokens.size())});
    made.tokens.push_back(std::move(product));
  }
  return made;
}

Tokens random_symbols(std::mt19937& random, int alphabet, std::size_t length) {
  Tokens symbols;
  while (symbols.size() < length) {
    const auto symbol = static_cast<TokenId>(random() % static_cast<unsigned>(alphabet));
    symbols.insert(symbols.end(), random() % 5 == 0 ? 1 + random() % 40 : 1, symbol);
  }
  symbols.resize(length);
  return symbols;
}

TEST(Merger, FollowsTheDefinitionForPiecesOfEveryLength) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    const int alphabet = 1 + static_cast<int>(random() % 3);
    const RandomMerges made = random_merges(random, alphabet, 30);
    const Tokens symbols = random_symbols(random, alphabet, random() % 200);
    const Tokens expected = by_definition(made.merges, symbols);
    ASSERT_EQ(rank_by_rank(made.merges, symbols), expected);
    ASSERT_EQ(merged(made.merges, symbols, made.tokens.size()), expected);
  }
}

TEST(Merger, FollowsTheDefinitionInWindowsOfALongPiece) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    const int alphabet = 1 + static_cast<int>(random() % 3);
    const RandomMerges made = random_merges(random, alphabet, round % 2 ? 20 : 120);
    ASSERT_TRUE(reckon::Merges(made.merges, made.tokens.size()).ordered());
    const Tokens symbols = random_symbols(random, alphabet, 9000 + random() % 12000);
    ASSERT_EQ(merged(made.merges, symbols, made.tokens.size()), rank_by_rank(made.merges, symbols)) << round;
  }
}

TEST(Merger, FollowsTheDefinitionForRunsOfOneSymbol) {
  // a, aa, aaaa, …: where a run is cut depends on how long it is.
  std::vector<TokenMerge> merges;
  for (TokenId i = 0; i < 9; ++i) merges.push_back({i, i, i + 1});
  for (const std::size_t length : {1, 2, 3, 511, 512, 513, 8191, 8192, 8193, 8704, 12289, 50001}) {
    const Tokens symbols(length, 0);
    EXPECT_EQ(merged(merges, symbols, 10), rank_by_rank(merges, symbols)) << length;
  }
}

TEST(Merger, FollowsTheDefinitionWhereLaterMergesHaveLowerRanks) {
  // abcd goes first but is made of ab and cd, which come last.
  const std::vector<TokenMerge> merges = {{4, 5, 6}, {1, 2, 7}, {0, 1, 4}, {2, 3, 5}};
  ASSERT_FALSE(reckon::Merges(merges, 8).ordered());
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const Tokens symbols = random_symbols(random, 4, random() % 300);
    ASSERT_EQ(merged(merges, symbols, 8), by_definition(merges, symbols));
  }
}

TEST(EssentialMerges, EncodeLikeAllTheMergesThatTheyCameFrom) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    const RandomMerges made = random_merges(random, 3, 40);
    // Every pair of tokens that makes a token, in order of the token, as rank files mean it.
    std::map<std::string, TokenId> ids;
    for (std::size_t i = 0; i < made.tokens.size(); ++i) ids.emplace(made.tokens[i], static_cast<TokenId>(i));
    std::vector<TokenMerge> all;
    for (const std::string& token : made.tokens) {
      for (std::size_t cut = 1; cut < token.size(); ++cut) {
        const auto left = ids.find(token.substr(0, cut)), right = ids.find(token.substr(cut));
        if (left != ids.end() && right != ids.end()) all.push_back({left->second, right->second, ids.at(token)});
      }
    }
    const auto append_symbols = [&](TokenId token, Tokens& out) {
      for (const char c : made.tokens[static_cast<std::size_t>(token)]) out.push_back(c - 'a');
    };
    const std::vector<TokenMerge> some = reckon::essential_merges(all, made.tokens.size(), append_symbols);
    EXPECT_LE(some.size(), all.size());
    for (int text = 0; text < 20; ++text) {
      const Tokens symbols = random_symbols(random, 3, random() % 60);
      ASSERT_EQ(merged(some, symbols, made.tokens.size()), by_definition(all, symbols));
    }
  }
}

}  // namespace

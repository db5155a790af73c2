#include "text/vocabulary.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <algorithm>
#include <map>

#include "files/numbers.h"
#include "files/quote.h"
#include "text/token_index.h"

namespace reckon {
namespace {

// Ids of added tokens may lie behind the vocabulary, but not so far that a table of them could hurt.
constexpr std::int64_t most_added_gap = 1'000'000;
constexpr std::size_t most_tokens = 100'000'000;

using AddedById = std::map<std::int64_t, const AddedToken*>;

AddedById added_by_id(const ListedVocabulary& listed, const TokenizerSpec& spec) {
  AddedById added;
  const std::int64_t end = static_cast<std::int64_t>(listed.tokens.size()) + most_added_gap;
  for (const AddedToken& token : spec.added_tokens) {
    if (token.id < 0 || token.id >= end) {
      throw Error(fmt::format("{}: added token {} has id {}; expected 0 to {}", listed.file, quote(token.content),
                              token.id, end - 1));
    }
    const auto [place, is_new] = added.emplace(token.id, &token);
    if (!is_new && place->second->content != token.content) {
      throw Error(fmt::format("{}: added tokens {} and {} both have id {}", listed.file, quote(place->second->content),
                              quote(token.content), token.id));
    }
  }
  return added;
}

void set_tokens(ListedVocabulary& listed, const AddedById& added, TokenizerSpec& spec) {
  auto& tokens = listed.tokens;
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (tokens.size() > most_tokens)
    throw Error(fmt::format("{}: more than {} tokens", listed.file, grouped(most_tokens)));
  spec.tokens.clear();
  for (auto& [text, id] : tokens) {
    auto next = static_cast<std::int64_t>(spec.tokens.size());
    if (id < 0) throw Error(fmt::format("{}: token {} has id {}; expected 0 or more", listed.file, quote(text), id));
    if (id < next) {
      throw Error(
          fmt::format("{}: tokens {} and {} both have id {}", listed.file, quote(spec.tokens.back()), quote(text), id));
    }
    for (; next < id; ++next) {
      if (!added.contains(next)) {
        throw Error(
            fmt::format("{}: id {} is missing: no token has it, but {} has id {}", listed.file, next, quote(text), id));
      }
      spec.tokens.emplace_back();
    }
    if (const auto place = added.find(id); place != added.end() && place->second->content != text) {
      throw Error(fmt::format("{}: token {} and added token {} both have id {}", listed.file, quote(text),
                              quote(place->second->content), id));
    }
    spec.tokens.push_back(std::move(text));
  }
}

void set_merges(ListedVocabulary& listed, TokenizerSpec& spec) {
  TokenIndex index(spec.tokens.size());
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    const std::string& text = spec.tokens[id];
    if (const TokenId other = text.empty() ? no_token : index.find(text); other != no_token) {
      throw Error(fmt::format("{}: token {} has two ids, {} and {}", listed.file, quote(text), other, id));
    }
    index.add(text, !text.empty());
  }
  spec.merges = std::move(listed.merges_of_ids);
  if (listed.merges.empty()) return;
  spec.merges.clear();
  spec.merges.reserve(listed.merges.size());
  for (const auto& pair : listed.merges) {
    const std::string &left = pair.first, &right = pair.second;  // clang 14 lets no lambda take a structured binding
    const auto find = [&](const std::string& text) {
      const TokenId id = index.find(text);
      if (id == no_token) {
        throw Error(fmt::format("{}: merge {} joins {} and {}, but {} is not in the vocabulary", listed.file,
                                spec.merges.size(), quote(left), quote(right), quote(text)));
      }
      return id;
    };
    spec.merges.push_back({find(left), find(right), find(left + right)});
  }
}

}  // namespace

void set_vocabulary(ListedVocabulary listed, TokenizerSpec& spec) {
  const AddedById added = added_by_id(listed, spec);
  set_tokens(listed, added, spec);
  for (const auto* ids : {&spec.before, &spec.after}) {
    for (const TokenId id : *ids) {
      if (static_cast<std::size_t>(id) < spec.tokens.size() || added.contains(id)) continue;
      throw Error(fmt::format("{}: the post-processor adds id {}, which is not in the vocabulary", listed.file, id));
    }
  }
  set_merges(listed, spec);
  if (!spec.unk_token.empty() &&
      std::find(spec.tokens.begin(), spec.tokens.end(), spec.unk_token) == spec.tokens.end()) {
    throw Error(fmt::format("{}: unk_token {} is not in the vocabulary", listed.file, quote(spec.unk_token)));
  }
}

}  // namespace reckon

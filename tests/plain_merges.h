// BPE training by its definition, in plain loops: the reference for learn_merges(), and for what other trainers learn.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/learn_merges.h"

namespace test {

using BytesPair = std::pair<std::string, std::string>;

struct PlainTrainer {
  using Symbol = std::uint32_t;
  std::vector<std::pair<std::vector<Symbol>, std::int64_t>> words;  // their symbols, and how often they occur
  std::vector<std::string> bytes;                                   // of each symbol
  std::vector<BytesPair> merges;

  explicit PlainTrainer(const std::vector<reckon::Word>& from) {
    for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
    for (const reckon::Word& word : from) {
      std::vector<Symbol> symbols;
      for (const char byte : word.bytes) symbols.push_back(static_cast<unsigned char>(byte));
      words.emplace_back(std::move(symbols), word.count);
    }
  }

  static std::uint64_t key(Symbol left, Symbol right) { return std::uint64_t{left} << 32 | right; }
  BytesPair spelled(std::uint64_t pair) const { return {bytes[pair >> 32], bytes[pair & 0xFFFFFFFF]}; }

  // Of every two neighbours in every word.
  std::unordered_map<std::uint64_t, std::int64_t> count() const {
    std::unordered_map<std::uint64_t, std::int64_t> counts;
    for (const auto& [symbols, times] : words) {
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) counts[key(symbols[i], symbols[i + 1])] += times;
    }
    return counts;
  }

  // From left to right in each word.
  void apply(std::uint64_t pair) {
    const Symbol made = static_cast<Symbol>(bytes.size());
    for (auto& [symbols, times] : words) {
      std::vector<Symbol> merged;
      for (std::size_t i = 0; i < symbols.size(); ++i) {
        const bool here = i + 1 < symbols.size() && key(symbols[i], symbols[i + 1]) == pair;
        merged.push_back(here ? made : symbols[i]);
        i += here;
      }
      symbols = std::move(merged);
    }
    merges.push_back(spelled(pair));
    bytes.push_back(merges.back().first + merges.back().second);
  }

  // The most frequent pair; of equally frequent ones the greater.
  void train(std::int64_t most, std::int64_t min_frequency = 1) {
    while (std::ssize(merges) < most) {
      std::uint64_t best = 0;
      std::int64_t times = min_frequency - 1;
      for (const auto& [pair, n] : count()) {
        if (n > times || (n == times && n >= min_frequency && spelled(pair) > spelled(best)))
          std::tie(best, times) = std::pair(pair, n);
      }
      if (times < min_frequency) return;
      apply(best);
    }
  }

  std::int64_t symbols() const {
    std::int64_t sum = 0;
    for (const auto& [symbols, times] : words) sum += std::ssize(symbols) * times;
    return sum;
  }
};

// How many of these merges, from the first on, take a most frequent pair each: whatever the trainer does with ties.
inline std::int64_t greedy_merges(const std::vector<reckon::Word>& words, const std::vector<BytesPair>& merges) {
  PlainTrainer plain(words);
  for (const BytesPair& merge : merges) {
    std::uint64_t taken = 0;
    std::int64_t most = 0, times = 0;
    for (const auto& [pair, n] : plain.count()) {
      most = std::max(most, n);
      if (plain.spelled(pair) == merge) std::tie(taken, times) = std::pair(pair, n);
    }
    if (times == 0 || times != most) break;
    plain.apply(taken);
  }
  return std::ssize(plain.merges);
}

}  // namespace test

// BPE training: from the distinct words of a text and how often each occurs to the merges, in order.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace reckon {

// A piece of the text as the splitter cuts it, and how often it occurs.
struct Word {
  std::string_view bytes;
  std::int64_t count = 0;
};

struct MergeRules {
  std::int64_t most = 0;           // merges to learn at most
  std::int64_t min_frequency = 1;  // a rarer pair is not merged
  std::set<std::string> never;     // byte strings that must not become a token
};

// Symbols are numbered in the order they come to be: 0–255 are the bytes, 256 + i is what merge i makes.
struct SymbolPair {
  std::uint32_t left = 0, right = 0;
};

struct LearnedMerges {
  std::vector<SymbolPair> merges;
  std::int64_t symbols = 0;  // in the whole text once all merges are applied
};

// Merges the most frequent pair again and again; of equally frequent pairs the one whose left symbol has the greater
// bytes (then: whose right symbol has). Every pair of neighbours counts, as in Sennrich et al. 2016 and Hugging Face's
// BpeTrainer, though overlapping ones cannot both be merged: "aaa" holds a|a twice.
// The words may come in any order. `learned` is called now and then with the merges so far.
LearnedMerges learn_merges(std::vector<Word> words, const MergeRules& rules,
                           const std::function<void(std::int64_t)>& learned = {});

}  // namespace reckon

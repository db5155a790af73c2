#include "text/learn_merges.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "files/numbers.h"

namespace reckon {
namespace {

using Slot = std::uint32_t;    // an index into the words laid end to end
using Symbol = std::uint32_t;  // see SymbolPair
using PairId = std::uint32_t;

constexpr Symbol separator = std::numeric_limits<Symbol>::max();
constexpr PairId no_pair = std::numeric_limits<PairId>::max();
constexpr Symbol n_bytes = 256;
constexpr std::int64_t merges_between_reports = 64;

// Two neighbouring symbols. All occurrences of a pair come to be in one go (when its newer symbol does), so its list
// of slots is written once, rising, and its count only falls from then on.
struct Pair {
  Symbol left, right;
  Slot begin = 0, size = 0;  // its slots in the list of its newer symbol; an entry may have gone stale
  std::int64_t count = 0;
};

// A pair with its count when it was last seen: never less than its count now.
struct Candidate {
  std::int64_t count;
  std::uint64_t left_prefix;  // the first eight bytes of the left symbol: most ties end here
  PairId pair;
};

std::uint64_t prefix_of(std::string_view bytes) {
  std::uint64_t prefix = 0;
  for (std::size_t i = 0; i < 8; ++i)
    prefix = prefix << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0);
  return prefix;
}

class Learner {
 public:
  Learner(std::vector<Word> words, const MergeRules& rules)
      : rules_(rules), min_frequency_(std::max<std::int64_t>(rules.min_frequency, 1)) {
    for (Symbol byte = 0; byte < n_bytes; ++byte) bytes_.emplace_back(1, static_cast<char>(byte));
    before_.assign(n_bytes, no_pair);
    after_.assign(n_bytes, no_pair);
    lay_out(std::move(words));
    count_byte_pairs();
  }

  LearnedMerges learn(const std::function<void(std::int64_t)>& learned) {
    while (std::ssize(result_.merges) < rules_.most) {
      const PairId pair = best();
      if (pair == no_pair) break;
      result_.merges.push_back({pairs_[pair].left, pairs_[pair].right});
      merge(pair);
      if (learned && std::ssize(result_.merges) % merges_between_reports == 0) learned(std::ssize(result_.merges));
    }
    return std::move(result_);
  }

 private:
  Slot length(Symbol symbol) const { return static_cast<Slot>(bytes_[symbol].size()); }

  void lay_out(std::vector<Word> words) {
    std::uint64_t slots = 1;
    for (const Word& word : words) {
      result_.symbols += word.count * static_cast<std::int64_t>(word.bytes.size());
      slots += word.bytes.size() + 1;
    }
    std::erase_if(words, [](const Word& word) { return word.bytes.size() < 2; });
    if (slots >= std::numeric_limits<Slot>::max()) {
      throw Error(fmt::format("the text has {} bytes of distinct words; expected at most {}", grouped(slots),
                              grouped(std::numeric_limits<Slot>::max())));
    }
    std::sort(words.begin(), words.end(), [](const Word& a, const Word& b) { return a.count > b.count; });
    symbols_.reserve(slots);
    symbols_.push_back(separator);
    for (const Word& word : words) {
      for (const char byte : word.bytes) symbols_.push_back(static_cast<unsigned char>(byte));
      symbols_.push_back(separator);
      const Slot end = static_cast<Slot>(symbols_.size());
      if (!bands_.empty() && bands_.back().count == word.count) {
        bands_.back().end = end;
      } else {
        bands_.push_back({end, word.count});
      }
    }
    pairs_at_.assign(symbols_.size(), no_pair);
  }

  void count_byte_pairs() {
    std::vector<PairId> known(n_bytes * n_bytes, no_pair);
    std::size_t band = 0;
    for (Slot slot = 1; slot + 1 < symbols_.size(); ++slot) {
      const Symbol left = symbols_[slot], right = symbols_[slot + 1];
      if (left == separator || right == separator) continue;
      const PairId pair = pair_of(left, right, known[left * n_bytes + right]);
      pairs_[pair].count += weight(band, slot);
      ++pairs_[pair].size;
      pairs_at_[slot] = pair;
    }
    std::vector<Slot>& list = open_list(0);
    for (Slot slot = 0; slot < pairs_at_.size(); ++slot) {
      if (pairs_at_[slot] != no_pair) list_slot(list, pairs_at_[slot], slot);
    }
    for (PairId pair = 0; pair < pairs_.size(); ++pair) push(pair);
  }

  PairId pair_of(Symbol left, Symbol right, PairId& known) {
    if (known == no_pair) {
      if (pairs_.size() >= no_pair)
        throw Error(fmt::format("the text has more than {} different pairs of symbols", no_pair));
      known = static_cast<PairId>(pairs_.size());
      pairs_.push_back({left, right});
    }
    return known;
  }

  // How often the word at the slot occurs; `band` only moves on, so the slots must rise from call to call.
  std::int64_t weight(std::size_t& band, Slot slot) const {
    if (slot >= bands_[band].end) {
      const auto from = bands_.begin() + static_cast<std::ptrdiff_t>(band) + 1;
      band = static_cast<std::size_t>(
          std::upper_bound(from, bands_.end(), slot, [](Slot at, const Band& b) { return at < b.end; }) -
          bands_.begin());
    }
    return bands_[band].count;
  }

  void enter(PairId pair, Slot slot, std::int64_t occurs) {
    pairs_at_[slot] = pair;
    pairs_[pair].count += occurs;
    ++pairs_[pair].size;
    entered_.emplace_back(pair, slot);
  }

  void merge(PairId merged) {
    const Symbol left = pairs_[merged].left, right = pairs_[merged].right;
    // Its bytes are new: while no symbol reaches over the ends of a range of text, what is merged inside depends on the
    // range alone, so the same bytes always come from the same two halves.
    const Symbol made = static_cast<Symbol>(bytes_.size());
    bytes_.push_back(bytes_[left] + bytes_[right]);
    before_.push_back(no_pair);
    after_.push_back(no_pair);
    const PairId first_new = static_cast<PairId>(pairs_.size());

    const std::vector<Slot>& list = lists_[std::max({left, right, n_bytes - 1}) - (n_bytes - 1)];
    const Slot begin = pairs_[merged].begin, end = begin + pairs_[merged].size;
    std::size_t band = 0;
    for (Slot i = begin; i < end; ++i) {
      const Slot at = list[i];
      if (pairs_at_[at] != merged) continue;
      const Slot middle = at + length(left), next = middle + length(right);
      const Symbol neighbour = symbols_[at - 1], follower = symbols_[next];
      const std::int64_t occurs = weight(band, at);
      result_.symbols -= occurs;

      // The pairs with both neighbours go.
      if (neighbour != separator) pairs_[pairs_at_[at - length(neighbour)]].count -= occurs;
      if (follower != separator) pairs_[pairs_at_[middle]].count -= occurs;

      symbols_[at] = symbols_[next - 1] = made;
      pairs_at_[at] = pairs_at_[middle] = no_pair;

      // New ones come.
      if (neighbour != separator) {
        enter(pair_of(neighbour, made, before_[neighbour]), at - length(neighbour), occurs);
      }
      if (follower != separator) enter(pair_of(made, follower, after_[follower]), at, occurs);
    }
    pairs_[merged].count = 0;

    std::vector<Slot>& made_list = open_list(first_new);
    for (const auto& [pair, slot] : entered_) list_slot(made_list, pair, slot);
    entered_.clear();
    for (PairId id = first_new; id < pairs_.size(); ++id) {
      before_[pairs_[id].left] = after_[pairs_[id].right] = no_pair;
      push(id);
    }
  }

  // Room for the slots of the pairs from `first` on; a pair that can never be merged needs none.
  std::vector<Slot>& open_list(PairId first) {
    Slot total = 0;
    for (PairId id = first; id < pairs_.size(); ++id) {
      Pair& pair = pairs_[id];
      pair.begin = total;
      if (pair.count >= min_frequency_) total += pair.size;
      pair.size = 0;
    }
    return lists_.emplace_back(total);
  }

  void list_slot(std::vector<Slot>& list, PairId id, Slot slot) {
    Pair& pair = pairs_[id];
    if (pair.count >= min_frequency_) list[pair.begin + pair.size++] = slot;
  }

  auto comes_later() const {
    return [this](const Candidate& a, const Candidate& b) {
      if (a.count != b.count) return a.count < b.count;
      if (a.left_prefix != b.left_prefix) return a.left_prefix < b.left_prefix;
      const Pair &p = pairs_[a.pair], &q = pairs_[b.pair];
      if (p.left != q.left) return bytes_[p.left] < bytes_[q.left];
      return bytes_[p.right] < bytes_[q.right];
    };
  }

  void push(PairId pair) {
    if (pairs_[pair].count < min_frequency_) return;
    heap_.push_back({pairs_[pair].count, prefix_of(bytes_[pairs_[pair].left]), pair});
    std::push_heap(heap_.begin(), heap_.end(), comes_later());
  }

  PairId best() {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), comes_later());
      const Candidate candidate = heap_.back();
      heap_.pop_back();
      const Pair& pair = pairs_[candidate.pair];
      if (candidate.count != pair.count) {
        push(candidate.pair);  // its count has fallen: back in at its place
      } else if (rules_.never.empty() || !rules_.never.contains(bytes_[pair.left] + bytes_[pair.right])) {
        return candidate.pair;
      }
    }
    return no_pair;
  }

  const MergeRules& rules_;
  std::int64_t min_frequency_;
  std::vector<std::string> bytes_;  // of each symbol
  LearnedMerges result_;

  // One slot for each byte, one separator before, between and after the words. A symbol over several slots stands in
  // its first and in its last, so that both neighbours of a symbol are found without links.
  std::vector<Symbol> symbols_;
  std::vector<PairId> pairs_at_;  // the pair whose left symbol starts in the slot, or no_pair

  // The words are laid out by falling count: a band is a range of words with the same.
  struct Band {
    Slot end;
    std::int64_t count;
  };
  std::vector<Band> bands_;

  std::vector<Pair> pairs_;
  std::vector<std::vector<Slot>> lists_;  // 0: pairs of bytes; 1 + i: pairs whose newer symbol is that of merge i
  std::vector<Candidate> heap_;

  // While one merge is applied: the pairs it makes, by their other symbol, and where they are.
  std::vector<PairId> before_, after_;
  std::vector<std::pair<PairId, Slot>> entered_;
};

}  // namespace

LearnedMerges learn_merges(std::vector<Word> words, const MergeRules& rules,
                           const std::function<void(std::int64_t)>& learned) {
  return Learner(std::move(words), rules).learn(learned);
}

}  // namespace reckon

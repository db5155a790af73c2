#include "text/merges.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace reckon {
namespace {

constexpr std::size_t few = 48;       // symbols: so many are merged by looking at all pairs each time
constexpr std::size_t window = 4096;  // symbols of a window: its nodes and heap stay in the cache
constexpr std::size_t margin = 512;   // symbols at its end that what follows is likely to change
constexpr int attempts = 24;          // cuts tried before a window is made larger

constexpr std::uint32_t nowhere = ~0u;

}  // namespace

Merges::Merges(std::span<const TokenMerge> merges, std::size_t tokens)
    : slots_(std::bit_ceil(2 * merges.size() + 2)), mask_(slots_.size() - 1), made_(tokens) {
  shift_ = 64 - std::countr_zero(slots_.size());
  for (std::uint32_t rank = 0; rank < merges.size(); ++rank) {
    const TokenMerge& merge = merges[rank];
    const std::uint64_t key = key_of(merge.left, merge.right);
    std::size_t slot = first_slot(key);
    while (slots_[slot].key != no_key && slots_[slot].key != key) slot = (slot + 1) & mask_;
    if (slots_[slot].key == key) continue;
    slots_[slot] = {key, {rank, merge.product}};
    Made& made = made_[static_cast<std::size_t>(merge.product)];
    if (made.rank != no_rank) ordered_ = false;
    made = {merge.left, merge.right, rank};
  }
  for (const TokenMerge& merge : merges) {
    const std::uint32_t rank = made(merge.product).rank;
    for (const TokenId part : {merge.left, merge.right}) {
      const std::uint32_t before = made(part).rank;
      if (before != no_rank && before >= rank) ordered_ = false;
    }
  }
}

Merges::Made Merger::merge(const Merges& merges, std::span<const TokenId> symbols, std::vector<TokenId>& out) {
  if (symbols.size() <= few) return merge_few(merges, symbols, out);
  if (symbols.size() > 2 * window && merges.ordered()) {
    const std::size_t before = out.size();
    if (merge_in_windows(merges, symbols, out)) return {};
    out.resize(before);
  }
  window_.clear();
  const Merges::Made last = merge_many(merges, symbols, window_);
  for (const Placed& placed : window_) out.push_back(placed.token);
  return last;
}

Merges::Made Merger::merge_few(const Merges& merges, std::span<const TokenId> symbols, std::vector<TokenId>& out) {
  parts_.resize(symbols.size());
  std::size_t n = symbols.size();
  for (std::size_t i = 0; i < n; ++i) {
    parts_[i] = {symbols[i], i + 1 < n ? merges.find(symbols[i], symbols[i + 1]) : PairMerge{}};
  }
  Merges::Made last;
  while (true) {
    std::size_t best = 0;
    std::uint32_t rank = no_rank;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      if (parts_[i].with_next.rank < rank) rank = parts_[best = i].with_next.rank;
    }
    if (rank == no_rank) break;
    Part& merged = parts_[best];
    last = {merged.token, parts_[best + 1].token, rank};
    merged.token = merged.with_next.product;
    std::move(parts_.begin() + static_cast<std::ptrdiff_t>(best) + 2, parts_.begin() + static_cast<std::ptrdiff_t>(n),
              parts_.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    --n;
    merged.with_next = best + 1 < n ? merges.find(merged.token, parts_[best + 1].token) : PairMerge{};
    if (best > 0) parts_[best - 1].with_next = merges.find(parts_[best - 1].token, merged.token);
  }
  for (std::size_t i = 0; i < n; ++i) out.push_back(parts_[i].token);
  return last;
}

// A list of nodes and a heap of (rank, place); an entry whose pair has changed since is passed over.
Merges::Made Merger::merge_many(const Merges& merges, std::span<const TokenId> symbols, std::vector<Placed>& out) {
  const auto n = static_cast<std::uint32_t>(symbols.size());
  nodes_.resize(n);
  heap_.clear();
  const auto entry = [](std::uint32_t rank, std::uint32_t place) { return std::uint64_t{rank} << 32 | place; };
  const auto pair_at = [&](std::uint32_t place) {
    Node& node = nodes_[place];
    node.with_next = node.next == nowhere ? PairMerge{} : merges.find(node.token, nodes_[node.next].token);
    return node.with_next.rank;
  };
  for (std::uint32_t i = 0; i < n; ++i) nodes_[i] = {symbols[i], {}, i ? i - 1 : nowhere, i + 1 < n ? i + 1 : nowhere};
  for (std::uint32_t i = 0; i < n; ++i) {
    if (const std::uint32_t rank = pair_at(i); rank != no_rank) heap_.push_back(entry(rank, i));
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  const auto push = [&](std::uint32_t place) {
    const std::uint32_t rank = pair_at(place);
    if (rank == no_rank) return;
    heap_.push_back(entry(rank, place));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  };
  Merges::Made last;
  while (!heap_.empty()) {
    const std::uint64_t top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    const auto rank = static_cast<std::uint32_t>(top >> 32), place = static_cast<std::uint32_t>(top);
    Node& node = nodes_[place];
    if (node.with_next.rank != rank) continue;
    Node& gone = nodes_[node.next];
    last = {node.token, gone.token, rank};
    node.token = node.with_next.product;
    gone.with_next.rank = no_rank;
    node.next = gone.next;
    if (node.next != nowhere) nodes_[node.next].previous = place;
    push(place);
    if (node.previous != nowhere) push(node.previous);
  }
  for (std::uint32_t i = 0; i != nowhere && n > 0; i = nodes_[i].next) out.push_back({nodes_[i].token, i});
  return last;
}

// A long piece is cut into blocks that merge alone. That gives the merges of the whole if no merge of the whole reaches
// over a cut; and the first that does would find its two tokens as the blocks alone have them at that time. So each cut
// is tested against the histories of the tokens beside it (would_join), and moved until it passes. Blocks end at a
// boundary of a window that reaches a margin further, which makes a first try nearly always good.
bool Merger::merge_in_windows(const Merges& merges, std::span<const TokenId> symbols, std::vector<TokenId>& out) {
  const std::size_t n = symbols.size();
  std::size_t begin = 0, length = window;
  const auto merge_window = [&](std::size_t from, std::vector<Placed>& to) {
    to.clear();
    merge_many(merges, symbols.subspan(from, std::min(length, n - from)), to);
  };
  TokenId before = no_token;  // the last token of the block before, if there is one
  merge_window(begin, window_);
  while (begin + length < n) {
    // The last boundary before the margin; then, one by one, those before it.
    std::size_t cut = window_.size() - 1;
    while (cut > 0 && window_[cut].begin > length - margin) --cut;
    bool found = false;
    for (int attempt = 0; attempt < attempts && cut > 0 && !found; ++attempt, cut -= !found) {
      merge_window(begin + window_[cut].begin, next_window_);
      found = !would_join(merges, window_[cut - 1].token, next_window_.front().token);
    }
    if (!found) {
      length *= 2;
      merge_window(begin, window_);
      // The larger window may begin with another token: the cut before it would have to be found again.
      if (before != no_token && would_join(merges, before, window_.front().token)) return false;
      continue;
    }
    for (std::size_t i = 0; i < cut; ++i) out.push_back(window_[i].token);
    before = out.back();
    begin += window_[cut].begin;
    window_.swap(next_window_);
  }
  for (const Placed& placed : window_) out.push_back(placed.token);
  return true;
}

// Whether the tokens at a cut, or what they were before, would have merged over it. The history of a block's last token
// runs from its last symbol up, each step ending at the rank of the merge that took it in from the left; that of a
// block's first token likewise. Ranks are times, since tokens are made of tokens of lower rank.
bool Merger::would_join(const Merges& merges, TokenId left, TokenId right) {
  // Each step: a token, and the rank of the merge that ended it.
  const auto history = [&](TokenId token, bool last, std::vector<PairMerge>& steps) {
    steps.clear();
    std::uint32_t end = no_rank;  // when the token was taken in: never
    while (token != no_token) {
      const Merges::Made& made = merges.made(token);
      steps.push_back({end, token});
      end = made.rank;
      token = last ? made.right : made.left;
    }
    return steps.size() - 1;
  };
  std::size_t i = history(left, true, left_history_), j = history(right, false, right_history_);
  while (true) {
    const std::uint32_t left_end = left_history_[i].rank, right_end = right_history_[j].rank;
    const std::uint32_t rank = merges.find(left_history_[i].product, right_history_[j].product).rank;
    // Of equal ranks the leftmost merge goes first: the left block's own, then that over the cut.
    if (rank != no_rank && rank < left_end && rank <= right_end) return true;
    if (left_end == no_rank && right_end == no_rank) return false;
    if (left_end <= right_end) {
      --i;
    } else {
      --j;
    }
  }
}

std::vector<TokenMerge> essential_merges(std::span<const TokenMerge> merges, std::size_t tokens,
                                         const std::function<void(TokenId, std::vector<TokenId>&)>& symbols) {
  std::vector<std::uint8_t> makers(tokens);  // 0, 1, or 2 for several
  for (const TokenMerge& merge : merges) {
    std::uint8_t& count = makers[static_cast<std::size_t>(merge.product)];
    if (count < 2) ++count;
  }
  const Merges all(merges, tokens);
  std::vector<Merges::Made> makes(tokens);
  Merger merger;
  std::vector<TokenId> parts, merged;
  for (std::size_t token = 0; token < tokens; ++token) {
    if (makers[token] < 2) continue;
    parts.clear();
    merged.clear();
    symbols(static_cast<TokenId>(token), parts);
    makes[token] = merger.merge(all, parts, merged);
    if (merged.size() != 1) makes[token] = {};
  }
  std::vector<TokenMerge> essential;
  for (const TokenMerge& merge : merges) {
    const auto product = static_cast<std::size_t>(merge.product);
    const bool only = makers[product] == 1;
    if (only || (makes[product].left == merge.left && makes[product].right == merge.right)) essential.push_back(merge);
  }
  return essential;
}

}  // namespace reckon

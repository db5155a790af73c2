// First fit: each block goes to the lowest place that is free for all its life. What decides is the order of blocks,
// so orders are tried until one of them wastes nothing: the largest first, and whatever ends beyond the peak moved to
// the front; then other beginnings; then the best of these, changed a block at a time. Stacks come first, for what they
// hold outlives the rest.
#include "memory/layout.h"

#include "files/checked.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reckon {
namespace {

using Order = std::vector<std::size_t>;
using Bits = std::vector<std::uint64_t>;

bool has(const Bits& bits, std::size_t b) { return (bits[b / 64] >> (b % 64) & 1) != 0; }

class ArenaLayout {
 public:
  ArenaLayout(std::vector<MemoryBlock>& blocks, std::vector<Stack> stacks, std::int64_t peak)
      : blocks_(blocks), stacks_(std::move(stacks)), peak_(peak), stacked_(blocks.size()) {
    for (const Stack& stack : stacks_) {
      for (const std::vector<std::size_t>& frame : stack.frames) {
        for (std::size_t b : frame) stacked_[b] = true;
      }
    }
    // What lies below a stack is a block as well, behind the others.
    for (const Stack& stack : stacks_) {
      below_.push_back(blocks_.size());
      blocks_.push_back({checked_multiply(stack.below, height(stack), "the arena"), {}, -1});
      if (stack.alive.empty()) continue;
      MemoryBlock::Span all = stack.alive.front();
      for (const MemoryBlock::Span& span : stack.alive) {
        all = {std::min(all.first, span.first), std::max(all.last, span.last)};
      }
      blocks_.back().spans.push_back(all);
    }
    stacked_.resize(blocks_.size(), true);
    words_ = (blocks_.size() + 63) / 64;
    find_moments();
  }

  std::int64_t run() {
    std::int64_t least = -1;
    std::vector<std::int64_t> best(blocks_.size());
    Order found;  // the order that gave the least
    bool by_birth = true;
    const auto keep = [&](std::int64_t end) {
      least = end;
      for (std::size_t b = 0; b < best.size(); ++b) best[b] = blocks_[b].offset;
    };
    for (int attempt = 0; least < 0 || (least > peak_ && attempt < attempts && work_ < most_work); ++attempt) {
      order_frames(attempt % 2 == 0);
      // An order of very many blocks takes long: none is tried twice, what changes nothing is left, and it may take a
      // second or two.
      const bool many = blocks_.size() > very_many;
      Order order = order_of(many && stacks_.empty() ? attempt : attempt / 2);
      std::int64_t nearest = -1;
      int idle = 0;
      for (int i = 0; i < promotions && !(many && idle == 3) && (least < 0 || work_ < most_work); ++i) {
        const auto [end, last] = place_all(order);
        idle = nearest < 0 || end < nearest ? 0 : idle + 1;
        if (idle == 0) nearest = end;
        if (least < 0 || end < least) {
          keep(end);
          found = order;
          by_birth = attempt % 2 == 0;
        }
        if (end <= peak_) break;
        const auto at = std::find(order.begin(), order.end(), last);
        if (at == order.end()) break;
        std::rotate(order.begin(), at, at + 1);
      }
    }
    // From the best of them, blocks one by one to other places in the order, as long as that is no worse.
    order_frames(by_birth);
    for (int i = 0; i < changes && least > peak_ && work_ < most_work && found.size() > 1; ++i) {
      Order order = found;
      const std::size_t from = random() % order.size(), to = random() % order.size();
      const auto at = [&](std::size_t n) { return order.begin() + static_cast<std::ptrdiff_t>(n); };
      if (from < to)
        std::rotate(at(from), at(from) + 1, at(to) + 1);
      else
        std::rotate(at(to), at(from), at(from) + 1);
      const std::int64_t end = place_all(order).first;
      if (end > least) continue;
      keep(end);
      found = std::move(order);
    }
    blocks_.resize(blocks_.size() - stacks_.size());
    for (std::size_t b = 0; b < blocks_.size(); ++b) blocks_[b].offset = best[b];
    return least;
  }

 private:
  static constexpr int attempts = 128, promotions = 24, changes = 1 << 14;
  static constexpr std::size_t most_work = std::size_t{1} << 27;  // looks at a block: some tenths of a second

  static constexpr std::size_t very_many = 2048;

  std::int64_t height(const Stack& stack) const {
    std::int64_t sum = 0;
    for (std::size_t b : stack.frames.front()) sum = checked_add(sum, blocks_[b].size, "the arena");
    return sum;
  }

  // Goes through the sets of blocks that are alive at one time, just before the first of them dies.
  void find_moments() {
    struct Event {
      std::int64_t time;
      bool dies;
      std::size_t block;
    };
    std::vector<Event> events;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      for (const MemoryBlock::Span& span : blocks_[b].spans) {
        events.push_back({span.first, false, b});
        events.push_back({span.last, true, b});
      }
    }
    std::sort(events.begin(), events.end(),
              [](const Event& a, const Event& b) { return a.time != b.time ? a.time < b.time : a.dies < b.dies; });
    together_.assign(blocks_.size() * words_, 0);
    moments_.assign(blocks_.size(), 0);
    always_.assign(stacks_.size(), Bits(words_, ~std::uint64_t{0}));
    Bits alive(words_);
    bool born = false;
    for (const Event& event : events) {
      if (event.dies && born) add_moment(alive);
      born = !event.dies;
      alive[event.block / 64] ^= std::uint64_t{1} << (event.block % 64);
    }
  }

  void add_moment(const Bits& alive) {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (!has(alive, b)) continue;
      ++moments_[b];
      for (std::size_t w = 0; w < words_; ++w) together_[b * words_ + w] |= alive[w];
    }
    for (std::size_t s = 0; s < stacks_.size(); ++s) {
      if (!has(alive, stacks_[s].below > 0 ? below_[s] : stacks_[s].frames[0][0])) continue;
      for (std::size_t w = 0; w < words_; ++w) always_[s][w] &= alive[w];
    }
  }

  bool together(std::size_t a, std::size_t b) const { return (together_[a * words_ + b / 64] >> (b % 64) & 1) != 0; }

  // The lowest blocks of a frame are those that are made first, or those that are needed longest.
  void order_frames(bool by_birth) {
    for (Stack& stack : stacks_) {
      const std::vector<std::size_t>& top = stack.frames.back();
      Order order(top.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const MemoryBlock::Span &x = blocks_[top[a]].spans.front(), &y = blocks_[top[b]].spans.front();
        return by_birth ? x.first < y.first : x.last > y.last;
      });
      for (std::vector<std::size_t>& frame : stack.frames) {
        const std::vector<std::size_t> given = frame;
        for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = given[order[i]];
      }
    }
  }

  std::uint64_t random() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return random_ >> 40;
  }

  // Large blocks first, long-lived ones, or those that are both; then the same with some of them out of turn.
  Order order_of(int attempt) {
    std::vector<std::pair<double, std::size_t>> keys;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (stacked_[b]) continue;
      double key = 1.0;
      if (attempt % 3 != 1) key *= static_cast<double>(blocks_[b].size);
      if (attempt % 3 != 0) key *= static_cast<double>(moments_[b]);
      if (attempt >= 3) {
        key *= 0.3 + static_cast<double>(random()) / static_cast<double>(1 << 24);
      }
      keys.emplace_back(key, b);
    }
    std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    Order order;
    for (const auto& [key, b] : keys) order.push_back(b);
    return order;
  }

  // The end of all blocks, and the block that ends there.
  std::pair<std::int64_t, std::size_t> place_all(const Order& order) {
    placed_.clear();
    std::int64_t end = 0;
    std::size_t last = blocks_.size();
    const auto place = [&](std::size_t b) {
      const std::int64_t at = lowest(blocks_[b].size, [&](std::size_t other) { return together(b, other); });
      put(b, at);
      if (at + blocks_[b].size <= end) return;
      end = at + blocks_[b].size;
      last = b;
    };
    std::vector<bool> done = stacked_;
    for (std::size_t s = 0; s < stacks_.size(); ++s) {
      // Under a stack lies whatever is alive as long as it.
      for (std::size_t b : order) {
        if (done[b] || !has(always_[s], b)) continue;
        done[b] = true;
        place(b);
      }
      end = std::max(end, place_stack(s));
    }
    for (std::size_t b : order) {
      if (!done[b]) place(b);
    }
    return {end, last};
  }

  std::int64_t place_stack(std::size_t s) {
    Order all{below_[s]};
    for (const std::vector<std::size_t>& frame : stacks_[s].frames) all.insert(all.end(), frame.begin(), frame.end());
    std::int64_t size = 0;
    for (std::size_t b : all) size = checked_add(size, blocks_[b].size, "the arena");
    std::int64_t at = lowest(size, [&](std::size_t other) {
      return std::any_of(all.begin(), all.end(), [&](std::size_t b) { return together(b, other); });
    });
    for (std::size_t b : all) {
      put(b, at);
      at += blocks_[b].size;
    }
    return at;
  }

  template <class Conflicts>
  std::int64_t lowest(std::int64_t size, const Conflicts& conflicts) {
    std::int64_t at = 0;
    work_ += blocks_.size() > very_many ? placed_.size() / 8 : placed_.size();
    for (std::size_t other : placed_) {
      if (blocks_[other].offset + blocks_[other].size <= at || !conflicts(other)) continue;
      if (at + size <= blocks_[other].offset) break;
      at = blocks_[other].offset + blocks_[other].size;
    }
    return at;
  }

  void put(std::size_t b, std::int64_t at) {
    blocks_[b].offset = at;
    const auto after = std::upper_bound(placed_.begin(), placed_.end(), at, [&](std::int64_t value, std::size_t other) {
      return value < blocks_[other].offset;
    });
    placed_.insert(after, b);
  }

  std::vector<MemoryBlock>& blocks_;
  std::vector<Stack> stacks_;
  std::int64_t peak_;
  std::vector<bool> stacked_;          // whether a block is part of a stack
  std::vector<std::size_t> below_;     // the block that lies below each stack
  std::size_t words_ = 0;              // of a set of blocks
  Bits together_;                      // of each block, those that are alive with it at some time
  std::vector<Bits> always_;           // of each stack, the blocks that are alive whenever it is
  std::vector<std::int64_t> moments_;  // of each block, at how many it is alive
  std::uint64_t random_ = 1;
  std::size_t work_ = 0;
  Order placed_;  // by offset
};

}  // namespace

std::int64_t lay_out(std::vector<MemoryBlock>& blocks, const std::vector<Stack>& stacks, std::int64_t peak) {
  return ArenaLayout(blocks, stacks, peak).run();
}

}  // namespace reckon

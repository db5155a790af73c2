// A stack of layers: a vector to look at, though a pattern that repeats is held once.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <vector>

#include "compile/compile.h"
#include "count/ledger.h"
#include "model/modify.h"
#include "model/sublayers.h"

namespace reckon {
namespace {

Layer wide(std::int64_t d_ff) {
  FeedForward feed_forward;
  feed_forward.d_ff = d_ff;
  return {.sublayers = {Sublayer{.kind = feed_forward, .norms = {}}}};
}

// 1, then 2, 3, 4 over and over: 1 2 3 4 2 3 4 2
Layers eight() {
  Layers layers;
  for (std::int64_t size : {1, 2, 3, 4}) layers.push_back(wide(size));
  layers.repeat(1, 3, 8);
  return layers;
}

std::vector<std::int64_t> sizes_of(const Layers& layers) {
  std::vector<std::int64_t> found;
  for (const Layer& layer : layers) found.push_back(feed_forward_of(layer)->d_ff);
  return found;
}

TEST(Layers, GoOnWithTheirPattern) {
  const Layers layers = eight();
  EXPECT_EQ(layers.size(), 8u);
  EXPECT_EQ(sizes_of(layers), (std::vector<std::int64_t>{1, 2, 3, 4, 2, 3, 4, 2}));
  EXPECT_EQ(feed_forward_of(layers[6])->d_ff, 4);
  EXPECT_EQ(feed_forward_of(layers.front())->d_ff, 1);
  EXPECT_EQ(feed_forward_of(layers.back())->d_ff, 2);
  EXPECT_EQ(layers.written().size(), 4u);
}

TEST(Layers, AreEqualWhetherWrittenOutOrNot) {
  Layers written;
  for (std::int64_t size : {1, 2, 3, 4, 2, 3, 4, 2}) written.push_back(wide(size));
  EXPECT_EQ(eight(), written);
  written.push_back(wide(3));
  EXPECT_NE(eight(), written);
  Layers other = eight();
  other[7] = wide(9);
  EXPECT_NE(eight(), other);
}

TEST(Layers, ChangingOneChangesNoOther) {
  Layers layers = eight();
  feed_forward_of(layers[4])->d_ff = 5;
  EXPECT_EQ(sizes_of(layers), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 3, 4, 2}));
  for (Layer& layer : layers) feed_forward_of(layer)->d_ff *= 10;
  EXPECT_EQ(sizes_of(layers), (std::vector<std::int64_t>{10, 20, 30, 40, 50, 30, 40, 20}));
  layers.resize(2);
  EXPECT_EQ(sizes_of(layers), (std::vector<std::int64_t>{10, 20}));
  layers.clear();
  EXPECT_TRUE(layers.empty());
  layers.assign(3, wide(7));
  feed_forward_of(layers.back())->d_ff = 8;
  EXPECT_EQ(sizes_of(layers), (std::vector<std::int64_t>{7, 7, 8}));
}

TEST(Layers, KnowHowFarAPatternReaches) {
  for (std::size_t n = 4; n < 20; ++n) {
    Layers folded = eight();
    folded.repeat(1, 3, n);
    const std::vector<std::int64_t> plain = sizes_of(folded);
    for (std::size_t first = 0; first < n; ++first) {
      for (std::size_t period = 1; first + period <= n; ++period) {
        std::size_t expected = first + period;
        while (expected < n && plain[expected] == plain[expected - period]) ++expected;
        EXPECT_EQ(folded.repeats_until(first, period), expected) << n << " " << first << " " << period;
      }
    }
  }
}

TEST(Layers, ADeepModelHoldsItsPatternOnce) {
  const struct {
    const char* name;
    std::size_t written;
  } expected[] = {{"gpt2", 1}, {"gpt-oss-20b", 2}, {"gemma-3-1b", 6}, {"deepseek-v3", 4}};
  for (const auto& [name, written] : expected) {
    Changes changes;
    changes.layers = 100'000;
    changes.d_model = 2 * load_model(name).d_model;
    changes.heads = 2 * find<Attention>(load_model(name).layers[0])->n_heads;
    const Model deep = modify(load_model(name), changes);
    EXPECT_EQ(deep.layers.size(), 100'000u) << name;
    EXPECT_EQ(deep.layers.written().size(), written) << name;
  }
}

// Written out, the network is found to be the same one, op by op.
TEST(Layers, CountTheSameWhetherWrittenOutOrNot) {
  for (const char* name : {"gpt2", "gpt-oss-20b", "gemma-3-1b", "deepseek-v3"}) {
    for (std::int64_t n : {100, 101, 102, 103, 104, 105}) {
      Changes changes;
      changes.layers = n;
      const Model folded = modify(load_model(name), changes);
      Model written = folded;
      written.layers[0] = folded.layers[0];
      ASSERT_EQ(written.layers.written().size(), static_cast<std::size_t>(n));
      const Program a = logical_program(folded, workload_of(Phase::train)),
                    b = logical_program(written, workload_of(Phase::train));
      ASSERT_EQ(a.ops.size(), b.ops.size()) << name << " " << n;
      ASSERT_EQ(a.repeats.size(), b.repeats.size()) << name << " " << n;
      for (std::size_t i = 0; i < a.repeats.size(); ++i) EXPECT_EQ(a.repeats[i].count, b.repeats[i].count);
      const Ledger from_a = read_ledger(a), from_b = read_ledger(b);
      EXPECT_EQ(from_a.parameter_totals.total, from_b.parameter_totals.total) << name << " " << n;
      EXPECT_EQ(from_a.total().flops(), from_b.total().flops()) << name << " " << n;
    }
  }
}

}  // namespace
}  // namespace reckon

// What a layer keeps from the forward to the backward pass, against Korthikanti et al. 2022, "Reducing Activation
// Recomputation in Large Transformer Models" (arXiv 2205.05198): section 4.1, equation 1 and table 2. s tokens, b
// sequences, h the width, a heads; 16-bit activations, masks of dropout of one byte.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "count/ledger.h"
#include "lowering/regions.h"
#include "memory/lifetimes.h"
#include "memory/plan.h"

namespace reckon {
namespace {

struct Size {
  std::int64_t s, b, h, a;
};

// The last two are GPT-3 and their 22B.
constexpr std::array sizes{Size{128, 2, 64, 4}, Size{96, 3, 240, 5}, Size{2048, 1, 12288, 96}, Size{2048, 4, 6144, 64}};

// Layers of GPT: LayerNorms before the sublayers, GELU of 4h, biases everywhere.
Model gpt(const Size& size, std::size_t layers) {
  const Norm norm{.bias = true};
  Attention attention;
  attention.n_heads = attention.n_kv_heads = size.a;
  attention.d_head = attention.d_value = size.h / size.a;
  attention.scale = 1 / std::sqrt(static_cast<double>(attention.d_head));
  attention.query_bias = attention.key_bias = attention.value_bias = attention.output_bias = true;
  const FeedForward feed_forward{.d_ff = 4 * size.h, .activation = Activation::gelu, .bias = true};
  Layer layer;
  layer.sublayers = {Sublayer{.kind = attention, .norms = {}}, Sublayer{.kind = feed_forward, .norms = {}}};
  for (Sublayer& sublayer : layer.sublayers) sublayer.norms.before = norm;
  Model model;
  model.name = "gpt";
  model.d_model = model.d_embedding = size.h;
  model.vocab_size = 64;
  model.context = size.s;
  model.positions.kind = Positions::Kind::learned;
  model.layers.assign(layers, layer);
  model.final_norm = norm;
  model.head.tied = true;
  return model;
}

Workload step(const Size& size, Recompute recompute, double dropout = 0.1) {
  Workload workload = workload_of(Phase::train);
  workload.batch = size.b;
  workload.tokens = size.s;
  workload.recompute = recompute;
  workload.dropout = workload.attention_dropout = dropout;
  Precision& precision = workload.precision;
  precision.weights = precision.activations = precision.gradients = DType::bfloat16;
  return workload;
}

// Bytes of the arena that are alive while the loss is computed, the last op of the forward pass. `statistics` says
// whether those of norms and softmaxes are among them: the paper leaves them out ("2sb … which we neglect").
std::int64_t alive_at_the_loss(const Program& program, const Target& target, bool statistics) {
  const std::vector<bool> outlives = parameter_gradients(program);
  std::vector<bool> held(program.tensors.size());
  for (std::size_t i = 0; i < held.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    const bool in_arena = tensor.kind == TensorKind::activation || tensor.kind == TensorKind::input ||
                          tensor.kind == TensorKind::gradient;
    held[i] = in_arena && tensor.storage == no_tensor && !outlives[i] &&
              (statistics || tensor.label.piece != Piece::statistics);
  }
  const Lifetimes times = find_lifetimes(program, parallel_regions(program), held, target.alignment);
  std::size_t last = 0;
  while (program.ops[last + 1].stage == Stage::forward) ++last;
  EXPECT_EQ(program.ops[last].operation->name, "cross_entropy");
  return times.live[last].first;
}

// What one layer more keeps.
std::int64_t kept_by_a_layer(const Size& size, const Workload& workload, const Target& target,
                             bool statistics = false) {
  const auto with = [&](std::size_t layers) {
    return alive_at_the_loss(compile(gpt(size, layers), workload, target).lowered, target, statistics);
  };
  const std::int64_t few = with(3) - with(2);
  EXPECT_EQ(with(9) - with(8), few);
  return few;
}

std::string name_of(const Size& size) {
  return "s " + std::to_string(size.s) + ", b " + std::to_string(size.b) + ", h " + std::to_string(size.h) + ", a " +
         std::to_string(size.a);
}

TEST(Korthikanti, ALayerKeepsSbhTimes34And5asOverH) {
  for (const Size& size : sizes) {
    SCOPED_TRACE(name_of(size));
    const auto [s, b, h, a] = size;
    EXPECT_EQ(kept_by_a_layer(size, step(size, Recompute::none), megatron_target), 34 * s * b * h + 5 * a * s * s * b);
  }
}

TEST(Korthikanti, SelectiveRecomputationKeeps34SbhAndWholeBlocks2Sbh) {
  for (const Size& size : sizes) {
    SCOPED_TRACE(name_of(size));
    const auto [s, b, h, a] = size;
    EXPECT_EQ(kept_by_a_layer(size, step(size, Recompute::selective), megatron_target), 34 * s * b * h);
    EXPECT_EQ(kept_by_a_layer(size, step(size, Recompute::block), megatron_target), 2 * s * b * h);
  }
}

// Derived from the same list of tensors: no masks, and what the softmax gives is what is mixed.
TEST(Korthikanti, WithoutDropoutTheMasksAndOneTensorOfWeightsAreNotThere) {
  for (const Size& size : sizes) {
    SCOPED_TRACE(name_of(size));
    const auto [s, b, h, a] = size;
    EXPECT_EQ(kept_by_a_layer(size, step(size, Recompute::none, 0), megatron_target),
              32 * s * b * h + 2 * a * s * s * b);
  }
}

// Mean and factor of each row of two norms, in float32. (The paper's 2sb for a norm are 16-bit, and neglected.)
TEST(Korthikanti, WhatItNeglectsIsSixteenBytesATokenOfALayer) {
  for (const Size& size : sizes) {
    const auto [s, b, h, a] = size;
    const Workload workload = step(size, Recompute::none);
    EXPECT_EQ(kept_by_a_layer(size, workload, megatron_target, true),
              kept_by_a_layer(size, workload, megatron_target) + 16 * s * b);
  }
}

// The table of section 4.1, tensor by tensor: two bytes an element but for masks.
TEST(Korthikanti, EveryTensorOfTheirListIsKept) {
  const Size size = sizes[0];
  const auto [s, b, h, a] = size;
  const Program program = compile(gpt(size, 4), step(size, Recompute::none), megatron_target).lowered;
  const std::vector<std::int64_t> regions = parallel_regions(program);
  const Lifetimes times = find_lifetimes(program, regions, std::vector<bool>(program.tensors.size(), true), 1);
  std::map<std::string, std::int64_t> kept;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    const bool in_layer = tensor.scope.layer >= 0 && tensor.kind == TensorKind::activation;
    if (!in_layer || !times.saved[i] || tensor.label.piece == Piece::statistics) continue;
    kept[path_of(tensor.scope.role) + " " + std::string(tensor.label.name)] += static_cast<std::int64_t>(bytes(tensor));
  }
  const std::int64_t sbh = s * b * h, scores = a * s * s * b;
  const std::map<std::string, std::int64_t> expected = {
      {"attention/norm normed", 2 * sbh},
      {"attention/query out", 2 * sbh},
      {"attention/key out", 2 * sbh},
      {"attention/value out", 2 * sbh},
      {"attention/softmax weights", 2 * scores},
      {"attention/softmax mask", scores},
      {"attention/softmax dropped_weights", 2 * scores},
      {"attention/mixing mixed", 2 * sbh},
      {"attention/residual mask", sbh},
      {"attention/residual residual", 2 * sbh},  // the second norm's input
      {"feed_forward/norm normed", 2 * sbh},
      {"feed_forward/up out", 8 * sbh},
      {"feed_forward/activation hidden", 8 * sbh},
      {"feed_forward/residual mask", sbh},
      {"feed_forward/residual residual", 2 * sbh},  // the first norm's input of the layer behind
  };
  EXPECT_EQ(kept, expected);
}

// A device with streamed attention keeps no scores with or without recomputing them, and draws dropout again: of the
// 34, not the two masks. What it keeps of the softmax is one float32 a query and head.
TEST(Korthikanti, StreamedAttentionKeeps32SbhSelectiveOrNot) {
  for (const Size size : {Size{128, 2, 64, 4}, Size{2048, 1, 12288, 96}}) {
    SCOPED_TRACE(name_of(size));
    const auto [s, b, h, a] = size;
    for (Recompute what : {Recompute::none, Recompute::selective}) {
      EXPECT_EQ(kept_by_a_layer(size, step(size, what), gpu_target), 32 * s * b * h);
      EXPECT_EQ(kept_by_a_layer(size, step(size, what), gpu_target, true), 32 * s * b * h + 16 * s * b + 4 * a * s * b);
    }
    EXPECT_EQ(kept_by_a_layer(size, step(size, Recompute::block), gpu_target), 2 * s * b * h);
  }
}

// Appendix A: scores and mixing again, 2bs²h each; nothing else has products.
TEST(Korthikanti, SelectiveRecomputationAdds4Bs2HFlopsALayerAndBlocksAForwardPass) {
  for (const Size& size : sizes) {
    SCOPED_TRACE(name_of(size));
    const auto [s, b, h, a] = size;
    const auto backward = [&](Recompute what) { return count(gpt(size, 5), step(size, what)).backward.matmul; };
    EXPECT_EQ(backward(Recompute::selective) - backward(Recompute::none), Count(5) * 4 * b * s * s * h);
    // Of the second product of a feed-forward nothing is needed but its input.
    EXPECT_EQ(backward(Recompute::block) - backward(Recompute::none),
              Count(5) * (24 * b * s * h * h + 4 * b * s * s * h - 8 * b * s * h * h));
  }
}

}  // namespace
}  // namespace reckon

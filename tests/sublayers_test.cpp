// Layers as lists of sublayers, and layers that have the weights of others: counted, run and trained.
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "count/ledger.h"
#include "model/stored.h"
#include "model/sublayers.h"
#include "model/validate.h"
#include "network/forward.h"
#include "passes/expand.h"
#include "report/describe.h"
#include "report/mermaid.h"
#include "report/steps.h"
#include "run/engine.h"
#include "small_models.h"
#include "text_fixture.h"
#include "train/trainer.h"

namespace reckon {
namespace {

using Keys = std::function<TensorKey(TensorKey)>;

// LLaMA of width 8: 880 parameters a layer (queries 192, keys 96, values 96, output 192, feed-forward 3 · 96, norms
// 2 · 8), and 184 outside (embedding and head 11 · 8 each, final norm 8).
Model llama(std::size_t layers) {
  Model model = testing_models::small_llama();
  model.context = 12;
  Layer layer = model.layers[0];
  find<Attention>(layer)->scale = 1 / std::sqrt(6.0);
  find<Attention>(layer)->rope.emplace().dims = 6;
  model.layers.assign(layers, layer);
  return model;
}

// Layer i has the weights of the layer shares[i] before it.
Model sharing(const std::vector<std::int64_t>& shares) {
  Model model = llama(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) model.layers[i].shares = shares[i];
  return model;
}

// The layer that in the end owns the weights of each.
std::vector<std::int32_t> owners(const std::vector<std::int64_t>& shares) {
  std::vector<std::int32_t> found;
  for (std::size_t i = 0; i < shares.size(); ++i)
    found.push_back(shares[i] == 0 ? static_cast<std::int32_t>(i) : found[i - static_cast<std::size_t>(shares[i])]);
  return found;
}

// Values that depend on the name that `keys` makes of a parameter's: of two models, those of one name are equal.
Weights weights_of(const Model& model, const Keys& keys) {
  Workload one;
  one.tokens = 1;
  return Weights::filled(expand(forward(model, one)), DType::float32,
                         [&](const Tensor& tensor, std::int64_t, std::span<float> to) {
                           std::uint32_t state = 7;
                           for (const char c : full_name(keys(key_of(tensor))))
                             state = state * 31 + static_cast<unsigned char>(c);
                           for (float& value : to) {
                             state = state * 1664525 + 1013904223;
                             value = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0f;
                           }
                         });
}

const std::vector<std::int32_t> text = {3, 1, 4, 1, 5, 9, 2, 6};

// A prompt, then three tokens one by one, each after what is cached.
std::vector<float> logits_of(const Model& model, const Keys& keys) {
  Engine engine(model, weights_of(model, keys), {.threads = 1});
  Session session = engine.session();
  std::vector<float> all;
  const auto run = [&](std::span<const std::int32_t> ids) {
    const std::span<const float> logits = session.run(ids, Logits::all);
    all.insert(all.end(), logits.begin(), logits.end());
  };
  run(std::span(text).first(5));
  for (std::size_t i = 5; i < text.size(); ++i) run(std::span(text).subspan(i, 1));
  return all;
}

std::map<TensorKey, std::vector<float>> gradients_of(const Model& model, const Keys& keys) {
  const auto tokens = static_cast<std::int64_t>(text.size());
  Trainer trainer(model, weights_of(model, keys), {.threads = 1, .batch = 1, .tokens = tokens});
  std::vector<std::int32_t> labels(text.begin() + 1, text.end());
  labels.push_back(0);
  trainer.compute_gradient(text, labels);
  std::map<TensorKey, std::vector<float>> found;
  for (const TrainedTensor& tensor : trainer.tensors())
    found[tensor.key] = trainer.values(tensor, &TrainedTensor::gradient);
  return found;
}

TensorKey same(TensorKey key) { return key; }

Keys owned_by(const std::vector<std::int64_t>& shares) {
  return [owner = owners(shares)](TensorKey key) {
    if (key.scope.layer >= 0) key.scope.layer = owner[static_cast<std::size_t>(key.scope.layer)];
    return key;
  };
}

struct Case {
  std::vector<std::int64_t> shares;
  int own;      // layers with weights of their own
  int repeats;  // bodies that the forward pass is written with
};
const std::vector<Case> cases = {
    {{0, 1, 1, 1}, 1, 0},        // one layer over and over (ALBERT)
    {{0, 1, 0, 1, 0, 1}, 3, 1},  // every layer twice (MobileLLM): a pattern of two
    {{0, 0, 2, 2}, 2, 0},        // two layers in turns
    {{0, 0, 0, 1, 0, 0}, 5, 2},  // two alike, one that is shared with the next, two alike
};

std::string said(const Case& c) { return testing::PrintToString(c.shares); }

TEST(SharedWeights, AreCountedOnceAndComputedWithEachTime) {
  for (const Case& c : cases) {
    const Model model = sharing(c.shares), copies = llama(c.shares.size());
    EXPECT_EQ(count_parameters(model), Count(184 + 880 * c.own)) << said(c);
    for (Phase phase : {Phase::forward, Phase::decode, Phase::train}) {
      const Ledger ledger = count(model, workload_of(phase)), of_copies = count(copies, workload_of(phase));
      EXPECT_EQ(ledger.parameter_totals.total, Count(184 + 880 * c.own)) << said(c);
      EXPECT_EQ(ledger.forward.matmul, of_copies.forward.matmul) << said(c);
      EXPECT_EQ(ledger.backward.matmul, of_copies.backward.matmul) << said(c);
    }
    const Ledger training = count(model, workload_of(Phase::train));
    EXPECT_EQ(training.state.moments, Count(2 * 4 * (184 + 880 * c.own))) << said(c);
    EXPECT_EQ(forward(model, {}).repeats.size(), static_cast<std::size_t>(c.repeats)) << said(c);
  }
}

TEST(SharedWeights, GiveTheLogitsOfEqualCopies) {
  for (const Case& c : cases) {
    EXPECT_EQ(logits_of(sharing(c.shares), same), logits_of(llama(c.shares.size()), owned_by(c.shares))) << said(c);
  }
}

TEST(SharedWeights, HaveTheSumOfTheGradientsOfEqualCopies) {
  for (const Case& c : cases) {
    std::map<TensorKey, std::vector<float>> sums;
    for (const auto& [key, gradient] : gradients_of(llama(c.shares.size()), owned_by(c.shares))) {
      std::vector<float>& sum = sums[owned_by(c.shares)(key)];
      sum.resize(gradient.size());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
    }
    const auto found = gradients_of(sharing(c.shares), same);
    ASSERT_EQ(found.size(), sums.size()) << said(c);
    for (const auto& [key, gradient] : found) {
      double largest = 0, difference = 0;
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        largest = std::max(largest, std::fabs(static_cast<double>(sums.at(key)[i])));
        difference = std::max(difference, std::fabs(static_cast<double>(gradient[i] - sums.at(key)[i])));
      }
      EXPECT_GT(largest, 0) << full_name(key);
      EXPECT_LE(difference, 1e-5 * largest) << full_name(key) << " of " << said(c);
    }
  }
}

TEST(SharedWeights, AreStoredOnceUnderTheLayerThatOwnsThem) {
  const StoredLayout layout = stored_layout(sharing({0, 1, 0}));
  std::map<std::int32_t, int> parameters;
  for (const StoredParameter& parameter : layout.parameters) ++parameters[parameter.key.scope.layer];
  EXPECT_EQ(parameters, (std::map<std::int32_t, int>{{-1, 3}, {0, 9}, {2, 9}}));
}

TEST(Sublayers, WithoutPositionsInSomeLayersAreDescribedSo) {
  Model model = llama(4);
  EXPECT_NE(describe(model).find(" · RoPE · "), std::string::npos) << describe(model);
  EXPECT_FALSE(architecture_json(model).contains("layers_with_positions"));
  find<Attention>(model.layers[3])->rope.reset();
  EXPECT_NE(describe(model).find(" · RoPE in 3 layers · "), std::string::npos) << describe(model);
  EXPECT_EQ(architecture_json(model)["positions"], "rope");
  EXPECT_EQ(architecture_json(model)["layers_with_positions"], 3);
}

TEST(SharedWeights, AreExplainedOnce) {
  const Model model = sharing({0, 1, 1, 0});
  Count sum;
  for (const Section& section : steps_of(forward(model, {}))) sum += total(section, Quantity::parameters);
  EXPECT_EQ(sum, Count(184 + 2 * 880));
  EXPECT_NE(describe(model).find("4 layers, 2 with the weights of others"), std::string::npos) << describe(model);
}

TEST(SharedWeights, OfALayerThatIsNotAlikeAreRefused) {
  Model wider = sharing({0, 1});
  feed_forward_of(wider.layers[1])->d_ff = 16;
  EXPECT_EQ(error_of([&] { forward(wider, {}); }),
            "layers.1.feed_forward.gate.weight (16 × 8) is to be layers.0.feed_forward.gate.weight, which is 12 × 8; "
            "expected a layer like the one whose weights it has");
  Model biased = sharing({0, 1});
  find<Attention>(biased.layers[1])->query_bias = true;
  EXPECT_EQ(error_of([&] { forward(biased, {}); }),
            "layers.1.attention.query.bias (24) is to be layers.0.attention.query.bias, which there is not; expected a "
            "layer like the one whose weights it has");
  EXPECT_EQ(error_of([] {
              validate(sharing({0, 2}));
            }),
            "small llama: layer 1: shares is 2, but there are 1 layers before it; expected 0 to 1");
}

// One layer of four sublayers for two of two: the second attention of the layer is that of the second layer.
Model in_one_layer() {
  Model model = llama(2);
  Layer both = model.layers[0];
  both.sublayers.insert(both.sublayers.end(), both.sublayers.begin(), both.sublayers.end());
  find<Attention>(model.layers[0])->window = 3;  // the two attentions differ, and so do their caches
  std::get<Attention>(both.sublayers[0].kind).window = 3;
  model.layers.assign(1, both);
  return model;
}

Model in_two_layers() {
  Model model = llama(2);
  find<Attention>(model.layers[0])->window = 3;
  return model;
}

TensorKey as_two_layers(TensorKey key) {
  if (key.scope.layer == 0) key.scope = {key.scope.role, key.scope.nth, 0};
  return key;
}

TEST(Sublayers, OfTwoLayersMayStandInOne) {
  EXPECT_EQ(count_parameters(in_one_layer()), Count(184 + 2 * 880));
  EXPECT_EQ(logits_of(in_one_layer(), as_two_layers), logits_of(in_two_layers(), same));
  const auto expected = gradients_of(in_two_layers(), same);
  const auto found = gradients_of(in_one_layer(), as_two_layers);
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [key, gradient] : found) EXPECT_EQ(gradient, expected.at(as_two_layers(key))) << full_name(key);
}

TEST(Sublayers, OfOneBlockAreToldApartByTheirNumber) {
  std::vector<std::string> names;
  for (const Row& row : rows(count(in_one_layer()), Quantity::parameters, By::tensor)) names.push_back(row.name);
  EXPECT_EQ(std::count(names.begin(), names.end(), "layers.0.attention.query.weight"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "layers.0.attention.1.query.weight"), 1);
  EXPECT_EQ(error_of([] { stored_layout(in_one_layer()); }),
            "'small llama' has layers.0.attention.1.norm, which files of the family 'llama' have no name for");
}

TEST(Sublayers, OfOneBlockAreExplainedOneByOne) {
  const Program program = forward(in_one_layer(), {});
  const std::vector<Section> sections = steps_of(program);
  Count sum;
  std::map<std::string, std::string> names;
  for (const Section& section : sections) {
    sum += total(section, Quantity::parameters);
    for (const ExplainedStep& step : section.steps) names[path_of(step.key)] = step.name;
  }
  EXPECT_EQ(sum, Count(184 + 2 * 880));
  EXPECT_EQ(names.at("attention/scores"), "scores");
  EXPECT_EQ(names.at("attention/1/scores"), "scores (2)");
  const std::string chart = flowchart(program, sections);
  std::size_t attentions = 0;
  for (std::size_t at = chart.find("attention<br/>576"); at != std::string::npos;
       at = chart.find("attention<br/>576", at + 1))
    ++attentions;
  EXPECT_EQ(attentions, 2u) << chart;
}

TEST(Sublayers, MayBeAFeedForwardAlone) {
  Model model = llama(2);
  model.layers[0].sublayers.erase(model.layers[0].sublayers.begin());
  validate(model);
  EXPECT_EQ(count_parameters(model), Count(184 + 880 + 3 * 96 + 8));
  EXPECT_EQ(logits_of(model, same).size(), text.size() * 11);
  EXPECT_NE(describe(model).find("4 heads of 6"), std::string::npos);
  for (const Section& section : steps_of(forward(model, {})))
    for (const ExplainedStep& step : section.steps)
      EXPECT_EQ(step.text.find("attention and feed-forward stand side by side"), std::string::npos) << step.text;
}

// x → x + f(norm(x)) twice over, beside each other or one after the other, by hand: the stream is read where it says.
TEST(Sublayers, ReadTheStreamOrWhatEnteredTheLayer) {
  Model model = llama(1);
  const auto inputs_of_up = [&](Sublayer::Reads reads, bool norm) {
    Sublayer& second = model.layers[0].sublayers[1];
    second.reads = reads;
    second.norms.before.reset();
    if (norm) second.norms.before = Norm{.kind = Norm::Kind::rms};
    const Program program = forward(model, {});
    for (const Op& op : program.ops)
      if (op.scope.role == Role{Block::feed_forward, norm ? Part::norm : Part::up})
        return full_name(program[op.inputs[0]]);
    return std::string();
  };
  using Reads = Sublayer::Reads;
  EXPECT_EQ(inputs_of_up(Reads::stream, true), "layers.0.attention.residual.residual");
  EXPECT_EQ(inputs_of_up(Reads::entry, true), "embedding.token.embedded");
  EXPECT_EQ(inputs_of_up(Reads::first, false), "layers.0.attention.norm.normed");
}

TEST(Sublayers, ThatMakeNoSenseAreRefused) {
  Model model = llama(2);
  model.layers[1].sublayers[0].reads = Sublayer::Reads::first;
  EXPECT_EQ(error_of([&] { validate(model); }),
            "small llama: layer 1: its first sublayer reads what another does; expected it to read the stream");
  model.layers[1].sublayers.clear();
  EXPECT_EQ(error_of([&] { validate(model); }), "small llama: layer 1: it has no sublayers; expected at least 1");
}

}  // namespace
}  // namespace reckon

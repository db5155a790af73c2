// Programs of whole networks: repeats stand for what they say, gradients reach every parameter, the order is sound.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <map>
#include <set>

#include "compile/compile.h"
#include "count/ledger.h"
#include "model/modify.h"
#include "model/presets.h"
#include "network/forward.h"
#include "ops/adamw.h"
#include "ops/attention.h"
#include "passes/expand.h"
#include "passes/gradient.h"
#include "phases.h"
#include "program/builder.h"

namespace reckon {
namespace {

Program program_in(const Model& model, Phase phase) { return logical_program(model, workload_of(phase)); }

std::string in_phase(const Model& model, Phase phase) {
  return model.name + ", phase " + std::to_string(static_cast<int>(phase));
}

// Calls visit with every preset, and with variants that no preset has.
template <class Visit>
void for_each_model(Visit visit) {
  for (const Preset& preset : presets()) visit(load_model(std::string(preset.name)));
  Changes cross;
  cross.cross_attention = true;
  visit(modify(load_model("mini-gpt"), cross));
  Changes post;
  post.norm_position = Changes::NormPosition::post;
  post.positions = Changes::PositionKind::sinusoidal;
  visit(modify(load_model("mini-gpt"), post));
}

void expect_equal(const WorkTotals& a, const WorkTotals& b) {
  EXPECT_EQ(a.matmul, b.matmul);
  EXPECT_EQ(a.elementwise, b.elementwise);
  EXPECT_EQ(a.read, b.read);
  EXPECT_EQ(a.read_least, b.read_least);
  EXPECT_EQ(a.written, b.written);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.launches, b.launches);
}

TEST(Builder, RefusesToReadATensorThatWasNeverMade) {
  Builder builder(Program{});
  const TensorId made = builder.activation("made", {2, 3});
  EXPECT_EQ(builder.shape(made).rank(), 2);
  EXPECT_THROW(builder.shape(no_tensor), Error);
  EXPECT_THROW(builder.shape(made + 1), Error);
  EXPECT_THROW(builder.alias(no_tensor, "of", {6}), Error);
}

TEST(Expand, GivesTheSameLedgerForEveryPresetInEveryPhase) {
  for_each_model([](const Model& model) {
    for (Phase phase : phases_of(model)) {
      SCOPED_TRACE(in_phase(model, phase));
      const Program folded = program_in(model, phase);
      const Ledger a = read_ledger(folded), b = read_ledger(expand(folded));
      EXPECT_EQ(a.parameter_totals.total, b.parameter_totals.total);
      EXPECT_EQ(a.parameter_totals.active, b.parameter_totals.active);
      EXPECT_EQ(a.parameter_totals.embedding, b.parameter_totals.embedding);
      EXPECT_EQ(a.parameter_totals.tensors, b.parameter_totals.tensors);
      expect_equal(a.forward, b.forward);
      expect_equal(a.backward, b.backward);
      expect_equal(a.optimizer, b.optimizer);
    }
  });
}

TEST(Expand, GivesTheSameLedgerWhenValuesAreComputedAgain) {
  for (const char* name : {"mini-gpt", "gpt2", "gemma-2-2b", "deepseek-v3", "gpt-oss-20b", "mixtral-8x7b"}) {
    for (Recompute what : {Recompute::selective, Recompute::block}) {
      SCOPED_TRACE(name);
      Workload workload = workload_of(Phase::train);
      workload.tokens = 64;
      const Program plain = logical_program(load_model(name), workload);
      workload.recompute = what;
      const Program folded = logical_program(load_model(name), workload);
      const Ledger a = read_ledger(folded), b = read_ledger(expand(folded)), without = read_ledger(plain);
      expect_equal(a.forward, without.forward);
      expect_equal(a.forward, b.forward);
      expect_equal(a.backward, b.backward);
      expect_equal(a.optimizer, b.optimizer);
      // Never more than the whole forward pass again; attention's products cost something.
      EXPECT_GT(a.backward.matmul, without.backward.matmul);
      EXPECT_LE(a.backward.matmul, without.backward.matmul + without.forward.matmul);
    }
  }
}

// The factor of ALiBi is what unlike_layers() below changes, so of that only whether there is one.
bool same_attributes(const Op& a, const Op& b) {
  if (a.operation != &softmax_operation && a.operation != &softmax_backward_operation) return a.same_attributes(b);
  const auto &x = a.attributes<SoftmaxAttributes>(), &y = b.attributes<SoftmaxAttributes>();
  return x.mask == y.mask && (x.alibi != 0.0) == (y.alibi != 0.0);
}

// Two programs are the same if their ops agree one by one and one renaming of tensors fits them all.
void expect_same_program(const Program& a, const Program& b) {
  ASSERT_EQ(a.ops.size(), b.ops.size());
  std::map<TensorId, TensorId> to_b, to_a;
  const auto same_tensor = [&](TensorId x, TensorId y) {
    if (x == no_tensor || y == no_tensor) return x == y;
    const bool agree = to_b.try_emplace(x, y).first->second == y && to_a.try_emplace(y, x).first->second == x;
    // The gradient of what enters a repeat is named after that in every iteration, so gradients go without names here.
    const bool named_alike = a[x].kind == TensorKind::gradient || full_name(a[x]) == full_name(b[y]);
    return agree && named_alike && a[x].shape == b[y].shape && a[x].kind == b[y].kind;
  };
  const auto same_tensors = [&](const TensorIds& x, const TensorIds& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_tensor);
  };
  for (std::size_t i = 0; i < a.ops.size(); ++i) {
    const Op &x = a.ops[i], &y = b.ops[i];
    ASSERT_EQ(x.operation, y.operation) << "op " << i;
    ASSERT_EQ(full_name(x.scope), full_name(y.scope)) << "op " << i;
    ASSERT_EQ(x.stage, y.stage) << "op " << i;
    ASSERT_TRUE(same_attributes(x, y)) << "op " << i;
    ASSERT_TRUE(same_tensors(x.inputs, y.inputs))
        << "inputs of op " << i << ", " << x.operation->name << " of " << full_name(x.scope);
    ASSERT_TRUE(same_tensors(x.outputs, y.outputs)) << "outputs of op " << i << ", " << x.operation->name;
  }
  ASSERT_TRUE(same_tensor(a.output, b.output));
  for (const auto& [x, y] : to_b) ASSERT_TRUE(same_tensor(a[x].storage, b[y].storage)) << full_name(a[x]);
}

// A model whose layers differ in a field that no cost depends on, so that no two of them make a repeat.
Model unlike_layers(Model model) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) find<Attention>(model.layers[i])->alibi_scale = 1.0 + double(i);
  return model;
}

std::int64_t layers_in_bodies(const Program& program) {
  std::int64_t layers = 0;
  for (const Repeat& repeat : program.repeats) layers += repeat.count * repeat.layers;
  return layers;
}

TEST(Expand, WritesWhatTheNetworkWritesWhenNoTwoLayersAreAlike) {
  for_each_model([](const Model& model) {
    if (model.layers.size() < 2) return;
    for (const Layer& layer : model.layers.written())
      if (find<Attention>(layer) == nullptr) return;  // it has no field that makes it unlike others and changes nothing
    for (Phase phase : phases_of(model)) {
      SCOPED_TRACE(in_phase(model, phase));
      const Program folded = program_in(model, phase), unfolded = program_in(unlike_layers(model), phase);
      for (const Repeat& repeat : unfolded.repeats) ASSERT_EQ(repeat.count, 1);
      // A layer that others read is no body by itself, only with them: then the norms of gradients, which are taken
      // body by body, are in another order.
      if (layers_in_bodies(folded) != layers_in_bodies(unfolded)) continue;
      expect_same_program(expand(folded), expand(unfolded));
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(Expand, LeavesEveryTensorWrittenOnceAndBeforeItIsRead) {
  for_each_model([](const Model& model) {
    for (Phase phase : phases_of(model)) {
      SCOPED_TRACE(in_phase(model, phase));
      const Program program = expand(program_in(model, phase));
      std::vector<bool> made(program.tensors.size());
      for (std::size_t id = 0; id < made.size(); ++id) {
        const TensorKind kind = program.tensors[id].kind;
        // A cache that is a view was made by an append; others are there before the program starts.
        made[id] = kind == TensorKind::parameter || kind == TensorKind::input || kind == TensorKind::constant ||
                   kind == TensorKind::optimizer_state ||
                   (kind == TensorKind::cache && program.tensors[id].storage == no_tensor);
      }
      for (const Op& op : program.ops) {
        ASSERT_EQ(op.repeat, -1);
        for (TensorId id : op.inputs) {
          if (id == no_tensor) continue;
          ASSERT_TRUE(made[static_cast<std::size_t>(id)]) << full_name(program[id]) << " is read before it is made";
        }
        const bool in_place = op.operation == &adamw_operation;
        for (TensorId id : op.outputs) {
          if (id == no_tensor) continue;
          ASSERT_TRUE(in_place || !made[static_cast<std::size_t>(id)]) << full_name(program[id]) << " is made twice";
          made[static_cast<std::size_t>(id)] = true;
        }
      }
      ASSERT_TRUE(made[static_cast<std::size_t>(program.output)]);
    }
  });
}

TEST(Expand, GivesEveryParameterANameOfItsOwn) {
  for_each_model([](const Model& model) {
    const Program program = expand(program_in(model, Phase::forward));
    std::set<std::string> names;
    for (const Tensor& tensor : program.tensors) {
      if (tensor.kind != TensorKind::parameter) continue;
      EXPECT_TRUE(names.insert(full_name(tensor)).second) << full_name(tensor);
    }
    for (const std::size_t layer : {std::size_t{0}, model.layers.size() - 1}) {
      const std::string prefix = "layers." + std::to_string(layer) + ".";
      const auto found = names.lower_bound(prefix);
      EXPECT_TRUE(found != names.end() && found->starts_with(prefix)) << model.name << ", " << prefix;
    }
  });
}

// How often each repeat of the forward pass runs, and how many layers it has.
std::vector<std::pair<std::int64_t, std::int32_t>> repeats_of(const std::string& name) {
  std::vector<std::pair<std::int64_t, std::int32_t>> found;
  for (const Repeat& repeat : program_in(load_model(name), Phase::forward).repeats) {
    found.emplace_back(repeat.count, repeat.layers);
  }
  return found;
}

TEST(Repeats, CoverAStackOfLayersThatAreAlikeOrFollowAPattern) {
  using Expected = std::vector<std::pair<std::int64_t, std::int32_t>>;
  EXPECT_EQ(repeats_of("llama-7b"), (Expected{{32, 1}}));
  EXPECT_EQ(repeats_of("gemma-2-2b"), (Expected{{13, 2}})) << "sliding and full in turns";
  EXPECT_EQ(repeats_of("deepseek-v3"), (Expected{{3, 1}, {58, 1}})) << "three dense layers first";
}

// Ernie counts what corrects its router among the parameters, though nothing trains it; indexers stay as they are.
bool is_trained(const Tensor& tensor) {
  return tensor.kind == TensorKind::parameter && tensor.scope.role.part != Part::correction &&
         !is_indexer(tensor.scope.role);
}

TEST(Gradient, EveryParameterOfEveryPresetGetsOneOfItsOwnShape) {
  for_each_model([](const Model& model) {
    SCOPED_TRACE(model.name);
    if (!why_not_trained(model).empty()) return;
    const Differentiated d = gradient(forward(model, workload_of(Phase::train)));
    for (std::size_t id = 0; id < d.gradients.size(); ++id) {
      const Tensor& tensor = d.program.tensors[id];
      if (!is_trained(tensor)) continue;
      ASSERT_NE(d.gradients[id], no_tensor) << full_name(tensor);
      EXPECT_EQ(d.program[d.gradients[id]].shape, tensor.shape) << full_name(tensor);
      EXPECT_EQ(d.program[d.gradients[id]].kind, TensorKind::gradient) << full_name(tensor);
    }
  });
}

TEST(Optimizer, StepsEveryParameterOnceWithTheGradientOfTheSameLayer) {
  for_each_model([](const Model& model) {
    SCOPED_TRACE(model.name);
    if (!why_not_trained(model).empty()) return;
    const Program program = expand(program_in(model, Phase::train));
    std::set<TensorId> stepped;
    for (const Op& op : program.ops) {
      if (op.operation != &adamw_operation) continue;
      const Tensor &parameter = program[op.inputs[0]], &gradient = program[op.inputs[1]];
      EXPECT_TRUE(stepped.insert(op.inputs[0]).second) << full_name(parameter);
      EXPECT_EQ(full_name(gradient), full_name(parameter) + ".gradient");
    }
    std::size_t parameters = 0;
    for (const Tensor& tensor : program.tensors) parameters += is_trained(tensor) ? 1 : 0;
    EXPECT_EQ(stepped.size(), parameters);
  });
}

TEST(Optimizer, ClipsEveryParameterByTheOneNormOfAllGradients) {
  const Program program = expand(program_in(load_model("llama-7b"), Phase::train));
  std::set<TensorId> norms, summed;
  TensorId last_sum = no_tensor;
  std::size_t parameters = 0;
  for (const Op& op : program.ops) {
    if (op.operation == &squared_norm_operation) {
      EXPECT_EQ(op.inputs[0], last_sum) << "the chain of sums is broken";
      last_sum = op.outputs[0];
      summed.insert(op.inputs[1]);
    }
    if (op.operation == &adamw_operation) {
      norms.insert(op.inputs[4]);
      ++parameters;
    }
  }
  EXPECT_EQ(summed.size(), parameters);
  ASSERT_EQ(norms.size(), 1u);
  EXPECT_EQ(program[*norms.begin()].storage, last_sum);
}

TEST(Optimizer, DecaysMatricesAndSparesNormsAndBiases) {
  const Program program = program_in(load_model("gpt2"), Phase::train);
  for (const Op& op : program.ops) {
    if (op.operation != &adamw_operation) continue;
    const Tensor& parameter = program[op.inputs[0]];
    EXPECT_EQ(op.attributes<AdamwAttributes>().decay,
              parameter.label.piece == Piece::weight && parameter.shape.rank() == 2)
        << full_name(parameter);
  }
}

TEST(Forward, BackwardProductsAreTwiceTheForwardOnesInAPlainNetwork) {
  // Each product of a forward pass has two in the backward pass, but none goes back to what the tokens are.
  const Ledger ledger = count(load_model("gpt2"), workload_of(Phase::train));
  EXPECT_EQ(ledger.backward.matmul, 2 * ledger.forward.matmul);
}

TEST(Forward, PrefillAsksForOneRowOfLogitsAndDecodeForOneToken) {
  const Model model = load_model("gpt2");
  const std::int64_t head = 2 * 768 * 50257;
  Workload prefill = workload_of(Phase::prefill);
  const Count blocks = count(model, Workload{}).forward.matmul - 1024 * head;
  EXPECT_EQ(count(model, prefill).forward.matmul, blocks + head);
  prefill.logits = Logits::none;
  EXPECT_EQ(count(model, prefill).forward.matmul, blocks);
  // One token after 1,023: 12 layers of 24·d² for the weights, 4·1024·d for scores and mixing.
  EXPECT_EQ(count(model, workload_of(Phase::decode)).forward.matmul, 12 * (24 * 768 * 768 + 4 * 1024 * 768) + head);
}

TEST(Forward, CountsOnlyVisiblePairsWhenAskedTo) {
  const Model model = load_model("gpt2");
  Workload workload;
  const Count full = count(model, workload).forward.matmul;
  workload.causal = Causal::exact;
  const std::int64_t pairs = 1024 * 1024 - 1024 * 1025 / 2;  // that are masked, in each head of each layer
  EXPECT_EQ(count(model, workload).forward.matmul, full - 12 * 4 * pairs * 768);
}

TEST(Forward, AWindowKeepsNoMoreOfThePastThanItShows) {
  const Model model = load_model("mistral-7b-v0.1");  // a window of 4,096 keys
  Workload workload = workload_of(Phase::decode);
  workload.past = 10000;
  const Program program = logical_program(model, workload);
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != TensorKind::cache) continue;
    EXPECT_EQ(tensor.shape[1].size, 4096) << full_name(tensor);
  }
}

TEST(Forward, DecodingWithLatentAttentionNeverExpandsTheCache) {
  const Model model = load_model("deepseek-v2-lite");  // 16 heads, rank 512, 64 rotated
  Workload workload = workload_of(Phase::decode);
  workload.past = 999;
  const Ledger ledger = count(model, workload);
  std::map<Role, Count> flops;  // of one layer
  for (const WorkEntry& entry : ledger.work) flops[entry.place.role] = entry.each.matmul;
  EXPECT_EQ((flops[{Block::attention, Part::scores}]), 2 * 16 * 1000 * (512 + 64));
  EXPECT_EQ((flops[{Block::attention, Part::mixing}]), 2 * 16 * 1000 * 512);
}

TEST(Forward, ParametersAreTheSameForEveryWorkload) {
  for_each_model([](const Model& model) {
    const Count expected = count_parameters(model);
    for (Phase phase : phases_of(model)) {
      EXPECT_EQ(count(model, workload_of(phase)).parameter_totals.total, expected) << in_phase(model, phase);
    }
  });
}

TEST(Forward, WorkloadsThatMakeNoSenseAreRefusedWithASentence) {
  const Model model = load_model("gpt2");
  const auto sentence = [&](Workload workload) -> std::string {
    try {
      count(model, workload);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  };
  Workload workload;
  workload.batch = 0;
  EXPECT_EQ(sentence(workload), "`batch` is 0; expected 1 to 2^40");
  workload = {};
  workload.tokens = -5;
  EXPECT_EQ(sentence(workload), "`tokens` is -5; expected 1 to 2^40");
  workload = {};
  workload.tokens = 1025;
  EXPECT_EQ(sentence(workload),
            "gpt2 has 1,024 learned positions, but 1,025 are asked for; give it more with `context`");
  workload = {};
  workload.past = 7;
  EXPECT_EQ(sentence(workload),
            "`past` is 7 in phase forward, which has no cache; expected 0, or phase prefill or decode");
  workload = workload_of(Phase::train);
  workload.logits = Logits::last;
  EXPECT_EQ(sentence(workload), "training needs every logit; expected `logits` all");
}

TEST(Forward, ATotalPastSixtyThreeBitsIsAnErrorAndNoWrap) {
  Workload workload;
  workload.batch = std::int64_t{1} << 40;
  workload.tokens = std::int64_t{1} << 40;
  EXPECT_THROW(count(load_model("llama-7b"), workload), Error);
}

}  // namespace
}  // namespace reckon

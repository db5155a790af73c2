// The search of layouts: what a step is put together of, that pruning loses nothing, and what is said of the others.
#include <gtest/gtest.h>
#include <reckon/error.h>

#include <algorithm>
#include <map>
#include <set>

#include "family_references.h"
#include "model/load.h"
#include "model/read.h"
#include "network/forward.h"
#include "network/parameter_types.h"
#include "time/fit.h"
#include "time/layouts.h"
#include "time/reasons.h"
#include "time/search.h"
#include "time/serving.h"

namespace reckon {
namespace {

Search training(const char* model, const char* hardware, std::int64_t tokens, std::int64_t sequences) {
  Search search;
  search.model = find_preset(model);
  search.workload = workload_of(Phase::train);
  search.workload.tokens = tokens;
  search.workload.precision = {.weights = DType::bfloat16,
                               .activations = DType::bfloat16,
                               .cache = DType::bfloat16,
                               .gradients = DType::float32};
  search.workload = resolve(search.model, search.workload);
  search.target = gpu_target;
  search.hardware = read_hardware(hardware);
  search.sequences = sequences;
  search.node = std::min<std::int64_t>(8, search.hardware.devices);
  search.memory_share = 0.92;
  return search;
}

TEST(LayoutSearch, divides_numbers) {
  EXPECT_EQ(divisors(1), std::vector<std::int64_t>{1});
  EXPECT_EQ(divisors(12), (std::vector<std::int64_t>{1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(divisors(16384).size(), 15u);
  EXPECT_EQ(divisors(100000).size(), 36u);  // 2⁵·5⁵
}

// Two stages, four micro-batches, ZeRO 1: the slowest takes 3 + 6 s and sends for 1 s each way.
TEST(LayoutSearch, puts_a_step_together_as_a_pipeline_runs) {
  Workload workload = workload_of(Phase::train);
  workload.layout = {.tensor = 2, .pipeline = 2, .data = 4, .zero = 1, .micro_batches = 4};
  StageCosts slow, fast;
  PassCosts &forward = slow.passes[0], &backward = slow.passes[1], &optimizer = slow.passes[2];
  forward.device = 3;
  backward.device = 6;
  of(forward.link, Group::tensor) = 1;
  of(backward.link, Group::tensor) = 1;
  of(forward.sent, Group::tensor) = 100;
  of(backward.sent, Group::tensor) = 100;
  of(backward.once_link, Group::data) = 9;   // beside 6 s of computing in the last backward pass
  of(optimizer.once_link, Group::data) = 3;  // beside 3 s in the next forward pass
  slow.layers = 3;
  of(backward.once_sent, Group::data) = 50;
  of(optimizer.once_sent, Group::data) = 25;
  optimizer.device = 0.5;
  slow.memory.weights = 10;
  fast.passes[0].device = 1;
  fast.memory.weights = 20;
  const Step step = put_together(workload, {{0, 1}, {1, 1}}, {fast, slow});
  EXPECT_EQ(step.slowest_stage, 1);
  EXPECT_EQ(step.memory_stage, 0);
  EXPECT_EQ(step.memory.total(), 20);
  EXPECT_DOUBLE_EQ(step.seconds.computing(), 4 * 9.0);
  EXPECT_DOUBLE_EQ(step.seconds.waiting(Group::tensor), 4 * 2.0);
  EXPECT_DOUBLE_EQ(step.seconds.bubble, 11.0);  // (2 − 1)·(4 + 7)
  // Sums of 3 s each: the first two have 2 s of computing beside them, the last has none. Weights of 1 s each: the
  // first has none.
  EXPECT_DOUBLE_EQ(of(step.seconds.passes[1].link, Group::data), 1 + 1 + 3);
  EXPECT_DOUBLE_EQ(of(step.seconds.passes[2].link, Group::data), 1);
  EXPECT_DOUBLE_EQ(step.seconds.hidden, 12 - 6);
  EXPECT_DOUBLE_EQ(step.seconds.total(), 36 + 8 + 11 + 6 + 0.5);
  EXPECT_DOUBLE_EQ(of(step.sent, Group::tensor), 800);
  EXPECT_DOUBLE_EQ(of(step.sent, Group::data), 75);
  // Two interleaved pieces halve the bubble.
  workload.layout.virtual_stages = 2;
  EXPECT_DOUBLE_EQ(put_together(workload, {{0, 1}, {1, 1}}, {fast, slow}).seconds.bubble, 5.5);
}

// ZeRO 3 on two stages: each micro-batch gathers for 4 s beside 3 s of computing, and gathers and sums for 5 s
// beside 6.
TEST(LayoutSearch, what_is_exchanged_for_each_micro_batch_is_waited_for_where_it_takes_longer_than_computing) {
  Workload workload = workload_of(Phase::train);
  workload.layout = {.pipeline = 2, .data = 4, .zero = 3, .micro_batches = 4};
  StageCosts stage;
  stage.layers = 2;
  stage.passes[0].device = 3;
  stage.passes[1].device = 6;
  of(stage.passes[0].link, Group::data) = 4;
  of(stage.passes[1].link, Group::data) = 5;
  const StepSeconds seconds = put_together(workload, {{0, 1}, {1, 1}}, {stage, stage}).seconds;
  // 1 s more each time, and the first of eight gathers, of the 12 s that are beside computing
  EXPECT_DOUBLE_EQ(of(seconds.passes[0].link, Group::data), 4 * 1 + 12.0 / 8);
  EXPECT_DOUBLE_EQ(of(seconds.passes[1].link, Group::data), 20.0 / 8);
  EXPECT_DOUBLE_EQ(seconds.bubble, 3 + 1 + 6);  // a stage hands a micro-batch on when it has its weights
  EXPECT_DOUBLE_EQ(seconds.hidden, 4 * (4 + 5) - 4 * 1 - 12.0 / 8 - 20.0 / 8);
}

// Every way, timed one by one.
TEST(LayoutSearch, finds_what_timing_every_layout_finds) {
  struct Case {
    const char* model;
    std::int64_t tokens, sequences;
    std::optional<Recompute> recompute;
    double memory_share = 0.92;
    std::optional<std::int64_t> batch = {};
  };
  for (const auto& [model, tokens, sequences, recompute, share, batch] :
       {Case{"gpt2", 1024, 8, Recompute::block}, Case{"mixtral-8x7b", 1024, 8, Recompute::block},
        Case{"llama-3.2-1b", 8192, 1, Recompute::block}, Case{"gpt2", 1024, 32, {}, 0.013, 4}}) {
    Search search = training(model, "h200:8", tokens, sequences);
    search.wanted = 3;
    search.given.recompute = recompute;
    search.given.batch = batch;
    search.memory_share = share;
    const Plans plans = search_layouts(search);
    ASSERT_EQ(plans.best.size(), 3u) << model;
    const auto budget = static_cast<std::int64_t>(share * static_cast<double>(search.hardware.profile.memory_bytes));
    std::map<std::array<std::int64_t, 3>, double> of_each;
    std::string left_out;
    for (const Workload& split : splits_of(search, 8, left_out)) {
      const Layout& layout = split.layout;
      double best = 1e30;
      for (const Workload& way : ways_of(search, split)) {
        const Step step = step_of(search.model, way, search.target, search.hardware);
        if (step.memory.total() <= budget) best = std::min(best, step.seconds.total());
      }
      if (best == 1e30) continue;
      double& least = of_each.try_emplace({layout.tensor, layout.pipeline, layout.expert}, best).first->second;
      least = std::min(least, best);
    }
    std::vector<double> fastest;
    for (const auto& [split, seconds] : of_each) fastest.push_back(seconds);
    std::sort(fastest.begin(), fastest.end());
    ASSERT_GE(fastest.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(plans.best[i].step.seconds.total(), fastest[i], 1e-9 * fastest[i]) << model << i;
    EXPECT_LT(plans.timed, plans.layouts) << model;
    if (recompute) continue;
    // 2 GB for micro-batches of 4 sequences: some of the fastest compute blocks again, others need not.
    std::set<Recompute> found;
    for (const Planned& plan : plans.best) found.insert(plan.step.workload.recompute);
    EXPECT_EQ(found, (std::set{Recompute::none, Recompute::block}));
  }
}

// Llama 3 8B's state of 16 bytes a parameter, 18 with gradients in float32, is 144.5 GB, which one of 8 devices with
// 85.9 GB holds an eighth of: a step of one sequence, which leaves no data ranks, fits on context ranks.
TEST(LayoutSearch, context_ranks_of_one_sequence_share_the_state_of_training_out) {
  Search search = training("llama-3-8b", "h100:8", 131072, 1);
  search.given.context = 8;
  std::string left_out;
  const std::vector<Workload> splits = splits_of(search, 8, left_out);
  ASSERT_EQ(splits.size(), 1u);
  EXPECT_EQ(splits[0].layout.data, 1);
  std::set<std::int64_t> zeros;
  for (const Workload& way : ways_of(search, splits[0])) zeros.insert(way.layout.zero);
  EXPECT_EQ(zeros, (std::set<std::int64_t>{0, 1, 2, 3}));
  const Plans plans = search_layouts(search);
  ASSERT_EQ(plans.best.size(), 1u);
  EXPECT_GE(plans.best[0].step.workload.layout.zero, 1);
  search.given.context = 1;
  search.given.tensor = 8;
  for (const Workload& split : splits_of(search, 8, left_out)) EXPECT_EQ(most_zero(split), 0);  // nobody to share with
}

TEST(LayoutSearch, plans_are_of_all_devices_and_sequences_and_fit) {
  const Search search = training("llama-3-8b", "h100:64", 8192, 512);
  const Plans plans = search_layouts(search);
  ASSERT_FALSE(plans.best.empty());
  std::set<std::array<std::int64_t, 3>> splits;
  double before = 0;
  for (const Planned& plan : plans.best) {
    const Layout& layout = plan.step.workload.layout;
    EXPECT_EQ(layout.tensor * layout.context * layout.pipeline * layout.data, 64);
    EXPECT_LE(layout.tensor, 8);
    EXPECT_EQ(layout.data * layout.micro_batches * plan.step.workload.batch, 512);
    EXPECT_LE(plan.step.memory.total(), static_cast<std::int64_t>(0.92 * 80 * (1ll << 30)));
    EXPECT_EQ(plan.left, 80 * (1ll << 30) - plan.step.memory.total());
    EXPECT_GE(plan.step.seconds.total(), before);
    before = plan.step.seconds.total();
    EXPECT_TRUE(layout.virtual_stages == 1 || layout.micro_batches % layout.pipeline == 0);
    EXPECT_GT(plan.mfu, 0.05);
    EXPECT_LT(plan.mfu, 0.75);  // no product is assumed to reach more of the peak
    EXPECT_NEAR(plan.tokens_per_second, 512 * 8192 / plan.step.seconds.total(), 1);
    EXPECT_TRUE(splits.insert({layout.tensor, layout.pipeline, layout.expert}).second);
    EXPECT_EQ(plan.why_not.empty(), &plan == &plans.best.front());
  }
}

// 12 sequences over 2 data ranks are 6, 3, 2 or 1 micro-batches: 6 and 2 are whole rounds of 2 stages, none of 4.
TEST(LayoutSearch, interleaves_only_whole_rounds_of_micro_batches) {
  Search search = training("llama-3-8b", "h100:8", 8192, 12);
  search.given.tensor = search.given.context = 1;
  search.given.data = 2;
  std::string left_out;
  std::vector<Workload> splits = splits_of(search, 8, left_out);
  ASSERT_EQ(splits.size(), 1u);
  ASSERT_EQ(splits[0].layout.pipeline, 4);
  for (const Workload& way : ways_of(search, splits[0])) EXPECT_EQ(way.layout.virtual_stages, 1);
  search.given.pipeline = 2;
  search.given.tensor.reset();
  splits = splits_of(search, 8, left_out);
  ASSERT_EQ(splits.size(), 1u);
  std::set<std::int64_t> interleaved;
  for (const Workload& way : ways_of(search, splits[0]))
    if (way.layout.virtual_stages > 1) interleaved.insert(way.layout.micro_batches);
  EXPECT_EQ(interleaved, (std::set<std::int64_t>{2, 6}));
}

TEST(LayoutSearch, keeps_to_what_is_given) {
  Search search = training("llama-3-8b", "h100:64", 8192, 512);
  search.given.tensor = 4;
  search.given.pipeline = 2;
  search.given.zero = 1;
  search.given.recompute = Recompute::none;
  search.given.sequence = true;
  const Plans plans = search_layouts(search);
  for (const Planned& plan : plans.best) {
    EXPECT_EQ(plan.step.workload.layout.tensor, 4);
    EXPECT_EQ(plan.step.workload.layout.pipeline, 2);
    EXPECT_EQ(plan.step.workload.layout.zero, 1);
    EXPECT_TRUE(plan.step.workload.layout.sequence);
    EXPECT_EQ(plan.step.workload.recompute, Recompute::none);
  }
  search.accepts = [](const Workload&) { return false; };
  EXPECT_TRUE(search_layouts(search).best.empty());
}

TEST(LayoutSearch, shares_nothing_of_an_optimizer_out_that_steps_whole_matrices) {
  Search search = training("llama-3-8b", "h100:64", 8192, 512);
  search.workload.optimizer = Optimizer::muon;
  const Plans plans = search_layouts(search);
  ASSERT_FALSE(plans.best.empty());
  for (const Planned& plan : plans.best) EXPECT_EQ(plan.step.workload.layout.zero, 0);
  search.given.zero = 1;
  EXPECT_TRUE(search_layouts(search).best.empty());
}

// 405.85B parameters take at least 16 bytes each: 6.05 TB, of which 64 devices have 64 · 80 GiB · 0.92 = 5.06 TB.
TEST(LayoutSearch, says_how_many_devices_would_do) {
  const Search search = training("llama-3.1-405b", "h100:64", 8192, 512);
  EXPECT_TRUE(search_layouts(search).best.empty());
  const std::string text = what_would_fit(search);
  EXPECT_NE(text.find("llama-3.1-405b does not fit on 64 × h100-sxm"), std::string::npos) << text;
  EXPECT_NE(text.find("; 128 would do"), std::string::npos) << text;
}

// More devices are not always better: what does not divide is no advice.
TEST(LayoutSearch, names_the_first_number_of_devices_that_does) {
  constexpr std::int64_t budget = 1 << 30;
  const auto bytes = [&](std::int64_t n) {
    return n == 16 || n == 64 ? std::optional(budget) : n == 1024 ? std::optional(2 * budget) : std::nullopt;
  };
  EXPECT_EQ(devices_that_would_do(8, 0, budget, "", bytes), "; 16 would do");
  EXPECT_EQ(devices_that_would_do(16, 0, budget, "", bytes), "; 64 would do");
  const std::string none = "; no power of two of devices up to 65,536 would do: ";
  EXPECT_EQ(devices_that_would_do(100, 0, budget, "", bytes),
            none + "the layout that needs the least takes 2.00 GiB of a device");
  EXPECT_EQ(devices_that_would_do(1024, 0, budget, "", bytes),
            none + "no layout of so many divides layers, heads and sequences");
  // Too few for the state of all parameters together are not asked about.
  std::vector<std::int64_t> asked;
  const auto listed = [&](std::int64_t n) {
    asked.push_back(n);
    return bytes(n);
  };
  EXPECT_EQ(devices_that_would_do(8, 20 * budget, budget, "", listed), "; 64 would do");
  EXPECT_EQ(asked, (std::vector<std::int64_t>{32, 64}));
  const auto joins_256 = [&](std::int64_t n) -> std::optional<std::int64_t> {
    if (n > 256) throw Error("no link joins so many");
    return 4 * budget;
  };
  EXPECT_EQ(devices_that_would_do(100, 0, budget, "", joins_256),
            none + "the layout that needs the least takes 4.00 GiB of a device; no link joins so many");
  EXPECT_EQ(devices_that_would_do(256, 0, budget, "", joins_256), none + "no link joins so many");
}

// 405.85B parameters in bfloat16 are 755.9 GiB on a replica of one rank, however many of them there are.
TEST(LayoutSearch, says_why_no_number_of_devices_would_do) {
  Search search = training("llama-3.1-405b", "h100:8", 8192, 1);
  search.given.tensor = search.given.pipeline = 1;
  const std::string text = what_would_fit_serving(search);
  EXPECT_NE(text.find("; no power of two of devices up to 65,536 would do: the layout that needs the least takes 76"),
            std::string::npos)
      << text;
}

// 16 bytes a parameter alone (weights and gradients in bfloat16) do not decide what activations need.
TEST(LayoutSearch, says_that_computing_blocks_again_would_fit) {
  Search search = training("llama-3-8b", "h100:8", 131072, 8);
  search.given.recompute = Recompute::none;
  search.given.context = 1;
  if (!search_layouts(search).best.empty()) GTEST_SKIP() << "it fits without";
  const std::string text = what_would_fit(search);
  EXPECT_NE(text.find("whole blocks were computed again"), std::string::npos) << text;
}

TEST(LayoutSearch, gives_the_largest_loss_as_the_reason) {
  Step fast, slow;
  fast.workload.layout = slow.workload.layout = {.pipeline = 4, .micro_batches = 8};
  fast.seconds.passes[0].device = 10;
  slow.seconds.passes[0].device = 10.1;
  slow.seconds.bubble = 2;
  EXPECT_EQ(
      why_slower(slow, fast),
      "2.10 s slower a step: 2.00 s more bubble, 16.5% of the step: 4 stages fill and drain over 8 micro-batches");
  slow.seconds.bubble = 0;
  of(slow.seconds.passes[1].link, Group::tensor) = 1;
  EXPECT_EQ(why_slower(slow, fast), "1.10 s slower a step: 1.00 s more waiting for tensor ranks");
  slow.seconds.passes[0].device = 11;
  slow.workload.recompute = Recompute::block;
  EXPECT_EQ(why_slower(slow, fast),
            "2.00 s slower a step: 1.00 s more computing, as whole blocks are computed again, and 1.00 s more waiting "
            "for tensor ranks");
}

TEST(LayoutSearch, serves_with_replicas_of_the_largest_batch_that_fits) {
  Search search = training("llama-3-8b", "h100:8", 8192, 1);
  const ServingPlans plans = search_serving(search, std::nullopt);
  ASSERT_FALSE(plans.best.empty());
  const auto budget = static_cast<std::int64_t>(0.92 * 80 * (1ll << 30));
  for (const Served& served : plans.best) {
    const Layout& layout = served.workload.layout;
    EXPECT_EQ(layout.tensor * layout.pipeline * served.replicas, 8);
    EXPECT_LE(served.memory.total(), budget);
    // 131,072 bytes a token in bfloat16, 1 GiB a sequence of 8,192, over the ranks of a replica
    EXPECT_NEAR(static_cast<double>(served.memory.cache),
                static_cast<double>(served.sequences) * (1ll << 30) / static_cast<double>(8 / served.replicas),
                0.02 * static_cast<double>(served.memory.cache));
    EXPECT_GT(served.memory.total() + served.memory.cache / served.sequences * layout.pipeline, budget - (1ll << 28));
    EXPECT_NEAR(served.tokens_per_second,
                static_cast<double>(served.sequences * served.replicas) / served.token_seconds, 1);
    // Weights and cache are read once a token: 3,352 GB/s at the most.
    EXPECT_GT(served.token_seconds, static_cast<double>(served.memory.weights) / 3.352e12);
  }
  const double goal = plans.best.front().token_seconds / 2;
  const ServingPlans sooner = search_serving(search, goal);
  for (const Served& served : sooner.best) EXPECT_LE(served.token_seconds, goal);
  EXPECT_FALSE(sooner.best.empty());
  const ServingPlans never = search_serving(search, 1e-6);
  EXPECT_TRUE(never.best.empty());
  ASSERT_TRUE(never.soonest);
  EXPECT_GT(never.soonest->token_seconds, 1e-6);
}

// Jamba has attention, and so a cache that grows, in one layer of eight: of 16 stages of 2 layers, in every fourth.
TEST(LayoutSearch, looks_at_each_kind_of_stage) {
  Search search = training("jamba-1.5-mini", "h100:16", 4096, 1);
  const Layout layout{.pipeline = 16};
  std::int64_t stages = 0;
  for (const StageKind& kind : different_stages(search.model, layout)) stages += kind.count;
  EXPECT_EQ(stages, 16);
  EXPECT_EQ(different_stages(find_preset("llama-3-8b"), layout).size(), 3u);
  search.given.pipeline = 16;
  const ServingPlans plans = search_serving(search, std::nullopt);
  ASSERT_FALSE(plans.best.empty());
  Workload workload = plans.best.front().workload;
  workload.batch = plans.best.front().sequences;
  workload.layout.stage = -1;  // the fullest of all
  EXPECT_LE(bytes_needed(search.model, workload, search.target), plans.best.front().memory.total());
}

// The first of two stages has matrices in int8 alone, the second in int4.
TEST(LayoutSearch, says_what_was_assumed_of_any_stage) {
  Search search = training("llama-3.2-1b", "h100:2", 4096, 1);
  ParameterTypes types = *layer_matrices_as(search.model, DType::int8);
  for (auto& [key, type] : types)
    if (key.scope.layer >= 8) type = DType::int4;
  search.workload.parameter_types = std::make_shared<ParameterTypes>(types);
  search.given.pipeline = 2;
  const std::vector<std::string> assumed = search_serving(search, std::nullopt).assumptions;
  for (const char* sentence :
       {"weights in int8 are multiplied in bfloat16", "weights in int4 are multiplied in bfloat16"})
    EXPECT_EQ(std::count(assumed.begin(), assumed.end(), sentence), 1) << sentence;
}

TEST(LayoutSearch, gathers_the_weights_of_recurrences_for_zero_3) {
  Search search = training("falcon-mamba-7b", "h100:8", 1024, 8);
  search.given.zero = 3;
  const Plans plans = search_layouts(search);
  ASSERT_FALSE(plans.best.empty());
  EXPECT_EQ(plans.best.front().step.workload.layout.zero, 3);
}

// Tensor ranks would share out the keys that Inkling's convolutions read.
TEST(LayoutSearch, leaves_out_what_an_operation_has_no_rule_for) {
  Search search = training("gpt2", "h200:4", 1024, 1);
  const nlohmann::json all = family_references::read_json(family_references::folder() / "configs/inkling_text.json");
  search.model = read_config(all["configs"][0]["config"], "config.json");
  const ServingPlans plans = search_serving(search, std::nullopt);
  ASSERT_FALSE(plans.best.empty());
  for (const Served& served : plans.best) EXPECT_EQ(served.workload.layout.tensor, 1);
  EXPECT_EQ(plans.left_out, "short convolutions cannot be shared out over tensor or context ranks");
  search.given.tensor = 2;
  EXPECT_THROW(search_serving(search, std::nullopt), Error);
}

// With 8 T4s, as many as a link joins, nothing of Falcon Mamba's training fits: tensor ranks, which would share its
// matrices out further, are left out, and that is said.
TEST(LayoutSearch, says_of_what_fits_on_no_number_of_devices_which_layouts_are_left_out) {
  const std::string why = what_would_fit(training("falcon-mamba-7b", "t4:4", 8192, 8));
  EXPECT_NE(why.find("no power of two of devices"), std::string::npos) << why;
  EXPECT_TRUE(why.ends_with("; recurrences cannot be shared out over tensor or context ranks")) << why;
}

// Muon multiplies matrices, too, but these are none of the network's.
TEST(LayoutSearch, headline_is_the_networks_products) {
  Workload workload = training("gpt2", "h100:1", 1024, 1).workload;
  workload.batch = 1;
  const double adamw = headline_flops(find_preset("gpt2"), workload);
  workload.optimizer = Optimizer::muon;
  EXPECT_EQ(headline_flops(find_preset("gpt2"), workload), adamw);
}

}  // namespace
}  // namespace reckon

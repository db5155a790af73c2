// How long programs take on profiles: products in tiles, element-wise kernels, launches, collectives, and whole steps
// against measured ones.
#include "time/roofline.h"

#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <cmath>

#include "compile/compile.h"
#include "files/encoding.h"
#include "folder_fixture.h"
#include "model/load.h"
#include "network/parameter_types.h"
#include "ops/attend.h"
#include "ops/norm.h"
#include "ops/project.h"
#include "passes/expand.h"
#include "time/links.h"
#include "time/op_products.h"
#include "time/products.h"
#include "time/rates.h"

namespace reckon {
namespace {

constexpr double giga = 1e9, tera = 1e12;

// As reckon trains for on a GPU: weights, activations and gradients in bfloat16, moments and masters in float32.
Workload bfloat16_training(std::int64_t batch, std::int64_t tokens) {
  Workload workload = workload_of(Phase::train);
  workload.batch = batch;
  workload.tokens = tokens;
  workload.precision.weights = workload.precision.activations = workload.precision.gradients = DType::bfloat16;
  return workload;
}

Program program_of(const std::string& model, const Workload& workload, const Target& target = gpu_target) {
  return compile(load_model(model), workload, target).lowered;
}

// What the ops of one name take together.
double seconds_of(const Program& program, const Timing& timing, const Operation& operation) {
  double sum = 0;
  for (const OpTime& time : timing.ops)
    if (program.ops[time.op].operation == &operation) sum += time.seconds() * static_cast<double>(time.count);
  return sum;
}

// One tile of 128 × 256, 768 deep, on one multiprocessor of 1 TFLOP/s: 50.33 µs of multiply-adds, 1 µs until the first
// operands are there, 64 KiB written at 1 GB/s. Two tiles of 128 × 128, whose loads take 33.55 µs, would take 134.6 µs.
TEST(Product, is_a_tile_with_its_start_and_its_result) {
  const TiledDevice device{1, giga, 1e-6};
  EXPECT_NEAR(product_seconds({1, 128, 256, 768}, device, tera, 2), 50.331648e-6 + 1e-6 + 65.536e-6, 1e-12);
}

TEST(Product, one_tile_more_than_there_are_multiprocessors_takes_another_wave) {
  const TiledDevice device{132, 1e30, 0};
  const double full = product_seconds({1, 132 * 128, 256, 64}, device, tera, 2);
  EXPECT_NEAR(full, 2.0 * 132 * 128 * 256 * 64 / tera, 1e-12);
  EXPECT_NEAR(product_seconds({1, 133 * 128, 256, 64}, device, tera, 2), 2 * full, 1e-12);
  EXPECT_NEAR(product_seconds({1, 1, 1, 64}, device, tera, 2), full * 8 * 64 / (128 * 256), 1e-12);
}

// 132 tiles of 64 columns, each on a multiprocessor: one row is multiplied as 8, 12 as 16, 40 as 64. What they load of
// the matrix is left to the bytes of the op. From 65 rows on tiles load the matrix more than once.
TEST(Product, few_rows_or_columns_have_thin_tiles) {
  const TiledDevice device{132, 1e30, 0};
  const double columns = 132 * 64, row = 2 * columns * 200 / tera;
  const auto seconds = [&](double rows) { return product_seconds({1, rows, columns, 200}, device, tera, 2); };
  EXPECT_NEAR(seconds(1), 8 * row, 1e-12);
  EXPECT_NEAR(seconds(12), 16 * row, 1e-12);
  EXPECT_NEAR(seconds(40), 64 * row, 1e-12);
  EXPECT_GT(seconds(65), 128 * row);
  for (const double few : {1.0, 8.0, 20.0, 64.0})
    EXPECT_DOUBLE_EQ(product_seconds({1, columns, few, 200}, device, tera, 2), seconds(few));
}

// The gradient of a small weight has few tiles, and all the tokens as its depth: 4 tiles of 128 × 128, at 3/4 of the
// rate, in 32 slices on 132 multiprocessors. Adding up 32 partial sums takes 33.5 MB at 4 TB/s.
// Measured on an H200 with PyTorch 2.11, microseconds of rows × 4,096 by 28,672: 66.4, 65.0, 66.5, 76.6 and 90.7 for
// 128, 129, 160, 192 and 256 rows.
TEST(Product, a_tile_is_as_high_as_there_are_rows) {
  const Hardware hardware = read_hardware("h200");
  Rates rates(hardware);
  const auto seconds = [&](double rows) {
    return std::max(rates.product({1, rows, 28672, 4096}, ComputeType::bfloat16, 2), rates.memory(28672 * 4096 * 2, 0));
  };
  EXPECT_LT(seconds(129) / seconds(128), 1.2);
  EXPECT_NEAR(seconds(160) / 66.5e-6, 1, 0.15);
  EXPECT_NEAR(seconds(192) / 76.6e-6, 1, 0.15);
  EXPECT_NEAR(seconds(256) / 90.7e-6, 1, 0.15);
}

TEST(Product, a_deep_one_is_cut_into_slices) {
  const TiledDevice device{132, 4 * tera, 0};
  const double whole = 2.0 * 256 * 256 * 65536 / (500 * tera);
  const double seconds = product_seconds({1, 256, 256, 65536}, device, 500 * tera, 2);
  EXPECT_LT(seconds, 4 * whole);
  EXPECT_GT(seconds, whole);
}

TEST(Product, the_rate_behind_a_measured_time_gives_that_time) {
  const TiledDevice device{132, 4.2 * tera, 1e-6};
  for (const ProductShape& shape : {ProductShape{1, 8192, 8192, 8192}, ProductShape{1, 768, 768, 65536},
                                    ProductShape{8, 100, 200, 300}, ProductShape{1, 1, 4096, 4096}}) {
    const double rate = rate_behind(shape, device, 1.5e-3, 2);
    EXPECT_NEAR(product_seconds(shape, device, rate, 2), 1.5e-3, 1e-9);
  }
}

TEST(Product, without_a_number_of_multiprocessors_it_is_its_flops_over_the_rate) {
  EXPECT_DOUBLE_EQ(product_seconds({2, 3, 5, 7}, {}, 1000, 4), 2.0 * 2 * 3 * 5 * 7 / 1000);
}

// The times that the profile of the H200 was given: cuDNN's attention for 64 × 12 heads of 64, 1,024 tokens.
TEST(Roofline, attention_takes_as_long_as_it_was_measured) {
  const Program program = program_of("gpt2", bfloat16_training(64, 1024));
  const Timing timing = time_program(program, read_hardware("h200"));
  EXPECT_NEAR(seconds_of(program, timing, attend_operation), 12 * 0.30e-3, 1e-8);
  EXPECT_NEAR(seconds_of(program, timing, attend_backward_operation), 12 * 0.99e-3, 1e-8);
}

// Our own measurement on an H200 with PyTorch (compiled, bfloat16, AdamW, 1,024 tokens): tokens/s. The profile knows
// none of these.
TEST(Roofline, steps_of_training_on_an_h200_are_predicted_within_15_percent) {
  const struct {
    const char* model;
    std::int64_t batch;
    double tokens_per_second;
  } measured[] = {{"gpt2", 64, 533e3}, {"gpt2-medium", 32, 195e3}, {"gpt2-xl", 16, 48.0e3}};
  for (const auto& [model, batch, tokens_per_second] : measured) {
    const double seconds = static_cast<double>(batch * 1024) / tokens_per_second;
    const Timing timing = time_program(program_of(model, bfloat16_training(batch, 1024)), read_hardware("h200"));
    EXPECT_NEAR(timing.total() / seconds, 1, 0.15) << model;
  }
}

TEST(Roofline, the_stages_add_up_to_their_ops) {
  const Program program = program_of("gpt2", bfloat16_training(2, 256));
  const Timing timing = time_program(program, read_hardware("h100"));
  double sum = 0;
  for (const OpTime& time : timing.ops) sum += time.seconds() * static_cast<double>(time.count);
  EXPECT_NEAR(timing.total(), sum, 1e-9);
  EXPECT_GT(timing.forward, 0);
  EXPECT_GT(timing.backward, timing.forward);
  EXPECT_GT(timing.optimizer, 0);
}

// A stack that is written out takes as long as the folded one, whether launches bound it or not.
TEST(Roofline, a_folded_program_takes_as_long_as_the_expanded_one) {
  for (const std::int64_t tokens : {8, 64, 1024}) {
    Workload workload = workload_of(Phase::prefill);
    workload.tokens = tokens;
    workload.precision.weights = workload.precision.activations = DType::bfloat16;
    const Program folded = program_of("gpt2", workload);
    const Timing a = time_program(folded, read_hardware("h200"));
    const Timing b = time_program(expand(folded), read_hardware("h200"));
    EXPECT_NEAR(a.total() / b.total(), 1, 0.01) << tokens;
  }
}

// A step of a small network is done before the next kernel is launched: 6 µs for each kernel, whatever it does.
TEST(Roofline, a_small_step_is_bound_by_launches) {
  const Program program = program_of("mini-gpt", bfloat16_training(1, 8));
  const Timing timing = time_program(program, read_hardware("h200"));
  double waiting = 0;
  for (const OpTime& time : timing.ops) waiting += time.overhead * static_cast<double>(time.count);
  EXPECT_GT(waiting, 0.6 * timing.total());
  EXPECT_EQ(timing.ops.front().bound(), Bound::launch);
}

TEST(Roofline, decoding_is_bound_by_the_bytes_of_the_weights) {
  Workload workload = workload_of(Phase::decode);
  workload.past = 1023;
  workload.precision.weights = workload.precision.activations = workload.precision.cache = DType::bfloat16;
  const Program program = program_of("llama-3-8b", workload);
  // All weights but the embedding, of which one row is read, and the cache, at 4.2 TB/s.
  const double bytes = 2.0 * (8'030'261'248 - 128'256 * 4096.0) + 1024 * 131'072.0;
  const Timing timing = time_program(program, read_hardware("h200"));
  EXPECT_GT(timing.total(), bytes / 4.2e12);
  EXPECT_LT(timing.total(), 1.15 * bytes / 4.2e12);
  for (const OpTime& time : timing.ops) {
    if (program.ops[time.op].operation == &project_operation) {
      EXPECT_EQ(time.bound(), Bound::memory);
    }
  }
}

// An A100 reads 85% of 2,039 GB/s, a T4 of 300: whatever the type of weights, a token takes as long as its bytes.
TEST(Roofline, decoding_is_bound_by_bytes_in_every_type_of_weights) {
  const Model model = load_model("llama-3-8b");
  // Matrices of the layers; all but these and the embedding: the head and norms.
  const double matrices = 32 * (4096.0 * 10'240 + 3 * 4096.0 * 14'336);
  const double rest = 8'030'261'248 - 128'256 * 4096.0 - matrices;
  const struct {
    const char* device;
    double bandwidth;
    DType wide, weights;
    double wide_bytes, weight_bytes;
  } cases[] = {{"a100", 2039e9, DType::float32, DType::float32, 4, 4},
               {"a100", 2039e9, DType::bfloat16, DType::bfloat16, 2, 2},
               {"a100", 2039e9, DType::bfloat16, DType::int8, 2, 1},
               {"a100", 2039e9, DType::bfloat16, DType::int4, 2, 0.5},
               {"t4", 300e9, DType::float16, DType::int4, 2, 0.5}};
  for (const auto& [device, bandwidth, wide, weights, wide_bytes, weight_bytes] : cases) {
    for (const std::int64_t batch : {1, 4}) {
      Workload workload = workload_of(Phase::decode);
      workload.batch = batch;
      workload.past = 2047;
      workload.precision.weights = workload.precision.activations = workload.precision.cache = wide;
      if (weights != wide) workload.parameter_types = layer_matrices_as(model, weights);
      const Program program = compile(model, workload, gpu_target).lowered;
      const Timing timing = time_program(program, read_hardware(device));
      const double cache = static_cast<double>(batch) * 2048 * 65'536 * wide_bytes;
      const double seconds = (matrices * weight_bytes + rest * wide_bytes + cache) / (0.85 * bandwidth);
      EXPECT_GT(timing.total(), seconds) << device << " " << weight_bytes << " " << batch;
      EXPECT_LT(timing.total(), 1.25 * seconds) << device << " " << weight_bytes << " " << batch;
      for (const OpTime& time : timing.ops) {
        if (program.ops[time.op].operation == &project_operation) {
          EXPECT_EQ(time.bound(), Bound::memory) << device << " " << weight_bytes << " " << batch;
        }
      }
    }
  }
}

// Kernels of processors have blocks of 8 bits and fewer; numbers that are stored so narrow are widened to bfloat16, and
// multiplied no faster than these, whatever the processor's peak of int8 is.
TEST(Roofline, a_processor_multiplies_narrow_numbers_as_fast_as_what_they_are_widened_to) {
  const Model model = load_model("llama-3.2-1b");
  for (const char* device : {"core-i7-1165g7", "xeon-8480"}) {
    const auto products = [&](DType weights) {
      Workload workload = workload_of(Phase::prefill);
      workload.tokens = 512;
      workload.precision.weights = workload.precision.activations = workload.precision.cache = DType::bfloat16;
      if (weights != DType::bfloat16) workload.parameter_types = layer_matrices_as(model, weights);
      const Program program = compile(model, workload, cpu_target).lowered;
      const Timing timing = time_program(program, read_hardware(device));
      double seconds = 0;
      for (const OpTime& time : timing.ops)
        if (is_dense_product(program.ops[time.op])) seconds += time.compute * static_cast<double>(time.count);
      return seconds;
    };
    const double wide = products(DType::bfloat16);
    for (const DType narrow : {DType::int8, DType::int4, DType::float8_e4m3, DType::nf4})
      EXPECT_NEAR(products(narrow) / wide, 1, 1e-9) << device << " " << encoding_of(narrow).name;
  }
}

TEST(Roofline, says_what_is_assumed) {
  const Program program = program_of("gpt2", bfloat16_training(1, 64));
  EXPECT_EQ(
      time_program(program, read_hardware("h200")).assumptions,
      (std::vector<std::string>{"the host launches a kernel in 6 µs", "a kernel's first operands arrive after 1 µs"}));
  const std::vector<std::string> a100 = time_program(program, read_hardware("a100")).assumptions;
  for (const char* said :
       {"85% of the memory's bandwidth is reached", "large products in bfloat16 reach 75% of the peak",
        "attention's forward pass reaches 39% of the peak, as on an H200"})
    EXPECT_EQ(std::count(a100.begin(), a100.end(), said), 1) << said;
  const std::vector<std::string> t4 = time_program(program, read_hardware("t4")).assumptions;
  EXPECT_EQ(std::count(t4.begin(), t4.end(), "t4 has no rate for bfloat16: that of float32 is taken"), 1);
}

TEST(Roofline, says_that_recurrences_are_taken_to_go_token_by_token) {
  const auto says = [](const char* model, Phase phase, std::int64_t tokens, const char* device) {
    Workload workload = phase == Phase::train ? bfloat16_training(1, tokens) : workload_of(phase);
    workload.tokens = tokens;
    const Hardware hardware = read_hardware(device);
    const Target target = hardware.profile.kind == DeviceKind::cpu ? cpu_target : gpu_target;
    const std::vector<std::string> assumed = time_program(program_of(model, workload, target), hardware).assumptions;
    return std::count_if(assumed.begin(), assumed.end(), [](const std::string& sentence) {
      return sentence.find("token by token") != std::string::npos && sentence.ends_with("a lower bound");
    });
  };
  EXPECT_EQ(says("mamba2-780m", Phase::prefill, 64, "h100"), 1);
  EXPECT_EQ(says("mamba2-780m", Phase::train, 64, "h100"), 1);
  EXPECT_EQ(says("qwen3-next-80b-a3b", Phase::prefill, 64, "h100"), 1);  // the delta rule
  EXPECT_EQ(says("mamba2-780m", Phase::decode, 1, "h100"), 0);
  EXPECT_EQ(says("mamba2-780m", Phase::prefill, 64, "epyc-9654"), 0);  // whose kernel does so
  EXPECT_EQ(says("gpt2", Phase::prefill, 64, "h100"), 0);
}

TEST(Roofline, a_type_that_a_device_does_not_have_is_an_error) {
  Workload workload = workload_of(Phase::prefill);
  workload.tokens = 16;
  const Program program = program_of("gpt2", workload);
  EXPECT_EQ(error_of([&] { time_program(program, read_hardware("tpu-v4")); }),
            "tpu-v4 has no rate for products in float32; it has bfloat16, int8");
}

// A processor of 1 TFLOP/s and 100 GB/s that was measured.
Hardware measured_processor() {
  const auto json = nlohmann::json::parse(R"({
    "name": "mine", "kind": "cpu", "peak": {"float32": 1000000000000},
    "memory": {"bytes": 8589934592, "bandwidth": 100000000000},
    "efficiency": {
      "matmul": [{"type": "float32", "m": 64, "n": 768, "k": 768, "rate": 500000000000}],
      "read": [{"bytes": 1024, "rate": 90000000000}, {"bytes": 1048576, "rate": 50000000000}],
      "write": [{"bytes": 1024, "rate": 40000000000}],
      "operations": [
        {"name": "layer_norm", "type": "float32", "work": 1000, "rate": 2000000000},
        {"name": "layer_norm", "type": "float32", "work": 1000000, "rate": 8000000000}],
      "overhead": 0.00001}})");
  return {read_profile(json, "mine.json"), 1};
}

TEST(Roofline, what_was_measured_of_an_op_goes_before_its_bytes) {
  Workload workload = workload_of(Phase::prefill);
  workload.tokens = 64;
  const Program program = program_of("gpt2", workload, cpu_target);
  const Timing timing = time_program(program, measured_processor());
  bool norm_seen = false, product_seen = false;
  for (const OpTime& time : timing.ops) {
    const Op& op = program.ops[time.op];
    if (op.operation == &layer_norm_operation && op.scope.layer == 0) {
      // 64 rows of 7·768 + 2 operations, between 10³ and 10⁶ by their logarithm.
      const double work = 64 * (7 * 768 + 2), share = std::log10(work / 1000) / 3;
      EXPECT_NEAR(time.compute, work / (2e9 + share * 6e9), 1e-12);
      EXPECT_DOUBLE_EQ(time.overhead, 10e-6);  // a processor begins an op when the one before has ended
      norm_seen = true;
    }
    if (op.operation == &project_operation && op.scope.role.part == Part::query) {
      EXPECT_NEAR(time.compute, 2.0 * 64 * 768 * 768 / 500e9, 1e-12);
      product_seen = true;
    }
  }
  EXPECT_TRUE(norm_seen && product_seen);
  EXPECT_TRUE(timing.assumptions.empty());
}

TEST(Roofline, a_group_lies_among_the_devices_that_its_place_in_the_order_says) {
  Layout layout;
  layout.tensor = 8;
  layout.context = 2;
  layout.data = 4;
  layout.pipeline = 16;
  const auto is = [&](Group group, std::int64_t ranks, std::int64_t among, std::int64_t apart) {
    const Span span = span_of(group, layout);
    return span.ranks == ranks && span.among == among && span.apart == apart;
  };
  EXPECT_TRUE(is(Group::tensor, 8, 8, 1));
  EXPECT_TRUE(is(Group::context, 2, 16, 8));
  EXPECT_TRUE(is(Group::data, 8, 64, 8));
  EXPECT_TRUE(is(Group::pipeline, 2, 128, 64));
}

// Eight H100s are joined by NVLink, 450 GB/s each; each has a network adapter of 50 GB/s. 80% of these are reached.
TEST(Roofline, a_collective_takes_the_link_that_joins_its_group_with_the_adapters_of_all_its_ranks) {
  const auto rate = [](const Layout& layout, std::int64_t devices) {
    Workload workload = bfloat16_training(1, 64);
    workload.layout = layout;
    const Program program = program_of("gpt2", workload);
    double seconds = 0, sent = 0;
    Profile profile = read_hardware("h100").profile;
    for (Link& link : profile.links) link.latency = link.small_latency = 1e-15;
    for (const OpTime& time : time_program(program, {profile, devices}).ops) {
      const Op& op = program.ops[time.op];
      const Cost cost = op.operation->cost(program, op);
      if (cost.group != Group::data) continue;
      seconds += time.link * static_cast<double>(time.count);
      sent += static_cast<double>(cost.sent) * static_cast<double>(time.count);
    }
    EXPECT_GT(sent, 0);
    return sent / seconds;
  };
  Layout layout;
  layout.data = 8;
  EXPECT_NEAR(rate(layout, 8), 0.8 * 450e9, 1e3);  // within a node
  layout.data = 64;
  EXPECT_NEAR(rate(layout, 64), 0.8 * 400e9, 1e3);  // eight ranks a node: eight adapters
  layout.data = 12;
  EXPECT_NEAR(rate(layout, 12), 0.8 * 200e9, 1e3);  // eight in one node and four in the other
  layout.tensor = 4;
  layout.data = 16;
  EXPECT_NEAR(rate(layout, 64), 0.8 * 100e9, 1e3);  // two ranks of each of the four groups of a node
  layout.data = 1;
  layout.context = 16;
  EXPECT_NEAR(rate(layout, 64), 0.8 * 100e9, 1e3);  // gradients are summed over context ranks as well
}

// Rows for experts go to each rank by themselves: with 32 ranks, 24 of the 31 others are in other nodes, and what is
// for them leaves by the sender's own adapter.
TEST(Roofline, rows_of_experts_leave_a_node_by_their_sender_s_adapter) {
  const Hardware hardware = read_hardware("h100");
  Rates rates(hardware);
  const auto seconds = [&](const Span& span, Exchange exchange) { return link_seconds(rates, 31e9, span, exchange); };
  const double step = 14e-6;  // a message between nodes
  EXPECT_NEAR(seconds({32, 32, 1}, Exchange::each), 24e9 / (0.8 * 50e9) + step, 1e-9);
  EXPECT_NEAR(seconds({32, 256, 8}, Exchange::each), 31e9 / (0.8 * 50e9) + step, 1e-9);
  // Around a ring through four nodes of eight, and through 32 nodes.
  EXPECT_NEAR(seconds({32, 32, 1}, Exchange::gather), 31e9 / (0.8 * 400e9) + 3 * step + 28 * 3.4e-6, 1e-9);
  EXPECT_NEAR(seconds({32, 256, 8}, Exchange::gather), 31e9 / (0.8 * 50e9) + 31 * step, 1e-9);
}

// NCCL's latencies of the H100: 3.4 µs a message within a node and 14 µs to another, small ones 0.6 and 2.7 µs at half
// of the bandwidth.
TEST(Roofline, small_messages_take_their_latency_and_many_ranks_a_tree) {
  const Hardware hardware = read_hardware("h100");
  Rates rates(hardware);
  const double within = 0.8 * 450e9, between = 0.8 * 50e9;
  EXPECT_NEAR(link_seconds(rates, 1e4, {8, 8, 1}, Exchange::gather), 2e4 / within + 7 * 0.6e-6, 1e-12);
  EXPECT_NEAR(link_seconds(rates, 1e4, {8, 8, 1}, Exchange::sum), 2e4 / within + 14 * 0.6e-6, 1e-12);
  EXPECT_NEAR(link_seconds(rates, 1e8, {8, 8, 1}, Exchange::gather), 1e8 / within + 7 * 3.4e-6, 1e-12);
  EXPECT_NEAR(link_seconds(rates, 1e8, {2, 256, 128}, Exchange::next), 1e8 / between + 14e-6, 1e-12);
  // 1,024 nodes with a rank each: 1,023 messages one after another, or a tree of ten at three quarters of the bandwidth
  EXPECT_NEAR(link_seconds(rates, 1e8, {1024, 8192, 8}, Exchange::gather), 1e8 / (0.75 * between) + 10 * 14e-6, 1e-12);
  EXPECT_EQ(link_seconds(rates, 0, {8, 8, 1}, Exchange::next), 0);
}

// Nine parameters a layer of Llama are one message of data ranks.
TEST(Roofline, data_ranks_exchange_a_layer_at_a_time) {
  Workload workload = bfloat16_training(1, 64);
  workload.layout = {.data = 8, .zero = 3};
  const Program program = program_of("llama-3-8b", workload);
  Hardware hardware{read_hardware("h100").profile, 8};
  const auto seconds = [&] {
    double sum = 0;
    for (const OpTime& time : time_program(program, hardware).ops) {
      const Op& op = program.ops[time.op];
      if (op.repeat >= 0 && op.stage == Stage::forward) sum += time.link * static_cast<double>(time.count);
    }
    return sum;
  };
  hardware.profile.links[0].latency = hardware.profile.links[0].small_latency = 1e-3;
  const double slow = seconds();
  hardware.profile.links[0].latency = hardware.profile.links[0].small_latency = 1e-15;
  EXPECT_NEAR(slow - seconds(), 32 * 7 * 1e-3, 1e-9);
}

TEST(Roofline, a_group_that_no_link_joins_is_an_error) {
  Workload workload = bfloat16_training(1, 64);
  workload.layout.data = 16;
  const Program program = program_of("gpt2", workload);
  EXPECT_EQ(
      error_of([&] { time_program(program, read_hardware("l4:16")); }),
      "l4 has no link that joins 16 devices; expected the GB/s that each of them has between nodes (`network`), or a "
      "profile of your own with such a link");
}

}  // namespace
}  // namespace reckon

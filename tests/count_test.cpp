// Counts: exact up to 2¹²⁷ − 1, an error beyond, and the same digits in every form.
#include <gtest/gtest.h>
#include <reckon/count.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <limits>
#include <sstream>

#include "count/rules.h"
#include "files/numbers.h"
#include "model/sublayers.h"
#include "report/chart.h"
#include "report/json.h"

namespace reckon {
namespace {

Count power(Count base, int exponent) {
  Count out = 1;
  for (int i = 0; i < exponent; ++i) out *= base;
  return out;
}

const Count most = power(2, 126) - 1 + power(2, 126);  // 2¹²⁷ − 1
constexpr const char* most_digits = "170141183460469231731687303715884105727";

std::string printed(Count count) {
  std::ostringstream out;
  out << count;
  return out.str();
}

TEST(Count, HoldsEveryWholeNumberUpToTwoToThe127) {
  EXPECT_EQ(to_string(most), most_digits);
  EXPECT_EQ(to_string(power(10, 38)), "1" + std::string(38, '0'));
  EXPECT_EQ(to_string(power(2, 64)), "18446744073709551616");
  EXPECT_EQ(to_string(Count(std::numeric_limits<std::uint64_t>::max())), "18446744073709551615");
  EXPECT_EQ(to_string(Count(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
  EXPECT_EQ(to_string(0 - power(10, 20)), "-100000000000000000000");
  EXPECT_EQ(to_string(Count()), "0");
}

TEST(Count, PrintsItsDigits) {
  EXPECT_EQ(printed(most), most_digits);
  EXPECT_EQ(printed(-12), "-12");
}

TEST(Count, AddsSubtractsMultipliesAndDividesExactly) {
  EXPECT_EQ(power(2, 64) + 1 - power(2, 64), 1);
  EXPECT_EQ(power(3, 50) * power(3, 30), power(3, 80));
  EXPECT_EQ(power(3, 80) / power(3, 50), power(3, 30));
  EXPECT_EQ(power(10, 30) * -7, -(7 * power(10, 30)));
  EXPECT_EQ(-power(10, 30) * -7, 7 * power(10, 30));
  EXPECT_EQ(power(10, 30) * 0, 0);
  EXPECT_EQ(-power(10, 30) / 4, Count() - 25 * power(10, 28));
  EXPECT_EQ((power(10, 30) + 7) / 8, 125 * power(10, 27));
  EXPECT_EQ(Count(-7) / 2, -3);
  EXPECT_EQ(7 / Count(-2), -3);
}

TEST(Count, ComparesWithIntegers) {
  EXPECT_LT(Count(std::numeric_limits<std::int64_t>::max()), power(2, 63));
  EXPECT_GT(power(2, 63), 0);
  EXPECT_LT(-power(2, 64), -1);
  EXPECT_EQ(Count(5), 5);
}

TEST(Count, PastTwoToThe127IsAnErrorAndNoWrap) {
  EXPECT_THROW(most + 1, Overflow);
  EXPECT_THROW(-most - 2, Overflow);
  EXPECT_THROW(most * 2, Overflow);
  EXPECT_THROW(power(2, 64) * power(2, 63), Overflow);
  EXPECT_THROW(-power(2, 64) * power(2, 64), Overflow);
  EXPECT_THROW(most / 0, Error);
  EXPECT_THROW(Count(1) / 0, Error);
  try {
    (void)(most * 3);
    FAIL() << "three times the largest count is past it";
  } catch (const Overflow& overflow) {
    EXPECT_EQ(std::string(overflow.what()), std::string(most_digits) + " × 3 is past 2^127 - 1");
  }
}

TEST(Count, BecomesA64BitIntegerOnlyWhereItFits) {
  EXPECT_EQ(static_cast<std::int64_t>(Count(-42)), -42);
  EXPECT_EQ(static_cast<std::int64_t>(power(2, 63) - 1), std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW((void)static_cast<std::int64_t>(power(2, 63)), Overflow);
}

TEST(Count, BecomesTheNearestDouble) {
  EXPECT_EQ(static_cast<double>(power(2, 100)), 0x1p100);
  EXPECT_EQ(static_cast<double>(Count(-3)), -3.0);
}

TEST(Count, IsReadInGroupsOfDigitsAndInUnits) {
  EXPECT_EQ(grouped(power(10, 20)), "100,000,000,000,000,000,000");
  EXPECT_EQ(grouped(-power(10, 20)), "−100,000,000,000,000,000,000");
  EXPECT_EQ(binary_bytes(3 * power(2, 70)), "3.00 ZiB");
  EXPECT_EQ(binary_bytes(3 * power(2, 80)), "3.00 YiB");
  EXPECT_EQ(binary_bytes(power(2, 100)), "1,048,576 YiB");
  EXPECT_EQ(decimal_bytes(25 * power(10, 20)), "2.50 ZB");
  EXPECT_EQ(decimal_bytes(power(10, 24)), "1.00 YB");
  EXPECT_EQ(flops(4.4e19), "44.00 EFLOP");
  EXPECT_EQ(flops(1.5e21), "1.500 ZFLOP");
  EXPECT_EQ(flops(1.5e25), "15.00 YFLOP");
  EXPECT_EQ(flops(1.5e29), "150,000 YFLOP");
  EXPECT_EQ(flops_label(1e20), "100E");
  EXPECT_EQ(flops_label(1e26), "100Y");
  EXPECT_EQ(flops_label(1e27), "1e27");
}

TEST(Json, WritesACountAsItsDigits) {
  const nlohmann::ordered_json json = {{"short", Count(7)}, {"list", std::vector<Count>{power(2, 64), -power(2, 64)}}};
  EXPECT_EQ(json_text(json),
            "{\n  \"short\": 7,\n  \"list\": [\n    18446744073709551616,\n    -18446744073709551616\n  ]\n}");
}

TEST(Json, WritesEverythingElseAsTheLibraryDoes) {
  const nlohmann::ordered_json json = {{"a \"quoted\" key\n", {1, 2.5, -3e-20, true, nullptr, "ü\t"}},
                                       {"empty", {{"object", nlohmann::ordered_json::object()}, {"array", {}}}},
                                       {"nested", {{{"x", {{1}, {2}}}}, {{"y", "z"}}}},
                                       {"not UTF-8 \xff", "\xc3("}};
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  EXPECT_EQ(json_text(json), json.dump(2, ' ', false, replace));
  EXPECT_EQ(json_text(nlohmann::ordered_json::array()), "[]");
  EXPECT_EQ(json_text("text"), "\"text\"");
}

// The arithmetic is that of the config: L = 126, d = 16,384, f = 53,248, 8 of 128 heads of 128 for keys and values,
// V = 128,256. Forward 2·B·T·(L·(2·d² + 2·d·1,024 + 3·d·f) + V·d) + 4·B·L·T²·d; backward is twice that.
TEST(Counting, ATrainingStepOfSixteenMillionTokensIsExact) {
  Workload workload = workload_of(Phase::train);
  workload.batch = 2048;
  workload.tokens = 8192;
  const Ledger ledger = count(load_model("llama-3.1-405b"), workload);
  EXPECT_EQ(to_string(ledger.forward.matmul), "14682438472669593600");
  EXPECT_EQ(to_string(ledger.total().matmul), "44047315418008780800");
}

// Every figure of work but the optimizer's is proportional to the batch.
TEST(Counting, IsProportionalToTheBatchPast64Bits) {
  Workload one = workload_of(Phase::train);
  one.tokens = 4096;
  Workload many = one;
  many.batch = 15360;
  const Model model = load_model("deepseek-v3");
  const Ledger small = count(model, one), large = count(model, many);
  EXPECT_EQ(large.forward.matmul, 15360 * small.forward.matmul);
  EXPECT_EQ(large.backward.matmul, 15360 * small.backward.matmul);
  EXPECT_EQ(large.forward.elementwise, 15360 * small.forward.elementwise);
  EXPECT_GT(large.total().matmul, std::numeric_limits<std::int64_t>::max());
}

// gpt2's 12 layers of d = 768 at T = 10¹²: scores and mixing are 4·L·d·½·T·(T + 1) where only visible pairs are
// counted, and 4·L·d·T² where all are.
TEST(Counting, CausalPairsPast64BitsAreExact) {
  Model model = load_model("gpt2");
  model.positions = {};
  Workload workload;
  workload.tokens = 1'000'000'000'000;
  const Count all = count(model, workload).forward.matmul;
  workload.causal = Causal::exact;
  const Count half = power(10, 12) * (power(10, 12) - 1) / 2;
  EXPECT_EQ(count(model, workload).forward.matmul, all - 4 * 12 * 768 * half);
}

// The forward pass is within 127 bits, the training step that rules of thumb speak of is not.
TEST(Counting, RulesOfThumbDoNotCountMoreThanWasAskedFor) {
  Workload workload;
  workload.tokens = 1'000'000'000'000;
  workload.batch = 1 << 24;
  const Model model = load_model("llama-3.1-405b");
  EXPECT_FALSE(rules_of_thumb(model, count(model, workload)).empty());
}

// 100,000 layers of 2²⁰ experts, whose three matrices are 2²⁰ × 2²⁰ each: 100,000 · 3 · 2⁶⁰ parameters.
TEST(Counting, ParametersPast64BitsAreExact) {
  Model model = load_model("mixtral-8x7b");
  const std::int64_t size = std::int64_t{1} << 20;
  model.d_model = model.d_embedding = size;
  Layer layer = model.layers.front();
  feed_forward_of(layer)->d_ff = size;
  find<Mixture>(layer)->n_experts = size;
  model.layers.assign(100'000, layer);
  Count experts;
  const Ledger ledger = count(model);
  for (const Row& row : rows(ledger, Quantity::parameters, By::component)) {
    if (row.name == "experts") experts = row.value;
  }
  EXPECT_EQ(experts, 300'000 * power(2, 60));
  EXPECT_EQ(count_parameters(model), ledger.parameter_totals.total);
  EXPECT_EQ(weight_bytes(ledger, DType::bfloat16), 2 * ledger.parameter_totals.total);
}

}  // namespace
}  // namespace reckon

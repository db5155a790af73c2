// The choice of experts, by the kernel alone.
#include <gtest/gtest.h>

#include "backend/cpu/kernels.h"
#include "ops/mixture.h"

#include <vector>

namespace reckon {
namespace {

View view_of(void* data, std::int64_t rows, std::int64_t width) {
  View view;
  view.data = static_cast<std::byte*>(data);
  view.rank = 2;
  view.size[0] = rows;
  view.size[1] = width;
  view.stride[0] = width;
  view.stride[1] = 1;
  return view;
}

// What one token with these logits takes.
std::vector<std::int32_t> chosen(const Mixture& mixture, std::vector<float> logits) {
  Builder builder(Program{});
  const TensorId x = builder.tensor(TensorKind::input, "logits", {1, mixture.n_experts}, DType::float32);
  route(builder, mixture, x, no_tensor);
  const Op op = builder.program().ops.back();
  std::vector<std::int32_t> choice(static_cast<std::size_t>(mixture.n_active));
  std::vector<float> weights(choice.size());
  const View inputs[] = {view_of(logits.data(), 1, mixture.n_experts), View{}};
  const View outputs[] = {view_of(choice.data(), 1, mixture.n_active), view_of(weights.data(), 1, mixture.n_active)};
  Pool pool(1);
  Scratch scratch(1);
  Counters counters(1);
  Machine machine{pool, scratch, counters};
  std::vector<Product> products;
  run_route({op, inputs, outputs, machine, products});
  return choice;
}

Mixture two_groups(std::int64_t experts, std::int64_t group_top) {
  Mixture mixture;
  mixture.n_experts = experts;
  mixture.n_active = 2;
  mixture.scores = Mixture::Scores::softmax_of_chosen;  // scores are the logits
  mixture.n_groups = 2;
  mixture.n_active_groups = 1;
  mixture.group_top = group_top;
  return mixture;
}

TEST(Route, JudgesAGroupByAsManyOfItsBestAsTheModelSays) {
  // Eight experts of 1 and two of 0, against ten of 0.9: the best eight make 8 against 7.2, the best ten 8 against 9.
  std::vector<float> logits(20, 0.9f);
  std::fill_n(logits.begin(), 8, 1.0f);
  std::fill_n(logits.begin() + 8, 2, 0.0f);
  EXPECT_EQ(chosen(two_groups(20, 8), logits), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(chosen(two_groups(20, 10), logits), (std::vector<std::int32_t>{10, 11}));
}

TEST(Route, HasRoomForAnyNumberOfExperts) {
  constexpr std::int64_t experts = 600'000;  // more than a worker's scratch holds
  std::vector<float> logits(experts, 0.0f);
  logits[599'999] = 2.0f;
  logits[400'000] = 1.0f;
  EXPECT_EQ(chosen(two_groups(experts, 1), logits), (std::vector<std::int32_t>{599'999, 400'000}));
}

}  // namespace
}  // namespace reckon

#include "network/adapters.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "model/sublayers.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"

#include <algorithm>

namespace reckon {
namespace {

// peft's usual one (LoraConfig.lora_alpha). What it is changes no cost: the product is always made.
constexpr double alpha = 8.0;

bool has_adapter(const Lora& lora, const Sublayer& sublayer) {
  if (lora.rank == 0) return false;
  if (block_of(sublayer) == Block::recurrence || block_of(sublayer) == Block::layer_input) return false;
  if (block_of(sublayer) != Block::feed_forward) return true;
  if (lora.targets == Lora::Targets::query_value) return false;
  const auto* mixture = std::get_if<Mixture>(&sublayer.kind);
  return mixture == nullptr || mixture->shared.has_value();
}

}  // namespace

bool has_adapter(const Lora& lora, Role role) {
  if (lora.rank == 0 || role.expert == Expert::routed || role.part == Part::router || is_indexer(role) ||
      role.part == Part::norm_gate_down || role.part == Part::norm_gate)
    return false;
  const bool attention = role.block == Block::attention || role.block == Block::cross_attention;
  if (lora.targets == Lora::Targets::all) return attention || role.block == Block::feed_forward;
  // Of latent attention, what makes the queries, and the values together with the keys.
  return attention && (role.part == Part::query || role.part == Part::query_up || role.part == Part::value ||
                       role.part == Part::kv_up);
}

std::size_t first_adapted(const Lora& lora, const Layers& layers) {
  const auto written = layers.written();
  const auto found = std::find_if(written.begin(), written.end(), [&](const Layer& layer) {
    return std::any_of(layer.sublayers.begin(), layer.sublayers.end(),
                       [&](const Sublayer& sublayer) { return has_adapter(lora, sublayer); });
  });
  return found == written.end() ? layers.size() : static_cast<std::size_t>(found - written.begin());
}

Adapter adapter(Network& n, Role role, Dim out, Dim in) {
  Builder& b = n.builder;
  const Lora& lora = b.program().workload.lora;
  if (!has_adapter(lora, role)) return {};
  if (lora.rank > std::min(out.size, in.size))
    throw UsageError(fmt::format("`lora` is {}, but the {} matrices of {} are {} × {}; expected 1 to {}", lora.rank,
                                 path_of(role), n.model.name, out.size, in.size, std::min(out.size, in.size)));
  const Dim rank(lora.rank, Symbol::lora_rank);
  const TensorId down = b.parameter(role, Piece::lora_a, {rank, in});
  return {down, b.parameter(role, Piece::lora_b, {out, rank})};
}

TensorId add_adapter(Network& n, const Adapter& adapter, TensorId x, TensorId y) {
  if (adapter.a == no_tensor) return y;
  Builder& b = n.builder;
  const TensorId low = linear(b, x, adapter.a, no_tensor, "low_rank");  // (… × r)
  return add_scaled(n, y, linear(b, low, adapter.b, no_tensor, "adapted"));
}

TensorId add_scaled(Network& n, TensorId y, TensorId low_rank) {
  Builder& b = n.builder;
  const double rank = static_cast<double>(b.program().workload.lora.rank);
  return add(b, y, scale(b, low_rank, alpha / rank, "adapted"), "out");
}

}  // namespace reckon

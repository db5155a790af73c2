// Roles as people read them.
#include <reckon/role.h>

#include <algorithm>
#include <array>

namespace reckon {
namespace {

// In the order of the enums.
constexpr std::array blocks = std::to_array<std::string_view>(
    {"", "input", "embedding", "attention", "cross_attention", "feed_forward", "recurrence", "layer_input", "streams",
     "prediction", "final_norm", "head", "loss", "optimizer"});
static_assert(blocks.size() == static_cast<std::size_t>(Block::optimizer) + 1);

constexpr std::array experts = std::to_array<std::string_view>({"", "experts", "shared"});
static_assert(experts.size() == static_cast<std::size_t>(Expert::shared) + 1);

constexpr std::array parts = std::to_array<std::string_view>({"",
                                                              "token",
                                                              "position",
                                                              "project",
                                                              "norm",
                                                              "norm_after",
                                                              "norm_residual",
                                                              "residual",
                                                              "query",
                                                              "key",
                                                              "value",
                                                              "query_norm",
                                                              "key_norm",
                                                              "query_down",
                                                              "query_down_norm",
                                                              "query_up",
                                                              "kv_down",
                                                              "kv_down_norm",
                                                              "kv_up",
                                                              "rope",
                                                              "cache",
                                                              "sinks",
                                                              "scores",
                                                              "softmax",
                                                              "mixing",
                                                              "output",
                                                              "router",
                                                              "correction",
                                                              "dispatch",
                                                              "gate",
                                                              "up",
                                                              "activation",
                                                              "down",
                                                              "combine",
                                                              "into_experts",
                                                              "out_of_experts",
                                                              "value_convolution",
                                                              "key_convolution",
                                                              "query_convolution",
                                                              "step_down",
                                                              "step",
                                                              "step_norm",
                                                              "decay",
                                                              "beta",
                                                              "state",
                                                              "skip",
                                                              "gate_down",
                                                              "gate_norm",
                                                              "value_norm",
                                                              "difference",
                                                              "mask",
                                                              "laurel_down",
                                                              "laurel_up",
                                                              "laurel_norm",
                                                              "stream_scale",
                                                              "router_norm",
                                                              "expert_scale",
                                                              "predict",
                                                              "correct",
                                                              "index_query",
                                                              "index_query_norm",
                                                              "index_key",
                                                              "index_key_norm",
                                                              "index_weight",
                                                              "choice",
                                                              "norm_gate_down",
                                                              "norm_gate",
                                                              "relative",
                                                              "profile",
                                                              "factor",
                                                              "entry",
                                                              "entry_gate",
                                                              "entry_position",
                                                              "entry_norm",
                                                              "index_entry",
                                                              "index_entry_gate",
                                                              "index_entry_position",
                                                              "index_entry_norm",
                                                              "output_down",
                                                              "hyper",
                                                              "hyper_scale",
                                                              "query_heads_convolution",
                                                              "key_heads_convolution",
                                                              "value_before",
                                                              "key_scale",
                                                              "result_scale",
                                                              "router_down",
                                                              "router_state",
                                                              "router_first",
                                                              "router_second",
                                                              "table"});
static_assert(parts.size() == static_cast<std::size_t>(Part::table) + 1);

constexpr std::array pieces = std::to_array<std::string_view>({"",
                                                               "weight",
                                                               "bias",
                                                               "ids",
                                                               "labels",
                                                               "positions",
                                                               "sinusoids",
                                                               "encoder",
                                                               "table",
                                                               "statistics",
                                                               "first_moment",
                                                               "second_moment",
                                                               "row_moment",
                                                               "column_moment",
                                                               "master",
                                                               "mask",
                                                               "lora_a",
                                                               "lora_b",
                                                               "key_cache",
                                                               "value_cache",
                                                               "latent_cache",
                                                               "mask_cache",
                                                               "state_cache",
                                                               "convolution_cache",
                                                               "index_cache",
                                                               "index_keys",
                                                               "entry_cache",
                                                               "entries",
                                                               "adapter_a",
                                                               "adapter_b",
                                                               "query_nope",
                                                               "query_rope",
                                                               "query",
                                                               "folded_query",
                                                               "latent",
                                                               "latents",
                                                               "key_rope",
                                                               "keys_rope",
                                                               "keys_nope",
                                                               "keys",
                                                               "values",
                                                               "starts",
                                                               "pages"});
static_assert(pieces.size() == static_cast<std::size_t>(Piece::pages) + 1);

}  // namespace

std::string path_of(Role role) {
  std::string path(blocks[static_cast<std::size_t>(role.block)]);
  for (const std::string_view word :
       {experts[static_cast<std::size_t>(role.expert)], parts[static_cast<std::size_t>(role.part)]}) {
    if (!path.empty() && !word.empty()) path += '/';
    path += word;
  }
  return path;
}

bool is_norm(Role role) {
  switch (role.part) {
    case Part::norm:
    case Part::norm_after:
    case Part::norm_residual:
    case Part::query_norm:
    case Part::key_norm:
    case Part::query_down_norm:
    case Part::kv_down_norm:
    case Part::step_norm:
    case Part::gate_norm:
    case Part::value_norm:
    case Part::laurel_norm:
    case Part::router_norm:
    case Part::index_query_norm:
    case Part::index_key_norm:
    case Part::entry_norm:
    case Part::index_entry_norm:
      return true;
    default:
      return role.block == Block::final_norm;
  }
}

bool is_convolution(Role role) {
  return role.part == Part::value_convolution || role.part == Part::key_convolution ||
         role.part == Part::query_convolution || role.part == Part::query_heads_convolution ||
         role.part == Part::key_heads_convolution;
}

bool is_indexer(Role role) {
  return (role.part >= Part::index_query && role.part <= Part::choice) ||
         (role.part >= Part::index_entry && role.part <= Part::index_entry_norm);
}

std::string_view name_of(Piece piece) { return pieces[static_cast<std::size_t>(piece)]; }

std::string full_name(const Scope& scope) {
  std::string path = path_of(scope.role);
  if (scope.nth > 0) path.insert(std::min(path.find('/'), path.size()), "/" + std::to_string(scope.nth));
  std::replace(path.begin(), path.end(), '/', '.');
  return scope.layer >= 0 ? "layers." + std::to_string(scope.layer) + "." + path : path;
}

std::string full_name(const TensorKey& key) { return full_name(key.scope) + "." + std::string(name_of(key.piece)); }

}  // namespace reckon

// Layers that predict further tokens, by family. Configs say little more than how many there are; what they are made of
// is in the code that runs them: each rule names the file of vLLM (a014e35f, vllm/) that it was read from.
#include "model/read_predictors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "model/sublayers.h"

namespace reckon {
namespace {

struct Asked {
  Fields& file;
  Fields& network;
  const Model& model;
  std::int64_t layers;
};

using Predictors = std::vector<Predictor>;  // none: what they are made of is not known
using Fits = std::function<bool(const Layer&)>;

bool is_sparse(const Layer& layer) { return find<Mixture>(layer) != nullptr; }
bool attends(const Layer& layer) { return find<Attention>(layer) != nullptr; }

// The last of the stack's layers that fits, as one with weights, keys and choices of its own; nothing where none fits.
std::optional<Layer> last_layer(const Model& model, const Fits& fits) {
  const std::span<const Layer> layers = model.layers.written();
  const auto found = std::find_if(layers.rbegin(), layers.rend(), fits);
  if (found == layers.rend()) return std::nullopt;
  Layer layer = *found;
  layer.shares = 0;
  for (Sublayer& sublayer : layer.sublayers) {
    sublayer.shares = 0;
    if (auto* attention = std::get_if<Attention>(&sublayer.kind)) {
      attention->kv_from = 0;
      if (attention->indexer) attention->indexer->from = 0;
    }
  }
  return layer;
}

// The same with a dense feed-forward in place of a mixture, so wide.
Layer dense(Layer layer, std::int64_t d_ff) {
  for (Sublayer& sublayer : layer.sublayers) {
    const auto* mixture = std::get_if<Mixture>(&sublayer.kind);
    if (mixture == nullptr) continue;
    FeedForward feed_forward = mixture->expert;
    feed_forward.d_ff = d_ff;
    sublayer.kind = feed_forward;
  }
  return layer;
}

Predictor predictor(const Model& model, std::int64_t count) {
  Predictor one;
  one.norm = *model.final_norm;
  one.final_norm = model.final_norm;
  one.count = count;
  return one;
}

// As many as layers, each with a projection and norms.
Predictors each_alone(const Asked& asked, const std::optional<Layer>& layer) {
  if (!layer) return {};
  Predictor one = predictor(asked.model, asked.layers);
  one.layers.assign(1, *layer);
  return {one};
}

// One projection, with norms, before all layers.
Predictors all_behind_one(const Asked& asked, const std::optional<Layer>& layer) {
  if (!layer) return {};
  Predictor one = predictor(asked.model, 1);
  one.layers.assign(static_cast<std::size_t>(asked.layers), *layer);
  return {one};
}

// DeepSeek V3 and V3.2, GLM, Hy3, MiniMax M3: model_executor/models/deepseek_mtp.py, glm4_moe_mtp.py,
// glm4_moe_lite_mtp.py and hy_v3_mtp.py, models/deepseek_v32/nvidia/mtp.py (which has an indexer of its own,
// attention.py) and models/minimax_m3/nvidia/mtp.py. Each is a layer with experts, whatever layers come first in the
// stack.
Predictors sparse_modules(const Asked& asked) { return each_alone(asked, last_layer(asked.model, is_sparse)); }

// models/deepseek_v4/nvidia/mtp.py: streams are projected each by itself. A window alone (attention.py), experts by a
// router.
Predictors windowed_streams(const Asked& asked) {
  std::optional<Layer> layer = last_layer(asked.model, is_sparse);
  if (!layer) return {};
  Attention& attention = *find<Attention>(*layer);
  attention.shared_key->rate = 0;
  attention.shared_key->overlaps = false;
  attention.indexer.reset();
  Mixture& mixture = *find<Mixture>(*layer);
  mixture.hashed = false;
  mixture.correction_bias = true;
  return each_alone(asked, layer);
}

// model_executor/models/ernie_mtp.py: a dense layer, and the model's own norm behind it.
Predictors dense_without_norm(const Asked& asked) {
  Predictors modules =
      each_alone(asked, dense(*last_layer(asked.model, attends), asked.network.size("intermediate_size")));
  modules[0].final_norm.reset();
  return modules;
}

// model_executor/models/exaone_moe_mtp.py; a layer there is dense (exaone_moe.py).
Predictors dense_behind_one(const Asked& asked) {
  return all_behind_one(asked, dense(*last_layer(asked.model, attends), asked.network.size("intermediate_size")));
}

// model_executor/models/exaone4_5_mtp.py, qwen3_next_mtp.py and qwen3_5_mtp.py: layers with (full) attention, and
// experts where the stack has them.
Predictors attention_behind_one(const Asked& asked) { return all_behind_one(asked, last_layer(asked.model, attends)); }

// model_executor/models/mimo_v2_mtp.py: the windowed layers' attention, and a dense feed-forward.
Predictors dense_windows(const Asked& asked) {
  const auto windowed = [](const Layer& layer) { return attends(layer) && find<Attention>(layer)->window > 0; };
  const std::optional<Layer> layer = last_layer(asked.model, windowed);
  if (!layer) return {};
  return each_alone(asked, dense(*layer, asked.network.size("intermediate_size")));
}

// model_executor/models/nemotron_h_mtp.py: a pattern of layers with attention and with experts.
Predictors pattern_modules(const Asked& asked) {
  std::string pattern = asked.network.word("mtp_hybrid_override_pattern", "");
  if (const nlohmann::json* words = asked.network.array("mtp_layers_block_type"); words != nullptr && pattern.empty())
    for (const nlohmann::json& word : *words) pattern += word == "attention" ? '*' : word == "moe" ? 'E' : '?';
  Predictor one = predictor(asked.model, asked.layers);
  for (const char kind : pattern) {
    const std::optional<Layer> layer = kind == '*'   ? last_layer(asked.model, attends)
                                       : kind == 'E' ? last_layer(asked.model, is_sparse)
                                                     : std::nullopt;
    if (!layer) return {};
    one.layers.push_back(*layer);
  }
  return pattern.empty() ? Predictors{} : Predictors{one};
}

// model_executor/models/step3p5_mtp.py: the attention that `layer_types` names behind the stack's, and a dense
// feed-forward (step3p5.py).
Predictors typed_modules(const Asked& asked) {
  const std::size_t stack = asked.model.layers.size();
  const nlohmann::json* types = asked.network.array("layer_types");
  if (types == nullptr || types->size() < stack + static_cast<std::size_t>(asked.layers)) return {};
  Predictors modules;
  for (std::size_t i = stack; i < stack + static_cast<std::size_t>(asked.layers); ++i) {
    const bool slides = (*types)[i] == "sliding_attention";
    const auto alike = [&](const Layer& layer) { return (find<Attention>(layer)->window > 0) == slides; };
    const std::optional<Layer> layer = last_layer(asked.model, alike);
    if (!layer) return {};
    modules.push_back(predictor(asked.model, 1));
    modules.back().layers.assign(1, dense(*layer, asked.network.size("intermediate_size")));
  }
  return modules;
}

// models/inkling/nvidia/mtp.py: dense layers, of which `local_layer_ids` have a window, and at choice one norm behind
// all of them.
Predictors dense_depths(const Asked& asked) {
  std::optional<Fields> config = asked.file.object("mtp_config");
  if (!config) return {};
  std::set<std::int64_t> windows;
  if (const nlohmann::json* ids = config->array("local_layer_ids"))
    for (const nlohmann::json& id : *ids)
      if (id.is_number_integer() && id >= 0 && id < asked.layers) windows.insert(id.get<std::int64_t>());
  const auto local = static_cast<std::int64_t>(windows.size());
  const Layer* first = find<FeedForward>(asked.model) != nullptr ? &asked.model.layers.front() : nullptr;
  const FeedForward* feed_forward = first != nullptr ? find<FeedForward>(*first) : nullptr;
  if (feed_forward == nullptr) return {};
  const bool chained = config->flag("chain_hidden_post_norm", false);
  Predictors modules;
  for (const bool windowed : {true, false}) {
    const std::int64_t count = windowed ? local : asked.layers - local;
    if (count == 0) continue;
    std::optional<Layer> layer =
        last_layer(asked.model, [&](const Layer& one) { return (find<Attention>(one)->window > 0) == windowed; });
    if (!layer) return {};
    for (Sublayer& sublayer : layer->sublayers)
      if (std::holds_alternative<Mixture>(sublayer.kind)) sublayer.kind = *feed_forward;
    Predictor one = predictor(asked.model, count);
    one.layers.assign(1, *layer);
    one.final_norm.reset();
    modules.push_back(one);
  }
  if (!chained) return modules;
  Predictor with_norm = modules.back();
  with_norm.count = 1;
  with_norm.final_norm = asked.model.final_norm;
  if (--modules.back().count == 0) modules.pop_back();
  modules.push_back(with_norm);
  return modules;
}

struct Rule {
  std::string_view family;
  Predictors (*build)(const Asked&);
};

constexpr std::array rules = std::to_array<Rule>({
    {"deepseek_v3", sparse_modules},
    {"deepseek_v32", sparse_modules},
    {"deepseek_v4", windowed_streams},
    {"ernie4_5_moe", dense_without_norm},
    {"exaone4", attention_behind_one},
    {"exaone_moe", dense_behind_one},
    {"glm4_moe", sparse_modules},
    {"glm4_moe_lite", sparse_modules},
    {"glm_moe_dsa", sparse_modules},
    {"hy_v3", sparse_modules},
    {"inkling_text", dense_depths},
    {"mimo_v2_flash", dense_windows},
    {"minimax_m3_vl_text", sparse_modules},
    {"nemotron_h", pattern_modules},
    {"qwen3_5_moe_text", attention_behind_one},
    {"qwen3_5_text", attention_behind_one},
    {"qwen3_next", attention_behind_one},
    {"step3p5", typed_modules},
});

}  // namespace

FurtherLayers read_further_layers(Fields& file, Fields& network) {
  FurtherLayers further;
  const auto read = [&](Fields& fields, const char* name) {
    const std::int64_t layers = fields.count(name, 0);
    if (layers > most_layers) fields.fail(name, fmt::format("at most {}", most_layers));
    if (layers > 0 && further.layers == 0) further = {name, layers};
  };
  for (const char* name : {"num_nextn_predict_layers", "num_mtp_layers", "mtp_num_hidden_layers", "num_mtp_modules"})
    read(network, name);
  if (std::optional<Fields> beside = file.object("mtp_config")) read(*beside, "num_nextn_predict_layers");
  // DSpark: layers in the place of the former that draft a block of tokens at once, from states of these of the stack.
  if (const nlohmann::json* from = network.array("dspark_target_layer_ids"); from != nullptr && !from->empty()) {
    further = {"dspark_target_layer_ids", static_cast<std::int64_t>(from->size())};
    further.drafts = network.size("dspark_block_size", 1);
    for (const char* name : {"dspark_markov_rank", "dspark_n_routed_experts", "dspark_num_experts_per_tok"})
      network.count(name, 0);
  }
  return further;
}

std::string add_predictors(Fields& file, Fields& network, const FurtherLayers& further, Model& model) {
  if (further.drafts > 0)
    return fmt::format(
        "a drafter of {} layer{} (dspark_*), which drafts {} tokens at once, is left out and not counted",
        further.layers, further.layers == 1 ? "" : "s", further.drafts);
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& one) { return one.family == model.family; });
  if (rule != rules.end()) model.predictors = rule->build({file, network, model, further.layers});
  const char* what = model.predictors.empty() ? "left out and not counted" : "counted apart";
  return further.layers == 1
             ? fmt::format("a further layer ({}), which predicts a token after the next, is {}", further.field, what)
             : fmt::format("{} further layers ({}), which predict tokens after the next, are {}", further.layers,
                           further.field, what);
}

}  // namespace reckon

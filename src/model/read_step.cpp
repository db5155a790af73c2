// Step 3.5: lists by layer, in files of the maker also for the layers behind the last, which predict further tokens.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>

#include "model/forms.h"

namespace reckon {

namespace {

using Json = nlohmann::json;

// The config with lists that end with the last layer, and the newer fields in the place of older ones.
Json in_newer_words(Fields& config, std::size_t layers) {
  Json plain = config.json();
  for (const char* size :
       {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"})
    plain[size] = config.size(size);
  const auto trim = [&](const char* name) -> Json* {
    const auto found = plain.find(name);
    if (found == plain.end() || found->is_null()) return nullptr;
    if (!found->is_array()) config.fail(name, fmt::format("an array of {} entries, one per layer", layers));
    if (found->size() > layers) found->erase(found->begin() + static_cast<std::ptrdiff_t>(layers), found->end());
    if (found->size() < layers) config.fail(name, fmt::format("{} entries, one per layer", layers));
    return &*found;
  };
  for (const char* name : {"mlp_layer_types", "swiglu_limits", "swiglu_limits_shared"}) trim(name);
  const Json* types = trim("layer_types");
  const auto positives = [&](const char* name, double most, const char* expected) -> const Json* {
    const Json* found = trim(name);
    if (found != nullptr)
      for (const Json& one : *found)
        if (!one.is_number() || !(one.get<double>() > 0 && one.get<double>() <= most)) config.fail(name, expected);
    return found;
  };
  const bool listed = plain.contains("rope_theta") && plain["rope_theta"].is_array();
  const Json* thetas =
      listed ? positives("rope_theta", std::numeric_limits<double>::max(), "an array of numbers above zero") : nullptr;
  const Json* fractions = positives("partial_rotary_factors", 1.0, "an array of numbers above zero and of at most 1");
  if (thetas != nullptr || fractions != nullptr) {
    Json ropes = Json::object();
    for (std::size_t i = 0; i < layers; ++i) {
      const Json type = types != nullptr ? (*types)[i] : Json();
      const bool slides = type.is_string() && type.get<std::string>() == "sliding_attention";
      Json& rope = ropes[slides ? "sliding_attention" : "full_attention"];
      if (!rope.is_null()) {
        if (thetas != nullptr && (*thetas)[i] != rope["rope_theta"])
          config.fail("rope_theta", "the same number for all layers of a type");
        if (fractions != nullptr && (*fractions)[i] != rope["partial_rotary_factor"])
          config.fail("partial_rotary_factors", "the same number for all layers of a type");
        continue;
      }
      const std::optional<Fields> scaling = config.object("rope_scaling");
      if (!slides && scaling) rope = scaling->json();
      rope["rope_theta"] = thetas != nullptr ? (*thetas)[i] : plain.value("rope_theta", Json(10000.0));
      if (fractions != nullptr) rope["partial_rotary_factor"] = (*fractions)[i];
    }
    // A scaling is that of the layers that see all.
    if (const Json* scaled = config.array("yarn_only_types");
        scaled != nullptr && *scaled != Json::array({"full_attention"}))
      config.fail("yarn_only_types", "full_attention alone");
    for (const char* name : {"rope_theta", "partial_rotary_factors", "rope_scaling", "yarn_only_types"})
      plain.erase(name);
    plain["rope_parameters"] = ropes;
  }
  return plain;
}

// Which layers have experts: by words, by numbers, or from the fourth on.
std::vector<bool> read_sparse(Fields& config, std::size_t layers) {
  std::vector<bool> sparse(layers, true);
  const Json* words = config.array("mlp_layer_types");
  const Json* numbers = config.value("moe_layers_enum");
  std::set<std::int64_t> named;
  if (numbers != nullptr && numbers->is_string()) {
    std::string text = config.word("moe_layers_enum", "");
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      const std::string one = text.substr(at, end - at);
      if (one.empty() || one.size() > 6 || one.find_first_not_of("0123456789 ") != std::string::npos)
        config.fail("moe_layers_enum", "layer numbers with commas between them");
      named.insert(std::stoll(one));
      at = end + 1;
    }
  } else if (const Json* list = config.array("moe_layers_enum")) {
    for (const Json& one : *list) {
      if (!one.is_number_integer() || one < 0) config.fail("moe_layers_enum", "an array of layer numbers");
      named.insert(one.get<std::int64_t>());
    }
  }
  for (std::size_t i = 0; i < layers; ++i) {
    if (words != nullptr) {
      const std::string word = (*words)[i].is_string() ? (*words)[i].get<std::string>() : "";
      if (word != "sparse" && word != "dense") config.fail("mlp_layer_types", "an array of sparse and dense");
      sparse[i] = word == "sparse";
      if (numbers != nullptr && sparse[i] != named.contains(static_cast<std::int64_t>(i)))
        config.fail("moe_layers_enum", "the layers that mlp_layer_types calls sparse");
    } else {
      sparse[i] = numbers != nullptr ? named.contains(static_cast<std::int64_t>(i)) : i >= 3;
    }
  }
  return sparse;
}

// What each layer's feed-forwards are clamped to; 0 or null: not.
std::vector<double> read_limits(Fields& config, const char* field, std::size_t layers) {
  std::vector<double> limits(layers, 0.0);
  if (const Json* values = config.array(field))
    for (std::size_t i = 0; i < layers; ++i) {
      const Json& value = (*values)[i];
      if (value.is_null()) continue;
      // SiLU stays above −0.28, so that from there on one limit is as good as two.
      if (!value.is_number() || !std::isfinite(value.get<double>()) ||
          (value.get<double>() != 0 && value.get<double>() < 0.3))
        config.fail(field, "an array of numbers from 0.3 on, 0 and null");
      limits[i] = value.get<double>();
    }
  return limits;
}

// The layers with a window may have heads of their own: in the maker's words an object, in newer ones a number, which
// transformers repeats layer by layer. Their keys and the width of a head are those of all layers.
void set_windowed_heads(Fields& config, Model& model) {
  const Attention& first = first_attention(model);
  std::int64_t heads = config.count("num_sliding_attention_heads", 0, 0);
  if (std::optional<Fields> other = config.object("attention_other_setting")) {
    other->expect_word("attention_type", "sliding_attention", "sliding_attention");
    other->expect_size("num_attention_groups", first.n_kv_heads, fmt::format("{}, as in all layers", first.n_kv_heads));
    for (const char* width : {"head_dim", "true_head_dim"})
      other->expect_size(width, first.d_head, fmt::format("{}, as in all layers", first.d_head));
    const std::int64_t own = other->size("num_attention_heads", heads > 0 ? heads : first.n_heads);
    if (heads > 0 && own != heads)
      other->fail("num_attention_heads", fmt::format("{}, as num_sliding_attention_heads", heads));
    heads = own;
    other->refuse_unread("step3p5");
  }
  for_each<Attention>(model.layers, [&](Attention& attention) {
    if (attention.window == 0 || heads == 0) return;
    attention.n_heads = heads;
    if (heads % attention.n_kv_heads != 0)
      config.fail("num_sliding_attention_heads", fmt::format("a multiple of {}", attention.n_kv_heads));
  });
  std::optional<Fields> each = config.object("per_layer_config");
  if (!each) return;
  for (const auto& [layer, name] : read_layer_names(*each, model.layers.size())) {
    std::optional<Fields> own = each->object(name);
    if (!own) each->fail(name, "an object");
    const std::int64_t said = find<Attention>(model.layers[layer])->n_heads;
    own->expect_size("num_attention_heads", said, fmt::format("{}, as num_sliding_attention_heads says", said));
    own->refuse_unread("step3p5");
  }
}

Model read_step3p5(Fields& file) {
  const auto layers = static_cast<std::size_t>(file.size_up_to("num_hidden_layers", most_layers));
  const Json plain = in_newer_words(file, layers);
  Fields config(plain, file.where());
  config.rename("num_local_experts", {"n_routed_experts", "moe_num_experts", "num_local_experts"});
  config.rename("num_experts_per_tok", {"num_experts_per_tok", "moe_top_k"});
  config.rename("num_key_value_heads", {"num_key_value_heads", "num_attention_groups"});
  config.rename("share_expert_dim", {"share_expert_dim", "share_expert_dims"});
  Form form;
  form.norm = {Norm::Kind::rms, 1e-5, true, false, true};
  form.query_key_norm = true;
  form.n_kv_heads = 8;
  form.d_head = 128;
  form.context = 128000;
  form.attention_bias = config.flag("attention_bias", false);
  form.feed_forward_bias = config.flag("mlp_bias", false);
  form.attention.gate = OutputGate{Activation::sigmoid, true};
  const std::int64_t d_head = config.size("head_dim", 128);
  form.attention.scale =
      1.0 / std::sqrt(config.number("query_pre_attn_scalar", static_cast<double>(d_head), static_cast<double>(d_head)));
  Model model = read_form(config, form);
  const Ropes ropes = read_rope(config, form.rope, d_head, model.context);
  read_windows(
      config, model, config.count("sliding_window", 0, 0), [](std::int64_t) { return false; }, &ropes);
  set_windowed_heads(config, model);
  Mixture mixture = read_experts(config, model, 288, 8);
  mixture.scores = Mixture::Scores::sigmoid;
  mixture.correction_bias = mixture.normalize = true;
  mixture.scale = config.positive("moe_router_scaling_factor", 1.0);
  mixture.expert.bias = false;
  mixture.shared = first_feed_forward(model);
  mixture.shared->d_ff = config.size("share_expert_dim", 1280);
  mixture.expert.d_ff = config.size("moe_intermediate_size", 1280);
  const std::vector<bool> sparse = read_sparse(config, layers);
  const std::vector<double> limits = read_limits(config, "swiglu_limits", layers);
  const std::vector<double> shared = read_limits(config, "swiglu_limits_shared", layers);
  for (std::size_t i = 0; i < layers; ++i) {
    mixture.expert.clip = limits[i];
    mixture.shared->clip = shared[i];
    for_each<Sublayer>(model.layers[i], [&](Sublayer& sublayer) {
      if (auto* dense = std::get_if<FeedForward>(&sublayer.kind)) dense->clip = shared[i];
      if (sparse[i] && std::holds_alternative<FeedForward>(sublayer.kind)) sublayer.kind = mixture;
    });
  }
  config.ignore({"mtp_layer_types", "mtp_mlp_layer_types"});  // how further tokens are predicted
  config.expect_off("use_bidirectional_attention", "false");
  for (const char* on : {"gating", "norm_expert_weight", "use_head_wise_attn_gate", "use_moe", "use_moe_router_bias",
                         "use_qk_norm", "zero_centered"})
    config.expect_on(on, "true");
  config.expect_word("att_impl_type", "GQA", "GQA");
  config.expect_word("moe_router_activation", "sigmoid", "sigmoid");
  config.expect_word("hidden_act", "silu", "silu");
  config.expect_size("moe_every_n_layer", 1, "1");
  config.expect_size("moe_layer_offset", 0, "0");
  config.ignore({"need_fp32_gate", "max_seq_len"});  // about precision, and the context again
  std::set<std::string> left;
  for (const Fields::Unread& unread : config.unread()) left.insert(unread.name);
  for (const auto& [name, value] : file.json().items())
    if (!left.contains(name)) file.ignore({name});
  return model;
}

void name_step3p5(FamilyNames& names) {
  names.output_gate = "self_attn.g_proj";
  names.mixtures = {{"moe.gate", {.gate = "moe.gate_proj", .up = "moe.up_proj", .down = "moe.down_proj"}}};
  names.all_experts_weight = ".weight";
  names.correction = "moe.router_bias";
  names.shared = {.gate = "share_expert.gate_proj", .up = "share_expert.up_proj", .down = "share_expert.down_proj"};
}

}  // namespace

std::vector<Family> step_families() { return {{"step3p5", read_step3p5, {128815, 4096, 11264, 45, 64}, name_step3p5}}; }

}  // namespace reckon

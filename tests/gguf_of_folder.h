// GGUF files as converters make them of Hugging Face's folders, in float32, for tests: names, pairs, and what is done
// to the data (llama.cpp, conversion/*.py). Written apart from the code that reads such files.
#pragma once

#include <reckon/reckon.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <numbers>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "files/quantise.h"
#include "files/tensor_file.h"
#include "gguf_fixture.h"
#include "model/sublayers.h"

namespace reckon {

struct PlainTensor {
  std::vector<std::int64_t> shape;  // in PyTorch's order
  std::vector<float> values;
  std::int64_t rows() const { return shape.front(); }
  std::int64_t columns() const { return static_cast<std::int64_t>(values.size()) / shape.front(); }
};
using PlainTensors = std::map<std::string, PlainTensor>;

inline PlainTensors plain_tensors(const std::filesystem::path& path) {
  const TensorFile file = read_tensor_file(path);
  const std::vector<MappedFile> mapped = file.map();
  PlainTensors all;
  for (const TensorInfo& info : file.tensors) {
    PlainTensor& tensor = all[info.name];
    tensor.shape = info.shape;
    tensor.values.resize(static_cast<std::size_t>(info.elements));
    decode(encoding_of(info.dtype), file.bytes_of(info, mapped), tensor.values);
  }
  return all;
}

// Rows in another order: `source` gives the row that comes to stand at each place.
template <class Source>
PlainTensor rows_from(const PlainTensor& tensor, std::int64_t rows, const Source& source) {
  PlainTensor result;
  result.shape = tensor.shape;
  result.shape.front() = rows;
  const std::int64_t columns = tensor.columns();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      result.values.push_back(tensor.values[static_cast<std::size_t>(source(row) * columns + column)]);
  return result;
}

inline PlainTensor transposed(const PlainTensor& tensor) {
  PlainTensor result{{tensor.shape[1], tensor.shape[0]}, {}};
  for (std::int64_t i = 0; i < tensor.shape[1]; ++i)
    for (std::int64_t j = 0; j < tensor.shape[0]; ++j)
      result.values.push_back(tensor.values[static_cast<std::size_t>(j * tensor.shape[1] + i)]);
  return result;
}

// A file in parts, which a test may change before it is written.
struct PlainGguf {
  std::string architecture;
  GgufFixture fixture;   // the pairs
  PlainTensors tensors;  // the data

  // Matrices in `dtype`, where its blocks fit into their rows, all else in float32.
  std::string file(DType dtype = DType::float32) const {
    GgufFixture all = fixture;
    for (const auto& [name, tensor] : tensors) {
      const std::int64_t width = tensor.shape.back();
      const bool narrow = tensor.shape.size() > 1 && width % encoding_of(dtype).elements == 0 &&
                          name.find("norm") == std::string::npos && name.find("_inp") == std::string::npos;
      std::string bytes(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float));
      if (narrow) bytes = encoded(tensor, dtype);
      const DType type = narrow ? dtype : DType::float32;
      all.tensor(name, {tensor.shape.rbegin(), tensor.shape.rend()},
                 static_cast<std::uint32_t>(encoding_of(type).gguf_type), bytes);
    }
    return all.file();
  }

  static std::string encoded(const PlainTensor& tensor, DType dtype) {
    const std::int64_t width = tensor.shape.back(), rows = static_cast<std::int64_t>(tensor.values.size()) / width;
    const std::int64_t of_row = row_bytes(dtype, width);
    std::string bytes(static_cast<std::size_t>(rows * of_row), '\0');
    for (std::int64_t row = 0; row < rows; ++row)
      encode_row(dtype, tensor.values.data() + row * width, width, nullptr,
                 reinterpret_cast<std::byte*>(bytes.data()) + row * of_row);
    return bytes;
  }

  void number(const std::string& key, std::int64_t value) {
    fixture.pair(architecture + "." + key, static_cast<std::uint32_t>(value));
  }
  void real(const std::string& key, double value) { fixture.pair(architecture + "." + key, static_cast<float>(value)); }
  void flag(const std::string& key, bool value) { fixture.pair(architecture + "." + key, value); }
};

class GgufOfFolder : public PlainGguf {
 public:
  // What rebuilds keys and values of latents is one tensor in older files, whose heads are those of the network.
  enum class Latents { split, whole };

  explicit GgufOfFolder(const std::filesystem::path& folder, Latents latents = Latents::split)
      : model_(load_model(folder.string())),
        attention_(first_attention(model_)),
        from_(plain_tensors(folder)),
        whole_(latents == Latents::whole) {
    const std::map<std::string, std::string> names = {
        {"mistral", "llama"},      {"mixtral", "llama"},         {"cohere", "command-r"},  {"deepseek_v2", "deepseek2"},
        {"gpt_neox", "gptneox"},   {"deepseek_v3", "deepseek2"}, {"gpt_oss", "gpt-oss"},   {"phi", "phi2"},
        {"qwen3_moe", "qwen3moe"}, {"gemma3_text", "gemma3"},    {"qwen2_moe", "qwen2moe"}};
    const auto found = names.find(model_.family);
    architecture = found == names.end() ? model_.family : found->second;
    for (const auto& [name, tensor] : from_) convert(name, tensor);
    stack();
    pairs();
  }

 private:
  bool is(std::initializer_list<const char*> families) const {
    return std::any_of(families.begin(), families.end(), [&](const char* each) { return model_.family == each; });
  }

  std::string renamed(std::string module) const {
    static const std::map<std::string, std::string> same = {
        {"self_attn.q_proj", "attn_q"},
        {"self_attn.k_proj", "attn_k"},
        {"self_attn.v_proj", "attn_v"},
        {"self_attn.o_proj", "attn_output"},
        {"self_attn.dense", "attn_output"},
        {"self_attn.qkv_proj", "attn_qkv"},
        {"attn.c_attn", "attn_qkv"},
        {"attn.c_proj", "attn_output"},
        {"attention.query_key_value", "attn_qkv"},
        {"attention.dense", "attn_output"},
        {"self_attention.query_key_value", "attn_qkv"},
        {"self_attention.dense", "attn_output"},
        {"self_attn.q_norm", "attn_q_norm"},
        {"self_attn.k_norm", "attn_k_norm"},
        {"self_attn.sinks", "attn_sinks"},
        {"self_attn.q_a_proj", "attn_q_a"},
        {"self_attn.q_a_layernorm", "attn_q_a_norm"},
        {"self_attn.q_b_proj", "attn_q_b"},
        {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
        {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
        {"self_attn.kv_b_proj", "attn_kv_b"},
        {"input_layernorm", "attn_norm"},
        {"ln_1", "attn_norm"},
        {"ln_2", "ffn_norm"},
        {"ln_attn", "attn_norm_2"},
        {"ln_mlp", "attn_norm"},
        {"pre_feedforward_layernorm", "ffn_norm"},
        {"post_feedforward_layernorm", "post_ffw_norm"},
        {"mlp.gate_proj", "ffn_gate"},
        {"mlp.up_proj", "ffn_up"},
        {"mlp.down_proj", "ffn_down"},
        {"mlp.gate_up_proj", "ffn_up"},
        {"mlp.c_fc", "ffn_up"},
        {"mlp.c_proj", "ffn_down"},
        {"mlp.fc1", "ffn_up"},
        {"mlp.fc2", "ffn_down"},
        {"mlp.dense_h_to_4h", "ffn_up"},
        {"mlp.dense_4h_to_h", "ffn_down"},
        {"mlp.gate", "ffn_gate_inp"},
        {"mlp.router", "ffn_gate_inp"},
        {"block_sparse_moe.gate", "ffn_gate_inp"},
        {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
        {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
        {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
        {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
        {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
        {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
        {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
    };
    if (module == "post_attention_layernorm")
      return is({"gemma2", "gemma3_text", "olmo2", "gpt_oss"}) ? "post_attention_norm" : "ffn_norm";
    return same.at(module);
  }

  void convert(const std::string& name, const PlainTensor& tensor) {
    static const std::regex in_layer(R"((?:.*\.)?(?:layers|h)\.(\d+)\.(.*))");
    std::smatch match;
    if (!std::regex_match(name, match, in_layer)) {
      static const std::vector<std::pair<std::string, std::string>> outside = {
          {"embed_tokens.", "token_embd."},
          {"wte.", "token_embd."},
          {"embed_in.", "token_embd."},
          {"word_embeddings_layernorm.", "token_embd_norm."},
          {"word_embeddings.", "token_embd."},
          {"wpe.", "position_embd."},
          {"lm_head.", "output."},
          {"embed_out.", "output."},
          {"final_layer_norm.", "output_norm."},
          {"final_layernorm.", "output_norm."},
          {"ln_f.", "output_norm."},
          {"norm.", "output_norm."}};
      for (const auto& [word, to] : outside) {
        const std::size_t at = name.find(word);
        if (at == std::string::npos) continue;
        tensors[to + name.substr(at + word.size())] = shifted(name, tensor);
        return;
      }
      throw Error("the test does not know the tensor " + name);
    }
    const std::string layer = "blk." + match[1].str() + ".", rest = match[2].str();
    if (rest.ends_with(".attn.bias")) return;
    if (gather(layer, rest, tensor)) return;
    const std::size_t dot = rest.ends_with(".sinks") ? rest.size() : rest.rfind('.');
    const std::string module = renamed(rest.substr(0, dot));
    const std::string piece = dot == rest.size() ? ".weight" : rest.substr(dot);
    tensors[layer + module + piece] = shifted(name, changed(module, rest, tensor));
  }

  // Gemma's norms, plus one.
  PlainTensor shifted(const std::string& name, PlainTensor tensor) const {
    if (is({"gemma", "gemma2", "gemma3_text"}) && name.ends_with("norm.weight"))
      for (float& value : tensor.values) value += 1.0f;
    return tensor;
  }

  PlainTensor changed(const std::string& module, const std::string& rest, const PlainTensor& tensor) const {
    const std::int64_t d = attention_.d_head;
    if (is({"llama", "mistral", "mixtral", "granite", "arcee"}) && (module == "attn_q" || module == "attn_k"))
      return rows_from(tensor, tensor.rows(),
                       [&](std::int64_t row) { return row / d * d + row % 2 * (d / 2) + row % d / 2; });
    if (module == "ffn_gate_inp_shexp") return {{tensor.shape.back()}, tensor.values};  // of one row
    if (is({"gpt2"}) && rest.ends_with(".weight") && tensor.shape.size() == 2) return transposed(tensor);
    if (is({"bloom", "gpt_neox", "falcon"}) && module == "attn_qkv") {
      // Groups of queries, a key and a value become all queries, all keys, all values.
      const std::int64_t groups = attention_.n_kv_heads, queries = attention_.n_heads / groups;
      return rows_from(tensor, tensor.rows(), [&](std::int64_t row) {
        std::int64_t head = row / d;
        const std::int64_t n = attention_.n_heads;
        if (head < n)
          head = head / queries * (queries + 2) + head % queries;
        else
          head = (head - n) % groups * (queries + 2) + queries + (head - n) / groups;
        return head * d + row % d;
      });
    }
    return tensor;
  }

  // What is stacked or split: experts, heads of norms, kv_b, gpt-oss' feed-forwards.
  bool gather(const std::string& layer, const std::string& rest, const PlainTensor& tensor) {
    static const std::regex expert(R"(.*experts\.(\d+)\.(\w+)\.weight)"),
        head(R"(self_attn\.(q|k)_layernorm\.norms\.(\d+)\.weight)");
    static const std::map<std::string, std::string> parts = {{"gate_proj", "ffn_gate"}, {"up_proj", "ffn_up"},
                                                             {"down_proj", "ffn_down"}, {"w1", "ffn_gate"},
                                                             {"w3", "ffn_up"},          {"w2", "ffn_down"}};
    std::smatch match;
    if (std::regex_match(rest, match, expert)) {
      stacks_[layer + parts.at(match[2].str()) + "_exps.weight"][std::stoi(match[1].str())] = tensor;
      return true;
    }
    if (std::regex_match(rest, match, head)) {
      stacks_[layer + "attn_" + match[1].str() + "_norm.weight"][std::stoi(match[2].str())] = tensor;
      return true;
    }
    if (rest == "mlp.gate.e_score_correction_bias") {
      tensors[layer + "exp_probs_b.bias"] = tensor;
      return true;
    }
    if (rest == "self_attn.kv_b_proj.weight" && !whole_) {
      const std::int64_t nope = attention_.latent->d_nope, both = nope + attention_.d_value;
      for (std::int64_t h = 0; h < attention_.n_heads; ++h) {
        stacks_[layer + "attn_k_b.weight"][static_cast<int>(h)] =
            transposed(rows_from(tensor, nope, [&](std::int64_t row) { return h * both + row; }));
        stacks_[layer + "attn_v_b.weight"][static_cast<int>(h)] =
            rows_from(tensor, attention_.d_value, [&](std::int64_t row) { return h * both + nope + row; });
      }
      return true;
    }
    if (rest.starts_with("mlp.experts.")) {
      split_gpt_oss(layer, rest, tensor);
      return true;
    }
    return false;
  }

  void split_gpt_oss(const std::string& layer, const std::string& rest, const PlainTensor& tensor) {
    const bool bias = rest.ends_with("_bias"), down = rest.find("down") != std::string::npos;
    const std::int64_t experts = tensor.shape[0], each = tensor.columns();
    for (std::int64_t e = 0; e < experts; ++e) {
      PlainTensor one{{tensor.shape.begin() + 1, tensor.shape.end()},
                      {tensor.values.begin() + e * each, tensor.values.begin() + (e + 1) * each}};
      if (!bias) one = transposed(one);
      const auto add = [&](const std::string& name, const PlainTensor& part) {
        stacks_[layer + name + "_exps" + (bias ? ".bias" : ".weight")][static_cast<int>(e)] = part;
      };
      if (down) {
        add("ffn_down", one);
        continue;
      }
      add("ffn_gate", rows_from(one, one.rows() / 2, [](std::int64_t row) { return 2 * row; }));
      add("ffn_up", rows_from(one, one.rows() / 2, [](std::int64_t row) { return 2 * row + 1; }));
    }
  }

  void stack() {
    for (const auto& [name, parts] : stacks_) {
      PlainTensor all{parts.begin()->second.shape, {}};
      all.shape.insert(all.shape.begin(), static_cast<std::int64_t>(parts.size()));
      for (const auto& [index, part] : parts)
        all.values.insert(all.values.end(), part.values.begin(), part.values.end());
      tensors[name] = all;
    }
  }

  void pairs() {
    fixture.pair("general.architecture", std::string_view(architecture));
    number("context_length", model_.context);
    number("embedding_length", model_.d_model);
    number("block_count", std::ssize(model_.layers));
    const FeedForward* dense = find<FeedForward>(model_);
    number("feed_forward_length", (dense != nullptr ? *dense : first_feed_forward(model_)).d_ff);
    number("attention.head_count", attention_.n_heads);
    number("attention.head_count_kv", attention_.latent && !whole_ ? 1 : attention_.n_kv_heads);
    const Norm& norm = *model_.final_norm;
    real(norm.kind == Norm::Kind::rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
         norm.epsilon);
    if (attention_.latent) {
      const Latent& latent = *attention_.latent;
      number("attention.key_length", whole_ ? attention_.d_head : latent.kv_rank + latent.d_rope);
      number("attention.value_length", whole_ ? attention_.d_value : latent.kv_rank);
      if (!whole_) number("attention.key_length_mla", attention_.d_head);
      if (!whole_) number("attention.value_length_mla", attention_.d_value);
      number("attention.kv_lora_rank", latent.kv_rank);
      if (latent.query_rank > 0) number("attention.q_lora_rank", latent.query_rank);
    } else if (attention_.d_head * attention_.n_heads != model_.d_model) {
      number("attention.key_length", attention_.d_head);
      number("attention.value_length", attention_.d_head);
    }
    if (is({"gemma3_text"})) real("attention.scale", attention_.scale);  // of no published size
    windows();
    rope();
    mixture();
    if (is({"granite"})) {
      real("attention.scale", attention_.scale);
      real("embedding_scale", model_.embedding_scale);
      real("residual_scale", model_.layers.front().sublayers.front().residual_scale);
      real("logit_scale", 1 / model_.head.scale);
    }
    if (is({"cohere"})) real("logit_scale", model_.head.scale);
    if (is({"gemma2"})) real("attn_logit_softcapping", attention_.softcap);
    if (is({"gemma2"})) real("final_logit_softcapping", model_.head.softcap);
    if (is({"gpt_neox"}))
      flag("use_parallel_residual", model_.layers.front().sublayers[1].reads != Sublayer::Reads::stream);
    if (is({"stablelm"})) flag("use_parallel_residual", true);  // whatever it is, as converters do
  }

  void windows() {
    std::vector<std::uint8_t> local;
    std::int64_t window = 0;
    for (const Layer& layer : model_.layers) {
      local.push_back(find<Attention>(layer)->window > 0);
      window = std::max(window, find<Attention>(layer)->window);
    }
    if (window == 0) return;
    number("attention.sliding_window", window);
    const bool known = is({"gemma2", "gpt_oss"});
    if (!known && std::set(local.begin(), local.end()).size() > 1)
      fixture.array<std::uint8_t>(architecture + ".attention.sliding_window_pattern", 7, local);
  }

  void rope() {
    const Rope* full = nullptr;
    const Rope* local = nullptr;
    for (const Layer& layer : model_.layers) {
      const Attention& attention = *find<Attention>(layer);
      if (attention.rope) (attention.window > 0 ? local : full) = &*attention.rope;
    }
    if (full == nullptr) full = local;
    if (full == nullptr) return;
    number("rope.dimension_count", full->dims);
    real("rope.freq_base", full->theta);
    if (is({"gemma3_text"}) && local != nullptr) real("rope.freq_base_swa", local->theta);
    const auto values = [](const std::vector<double>& numbers) {
      return PlainTensor{{std::ssize(numbers)}, {numbers.begin(), numbers.end()}};
    };
    const std::string prefix = architecture + ".rope.scaling.";
    switch (full->scaling) {
      case Rope::Scaling::none:
        return;
      case Rope::Scaling::linear:
        fixture.pair(prefix + "type", "linear");
        return real("rope.scaling.factor", full->factor);
      case Rope::Scaling::yarn:
        fixture.pair(prefix + "type", "yarn");
        real("rope.scaling.factor", full->factor);
        number("rope.scaling.original_context_length", static_cast<std::int64_t>(full->original_context));
        real("rope.scaling.yarn_beta_fast", full->beta_fast);
        real("rope.scaling.yarn_beta_slow", full->beta_slow);
        if (full->mscale_all_dim != 0) real("rope.scaling.yarn_log_multiplier", 0.1 * full->mscale_all_dim);
        return;
      case Rope::Scaling::longrope: {
        const double stretch = static_cast<double>(model_.context) / full->original_context;
        number("rope.scaling.original_context_length", static_cast<std::int64_t>(full->original_context));
        real("rope.scaling.attn_factor", std::sqrt(1 + std::log(stretch) / std::log(full->original_context)));
        tensors["rope_factors_long.weight"] = values(full->long_factors);
        tensors["rope_factors_short.weight"] = values(full->short_factors);
        return;
      }
      case Rope::Scaling::llama3: {
        std::vector<double> divisors;
        for (std::int64_t i = 0; i < full->dims; i += 2) {
          const double frequency = 1 / std::pow(full->theta, static_cast<double>(i) / static_cast<double>(full->dims));
          const double length = 2 * std::numbers::pi / frequency;
          const double smooth = (full->original_context / length - full->low_frequency_factor) /
                                (full->high_frequency_factor - full->low_frequency_factor);
          divisors.push_back(length < full->original_context / full->high_frequency_factor ? 1
                             : length > full->original_context / full->low_frequency_factor
                                 ? full->factor
                                 : 1 / ((1 - smooth) / full->factor + smooth));
        }
        tensors["rope_freqs.weight"] = values(divisors);
        return;
      }
      case Rope::Scaling::dynamic:
        throw Error("GGUF has no dynamic scaling");
    }
  }

  void mixture() {
    const Mixture* found = find<Mixture>(model_);
    if (found == nullptr) return;
    number("expert_count", found->n_experts);
    number("expert_used_count", found->n_active);
    if (!is({"mixtral"})) number("expert_feed_forward_length", found->expert.d_ff);
    if (is({"qwen2_moe"})) number("expert_shared_feed_forward_length", found->shared->d_ff);
    if (is({"qwen2_moe"}) && found->normalize) flag("expert_weights_norm", true);
    if (!is({"deepseek_v2", "deepseek_v3"})) return;
    std::int64_t dense = 0;
    while (find<Mixture>(model_.layers[static_cast<std::size_t>(dense)]) == nullptr) ++dense;
    number("leading_dense_block_count", dense);
    number("expert_shared_count", found->shared ? found->shared->d_ff / found->expert.d_ff : 0);
    real("expert_weights_scale", found->scale);
    if (found->normalize) flag("expert_weights_norm", true);
    number("expert_gating_func", found->scores == Mixture::Scores::sigmoid ? 2 : 1);
    number("expert_group_count", found->n_groups);
    number("expert_group_used_count", found->n_active_groups);
  }

  const Model model_;
  const Attention& attention_;
  const PlainTensors from_;
  const bool whole_;  // latents
  std::map<std::string, std::map<int, PlainTensor>> stacks_;
};

}  // namespace reckon

#include "model/file_report.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "files/checked.h"
#include "files/encoding.h"
#include "model/load.h"
#include "model/nested.h"
#include "model/read.h"

namespace reckon {
namespace {

// How packed weights are known: "x.weight" is missing, or is of another shape or type, and "x" with one of these
// endings is there.
struct Packing {
  std::string_view plain, packed, format;
};
constexpr std::array packings{
    Packing{"", "_blocks", "MXFP4"},
    Packing{".weight", ".qweight", "GPTQ or AWQ"},
    Packing{".weight", ".weight_packed", "compressed-tensors"},
};
constexpr std::array packed_in_place{
    Packing{".weight", ".scales", "MLX"},
    Packing{".weight", ".weight.absmax", "bitsandbytes"},
    Packing{".weight", ".SCB", "bitsandbytes"},
    Packing{".weight", ".weight_scale_inv", "FP8"},
    Packing{".weight", ".weight_scale", "compressed-tensors"},
};

// Why a tensor that is no parameter may be there, by the ending of its name. The first that fits is taken.
struct Reason {
  std::string_view ending, why;
  bool of_weights = false;  // it belongs to a packed one
};
constexpr std::array reasons{
    Reason{".attn.bias", "stored attention mask"},
    Reason{".attn.masked_bias", "stored attention mask"},
    Reason{".attention.bias", "stored attention mask"},
    Reason{".attention.masked_bias", "stored attention mask"},
    Reason{".crossattention.bias", "stored attention mask"},
    Reason{".crossattention.masked_bias", "stored attention mask"},
    Reason{".query_decay", "decays over a block, which the slopes make"},
    Reason{".key_decay", "decays over a block, which the slopes make"},
    Reason{".diagonal_decay", "decays over a block, which the slopes make"},
    Reason{".mup_vector", "multipliers, which the config has"},
    Reason{"rotary_emb.inv_freq", "rotary table"},
    Reason{"rotary_emb.cos_cached", "rotary table"},
    Reason{"rotary_emb.sin_cached", "rotary table"},
    Reason{".attn.embed_positions", "rotary table"},
    Reason{"rope_freqs.weight", "divisors of the rotary frequencies, which the model has"},
    Reason{"rope_factors_long.weight", "divisors of the rotary frequencies, which the model has"},
    Reason{"rope_factors_short.weight", "divisors of the rotary frequencies, which the model has"},
    Reason{"_blocks", "MXFP4 blocks, two 4-bit elements to a byte", true},
    Reason{"_scales", "quantization scale", true},
    Reason{".qweight", "packed quantized weight", true},
    Reason{".weight_packed", "packed quantized weight", true},
    Reason{".qzeros", "quantization zero point", true},
    Reason{".weight_zero_point", "quantization zero point", true},
    Reason{".scales", "quantization scale", true},
    Reason{".biases", "quantization offset", true},
    Reason{".weight_scale_inv", "quantization scale", true},
    Reason{".weight_scale", "quantization scale", true},
    Reason{".weight_scale_2", "quantization scale", true},
    Reason{".input_scale", "quantization scale", true},
    Reason{".activation_scale", "quantization scale", true},
    Reason{".k_scale", "quantization scale", true},
    Reason{".v_scale", "quantization scale", true},
    Reason{"absmax", "quantization scale", true},
    Reason{"quant_map", "quantization table", true},
    Reason{".bitsandbytes__nf4", "quantization state", true},
    Reason{".bitsandbytes__fp4", "quantization state", true},
    Reason{".SCB", "quantization scale", true},
    Reason{".g_idx", "quantization order", true},
    Reason{".weight_shape", "shape of a packed quantized weight", true},
};

// How config.json's quant_method calls what is known by these names.
constexpr std::pair<std::string_view, std::string_view> methods[] = {{"aqlm", "AQLM"},     {"auto-round", "AutoRound"},
                                                                     {"awq", "AWQ"},       {"bitnet", "BitNet"},
                                                                     {"eetq", "EETQ"},     {"fbgemm_fp8", "FBGEMM"},
                                                                     {"gptq", "GPTQ"},     {"higgs", "HIGGS"},
                                                                     {"hqq", "HQQ"},       {"modelopt", "ModelOpt"},
                                                                     {"quanto", "Quanto"}, {"quark", "Quark"},
                                                                     {"spqr", "SpQR"},     {"vptq", "VPTQ"}};

// What the config.json beside the file says of how its weights are quantised.
struct Quantisation {
  std::string method;  // empty where it says nothing; the names of tensors tell MXFP4 and FP8 more exactly
  std::array<std::int64_t, 2> fp8_block = {128, 128};
};

std::optional<std::string> method_in(const nlohmann::json& quantization) {
  const auto method = quantization.find("quant_method");
  if (method == quantization.end() || !method->is_string()) return std::nullopt;
  const std::string word = method->get<std::string>();
  for (const char* by_names : {"fp8", "FP8", "mxfp4", "MXFP4"})
    if (word == by_names) return "";
  for (const auto& [known, name] : methods)
    if (word == known) return std::string(name);
  return word.size() <= 40 ? word : word.substr(0, 40);
}

Quantisation quantisation_beside(const TensorFile& file) {
  Quantisation found;
  std::optional<std::string> method;
  if (file.files.empty() || !file.files.front().pairs.empty()) return found;  // a GGUF file says it by itself
  const std::filesystem::path path = file.files.front().path.parent_path() / "config.json";
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return found;
  nlohmann::json config;
  try {
    config = read_json_file(path, path.string(), "a config.json");
  } catch (const Error&) {
    return found;  // whoever needs it says why
  }
  if (!config.is_object()) return found;
  const char* nest = nested_language_model(config);
  for (const nlohmann::json* object : {&config, nest != nullptr ? &config[nest] : nullptr})
    for (const char* field : quantization_fields) {
      if (object == nullptr || !object->contains(field) || !(*object)[field].is_object()) continue;
      Fields quantization((*object)[field], path.string(), std::string(field) + ".");
      if (const nlohmann::json* block = quantization.array("weight_block_size")) {
        if (block->size() != 2 || !std::all_of(block->begin(), block->end(), [](const nlohmann::json& side) {
              return side.is_number_unsigned() && side > 0 && side <= largest_size;
            }))
          quantization.fail("weight_block_size", "the rows and the columns that share a scale");
        found.fp8_block = block->get<std::array<std::int64_t, 2>>();
      }
      if (!method) method = method_in(quantization.json());
    }
  found.method = method.value_or("");
  return found;
}

bool is_integer(DType dtype) {
  constexpr std::array integers{DType::uint8, DType::int8,   DType::uint16, DType::int16,
                                DType::int32, DType::uint32, DType::int64,  DType::uint64};
  return std::find(integers.begin(), integers.end(), dtype) != integers.end();
}

// The number behind "layers.", "h." or "blk." in a tensor's name, or -1.
std::int64_t layer_of(std::string_view name) {
  for (const std::string_view word : {"layers.", "h.", "blk."}) {
    const auto found = name.find(word);
    if (found == std::string_view::npos || (found > 0 && name[found - 1] != '.')) continue;
    const char* digits = name.data() + found + word.size();
    std::int64_t number = -1;
    if (std::from_chars(digits, name.data() + name.size(), number).ec == std::errc{}) return number;
  }
  return -1;
}

// `of_weights` is set where it belongs to a packed weight.
FileReport::Unexpected unexpected(const Model& model, const StoredLayout& layout, const TensorInfo& tensor,
                                  bool& of_weights) {
  const std::string& name = tensor.name;
  const auto because = [&](std::string why, bool may_be_left_out) {
    return FileReport::Unexpected{name, tensor.shape, tensor.elements, std::move(why), may_be_left_out};
  };
  if (std::find(layout.tied_heads.begin(), layout.tied_heads.end(), name) != layout.tied_heads.end())
    return because("duplicate of the embedding (tied head)", true);
  if (name.find("vision_tower.") != std::string::npos || name.find("visual.") != std::string::npos ||
      name.find("vision_model.") != std::string::npos || name.find("multi_modal_projector.") != std::string::npos ||
      name.find("mm_projector.") != std::string::npos || name.find("embed_vision.") != std::string::npos ||
      name.find("vision_embedder.") != std::string::npos || name.starts_with("vit_large_projector.") ||
      name.starts_with("patch_merge_mlp."))
    return because("part of a vision model", true);
  if (name.find("audio_tower.") != std::string::npos || name.find("embed_audio.") != std::string::npos)
    return because("part of an audio model", true);
  // DeepSeek V3 and others count their prediction layers on after the last one; others give them a name.
  constexpr std::array counting_on{"deepseek_v2",   "deepseek_v3",    "glm4_moe",
                                   "glm4_moe_lite", "glm4v_moe_text", "hy_v3"};
  const bool counts_on = std::find(counting_on.begin(), counting_on.end(), model.family) != counting_on.end();
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t layer = layer_of(name);
  if (name.starts_with("mtp.") || name.starts_with("model.mtp.") || (layer >= layers && counts_on))
    return because("multi-token prediction layer", true);
  const Attention* attention =
      layer >= 0 && layer < layers ? find<Attention>(model.layers[static_cast<std::size_t>(layer)]) : nullptr;
  if (attention != nullptr && attention->kv_from > 0 &&
      (name.find(".k_") != std::string::npos || name.find(".v_") != std::string::npos))
    return because("keys and values of a layer that reads those of another", true);
  if (layer >= layers) return because(fmt::format("layer {} of a model with {} layers", layer, layers), false);
  for (const Reason& reason : reasons)
    if (name.ends_with(reason.ending)) {
      of_weights = reason.of_weights;
      return because(std::string(reason.why), true);
    }
  return because("", false);
}

using Found = std::unordered_map<std::string_view, const TensorInfo*>;

// The first of these that the file shows for a tensor; empty where it shows none.
std::string packing_of(const std::string& tensor, std::span<const Packing> known, const Found& found) {
  for (const Packing& packing : known) {
    if (!tensor.ends_with(packing.plain)) continue;
    const std::string stem = tensor.substr(0, tensor.size() - packing.plain.size());
    if (!found.contains(stem + std::string(packing.packed))) continue;
    if (packing.packed != ".qweight") return std::string(packing.format);
    // AWQ keeps the rows of in × out and packs along out, GPTQ packs along in and knows an order of rows.
    return found.contains(stem + ".g_idx") ? "GPTQ" : std::string(packing.format);
  }
  return "";
}

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements = checked_multiply(elements, extent, "the size of a stored tensor");
  return elements;
}

}  // namespace

FileReport inspect_file(const Model& model, const TensorFile& file) {
  FileReport report;
  Found found;
  for (const TensorInfo& tensor : file.tensors) {
    found.emplace(tensor.name, &tensor);
    const auto bytes = static_cast<std::int64_t>(tensor.end - tensor.begin);
    FileReport::Share& share = report.types[tensor.dtype];
    share.tensors += 1;
    share.elements = checked_add(share.elements, tensor.elements, "the number of elements");
    share.bytes = checked_add(share.bytes, bytes, "the number of bytes");
    report.elements = checked_add(report.elements, tensor.elements, "the number of elements");
    report.bytes = checked_add(report.bytes, bytes, "the number of bytes");
    report.tensors.push_back({tensor.name, tensor.dtype, tensor.shape, bytes});
  }

  const StoredLayout layout = stored_layout(model, file);
  const auto count = [](const std::vector<StoredParameter>& parameters) {
    std::int64_t elements = 0;
    for (const StoredParameter& parameter : parameters)
      elements = checked_add(elements, elements_of(parameter.shape), "the number of parameters");
    return elements;
  };
  report.expected_elements = count(layout.parameters);
  report.buffer_elements = count(layout.buffers);

  for (const std::string& name : layout.tied_heads) {
    const std::vector<std::int64_t> embedding{model.vocab_size, model.d_embedding};
    if (const auto at = found.find(name); at != found.end() && at->second->shape != embedding)
      report.misshapen.push_back({name, at->second->shape, embedding});
  }
  std::unordered_set<std::string_view> expected;
  for (const StoredTensor& tensor : layout.tensors) expected.insert(tensor.name);
  const Quantisation beside = quantisation_beside(file);
  const std::string& method = beside.method;
  report.fp8_block = beside.fp8_block;
  std::unordered_set<std::string> modules;  // those with tensors that a method of its own has put there
  if (!method.empty())
    for (const TensorInfo& tensor : file.tensors)
      if (!expected.contains(tensor.name)) modules.insert(tensor.name.substr(0, tensor.name.rfind('.')));
  std::unordered_set<std::string> packed;  // modules
  for (const StoredTensor& tensor : layout.tensors) {
    const auto at = found.find(tensor.name);
    const bool plain = at != found.end() && at->second->shape == tensor.shape && !is_integer(at->second->dtype) &&
                       at->second->dtype != DType::float8_e4m3;
    if (plain) continue;
    std::string format = packing_of(
        tensor.name, at == found.end() ? std::span<const Packing>(packings) : std::span<const Packing>(packed_in_place),
        found);
    const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
    const bool no_plain_type =
        at != found.end() && (is_integer(at->second->dtype) || at->second->dtype == DType::float8_e4m3);
    if (!method.empty() && (!format.empty() || no_plain_type || (at == found.end() && modules.contains(module)))) {
      format = method;
      packed.insert(module);
    }
    // FP8 has the shape of what it stands for.
    const bool reshaped = format == "FP8" && at != found.end() && at->second->shape != tensor.shape;
    if (!format.empty() && !reshaped)
      report.quantized.push_back({tensor.name, format});
    else if (at == found.end())
      report.missing.push_back(tensor);
    else if (at->second->shape != tensor.shape)
      report.misshapen.push_back({tensor.name, at->second->shape, tensor.shape});
  }
  for (const TensorInfo& tensor : file.tensors) {
    bool of_weights = expected.contains(tensor.name);
    if (!of_weights) {
      FileReport::Unexpected other = unexpected(model, layout, tensor, of_weights);
      if (other.why.empty() && packed.contains(tensor.name.substr(0, tensor.name.rfind('.')))) {
        other.why = fmt::format("part of a weight quantized by {}", method);
        other.may_be_left_out = of_weights = true;
      }
      report.unexpected.push_back(std::move(other));
    }
    if (of_weights) report.weight_bytes += static_cast<std::int64_t>(tensor.end - tensor.begin);
  }
  report.complete = report.missing.empty() && report.misshapen.empty();
  return report;
}

std::shared_ptr<const ParameterTypes> file_types(const Model& model, const TensorFile& file) {
  std::unordered_map<std::string_view, DType> found;
  for (const TensorInfo& tensor : file.tensors) found.emplace(tensor.name, tensor.dtype);
  const auto bits = [](DType dtype) {
    return static_cast<double>(encoding_of(dtype).bytes) / static_cast<double>(encoding_of(dtype).elements);
  };
  auto types = std::make_shared<ParameterTypes>();
  for (const StoredParameter& parameter : stored_layout(model, file).parameters) {
    std::optional<DType> widest;
    for (const StoredView& view : parameter.views) {
      const auto at = found.find(view.tensor);
      if (at == found.end() && !found.contains(view.tensor + "_blocks")) continue;
      const DType dtype = at != found.end() ? at->second : DType::mxfp4;
      if (!widest || bits(dtype) > bits(*widest)) widest = dtype;
    }
    if (widest) types->emplace(parameter.key, *widest);
  }
  return types;
}

}  // namespace reckon

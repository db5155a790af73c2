#include "model/config_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace reckon {
namespace {

using nlohmann::json;

void note_nesting(const json& config, const std::string& nest, std::vector<std::string>& notes) {
  std::vector<std::string> others;
  for (const auto& [name, value] : config.items()) {
    const bool model = name.ends_with("_config") && name != nest && name != "quantization_config" &&
                       name != "compression_config" && value.is_object();
    if (model) others.push_back(name);
  }
  notes.push_back(others.empty()
                      ? fmt::format("only the language model, {}, is read", nest)
                      : fmt::format("only the language model, {}, is read: {} and what joins it to that are left out",
                                    nest, fmt::join(others, ", ")));
}

// GPT2LMHeadModel, LlamaForCausalLM, Gemma3ForConditionalGeneration; not LlamaForSequenceClassification or LlamaModel.
bool predicts_tokens(const std::string& architecture) {
  constexpr std::array heads{"LMHead", "CausalLM", "ConditionalGeneration", "ImageTextToText", "DoubleHeads", "Chat"};
  return std::any_of(heads.begin(), heads.end(),
                     [&](const char* head) { return architecture.find(head) != std::string::npos; });
}

void note_head(Fields& fields, std::vector<std::string>& notes) {
  const json* found = fields.value("architectures");
  if (found == nullptr || !found->is_array()) return;
  std::string other;
  for (const json& name : *found) {
    if (!name.is_string()) continue;
    if (predicts_tokens(name.get<std::string>())) return;
    other = describe(name);
  }
  if (other.empty()) return;
  notes.push_back(
      other.find("For") == std::string::npos
          ? fmt::format("{} has no head; that of a language model is taken all the same", other)
          : fmt::format("the head of {} is left out; that of a language model is taken in its place", other));
}

void note_quantization(Fields& fields, std::vector<std::string>& notes) {
  const std::vector<std::string> names{"quantization_config", "compression_config", "quantization"};
  fields.ignore(names);
  for (const std::string& name : names) {
    const json* found = fields.value(name);
    if (found == nullptr || !found->is_object() || found->empty()) continue;
    const auto method = found->find("quant_method");
    notes.push_back(
        fmt::format("its files are quantized ({}{}); parameters are counted as plain numbers, without scales", name,
                    method != found->end() && method->is_string() ? ": " + describe(*method) : ""));
    return;
  }
}

void note_prediction_layers(Fields& fields, std::vector<std::string>& notes) {
  for (const char* name : {"num_nextn_predict_layers", "num_mtp_layers"}) {
    const std::int64_t layers = fields.count(name, 0);
    if (layers == 0) continue;
    notes.push_back(
        layers == 1
            ? fmt::format("a further layer ({}), which predicts a token after the next, is left out", name)
            : fmt::format("{} further layers ({}), which predict tokens after the next, are left out", layers, name));
  }
}

}  // namespace

std::vector<std::string> config_notes(const char* nest, Fields& file, Fields& network) {
  std::vector<std::string> notes;
  if (nest != nullptr) note_nesting(file.json(), nest, notes);
  note_head(file, notes);
  note_quantization(file, notes);
  if (nest != nullptr) note_quantization(network, notes);
  note_prediction_layers(network, notes);
  return notes;
}

}  // namespace reckon

#include "run/sensitivity.h"

#include <reckon/error.h>
#include <reckon/generate.h>

#include "files/quantise.h"
#include "run/score.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace reckon {
namespace {

constexpr DType probe = DType::q4_0;
constexpr std::int64_t own_tokens = 256;

// "blk.7.attn_q.weight" without its number.
std::string in_any_layer(const std::string& name) {
  std::string rest;
  for (const char c : name)
    if (c < '0' || c > '9') rest += c;
  return rest;
}

std::vector<std::int32_t> own_text(Engine& engine) {
  Generation generation;
  generation.tokens = std::min(own_tokens, engine.options().capacity) - 1;
  generation.sampling.seed = 1;
  std::vector<std::int32_t> ids = {0};
  const Generated generated = generate(engine, ids, generation);
  const std::vector<std::int32_t>& written = generated.continuations.front().ids;
  ids.insert(ids.end(), written.begin(), written.end());
  return ids;
}

std::vector<std::byte> encoded_floats(DType dtype, const std::vector<float>& values) {
  const Encoding& encoding = encoding_of(dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(row_bytes(encoding, std::ssize(values))));
  encoding.encode(values.data(), std::ssize(values) / encoding.elements, bytes.data());
  return bytes;
}

// The model with these tensors as they are when they were rounded; `loss` is what they lost, all together.
std::shared_ptr<const LoadedModel> rounded(const LoadedModel& loaded, const ModelExport& model,
                                           std::span<const std::size_t> tensors, const Importance& importance,
                                           Pool& pool, double& loss) {
  std::map<TensorKey, std::vector<float>> matrices;
  for (const std::size_t i : tensors) {
    const ExportedTensor& tensor = model.tensors()[i];
    const DType dtype = fitting(probe, tensor.columns());
    std::vector<float> values = model.values(i);
    const std::optional<Activations> columns = columns_of(importance, tensor);
    const EncodedTensor encoded = encode_tensor(dtype, values, tensor.columns(), columns ? &*columns : nullptr, pool);
    decode(encoding_of(dtype), encoded.bytes, values);
    loss += encoded.loss;
    model.scatter(i, values, matrices);
  }
  Weights weights = Weights::shared(loaded.weights());
  for (const auto& [key, values] : matrices) {
    const DType stored = weights[key].dtype;
    // Blocks would round once more.
    const bool plain = encoding_of(stored).encode != nullptr && !is_quantised(stored);
    const DType dtype = plain ? stored : DType::bfloat16;
    weights.replace(key, dtype, encoded_floats(dtype, values));
  }
  return std::make_shared<const LoadedModel>(loaded.model(), std::move(weights));
}

}  // namespace

std::vector<double> measure_sensitivity(const std::shared_ptr<const LoadedModel>& loaded, const ModelExport& model,
                                        const Importance& importance, std::span<const std::int32_t> ids,
                                        const EngineOptions& options, Pool& pool, const OnSensitivity& progress) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < model.tensors().size(); ++i)
    if (model.tensors()[i].quantisable) groups[in_any_layer(model.tensors()[i].name)].push_back(i);
  Engine original(loaded, options);
  std::vector<std::int32_t> own;
  if (ids.empty()) {
    progress("writing a text to measure with", 0, 1);
    ids = own = own_text(original);
  }
  std::vector<double> sensitivity(model.tensors().size());
  std::int64_t done = 0;
  for (const auto& [name, tensors] : groups) {
    progress("measuring what counts", done++, std::ssize(groups));
    double loss = 0;
    Engine engine(rounded(*loaded, model, tensors, importance, pool, loss), options);
    const Divergence divergence = diverge(engine, original, ids, {}, 0);
    if (!divergence.score.whole()) throw Cancelled();
    for (const std::size_t i : tensors) sensitivity[i] = loss > 0 ? divergence.mean() / loss : 0;
  }
  return sensitivity;
}

}  // namespace reckon

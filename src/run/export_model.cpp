#include "run/export_model.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/atomic_write.h"
#include "files/quantise.h"
#include "files/quote.h"
#include "files/safetensors.h"
#include "model/describe_gguf.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>

namespace reckon {
namespace {

// Calls run(offset) for each index of all axes but the last, in row-major order.
template <class Run>
void for_runs(const std::vector<StoredAxis>& axes, std::int64_t offset, const Run& run, std::size_t axis = 0) {
  if (axis + 1 == axes.size()) return run(offset);
  for (std::int64_t i = 0; i < axes[axis].extent; ++i) for_runs(axes, offset + i * axes[axis].stride, run, axis + 1);
}

// Row `index` of a parameter's matrices, which lie one after another.
void decode_row(const ParameterData& data, std::int64_t index, std::vector<float>& row) {
  const Weight& weight = data.matrices[static_cast<std::size_t>(index / data.matrices.front().rows)];
  const Encoding& encoding = encoding_of(weight.dtype);
  const std::int64_t begin = weight.row_offset(index % weight.rows);
  row.resize(static_cast<std::size_t>(weight.cols));
  if (weight.col_stride == 1) {
    const auto* from = static_cast<const std::byte*>(weight.data) + row_bytes(encoding, begin);
    return decode(encoding, {from, static_cast<std::size_t>(row_bytes(encoding, weight.cols))}, row);
  }
  for (std::int64_t i = 0; i < weight.cols; ++i)
    row[static_cast<std::size_t>(i)] = decode_element(encoding, weight.data, begin + i * weight.col_stride);
}

// What tells how the tensors of a file are encoded, or that it is one of several.
bool of_encodings(const std::string& key) {
  return key == "general.file_type" || key == "general.quantization_version" || key == "general.alignment" ||
         key.starts_with("split.");
}

// Of all but matrices, where it is one of 16 bits.
std::optional<DType> common_type_of_vectors(const std::vector<ExportedTensor>& tensors) {
  std::optional<DType> found;
  for (const ExportedTensor& tensor : tensors) {
    if (tensor.quantisable) continue;
    if (found && *found != tensor.stored) return std::nullopt;
    found = tensor.stored;
  }
  return found == DType::float16 || found == DType::bfloat16 ? found : std::nullopt;
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

}  // namespace

std::int64_t ExportedTensor::elements() const { return product(shape); }

ModelExport::ModelExport(const Weights& weights, StoredLayout layout, float norm_shift)
    : weights_(weights), layout_(std::make_shared<StoredLayout>(std::move(layout))), norm_shift_(norm_shift) {
  std::unordered_map<std::string, std::vector<Place>> parts;
  for (const auto* parameters : {&layout_->parameters, &layout_->buffers})
    for (const StoredParameter& parameter : *parameters) {
      if (!weights_.parameters().contains(parameter.key)) continue;  // a buffer that may be left out
      std::int64_t first = 0;
      for (const StoredView& view : parameter.views) {
        parts[view.tensor].push_back({&parameter, &view, first});
        std::int64_t elements = 1;
        for (const StoredAxis& axis : view.axes) elements *= axis.extent;
        first += elements;
      }
    }
  for (const StoredTensor& tensor : layout_->tensors) {
    const auto found = parts.find(tensor.name);
    if (found == parts.end()) continue;
    const StoredParameter& parameter = *found->second.front().parameter;
    const ParameterData& data = weights_[parameter.key];
    const Role role = parameter.key.scope.role;
    const bool matrix = data.values.empty() && role.part != Part::router && role.part != Part::position;
    const bool rows =
        found->second.front().view->axes.back().stride == 1 && tensor.shape.back() == parameter.shape.back();
    const std::int64_t experts = !rows ? 0 : parameter.shape.size() == 3 ? parameter.shape.front() : 1;
    tensors_.push_back({tensor.name, tensor.shape, parameter.key, data.dtype, experts, matrix});
    parts_.push_back(std::move(found->second));
  }
  constants_.resize(tensors_.size());
}

ModelExport ModelExport::to_gguf(const Model& model, const Weights& weights) {
  GgufDescription description = describe_gguf(model);
  ModelExport all(weights, std::move(description.layout), description.norm_shift);
  all.pairs_ = std::move(description.pairs);
  if (const std::optional<DType> vectors = common_type_of_vectors(all.tensors_))
    all.pairs_.push_back(gguf_pair(vectors_key, std::string(encoding_of(*vectors).name)));
  for (GgufDescription::Constant& constant : description.constants) {
    all.tensors_.push_back({constant.name, {std::ssize(constant.values)}, {}, DType::float32, 0, false});
    all.parts_.emplace_back();
    all.constants_.push_back(std::move(constant.values));
  }
  return all;
}

ModelExport ModelExport::from_gguf(const Model& model, const Weights& weights, const TensorFile& source) {
  ModelExport all(weights, stored_layout(model, source), 0);
  all.source_ = source;
  all.mapped_ = source.map();
  for (const TensorInfo& info : all.source_.tensors) all.in_source_.emplace(info.name, &info);
  for (ExportedTensor& tensor : all.tensors_) tensor.stored = all.in_source_.at(tensor.name)->dtype;
  // What belongs to the description, or is left out of the network.
  for (const TensorInfo& info : all.source_.tensors) {
    if (std::any_of(all.tensors_.begin(), all.tensors_.end(),
                    [&](const ExportedTensor& tensor) { return tensor.name == info.name; }))
      continue;
    all.tensors_.push_back({info.name, info.shape, {}, info.dtype, 0, false});
    all.parts_.emplace_back();
    all.constants_.emplace_back();
  }
  for (const auto& [key, value] : source.files.front().pairs.items())
    if (!of_encodings(key)) all.pairs_.push_back(gguf_pair(key, value));
  return all;
}

ModelExport ModelExport::to_folder(const Model& model, const Weights& weights, const Model& to) {
  return {weights, reordered(stored_layout(to), model, to), reckon::norm_shift(model, to)};
}

void ModelExport::fill(const Place& part, const Pool* pool, std::vector<float>& to) const {
  const ParameterData& data = weights_[part.parameter->key];
  const std::vector<StoredAxis>& axes = part.view->axes;
  const StoredAxis last = axes.back();
  if (!data.values.empty()) {
    const TensorKey& key = part.parameter->key;
    const float shift = is_norm(key.scope.role) && key.piece == Piece::weight ? norm_shift_ : 0;
    auto from = data.values.begin() + part.first;
    for_runs(axes, part.view->offset, [&](std::int64_t offset) {
      for (std::int64_t i = 0; i < last.extent; ++i)
        to[static_cast<std::size_t>(offset + i * last.stride)] = *from++ + shift;
    });
    return;
  }
  std::int64_t index = part.first / last.extent;
  std::vector<float> row;
  for_runs(axes, part.view->offset, [&](std::int64_t offset) {
    if (pool != nullptr) pool->check_cancelled();
    decode_row(data, index++, row);
    for (std::int64_t i = 0; i < last.extent; ++i)
      to[static_cast<std::size_t>(offset + i * last.stride)] = row[static_cast<std::size_t>(i)];
  });
}

std::vector<float> ModelExport::values(std::size_t tensor, const Pool* pool) const {
  if (!constants_[tensor].empty()) return constants_[tensor];
  std::vector<float> all(static_cast<std::size_t>(tensors_[tensor].elements()));
  for (const Place& part : parts_[tensor]) fill(part, pool, all);
  if (parts_[tensor].empty()) {
    const TensorInfo& info = *in_source_.at(tensors_[tensor].name);
    decode(encoding_of(info.dtype), source_.bytes_of(info, mapped_), all);
  }
  return all;
}

void ModelExport::scatter(std::size_t tensor, std::span<const float> values,
                          std::map<TensorKey, std::vector<float>>& matrices) const {
  for (const Place& part : parts_[tensor]) {
    const ParameterData& data = weights_[part.parameter->key];
    if (!data.values.empty()) continue;
    std::vector<float>& all = matrices[part.parameter->key];
    if (all.empty()) {
      Elements elements(data);
      all.resize(static_cast<std::size_t>(elements.count()));
      std::generate(all.begin(), all.end(), [&] { return elements.next(); });
    }
    const StoredAxis last = part.view->axes.back();
    auto to = all.begin() + part.first;
    for_runs(part.view->axes, part.view->offset, [&](std::int64_t offset) {
      for (std::int64_t i = 0; i < last.extent; ++i) *to++ = values[static_cast<std::size_t>(offset + i * last.stride)];
    });
  }
}

std::span<const std::byte> ModelExport::as_stored(std::size_t tensor, DType dtype) const {
  const auto found = in_source_.find(tensors_[tensor].name);
  if (found == in_source_.end() || found->second->dtype != dtype) return {};
  return source_.bytes_of(*found->second, mapped_);
}

DType exported_type(const ExportedTensor& tensor, DType wanted) {
  return tensor.quantisable ? fitting(wanted, tensor.columns()) : DType::float32;
}

DType folder_type(const ExportedTensor& tensor, std::optional<DType> vectors) {
  if (vectors && !tensor.quantisable && tensor.stored == DType::float32) return *vectors;
  return is_quantised(tensor.stored) ? DType::float32 : tensor.stored;
}

std::optional<DType> type_of_vectors(const nlohmann::json& pairs) {
  const auto found = pairs.find(vectors_key);
  for (const DType dtype : {DType::float16, DType::bfloat16})
    if (found != pairs.end() && *found == encoding_of(dtype).name) return dtype;
  return std::nullopt;
}

const Activations* activations_of(const Importance& importance, const ExportedTensor& tensor) {
  const auto found = importance.find(tensor.key);
  if (found == importance.end() || std::ssize(found->second.squares) != tensor.experts * tensor.columns())
    return nullptr;
  return &found->second;
}

std::optional<Activations> columns_of(const Importance& importance, const ExportedTensor& tensor) {
  const Activations* const found = activations_of(importance, tensor);
  if (found == nullptr) return std::nullopt;
  return Activations{found->squares, nullptr};
}

EncodedTensor encode_tensor(DType dtype, std::span<const float> values, std::int64_t columns,
                            const Activations* activations, Pool& pool) {
  const std::int64_t rows = std::ssize(values) / columns, bytes = row_bytes(dtype, columns);
  const std::int64_t experts = activations != nullptr ? std::ssize(activations->squares) / columns : 1;
  const bool correlated = activations != nullptr && activations->factor != nullptr && is_quantised(dtype);
  EncodedTensor encoded;
  encoded.bytes.resize(static_cast<std::size_t>(rows * bytes));
  struct RowSquares {
    double lost = 0, all = 0, weighted_lost = 0, weighted = 0;
  };
  std::vector<RowSquares> squares(static_cast<std::size_t>(rows));
  constexpr std::int64_t together = 16;
  pool.run((rows + together - 1) / together, [&](std::int64_t task, int) {
    const std::int64_t first = task * together, end = std::min(rows, first + together);
    if (correlated) {
      std::vector<float> copy(values.begin() + first * columns, values.begin() + end * columns);
      encode_rows(dtype, copy.data(), end - first, columns, *activations->factor, encoded.bytes.data() + first * bytes);
    }
    std::vector<float> again(static_cast<std::size_t>(columns));
    for (std::int64_t row = first; row < end; ++row) {
      const float* from = values.data() + row * columns;
      const float* weights =
          activations != nullptr ? activations->squares.data() + row * experts / rows * columns : nullptr;
      std::byte* to = encoded.bytes.data() + row * bytes;
      if (!correlated) encode_row(dtype, from, columns, weights, to);
      decode(encoding_of(dtype), {to, static_cast<std::size_t>(bytes)}, again);
      RowSquares& sum = squares[static_cast<std::size_t>(row)];
      for (std::int64_t i = 0; i < columns; ++i) {
        if (!std::isfinite(from[i])) continue;  // a float keeps it
        const double x = from[i], off = static_cast<double>(again[static_cast<std::size_t>(i)]) - x;
        const double weight = weights != nullptr ? static_cast<double>(weights[i]) : 1.0;
        sum.lost += off * off;
        sum.all += x * x;
        sum.weighted_lost += weight * off * off;
        sum.weighted += weight * x * x;
      }
    }
  });
  RowSquares total;
  for (const RowSquares& row : squares) {
    total.lost += row.lost;
    total.all += row.all;
    total.weighted_lost += row.weighted_lost;
    total.weighted += row.weighted;
  }
  encoded.error = total.all > 0 ? std::sqrt(total.lost / total.all) : 0;
  encoded.loss = total.weighted > 0 ? total.weighted_lost / total.weighted : 0;
  return encoded;
}

namespace {

// Piece by piece, so that gigabytes can be interrupted.
void give(std::span<const std::byte> bytes, const TensorSink& sink, const Pool& pool) {
  constexpr std::size_t piece = std::size_t{1} << 24;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    pool.check_cancelled();
    sink(bytes.subspan(at, std::min(piece, bytes.size() - at)));
  }
}

// Encodes what is to be written of a tensor, or takes the bytes that are there already. What is lost.
double write_tensor(const ModelExport& model, std::size_t index, DType dtype, const Importance& importance, Pool& pool,
                    const TensorSink& sink) {
  const ExportedTensor& tensor = model.tensors()[index];
  if (const std::span<const std::byte> stored = model.as_stored(index, dtype); !stored.empty()) {
    give(stored, sink, pool);
    return 0;
  }
  EncodedTensor encoded;
  try {
    encoded =
        encode_tensor(dtype, model.values(index, &pool), tensor.columns(), activations_of(importance, tensor), pool);
  } catch (const Cancelled&) {
    throw;
  } catch (const Error& error) {
    throw Error(fmt::format("tensor {}: {}", quote(tensor.name), error.what()));
  }
  give(encoded.bytes, sink, pool);
  return encoded.error;
}

// Calls write(tensors, data) for a file with the tensors in these encodings: each is encoded when its turn comes.
template <class Write>
std::vector<WrittenTensor> write_encoded(const ModelExport& model, std::span<const DType> types,
                                         const Importance& importance, Pool& pool, const OnElements& progress,
                                         const Write& write) {
  std::vector<TensorToWrite> tensors;
  std::vector<WrittenTensor> written;
  std::int64_t done = 0, all = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const ExportedTensor& tensor = model.tensors()[i];
    tensors.push_back({tensor.name, types[i], tensor.shape});
    written.push_back(
        {tensor.name, tensor.shape, tensor.stored, types[i], tensor.rows() * row_bytes(types[i], tensor.columns()), 0});
    all += tensor.elements();
  }
  write(tensors, [&](std::size_t i, const TensorSink& sink) {
    written[i].error = write_tensor(model, i, types[i], importance, pool, sink);
    progress(done += model.tensors()[i].elements(), all);
  });
  return written;
}

}  // namespace

std::int64_t gguf_header_bytes(const ModelExport& model, std::span<const GgufPair> pairs) {
  std::vector<TensorToWrite> tensors;
  for (const ExportedTensor& tensor : model.tensors()) tensors.push_back({tensor.name, DType::float32, tensor.shape});
  return static_cast<std::int64_t>(gguf_header_size(pairs, tensors));
}

std::vector<WrittenTensor> write_gguf_model(const std::filesystem::path& path, const ModelExport& model,
                                            std::span<const GgufPair> pairs, std::span<const DType> types,
                                            const Importance& importance, Pool& pool, const OnElements& progress) {
  return write_encoded(model, types, importance, pool, progress,
                       [&](const auto& tensors, const TensorSource& data) { write_gguf(path, pairs, tensors, data); });
}

std::vector<WrittenTensor> write_folder_model(const std::filesystem::path& folder, const ModelExport& model,
                                              const std::string& config, std::span<const DType> types, Pool& pool,
                                              const OnElements& progress) {
  std::vector<std::filesystem::path> made;  // what was not there before, the innermost first
  std::error_code ignored;
  for (std::filesystem::path each = folder; !each.empty() && !std::filesystem::exists(each, ignored);
       each = each.parent_path())
    made.push_back(each);
  make_folder(folder);
  try {
    std::vector<WrittenTensor> written =
        write_encoded(model, types, {}, pool, progress, [&](const auto& tensors, const TensorSource& data) {
          write_safetensors(folder / "model.safetensors", tensors, data);
        });
    atomic_write(folder / "config.json", config);
    return written;
  } catch (...) {
    for (const std::filesystem::path& each : made) std::filesystem::remove(each, ignored);  // those that are empty
    throw;
  }
}

}  // namespace reckon

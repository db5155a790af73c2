// Binding parameters to stored tensors, through the views that the family's layout gives.
#include "run/weights.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/checked.h"
#include "files/machine_memory.h"
#include "files/tensor_file.h"
#include "model/file_report.h"
#include "model/stored.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>

namespace reckon {

namespace {

bool is_plain(DType dtype) { return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16; }

// `whole`: a table of whole numbers
DType dtype_of(const TensorInfo& info, const TensorFile::File& file, bool whole) {
  if (whole && info.dtype == DType::int64) return info.dtype;
  if (!is_plain(info.dtype) && !is_quantised(info.dtype))
    throw Error(fmt::format("{}: tensor '{}' is of type {}; reckon runs F32, F16, BF16 and the blocks of GGUF",
                            file.path.string(), info.name, encoding_of(info.dtype).stored_name));
  return info.dtype;
}

// Calls visit(offset) for each element of a view, in row-major order of its axes.
template <class Visit>
void for_elements(const std::vector<StoredAxis>& axes, std::int64_t offset, const Visit& visit, std::size_t axis = 0) {
  if (axis == axes.size()) return visit(offset);
  for (std::int64_t i = 0; i < axes[axis].extent; ++i) {
    for_elements(axes, offset + i * axes[axis].stride, visit, axis + 1);
  }
}

// The matrix that the kernels can read in place, if the axes are of such a form: rows × columns with one of them
// contiguous (in blocks of several elements the columns), or blocks of contiguous rows.
std::optional<Weight> in_place(const void* data, DType dtype, const std::vector<StoredAxis>& axes, std::int64_t rows,
                               std::int64_t cols) {
  if (encoding_of(dtype).elements > 1 && axes.back().stride != 1) return std::nullopt;
  Weight weight{data, dtype, rows, cols, 0, 1, 0, 0};
  if (axes.size() == 2 && (axes[1].stride == 1 || axes[0].stride == 1)) {
    weight.row_stride = axes[0].stride;
    weight.col_stride = axes[1].stride;
    return weight;
  }
  if (axes.size() == 3 && axes[2].stride == 1) {
    weight.row_stride = axes[1].stride;
    weight.block_rows = axes[1].extent;
    weight.block_stride = axes[0].stride;
    return weight;
  }
  return std::nullopt;
}

}  // namespace

class WeightReader {
 public:
  WeightReader(const Model& model, const std::filesystem::path& path) : file_(read_tensor_file(path)) {
    check(model, path);
    weights_.files_ = file_.map();
    std::int64_t all = 0;
    for (const MappedFile& file : weights_.files_) all += std::ssize(file.bytes());
    if (all <= available_memory())  // else what is read first would be dropped before it is used
      for (const MappedFile& file : weights_.files_) file.expect_all();
    for (const TensorInfo& info : file_.tensors) by_name_[info.name] = &info;
    const StoredLayout layout = stored_layout(model, file_);
    for (const StoredParameter& parameter : layout.parameters) read(parameter, true);
    for (const StoredParameter& buffer : layout.buffers) {
      if (by_name_.contains(buffer.views.at(0).tensor)) read(buffer, false);
    }
  }

  Weights finish() { return std::move(weights_); }

 private:
  bool is_buffer(const Model& model, const std::string& tensor) const {
    const StoredLayout layout = stored_layout(model, file_);
    return std::any_of(layout.buffers.begin(), layout.buffers.end(), [&](const StoredParameter& buffer) {
      return std::any_of(buffer.views.begin(), buffer.views.end(),
                         [&](const StoredView& view) { return view.tensor == tensor; });
    });
  }

  void check(const Model& model, const std::filesystem::path& path) {
    const FileReport report = inspect_file(model, file_);
    fp8_block_ = report.fp8_block;
    const std::string where = path.string();
    // Buffers may be left out, as in a file of gradients; what runs asks for them.
    std::vector<std::string> missing;
    for (const FileReport::Missing& tensor : report.missing)
      if (!is_buffer(model, tensor.name)) missing.push_back(tensor.name);
    if (!missing.empty()) {
      throw Error(fmt::format("{} has no tensor '{}', which the model needs ({} missing in all)", where,
                              missing.front(), missing.size()));
    }
    if (!report.misshapen.empty()) {
      throw Error(fmt::format("{}: tensor '{}' is {}, expected {}", where, report.misshapen.front().name,
                              shape_text(report.misshapen.front().found),
                              shape_text(report.misshapen.front().expected)));
    }
    for (const auto& packed : report.quantized) {
      if (packed.format == "MXFP4" || packed.format == "FP8") continue;
      throw Error(fmt::format("{}: tensor '{}' is quantized as {} does it, which reckon counts but does not run", where,
                              packed.name, packed.format));
    }
    for (const auto& extra : report.unexpected) {
      if (extra.may_be_left_out) continue;
      throw Error(fmt::format("{}: tensor '{}' is no part of the model that its config describes{}", where, extra.name,
                              extra.why.empty() ? "" : ": " + extra.why));
    }
  }

  static std::string shape_text(const std::vector<std::int64_t>& shape) {
    return fmt::format("{}", fmt::join(shape, " × "));
  }

  struct Source {
    const std::byte* data;
    DType dtype;
  };
  Source source(const StoredView& view, bool whole = false) {
    const TensorInfo& info = *by_name_.at(view.tensor);
    if (info.dtype == DType::float8_e4m3) return {scaled(info), DType::float32};
    const DType dtype = dtype_of(info, file_.files[info.file], whole);
    const std::byte* base = file_.bytes_of(info, weights_.files_).data();
    const Encoding& encoding = encoding_of(dtype);
    const bool aligned = reinterpret_cast<std::uintptr_t>(base) % static_cast<std::uintptr_t>(encoding.bytes) == 0;
    if (encoding.elements == 1 && !aligned) base = aligned_copy(info);  // blocks may begin at any byte
    return {base, dtype};
  }

  // 8-bit floats times the scale of their block of rows and columns (128 × 128 in DeepSeek-V3), or the one scale of
  // them all (Ministral 3), in float32.
  const std::byte* scaled(const TensorInfo& info) {
    const std::byte*& made = copies_[info.name];
    if (made != nullptr) return made;
    const std::string where = file_.files[info.file].path.string(), name = info.name + "_scale_inv";
    const auto found = by_name_.find(name);
    if (info.shape.size() != 2 || found == by_name_.end())
      throw Error(
          fmt::format("{}: tensor '{}' is of type F8_E4M3, but there is no '{}' to scale it", where, info.name, name));
    const std::int64_t rows = info.shape[0], cols = info.shape[1];
    const TensorInfo& scales = *found->second;
    const bool one = scales.shape.empty();
    const auto [high, wide] = one ? std::array{rows, cols} : fp8_block_;
    const std::int64_t down = (rows - 1) / high + 1, across = (cols - 1) / wide + 1;
    if ((!one && scales.shape != std::vector{down, across}) || !is_plain(scales.dtype))
      throw Error(fmt::format(
          "{}: tensor '{}' is {} of type {}, expected {} × {}, or a number, of type F32, F16 or BF16", where, name,
          one ? "a number" : shape_text(scales.shape), encoding_of(scales.dtype).stored_name, down, across));
    std::vector<float> factors(static_cast<std::size_t>(scales.elements));
    decode(encoding_of(scales.dtype), file_.bytes_of(scales, weights_.files_), factors);
    std::byte* const memory = own(row_bytes(DType::float32, rows * cols));
    auto* const values = reinterpret_cast<float*>(memory);
    const std::span<const std::byte> stored = file_.bytes_of(info, weights_.files_);
    encoding_of(info.dtype).decode(stored.data(), rows * cols, values);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < cols; ++c)
        values[r * cols + c] *= factors[static_cast<std::size_t>(r / high * across + c / wide)];
    return made = memory;
  }

  // gpt-oss' MXFP4: for every expert and output a row of bytes, two elements in each, and an exponent for every 32
  // elements. They become GGUF's blocks, which kernels read: the exponent, then the first 16 elements in the lower
  // halves of 16 bytes and the others in the upper ones. Rows of matrices that alternate (gate and up) are taken apart,
  // so that each has its own side by side.
  const std::byte* packed(const std::string& tensor, std::int64_t experts, std::int64_t outputs, std::int64_t inputs,
                          std::int64_t alternating) {
    const std::byte*& made = copies_[tensor];
    if (made != nullptr) return made;
    constexpr std::int64_t elements = 32, half = 16;
    const auto part = [&](const char* ending, const std::vector<std::int64_t>& shape) {
      const TensorInfo& info = *by_name_.at(tensor + ending);
      if (info.shape != shape || info.dtype != DType::uint8)
        throw Error(fmt::format("{}: tensor '{}' is {} of type {}, expected {} of type U8",
                                file_.files[info.file].path.string(), info.name, shape_text(info.shape),
                                encoding_of(info.dtype).stored_name, shape_text(shape)));
      return file_.bytes_of(info, weights_.files_);
    };
    if (!by_name_.contains(tensor + "_scales"))
      throw Error(fmt::format("there is a tensor '{0}_blocks', but no '{0}_scales' to scale it", tensor));
    const std::int64_t blocks = inputs / elements;  // of a row
    const std::span<const std::byte> pairs = part("_blocks", {experts, outputs, blocks, half});
    const std::span<const std::byte> exponents = part("_scales", {experts, outputs, blocks});
    std::byte* const memory = own(row_bytes(DType::mxfp4, experts * outputs * inputs));
    std::byte* to = memory;
    const auto add_row = [&](std::int64_t row) {
      for (std::int64_t block = row * blocks; block < (row + 1) * blocks; ++block) {
        const std::byte* from = pairs.data() + block * half;
        const auto element = [&](std::int64_t i) { return from[i / 2] >> (i % 2 * 4) & std::byte{15}; };
        *to++ = exponents[static_cast<std::size_t>(block)];
        for (std::int64_t i = 0; i < half; ++i) *to++ = element(i) | element(i + half) << 4;
      }
    };
    for (std::int64_t e = 0; e < experts; ++e)
      for (std::int64_t first = 0; first < alternating; ++first)
        for (std::int64_t output = first; output < outputs; output += alternating) add_row(e * outputs + output);
    return made = memory;
  }

  // Experts whose tensor the model has as in × out, and the file packed, as out × in.
  void read_packed(const StoredParameter& parameter, ParameterData& data) {
    const StoredView& view = parameter.views.front();
    if (parameter.shape.size() != 3)
      throw Error(fmt::format("tensor '{}' is in blocks of MXFP4, expected them of experts alone", view.tensor));
    const std::int64_t experts = parameter.shape[0], rows = parameter.shape[1], cols = parameter.shape[2];
    const std::int64_t outputs = view.axes.back().stride, alternating = view.axes[1].stride;
    const std::byte* base = packed(view.tensor, experts, outputs, cols, alternating);
    const std::int64_t first = view.offset % alternating * (outputs / alternating) + view.offset / alternating;
    for (std::int64_t e = 0; e < experts; ++e)
      data.matrices.push_back(
          {base + row_bytes(DType::mxfp4, (e * outputs + first) * cols), DType::mxfp4, rows, cols, cols, 1, 0, 0});
  }

  // Of a tensor whose elements lie across the borders that they should begin at, as in files whose header has any
  // length.
  const std::byte* aligned_copy(const TensorInfo& info) {
    const std::byte*& copy = copies_[info.name];
    if (copy == nullptr) {
      const auto data = file_.bytes_of(info, weights_.files_);
      std::byte* const memory = own(std::ssize(data));
      std::copy(data.begin(), data.end(), memory);
      copy = memory;
    }
    return copy;
  }

  void read(const StoredParameter& parameter, bool counted) {
    ParameterData& data = weights_.parameters_[parameter.key];
    std::int64_t elements = 1;
    for (std::int64_t extent : parameter.shape) elements *= extent;
    if (counted) weights_.elements_ += elements;
    if (!by_name_.contains(parameter.views.at(0).tensor)) {
      read_packed(parameter, data);
      return finish_matrices(data, counted);
    }
    const bool whole = parameter.key.scope.role.part == Part::table;
    data.dtype = source(parameter.views.at(0), whole).dtype;
    if (is_vector(parameter.key, parameter.shape.size())) {
      if (counted) weights_.bytes_ += row_bytes(data.dtype, elements);
      data.values.reserve(memory_size(elements, "the elements of a vector"));
      for (const StoredView& view : parameter.views) {
        const Source from = source(view, whole);
        const Encoding& encoding = encoding_of(from.dtype);
        for_elements(view.axes, view.offset,
                     [&](std::int64_t offset) { data.values.push_back(decode_element(encoding, from.data, offset)); });
      }
      return;
    }
    const std::int64_t rows = parameter.shape[parameter.shape.size() - 2], cols = parameter.shape.back();
    const bool experts = parameter.shape.size() == 3;
    if (!experts && parameter.views.size() > 1) {
      data.matrices.push_back(joined(parameter.views, rows, cols));
    } else if (parameter.views.size() > 1) {
      for (const StoredView& view : parameter.views)
        data.matrices.push_back(matrix(parameter.key, source(view), view.offset, view.axes, rows, cols));
    } else {
      const StoredView& view = parameter.views.front();
      const Source from = source(view);
      const std::size_t outer = experts ? 1 : 0;
      const std::vector<StoredAxis> each(view.axes.begin() + static_cast<std::ptrdiff_t>(outer), view.axes.end());
      for (std::int64_t e = 0; e < (experts ? view.axes[0].extent : 1); ++e) {
        const std::int64_t offset = experts ? view.offset + e * view.axes[0].stride : view.offset;
        data.matrices.push_back(matrix(parameter.key, from, offset, each, rows, cols));
      }
    }
    finish_matrices(data, counted);
  }

  void finish_matrices(ParameterData& data, bool counted) {
    data.dtype = data.matrices.front().dtype;
    for (const Weight& weight : data.matrices)
      if (counted) weights_.bytes_ += row_bytes(weight.dtype, weight.rows * weight.cols);
  }

  Weight matrix(const TensorKey& key, const Source& from, std::int64_t offset, const std::vector<StoredAxis>& axes,
                std::int64_t rows, std::int64_t cols) {
    const bool blocks = encoding_of(from.dtype).elements > 1;
    // What rebuilds keys and values of a latent is multiplied head by head, in both directions, which no kernel does
    // with blocks.
    if (blocks && key.scope.role.part == Part::kv_up) return decoded(from, offset, axes, rows, cols);
    if (auto weight = in_place(from.data + row_bytes(from.dtype, offset), from.dtype, axes, rows, cols)) return *weight;
    if (blocks) return decoded(from, offset, axes, rows, cols);
    const std::int64_t size = row_bytes(from.dtype, 1);
    std::byte* const copy = own(rows * cols * size);
    std::byte* to = copy;
    for_elements(axes, offset, [&](std::int64_t at) {
      std::memcpy(to, from.data + at * size, static_cast<std::size_t>(size));
      to += size;
    });
    return {copy, from.dtype, rows, cols, cols, 1, 0, 0};
  }

  // A matrix whose rows lie in several tensors, or are transposed in some.
  Weight joined(const std::vector<StoredView>& views, std::int64_t rows, std::int64_t cols) {
    std::byte* const copy = own(rows * cols * row_bytes(DType::float32, 1));
    auto* to = reinterpret_cast<float*>(copy);
    for (const StoredView& view : views) to = decode_view(source(view), view.offset, view.axes, to);
    return {copy, DType::float32, rows, cols, cols, 1, 0, 0};
  }

  Weight decoded(const Source& from, std::int64_t offset, const std::vector<StoredAxis>& axes, std::int64_t rows,
                 std::int64_t cols) {
    std::byte* const copy = own(rows * cols * row_bytes(DType::float32, 1));
    decode_view(from, offset, axes, reinterpret_cast<float*>(copy));
    return {copy, DType::float32, rows, cols, cols, 1, 0, 0};
  }

  // In row-major order of the axes. Returns the end of what it wrote.
  static float* decode_view(const Source& from, std::int64_t offset, const std::vector<StoredAxis>& axes, float* to) {
    const Encoding& encoding = encoding_of(from.dtype);
    const std::int64_t cols = axes.back().extent;
    if (axes.back().stride == 1 && cols % encoding.elements == 0 && offset % encoding.elements == 0) {
      for_elements({axes.begin(), axes.end() - 1}, offset, [&](std::int64_t at) {
        encoding.decode(from.data + row_bytes(encoding, at), cols / encoding.elements, to);
        to += cols;
      });
    } else {
      for_elements(axes, offset, [&](std::int64_t at) { *to++ = decode_element(encoding, from.data, at); });
    }
    return to;
  }

  // Memory that stays with the weights, of a tensor that cannot be read in place.
  std::byte* own(std::int64_t bytes) {
    weights_.copied_ += bytes;
    check_memory("what has to be copied or decoded of the weights", weights_.copied_);
    std::shared_ptr<std::byte[]> memory(new std::byte[memory_size(bytes, "the size of a matrix")]);
    std::byte* const begin = memory.get();
    weights_.owned_.push_back(std::move(memory));
    return begin;
  }

  TensorFile file_;
  std::unordered_map<std::string, const TensorInfo*> by_name_;
  std::array<std::int64_t, 2> fp8_block_{};                   // rows and columns that share a scale
  std::unordered_map<std::string, const std::byte*> copies_;  // of what cannot be read in place, by tensor
  Weights weights_;
};

Weights Weights::load(const Model& model, const std::filesystem::path& path) {
  return WeightReader(model, path).finish();
}

void Weights::add(const Tensor& tensor, DType dtype, std::span<const std::byte> memory,
                  std::shared_ptr<const void> owner) {
  const std::int64_t elements = tensor.shape.elements();
  ParameterData& data = parameters_[key_of(tensor)];
  data.dtype = dtype;
  if (tensor.kind == TensorKind::parameter) {
    elements_ += elements;
    bytes_ += row_bytes(dtype, elements);
  }
  if (is_vector(key_of(tensor), static_cast<std::size_t>(tensor.shape.rank()))) {
    data.values.resize(static_cast<std::size_t>(elements));
    return decode(encoding_of(dtype), memory, data.values);
  }
  const std::int64_t rows = tensor.shape[-2].size, cols = tensor.shape[-1].size;
  data.matrices = matrices_of(memory.data(), dtype, elements / (rows * cols), rows, cols);
  if (owner != nullptr) owned_.push_back(std::move(owner));
}

Weights Weights::shared(const Weights& from) {
  Weights all;
  all.parameters_ = from.parameters_;
  all.elements_ = from.elements_;
  all.bytes_ = from.bytes_;
  return all;
}

void Weights::replace(const TensorKey& key, DType dtype, std::vector<std::byte> values) {
  ParameterData& data = parameters_.at(key);
  const std::int64_t count = std::ssize(data.matrices);
  const std::int64_t rows = data.matrices.at(0).rows, cols = data.matrices.at(0).cols;
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(values));
  bytes_ += std::ssize(*owner) - row_bytes(data.dtype, count * rows * cols);
  data.matrices = matrices_of(owner->data(), dtype, count, rows, cols);
  data.dtype = dtype;
  owned_.push_back(owner);
}

std::shared_ptr<const ParameterTypes> Weights::types() const {
  auto types = std::make_shared<ParameterTypes>();
  for (const auto& [key, data] : parameters_) types->emplace(key, data.dtype);
  return types;
}

const ParameterData& Weights::operator[](const TensorKey& key) const {
  const auto found = parameters_.find(key);
  if (found == parameters_.end()) throw Error("the weights have no parameter '" + full_name(key) + "'");
  return found->second;
}

}  // namespace reckon

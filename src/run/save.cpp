// Stored tensors are filled from the parameters through the same views that a reader finds them by.
#include "run/save.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <reckon/error.h>

#include "files/atomic_write.h"
#include "model/stored.h"
#include "backend/cpu/float_types.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unordered_map>

#include <unistd.h>

namespace reckon {
namespace {

std::string_view stored_name(DType dtype) {
  switch (dtype) {
    case DType::bfloat16:
      return "BF16";
    case DType::float16:
      return "F16";
    default:
      return "F32";
  }
}

void put(std::byte* to, DType dtype, float value) {
  if (dtype == DType::float32) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const std::uint16_t half = dtype == DType::bfloat16 ? to_bfloat16(value) : to_float16(value);
  std::memcpy(to, &half, sizeof half);
}

// The elements of a parameter in row-major order, one after another.
class Elements {
 public:
  explicit Elements(const ParameterData& data) : data_(data) {}

  float next() {
    if (!data_.values.empty()) return data_.values[at_++];
    const Weight& w = data_.matrices[matrix_];
    const std::int64_t block = w.block_rows > 0 ? row_ / w.block_rows * w.block_stride : 0;
    const std::int64_t row = w.block_rows > 0 ? row_ % w.block_rows : row_;
    const float value = element_of(w, block + row * w.row_stride + column_ * w.col_stride);
    if (++column_ == w.cols) {
      column_ = 0;
      if (++row_ == w.rows) {
        row_ = 0;
        ++matrix_;
      }
    }
    return value;
  }

 private:
  static float element_of(const Weight& w, std::int64_t index) {
    switch (w.dtype) {
      case DType::float16:
        return from_float16(static_cast<const std::uint16_t*>(w.data)[index]);
      case DType::bfloat16:
        return from_bfloat16(static_cast<const std::uint16_t*>(w.data)[index]);
      default:
        return static_cast<const float*>(w.data)[index];
    }
  }

  const ParameterData& data_;
  std::size_t at_ = 0, matrix_ = 0;
  std::int64_t row_ = 0, column_ = 0;
};

void scatter(const std::vector<StoredAxis>& axes, std::size_t axis, std::int64_t offset, Elements& from, std::byte* to,
             DType dtype, std::int64_t size) {
  if (axis == axes.size()) return put(to + offset * size, dtype, from.next());
  for (std::int64_t i = 0; i < axes[axis].extent; ++i) {
    scatter(axes, axis + 1, offset + i * axes[axis].stride, from, to, dtype, size);
  }
}

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw Error(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
}

}  // namespace

void save_checkpoint(const Model& model, const Weights& weights, const std::string& config,
                     const std::filesystem::path& folder) {
  const StoredLayout layout = stored_layout(model);
  const DType dtype = weights.dtype();
  const std::int64_t size = bits(dtype) / 8;
  nlohmann::ordered_json header{{"__metadata__", {{"format", "pt"}}}};
  std::unordered_map<std::string, std::int64_t> begin;
  std::int64_t total = 0;
  for (const StoredTensor& tensor : layout.tensors) {
    std::int64_t bytes = size;
    for (std::int64_t extent : tensor.shape) bytes *= extent;
    header[tensor.name] = {
        {"dtype", stored_name(dtype)}, {"shape", tensor.shape}, {"data_offsets", {total, total + bytes}}};
    begin[tensor.name] = total;
    total += bytes;
  }
  const auto data = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(total));
  for (const StoredParameter& parameter : layout.parameters) {
    Elements elements(weights[parameter.name]);
    for (const StoredView& view : parameter.views) {
      scatter(view.axes, 0, view.offset, elements, data.get() + begin.at(view.tensor), dtype, size);
    }
  }
  for (const StoredParameter& buffer : layout.buffers) {
    Elements elements(weights[buffer.name]);
    for (const StoredView& view : buffer.views) {
      if (!begin.contains(view.tensor)) continue;
      scatter(view.axes, 0, view.offset, elements, data.get() + begin.at(view.tensor), dtype, size);
    }
  }

  std::filesystem::create_directories(folder);
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data begins at a multiple of 8 bytes
  const auto length = static_cast<std::uint64_t>(text.size());
  const std::filesystem::path target = folder / "model.safetensors", beside = folder / "model.safetensors.tmp";
  {
    const std::unique_ptr<std::FILE, Closer> file(std::fopen(beside.c_str(), "wb"));
    if (file == nullptr) fail(beside);
    if (std::fwrite(&length, sizeof length, 1, file.get()) != 1 ||
        std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
        std::fwrite(data.get(), 1, static_cast<std::size_t>(total), file.get()) != static_cast<std::size_t>(total) ||
        std::fflush(file.get()) != 0 || ::fsync(::fileno(file.get())) != 0) {
      const int reason = errno;
      std::remove(beside.c_str());
      errno = reason;
      fail(beside);
    }
  }
  std::filesystem::rename(beside, target);
  atomic_write(folder / "config.json", config);
}

}  // namespace reckon

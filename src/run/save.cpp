// Stored tensors are filled from the parameters through the same views that a reader finds them by.
#include "run/save.h"

#include <reckon/error.h>

#include "files/atomic_write.h"
#include "files/checked.h"
#include "files/safetensors.h"
#include "model/stored.h"

#include <unordered_map>
#include <vector>

namespace reckon {
namespace {

struct Destination {
  std::byte* data;
  const Encoding* encoding;
};

template <class Next>
void scatter(const std::vector<StoredAxis>& axes, std::size_t axis, std::int64_t offset, const Next& next,
             const Destination& target) {
  if (axis == axes.size()) {
    const float value = next();
    return target.encoding->encode(&value, 1, target.data + offset * target.encoding->bytes);
  }
  for (std::int64_t i = 0; i < axes[axis].extent; ++i) {
    scatter(axes, axis + 1, offset + i * axes[axis].stride, next, target);
  }
}

}  // namespace

void save_checkpoint(const Model& model, const Weights& weights, const std::string& config,
                     const std::filesystem::path& folder) {
  const StoredLayout layout = stored_layout(model);
  std::unordered_map<std::string, DType> types;  // by stored tensor
  for (const auto* parameters : {&layout.parameters, &layout.buffers}) {
    for (const StoredParameter& parameter : *parameters) {
      for (const StoredView& view : parameter.views) types.try_emplace(view.tensor, weights[parameter.key].dtype);
    }
  }
  std::vector<TensorToWrite> tensors;
  std::vector<std::vector<std::byte>> memory;
  std::unordered_map<std::string, Destination> place;
  for (const StoredTensor& tensor : layout.tensors) {
    const DType dtype = types.at(tensor.name);
    std::int64_t elements = 1;
    for (std::int64_t extent : tensor.shape) elements *= extent;
    const std::size_t bytes = memory_size(row_bytes(dtype, elements), "the size of a parameter");
    place[tensor.name] = {memory.emplace_back(bytes).data(), &encoding_of(dtype)};
    tensors.push_back({tensor.name, dtype, tensor.shape});
  }
  const auto fill = [&](const StoredParameter& parameter) {
    Elements elements(weights[parameter.key]);
    const auto next = [&] { return elements.next(); };
    for (const StoredView& view : parameter.views) {
      const auto found = place.find(view.tensor);
      if (found != place.end()) scatter(view.axes, 0, view.offset, next, found->second);
    }
  };
  for (const StoredParameter& parameter : layout.parameters) fill(parameter);
  for (const StoredParameter& buffer : layout.buffers) fill(buffer);

  std::filesystem::create_directories(folder);
  write_safetensors(folder / "model.safetensors", tensors,
                    [&](std::size_t i, const TensorSink& sink) { sink(memory[i]); });
  atomic_write(folder / "config.json", config);
}

}  // namespace reckon

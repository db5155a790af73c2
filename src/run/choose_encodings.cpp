#include "run/choose_encodings.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/numbers.h"
#include "files/quantise.h"

#include <algorithm>
#include <limits>

namespace reckon {
namespace {

struct Option {
  DType dtype;
  std::int64_t bytes;
  double loss;
};

std::int64_t bytes_in(const ExportedTensor& tensor, DType dtype) {
  const std::int64_t bytes = tensor.rows() * row_bytes(dtype, tensor.columns());
  return static_cast<std::int64_t>(gguf_data_size(static_cast<std::uint64_t>(bytes)));
}

}  // namespace

EncodingChoice choose_encodings(const ModelExport& model, std::span<const DType> candidates, std::int64_t most_bytes,
                                const Importance& importance, std::span<const double> sensitivity, Pool& pool,
                                const OnElements& progress) {
  const std::vector<ExportedTensor>& tensors = model.tensors();
  std::int64_t all = 0, done = 0;
  for (const ExportedTensor& tensor : tensors) all += tensor.quantisable ? tensor.elements() : 0;

  std::vector<std::vector<Option>> options(tensors.size());
  double greatest = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ExportedTensor& tensor = tensors[i];
    if (!tensor.quantisable) {
      const DType kept = model.as_stored(i, tensor.stored).empty() ? DType::float32 : tensor.stored;
      options[i].push_back({kept, bytes_in(tensor, kept), 0});
      continue;
    }
    const std::vector<float> values = model.values(i, &pool);
    const std::optional<Activations> columns = columns_of(importance, tensor);
    for (const DType wanted : candidates) {
      const DType dtype = fitting(wanted, tensor.columns());
      if (std::any_of(options[i].begin(), options[i].end(), [&](const Option& o) { return o.dtype == dtype; }))
        continue;
      const EncodedTensor encoded = encode_tensor(dtype, values, tensor.columns(), columns ? &*columns : nullptr, pool);
      options[i].push_back({dtype, bytes_in(tensor, dtype), sensitivity[i] * encoded.loss});
      greatest = std::max(greatest, options[i].back().loss);
    }
    progress(done += tensor.elements(), all);
  }

  // For a price of a byte, each tensor takes what is cheapest together with its loss; the least price that fits is
  // found by halving.
  const auto choose = [&](double price) {
    EncodingChoice choice;
    for (const std::vector<Option>& of_tensor : options) {
      const Option& best = *std::min_element(of_tensor.begin(), of_tensor.end(), [&](const Option& a, const Option& b) {
        return a.loss + price * static_cast<double>(a.bytes) < b.loss + price * static_cast<double>(b.bytes);
      });
      choice.types.push_back(best.dtype);
      choice.bytes += best.bytes;
    }
    return choice;
  };
  double least = 0, most = std::max(greatest, 1e-300);  // for a byte, the greatest loss of a tensor: too much for any
  if (choose(least).bytes <= most_bytes) return choose(least);
  EncodingChoice smallest = choose(most);
  if (smallest.bytes > most_bytes)
    throw UsageError(
        fmt::format("the smallest of these encodings take {} bytes ({}), more than the {} that there are for them",
                    grouped(smallest.bytes), binary_bytes(smallest.bytes), grouped(most_bytes)));
  for (int i = 0; i < 100; ++i) {
    const double middle = (least + most) / 2;
    EncodingChoice choice = choose(middle);
    if (choice.bytes > most_bytes) {
      least = middle;
    } else {
      most = middle;
      smallest = std::move(choice);
    }
  }
  // What is left goes to the tensors that gain most for a byte.
  for (bool grown = true; grown;) {
    grown = false;
    double best_gain = 0;
    std::size_t which = 0;
    Option to{};
    for (std::size_t i = 0; i < options.size(); ++i) {
      const Option& now = *std::find_if(options[i].begin(), options[i].end(),
                                        [&](const Option& o) { return o.dtype == smallest.types[i]; });
      for (const Option& other : options[i]) {
        const std::int64_t more = other.bytes - now.bytes;
        if (other.loss >= now.loss || smallest.bytes + more > most_bytes) continue;
        const double gain = (now.loss - other.loss) / static_cast<double>(std::max<std::int64_t>(more, 1));
        if (gain <= best_gain) continue;
        best_gain = gain;
        which = i;
        to = other;
        grown = true;
      }
    }
    if (!grown) break;
    smallest.bytes += to.bytes - bytes_in(tensors[which], smallest.types[which]);
    smallest.types[which] = to.dtype;
  }
  return smallest;
}

}  // namespace reckon

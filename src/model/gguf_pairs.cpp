#include "model/gguf_pairs.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "files/descriptor.h"
#include "files/quote.h"
#include "model/validate.h"

namespace reckon {
namespace {

// Files have 1e-5 as the float32 nearest to it; what was meant is the shortest number that has the same float32.
double as_written(double value) {
  const auto narrow = static_cast<float>(value);
  if (!std::isfinite(narrow) || static_cast<double>(narrow) != value) return value;
  return std::strtod(fmt::format("{}", narrow).c_str(), nullptr);
}

}  // namespace

GgufPairs::GgufPairs(const TensorFile& file, const std::string& where, const std::string& architecture)
    : file_(file), fields_(file.files.front().pairs, where), prefix_(architecture + ".") {
  for (const TensorInfo& info : file.tensors) tensors_.emplace(info.name, &info);
  const std::int64_t blocks = fields_.size_up_to(key("block_count"), most_layers);
  predicting = count("nextn_predict_layers", 0);
  if (predicting >= blocks) fail("nextn_predict_layers", fmt::format("fewer than {}, {}", key("block_count"), blocks));
  layers = blocks - predicting;
  d_model = size("embedding_length");
  heads = per_layer("attention.head_count");
  kv_heads = per_layer("attention.head_count_kv", heads);
  for (std::size_t i = 0; i < heads.size(); ++i)
    if (heads[i] % kv_heads[i] != 0)
      refuse(fmt::format("{} is {}, which does not divide {}, {}", key("attention.head_count_kv"), kv_heads[i],
                         key("attention.head_count"), heads[i]));
}

double GgufPairs::number(const std::string& name, double fallback) {
  return as_written(fields_.number(key(name), fallback));
}

double GgufPairs::positive(const std::string& name, double fallback) {
  return as_written(fields_.positive(key(name), fallback));
}

double GgufPairs::positive(const std::string& name) {
  if (!has(name)) fail(name, "a number above zero");
  return positive(name, 1.0);
}

std::vector<std::int64_t> GgufPairs::per_layer(const std::string& name, const std::vector<std::int64_t>& fallback) {
  const nlohmann::json* found = value(name);
  if (found == nullptr || !found->is_array()) {
    if (found == nullptr && !fallback.empty()) return fallback;
    return std::vector<std::int64_t>(static_cast<std::size_t>(layers), size(name));
  }
  const auto all = static_cast<std::size_t>(layers + predicting);
  if (found->size() != all) fail(name, fmt::format("{} numbers, one per layer", all));
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    const nlohmann::json& each = (*found)[i];
    if (!each.is_number_integer() || each.get<double>() < 1 || each.get<double>() > static_cast<double>(largest_size))
      refuse(fmt::format("{}[{}] is {}; expected a whole number of at least 1", key(name), i, describe(each)));
    numbers.push_back(each.get<std::int64_t>());
  }
  return numbers;
}

const TensorInfo* GgufPairs::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

bool GgufPairs::layer_holds(std::size_t layer, const char* name) const {
  return holds(fmt::format("blk.{}.{}", layer, name));
}

std::vector<double> GgufPairs::values(const std::string& name, std::int64_t expected) const {
  const TensorInfo& info = *tensor(name);
  const TensorFile::File& file = file_.files[info.file];
  if (info.elements != expected)
    refuse(fmt::format("tensor {} has {} elements; expected {}, one per rotated pair", quote(name), info.elements,
                       expected));
  const Descriptor opened(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<std::byte> bytes(static_cast<std::size_t>(info.end - info.begin));
  const auto begin = static_cast<off_t>(file.data_begin + info.begin);
  if (!opened || ::pread(opened.number(), bytes.data(), bytes.size(), begin) != std::ssize(bytes))
    refuse(fmt::format("tensor {} cannot be read", quote(name)));
  std::vector<float> decoded(static_cast<std::size_t>(expected));
  decode(encoding_of(info.dtype), bytes, decoded);
  std::vector<double> all;
  for (const float value : decoded) {
    if (!(value > 0) || !std::isfinite(value))
      refuse(fmt::format("tensor {} holds {}; expected numbers above zero", quote(name), value));
    all.push_back(as_written(static_cast<double>(value)));
  }
  return all;
}

const Fields::Unread* GgufPairs::unread() {
  unread_ = fields_.unread();
  const auto found = std::find_if(unread_.begin(), unread_.end(),
                                  [&](const Fields::Unread& each) { return each.name.starts_with(prefix_); });
  return found == unread_.end() ? nullptr : &*found;
}

}  // namespace reckon

#include "files/write_gguf.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <cstring>
#include <limits>
#include <utility>

#include "files/quote.h"

namespace reckon {
namespace {

using Json = nlohmann::json;

template <class Number>
void put(std::string& to, Number number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void put_string(std::string& to, std::string_view text) {
  put(to, std::uint64_t{text.size()});
  to += text;
}

void put_scalar(std::string& to, GgufType type, const Json& value) {
  switch (type) {
    case GgufType::u8:
      return put(to, value.get<std::uint8_t>());
    case GgufType::i8:
      return put(to, value.get<std::int8_t>());
    case GgufType::u16:
      return put(to, value.get<std::uint16_t>());
    case GgufType::i16:
      return put(to, value.get<std::int16_t>());
    case GgufType::u32:
      return put(to, value.get<std::uint32_t>());
    case GgufType::i32:
      return put(to, value.get<std::int32_t>());
    case GgufType::f32:
      return put(to, value.get<float>());
    case GgufType::boolean:
      return put(to, static_cast<std::uint8_t>(value.get<bool>()));
    case GgufType::string:
      return put_string(to, value.get_ref<const std::string&>());
    case GgufType::u64:
      return put(to, value.get<std::uint64_t>());
    case GgufType::i64:
      return put(to, value.get<std::int64_t>());
    case GgufType::f64:
      return put(to, value.get<double>());
    case GgufType::array:
      break;
  }
  throw Error("an array of arrays cannot be written to a GGUF file");
}

void put_pair(std::string& to, const GgufPair& pair) {
  put_string(to, pair.key);
  if (!pair.value.is_array()) {
    put(to, pair.type);
    return put_scalar(to, pair.type, pair.value);
  }
  put(to, GgufType::array);
  put(to, pair.type);
  put(to, std::uint64_t{pair.value.size()});
  for (const Json& each : pair.value) put_scalar(to, pair.type, each);
}

GgufType type_of(const std::string& key, const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean:
      return GgufType::boolean;
    case Json::value_t::string:
      return GgufType::string;
    case Json::value_t::number_unsigned:
      return std::in_range<std::uint32_t>(value.get<std::uint64_t>()) ? GgufType::u32 : GgufType::u64;
    case Json::value_t::number_integer:
      return std::in_range<std::int32_t>(value.get<std::int64_t>()) ? GgufType::i32 : GgufType::i64;
    case Json::value_t::number_float: {
      const auto number = value.get<double>();
      return number != number || static_cast<double>(static_cast<float>(number)) == number ? GgufType::f32
                                                                                           : GgufType::f64;
    }
    default:
      throw Error(fmt::format("pair {} is {}, which GGUF files have no type for", quote(key), value.type_name()));
  }
}

// All that stands before the data.
std::string header_of(std::span<const GgufPair> pairs, std::span<const TensorToWrite> tensors) {
  std::string header = "GGUF";
  put(header, std::uint32_t{3});
  put(header, std::uint64_t{tensors.size()});
  put(header, std::uint64_t{pairs.size()});
  for (const GgufPair& pair : pairs) put_pair(header, pair);
  std::uint64_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    put_string(header, tensor.name);
    put(header, static_cast<std::uint32_t>(tensor.shape.size()));
    for (auto extent = tensor.shape.rbegin(); extent != tensor.shape.rend(); ++extent) put(header, *extent);
    put(header, static_cast<std::uint32_t>(encoding_of(tensor.dtype).gguf_type));
    put(header, offset);
    offset += gguf_data_size(bytes_of(tensor));
  }
  header.resize(gguf_data_size(header.size()), '\0');  // by the same rule
  return header;
}

}  // namespace

GgufPair gguf_pair(std::string key, Json value) {
  if (!value.is_array()) {
    const GgufType type = type_of(key, value);
    return {std::move(key), type, std::move(value)};
  }
  GgufType widest = value.empty() ? GgufType::string : type_of(key, value.front());
  for (const Json& each : value) {
    const GgufType type = type_of(key, each);
    if (type == widest) continue;
    const auto one_of = [&](GgufType narrow, GgufType wide) {
      return (type == narrow && widest == wide) || (type == wide && widest == narrow);
    };
    if (one_of(GgufType::u32, GgufType::u64))
      widest = GgufType::u64;
    else if (one_of(GgufType::i32, GgufType::i64))
      widest = GgufType::i64;
    else if (one_of(GgufType::f32, GgufType::f64))
      widest = GgufType::f64;
    else
      throw Error(fmt::format("pair {} has elements of several types, which GGUF files cannot hold", quote(key)));
  }
  return {std::move(key), widest, std::move(value)};
}

void write_gguf(const std::filesystem::path& path, std::span<const GgufPair> pairs,
                std::span<const TensorToWrite> tensors, const TensorSource& data) {
  for (const TensorToWrite& tensor : tensors)
    if (encoding_of(tensor.dtype).gguf_type < 0)
      throw Error(fmt::format("tensor {} is in {}, which GGUF files don't have", quote(tensor.name),
                              encoding_of(tensor.dtype).name));
  AtomicFile file(path);
  const std::string header = header_of(pairs, tensors);
  file.write(std::as_bytes(std::span(header)));
  write_tensors(file, path, tensors, gguf_alignment, data);
  file.commit();
}

std::uint64_t gguf_data_size(std::uint64_t bytes) {
  return (bytes + gguf_alignment - 1) / gguf_alignment * gguf_alignment;
}

std::uint64_t gguf_header_size(std::span<const GgufPair> pairs, std::span<const TensorToWrite> tensors) {
  return header_of(pairs, tensors).size();
}

std::uint64_t gguf_size(std::span<const GgufPair> pairs, std::span<const TensorToWrite> tensors) {
  std::uint64_t size = gguf_header_size(pairs, tensors);
  for (const TensorToWrite& tensor : tensors) size += gguf_data_size(bytes_of(tensor));
  return size;
}

}  // namespace reckon

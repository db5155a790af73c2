#include "files/encoding.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "files/checked.h"
#include "files/float_types.h"

namespace reckon {
namespace {

template <class Stored, auto from>
void decode_each(const std::byte* blocks, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(&value, blocks + i * std::int64_t{sizeof value}, sizeof value);
    out[i] = from(value);
  }
}

template <class Stored, auto to>
void encode_each(const float* in, std::int64_t count, std::byte* blocks) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Stored value = to(in[i]);
    std::memcpy(blocks + i * std::int64_t{sizeof value}, &value, sizeof value);
  }
}

constexpr float same(float value) { return value; }

struct Row {
  DType dtype;
  Encoding encoding;
};
using enum DType;
// In the order of the enumeration. Stored names are those of safetensors.
constexpr std::array table{
    Row{boolean, {"boolean", "BOOL", 1, 1}},
    Row{int4, {"int4", "", 2, 1}},
    // 16 quantiles of the normal distribution (Dettmers et al. 2023, arXiv 2305.14314), with a float32 maximum a block.
    Row{nf4, {"nf4", "", 64, 36}},
    Row{float4, {"float4", "F4", 2, 1}},
    Row{float6_e2m3, {"float6_e2m3", "F6_E2M3", 4, 3}},
    Row{float6_e3m2, {"float6_e3m2", "F6_E3M2", 4, 3}},
    Row{uint8, {"uint8", "U8", 1, 1}},
    Row{int8, {"int8", "I8", 1, 1}},
    // Moments of 8-bit optimizers (Dettmers et al. 2021, arXiv 2110.02861; blocks of bitsandbytes), with a float32
    // maximum a block.
    Row{block8, {"block8", "", 256, 260}},
    Row{float8_e5m2, {"float8_e5m2", "F8_E5M2", 1, 1}},
    Row{float8_e4m3, {"float8_e4m3", "F8_E4M3", 1, 1}},
    Row{float8_e8m0, {"float8_e8m0", "F8_E8M0", 1, 1}},
    Row{float8_e4m3fnuz, {"float8_e4m3fnuz", "F8_E4M3FNUZ", 1, 1}},
    Row{float8_e5m2fnuz, {"float8_e5m2fnuz", "F8_E5M2FNUZ", 1, 1}},
    Row{int16, {"int16", "I16", 1, 2}},
    Row{uint16, {"uint16", "U16", 1, 2}},
    Row{float16,
        {"float16", "F16", 1, 2, decode_each<std::uint16_t, from_float16>, encode_each<std::uint16_t, to_float16>}},
    Row{bfloat16,
        {"bfloat16", "BF16", 1, 2, decode_each<std::uint16_t, from_bfloat16>, encode_each<std::uint16_t, to_bfloat16>}},
    Row{int32, {"int32", "I32", 1, 4}},
    Row{uint32, {"uint32", "U32", 1, 4}},
    Row{float32, {"float32", "F32", 1, 4, decode_each<float, same>, encode_each<float, same>}},
    Row{complex64, {"complex64", "C64", 1, 8}},
    Row{float64, {"float64", "F64", 1, 8}},
    Row{int64, {"int64", "I64", 1, 8}},
    Row{uint64, {"uint64", "U64", 1, 8}},
};
constexpr bool in_order() {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].dtype != static_cast<DType>(i)) return false;
  return true;
}
static_assert(in_order());

constexpr std::int64_t longest_block = 256;  // elements

void require_decode(const Encoding& encoding) {
  if (encoding.decode == nullptr || encoding.elements > longest_block)
    throw Error(fmt::format("values in {} cannot be decoded", encoding.name));
}

}  // namespace

const Encoding& encoding_of(DType dtype) { return table[static_cast<std::size_t>(dtype)].encoding; }

std::optional<DType> dtype_stored_as(std::string_view stored_name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Row& row) { return row.encoding.stored_name == stored_name; });
  if (found == table.end() || stored_name.empty()) return std::nullopt;
  return found->dtype;
}

std::int64_t row_bytes(const Encoding& encoding, std::int64_t elements) {
  std::int64_t blocks = elements;
  if (encoding.elements != 1) {  // a division takes longer than all else here
    blocks = elements / encoding.elements;
    if (blocks * encoding.elements != elements)
      throw Error(
          fmt::format("{} elements of {} end within a block of {}", elements, encoding.name, encoding.elements));
  }
  return checked_multiply(blocks, encoding.bytes, "a size in bytes");
}

Count whole_blocks(const Encoding& encoding, Count elements) {
  if (encoding.elements == 1) return elements * encoding.bytes;
  return (elements + (encoding.elements - 1)) / encoding.elements * encoding.bytes;
}

void decode(const Encoding& encoding, std::span<const std::byte> blocks, std::span<float> out) {
  require_decode(encoding);
  const std::int64_t expected = row_bytes(encoding, std::ssize(out));
  if (std::ssize(blocks) != expected)
    throw Error(
        fmt::format("{} elements of {} in {} bytes, expected {}", out.size(), encoding.name, blocks.size(), expected));
  encoding.decode(blocks.data(), std::ssize(out) / encoding.elements, out.data());
}

float decode_element(const Encoding& encoding, const void* data, std::int64_t index) {
  require_decode(encoding);
  const auto* row = static_cast<const std::byte*>(data);
  std::array<float, longest_block> block;
  if (encoding.elements == 1) {
    encoding.decode(row + index * encoding.bytes, 1, block.data());
    return block[0];
  }
  encoding.decode(row + index / encoding.elements * encoding.bytes, 1, block.data());
  return block[static_cast<std::size_t>(index % encoding.elements)];
}

}  // namespace reckon

#include "files/encoding.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "files/blocks.h"
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
constexpr float whole(std::int64_t value) { return static_cast<float>(value); }

// Four bits of exponent and three of mantissa, no infinities (OCP's 8-bit floats, E4M3).
float from_float8_e4m3(std::uint8_t value) {
  const int exponent = value >> 3 & 15, mantissa = value & 7;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                   : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return value & 0x80 ? -size : size;
}

struct Row {
  DType dtype;
  Encoding encoding;
};
using enum DType;
// In the order of the enumeration. Stored names are those of safetensors and GGUF.
constexpr std::array table{
    Row{boolean, {"boolean", "BOOL", 1, 1}},
    Row{int4, {"int4", "", 2, 1}},
    // 16 quantiles of the normal distribution (Dettmers et al. 2023, arXiv 2305.14314), with a float32 maximum a block.
    Row{nf4, {"nf4", "", 64, 36}},
    Row{float4, {"float4", "F4", 2, 1}},
    Row{float6_e2m3, {"float6_e2m3", "F6_E2M3", 4, 3}},
    Row{float6_e3m2, {"float6_e3m2", "F6_E3M2", 4, 3}},
    Row{uint8, {"uint8", "U8", 1, 1}},
    Row{int8, {"int8", "I8", 1, 1, nullptr, nullptr, 24}},
    // Moments of 8-bit optimizers (Dettmers et al. 2021, arXiv 2110.02861; blocks of bitsandbytes), with a float32
    // maximum a block.
    Row{block8, {"block8", "", 256, 260}},
    // Activations that meet quantised weights: 32 integers with a float32 scale, the float32 sum of what they stand
    // for, and the int16 sums of both halves. A row has all its integers first, then all scales, sums and sums of
    // halves.
    Row{activation8, {"activation8", "", 32, 44}},
    // The blocks of GGUF, in the order of their bits an element.
    Row{q2_k, {"q2_k", "Q2_K", 256, 84, decode_q2_k, nullptr, 10}},
    Row{q3_k, {"q3_k", "Q3_K", 256, 110, decode_q3_k, nullptr, 11}},
    Row{iq4_xs, {"iq4_xs", "IQ4_XS", 256, 136, decode_iq4_xs, nullptr, 23}},
    Row{mxfp4, {"mxfp4", "MXFP4", 32, 17, decode_mxfp4, nullptr, 39}},
    Row{iq4_nl, {"iq4_nl", "IQ4_NL", 32, 18, decode_iq4_nl, nullptr, 20}},
    Row{q4_0, {"q4_0", "Q4_0", 32, 18, decode_q4_0, nullptr, 2}},
    Row{q4_k, {"q4_k", "Q4_K", 256, 144, decode_q4_k, nullptr, 12}},
    Row{q4_1, {"q4_1", "Q4_1", 32, 20, decode_q4_1, nullptr, 3}},
    Row{q5_0, {"q5_0", "Q5_0", 32, 22, decode_q5_0, nullptr, 6}},
    Row{q5_k, {"q5_k", "Q5_K", 256, 176, decode_q5_k, nullptr, 13}},
    Row{q5_1, {"q5_1", "Q5_1", 32, 24, decode_q5_1, nullptr, 7}},
    Row{q6_k, {"q6_k", "Q6_K", 256, 210, decode_q6_k, nullptr, 14}},
    Row{q8_0, {"q8_0", "Q8_0", 32, 34, decode_q8_0, encode_q8_0, 8}},
    Row{float8_e5m2, {"float8_e5m2", "F8_E5M2", 1, 1}},
    Row{float8_e4m3, {"float8_e4m3", "F8_E4M3", 1, 1, decode_each<std::uint8_t, from_float8_e4m3>}},
    Row{float8_e8m0, {"float8_e8m0", "F8_E8M0", 1, 1}},
    Row{float8_e4m3fnuz, {"float8_e4m3fnuz", "F8_E4M3FNUZ", 1, 1}},
    Row{float8_e5m2fnuz, {"float8_e5m2fnuz", "F8_E5M2FNUZ", 1, 1}},
    Row{int16, {"int16", "I16", 1, 2, nullptr, nullptr, 25}},
    Row{uint16, {"uint16", "U16", 1, 2}},
    Row{float16,
        {"float16", "F16", 1, 2, decode_each<std::uint16_t, from_float16>, encode_each<std::uint16_t, to_float16>, 1}},
    Row{bfloat16,
        {"bfloat16", "BF16", 1, 2, decode_each<std::uint16_t, from_bfloat16>, encode_each<std::uint16_t, to_bfloat16>,
         30}},
    Row{int32, {"int32", "I32", 1, 4, nullptr, nullptr, 26}},
    Row{uint32, {"uint32", "U32", 1, 4}},
    Row{float32, {"float32", "F32", 1, 4, decode_each<float, same>, encode_each<float, same>, 0}},
    Row{complex64, {"complex64", "C64", 1, 8}},
    Row{float64, {"float64", "F64", 1, 8, nullptr, nullptr, 28}},
    Row{int64, {"int64", "I64", 1, 8, decode_each<std::int64_t, whole>, nullptr, 27}},
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

std::optional<DType> safetensors_dtype(std::string_view stored_name) {
  for (const Row& row : table)
    if (row.encoding.stored_name == stored_name && !stored_name.empty() && !is_quantised(row.dtype)) return row.dtype;
  return std::nullopt;
}

std::optional<DType> gguf_dtype(std::uint32_t gguf_type) {
  for (const Row& row : table)
    if (row.encoding.gguf_type >= 0 && static_cast<std::uint32_t>(row.encoding.gguf_type) == gguf_type)
      return row.dtype;
  return std::nullopt;
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

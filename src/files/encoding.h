// How the values of a tensor lie in memory and in files: in blocks of so many elements and so many bytes. Every size of
// a tensor in bytes comes from here.
#pragma once

#include <reckon/count.h>
#include <reckon/dtype.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace reckon {

struct Encoding {
  std::string_view name;         // "bfloat16"
  std::string_view stored_name;  // in files and in reports of them, "BF16"; empty: no file has it
  std::int64_t elements, bytes;  // of a block
  // `count` blocks, which may begin at any byte. nullptr: nothing computes with these values.
  void (*decode)(const std::byte* blocks, std::int64_t count, float* out) = nullptr;
  void (*encode)(const float* in, std::int64_t count, std::byte* blocks) = nullptr;
  int gguf_type = -1;  // its number in GGUF files; -1: they don't have it
};

const Encoding& encoding_of(DType dtype);
std::optional<DType> safetensors_dtype(std::string_view stored_name);
std::optional<DType> gguf_dtype(std::uint32_t gguf_type);

// Whether it is one of GGUF's blocks: small integers with scales of their own.
constexpr bool is_quantised(DType dtype) { return dtype >= DType::q2_k && dtype <= DType::q8_0; }

// Bytes of elements side by side, from the start of a block to the end of one. Throws Error where they end within one.
std::int64_t row_bytes(const Encoding& encoding, std::int64_t elements);
inline std::int64_t row_bytes(DType dtype, std::int64_t elements) { return row_bytes(encoding_of(dtype), elements); }

// Bytes of a tensor by itself: its last block may be part empty (the second half of a byte of int4).
Count whole_blocks(const Encoding& encoding, Count elements);
inline Count whole_blocks(DType dtype, Count elements) { return whole_blocks(encoding_of(dtype), elements); }

// All of `blocks`. Throws Error where they are not those of so many elements, or cannot be decoded.
void decode(const Encoding& encoding, std::span<const std::byte> blocks, std::span<float> out);

// Element `index` of a row that begins at `data`.
float decode_element(const Encoding& encoding, const void* data, std::int64_t index);

}  // namespace reckon

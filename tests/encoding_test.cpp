// Sizes and values of tensors come from their encoding: blocks of so many elements in so many bytes.
#include "backend/host_buffer.h"
#include "files/checked.h"
#include "files/encoding.h"
#include "program/program.h"
#include "text_fixture.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <vector>

namespace reckon {
namespace {

// Made up: 32 elements in 34 bytes, a whole number that multiplies all, and a signed byte for each.
void decode_scaled(const std::byte* blocks, std::int64_t count, float* out) {
  for (std::int64_t b = 0; b < count; ++b) {
    const std::byte* block = blocks + 34 * b;
    const auto scale = static_cast<float>(std::to_integer<int>(block[0]) + 256 * std::to_integer<int>(block[1]));
    for (int i = 0; i < 32; ++i)
      out[32 * b + i] = scale * static_cast<float>(static_cast<std::int8_t>(std::to_integer<int>(block[2 + i])));
  }
}
constexpr Encoding scaled{"scaled", "SCALED", 32, 34, decode_scaled, nullptr};

TEST(Encoding, ARowTakesWholeBlocksAndARemainderIsAnError) {
  EXPECT_EQ(row_bytes(scaled, 0), 0);
  EXPECT_EQ(row_bytes(scaled, 32), 34);
  EXPECT_EQ(row_bytes(scaled, 4096), 4352);
  EXPECT_EQ(error_of([] { row_bytes(scaled, 33); }), "33 elements of scaled end within a block of 32");
  EXPECT_EQ(row_bytes(DType::float32, 5), 20);
  EXPECT_EQ(row_bytes(DType::int4, 6), 3);
  EXPECT_EQ(row_bytes(DType::float6_e2m3, 8), 6);
  EXPECT_EQ(error_of([] { row_bytes(DType::int4, 5); }), "5 elements of int4 end within a block of 2");
}

TEST(Encoding, DividesBeforeItMultipliesAndNeverWraps) {
  // 2⁶²/32 blocks of 34 bytes; 2⁶²·34 would be past 64 bits.
  EXPECT_EQ(row_bytes(scaled, std::int64_t{1} << 62), 4899916394579099648);
  EXPECT_THROW((void)row_bytes(scaled, std::numeric_limits<std::int64_t>::max() - 31), Overflow);
}

TEST(Encoding, ATensorByItselfMayLeaveItsLastBlockPartEmpty) {
  EXPECT_EQ(whole_blocks(scaled, 1), 34);
  EXPECT_EQ(whole_blocks(scaled, 64), 68);
  EXPECT_EQ(whole_blocks(scaled, 65), 102);
  Tensor tensor;
  tensor.shape = {3, 3};
  tensor.dtype = DType::int4;
  EXPECT_EQ(bytes(tensor), 5);  // 9 halves of a byte
  tensor.dtype = DType::float6_e3m2;
  EXPECT_EQ(bytes(tensor), 9);  // 9 elements in three blocks of 4
  tensor.dtype = DType::bfloat16;
  EXPECT_EQ(bytes(tensor), 18);
}

TEST(Encoding, BlocksAreDecodedWholeOrElementByElement) {
  std::vector<std::byte> blocks(2 * 34 + 1);
  std::byte* data = blocks.data() + 1;  // a block may begin at any byte
  data[0] = std::byte{3};
  data[2 + 5] = std::byte{0xFE};  // −2
  data[34 + 1] = std::byte{1};    // 256
  data[34 + 2 + 31] = std::byte{7};
  std::vector<float> values(64, 1.0f);
  decode(scaled, {data, 68}, values);
  std::vector<float> expected(64);
  expected[5] = -6.0f;
  expected[63] = 1792.0f;
  EXPECT_EQ(values, expected);
  EXPECT_EQ(decode_element(scaled, data, 5), -6.0f);
  EXPECT_EQ(decode_element(scaled, data, 63), 1792.0f);
  EXPECT_EQ(decode_element(scaled, data, 62), 0.0f);
}

TEST(Encoding, DecodingChecksItsBounds) {
  std::vector<std::byte> blocks(68);
  std::vector<float> values(64), odd(33);
  EXPECT_EQ(error_of([&] { decode(scaled, std::span(blocks).first(67), values); }),
            "64 elements of scaled in 67 bytes, expected 68");
  EXPECT_EQ(error_of([&] { decode(scaled, blocks, std::span(values).first(32)); }),
            "32 elements of scaled in 68 bytes, expected 34");
  EXPECT_EQ(error_of([&] { decode(scaled, blocks, odd); }), "33 elements of scaled end within a block of 32");
  EXPECT_EQ(error_of([&] { decode(encoding_of(DType::int8), blocks, values); }), "values in int8 cannot be decoded");
}

TEST(Encoding, FloatsAreWrittenAndReadAgain) {
  // 1.5, −2 and 2⁻²⁴, the smallest float16; bits by hand from the formats.
  const std::array<float, 3> values{1.5f, -2.0f, 0x1p-24f};
  const auto stored = [&](DType dtype) {
    const Encoding& encoding = encoding_of(dtype);
    std::vector<std::byte> bytes(static_cast<std::size_t>(row_bytes(dtype, 3)));
    encoding.encode(values.data(), 3, bytes.data());
    std::array<float, 3> again{};
    decode(encoding, bytes, again);
    EXPECT_EQ(again, values) << encoding.name;
    std::array<std::uint16_t, 3> bits{};
    if (bytes.size() == sizeof bits) std::memcpy(bits.data(), bytes.data(), sizeof bits);
    return bits;
  };
  EXPECT_EQ(stored(DType::float16), (std::array<std::uint16_t, 3>{0x3E00, 0xC000, 0x0001}));
  EXPECT_EQ(stored(DType::bfloat16), (std::array<std::uint16_t, 3>{0x3FC0, 0xC000, 0x3380}));
  stored(DType::float32);
}

TEST(Checked, ASizeInMemoryIsOneThatPointersCanSpan) {
  EXPECT_EQ(memory_size(std::int64_t{7}, "it"), 7u);
  EXPECT_THROW((void)memory_size(std::int64_t{-1}, "it"), Overflow);
  EXPECT_THROW((void)memory_size(std::uint64_t{1} << 63, "it"), Overflow);
}

TEST(HostBuffer, ChecksItsSizeAndEveryPlaceWithoutWrapping) {
  EXPECT_THROW(HostBuffer(-1), Overflow);
  HostBuffer arena(64);
  EXPECT_NE(arena.take(0, 64), nullptr);
  EXPECT_THROW(arena.take(1, 64), Error);
  EXPECT_THROW(arena.take(65, 0), Error);
  EXPECT_THROW(arena.take(1, std::numeric_limits<std::int64_t>::max()), Error);
  EXPECT_THROW(arena.take(std::numeric_limits<std::int64_t>::max(), 1), Error);
}

}  // namespace
}  // namespace reckon

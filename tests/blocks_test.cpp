// GGUF's blocks, decoded as the reference implementation decodes them (tests/data/gguf/make_blocks.py).
#include "files/blocks.h"
#include "files/encoding.h"
#include "paths.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace reckon {
namespace {

std::vector<std::byte> bytes_of_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

TEST(Blocks, DecodeToTheBitsOfTheReference) {
  const auto golden = nlohmann::json::parse(std::ifstream(project_folder() + "/tests/data/gguf/blocks.json"));
  int encodings = 0;
  for (int i = static_cast<int>(DType::q2_k); i <= static_cast<int>(DType::q8_0); ++i, ++encodings) {
    const Encoding& encoding = encoding_of(static_cast<DType>(i));
    for (const auto& one : golden.at(encoding.stored_name)) {
      const std::vector<std::byte> block = bytes_of_hex(one["block"]), expected = bytes_of_hex(one["values"]);
      std::vector<float> values(static_cast<std::size_t>(encoding.elements));
      ASSERT_EQ(expected.size(), values.size() * sizeof(float));
      decode(encoding, block, values);
      for (std::size_t e = 0; e < values.size(); ++e) {
        float value;
        std::memcpy(&value, expected.data() + e * sizeof value, sizeof value);
        ASSERT_EQ(std::memcmp(&value, &values[e], sizeof value), 0)
            << encoding.name << ", element " << e << ": " << values[e] << ", expected " << value;
        EXPECT_EQ(decode_element(encoding, block.data(), static_cast<std::int64_t>(e)), value);
      }
    }
  }
  EXPECT_EQ(encodings, 13);
}

TEST(Blocks, AScaleThatIsNoNumberMakesEachValueNone) {
  std::vector<std::byte> block(18);
  block[1] = std::byte{0x7E};  // float16's NaN
  std::vector<float> values(32);
  decode(encoding_of(DType::q4_0), block, values);
  for (const float value : values) EXPECT_NE(value, value);
}

}  // namespace
}  // namespace reckon

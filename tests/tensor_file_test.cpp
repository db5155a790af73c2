// What every kind of tensor file is held to, whatever its form.
#include "files/tensor_file.h"
#include "files/safetensors.h"
#include "text_fixture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

namespace reckon {
namespace {

namespace fs = std::filesystem;

TensorInfo info(std::string name, std::uint64_t begin, std::uint64_t end) {
  return {std::move(name), DType::uint8, {}, 0, 0, begin, end};
}

TEST(TensorFile, ATensorTakesTheBytesOfItsEncoding) {
  TensorInfo tensor{"t", DType::float6_e2m3, {2, 4}, 0, 0, 0, 0};
  EXPECT_EQ(measure(tensor), 6u);  // two blocks of four elements in three bytes
  EXPECT_EQ(tensor.elements, 8);
  tensor.shape = {2, 3};
  EXPECT_EQ(error_of([&] { measure(tensor); }), "6 elements of float6_e2m3 end within a block of 4");
  tensor.shape = {4, (std::int64_t{1} << 30) + 1, (std::int64_t{1} << 31) + 1};
  EXPECT_EQ(error_of([&] { measure(tensor); }),
            "shape [4, 1073741825, 2147483649] has more elements than can be counted");
  tensor.shape = {};
  tensor.dtype = DType::bfloat16;
  EXPECT_EQ(measure(tensor), 2u);  // a scalar
}

TEST(TensorFile, TensorsLieApartInsideTheDataAndMayHaveGaps) {
  const auto checked = [](std::vector<TensorInfo> tensors) {
    TensorFile file;
    file.files.push_back({"t", 110, 10, {}});  // 100 bytes of data
    file.tensors = std::move(tensors);
    sort_and_check(file);
    return file.tensors.front().name;
  };
  EXPECT_EQ(checked({info("b", 64, 100), info("a", 0, 32)}), "a");
  EXPECT_EQ(error_of([&] {
              checked({info("b", 64, 101), info("a", 0, 32)});
            }),
            "t: tensor 'b' ends at byte 101 of the data, but the file holds only 100");
  EXPECT_EQ(error_of([&] {
              checked({info("b", 31, 64), info("a", 0, 32)});
            }),
            "t: tensor 'b' begins at byte 31 of the data, inside tensor 'a', which ends at 32");
  EXPECT_EQ(error_of([&] { checked({info("a", 32, 64), info("a", 0, 32)}); }), "t: tensor 'a' appears twice");
}

TEST(TensorFile, GivesTheBytesOfATensorUnlessTheFileChangedItsLength) {
  const fs::path path = fs::temp_directory_path() / ("reckon_tensor_file_" + std::to_string(::getpid()));
  const std::array<float, 3> first{1, 2, 3}, second{4, 5, 6};
  const std::array tensors{TensorToWrite{"x", DType::float32, {3}}, TensorToWrite{"y", DType::float32, {3}}};
  write_safetensors(path, tensors, [&](std::size_t i, const TensorSink& sink) {
    sink(std::as_bytes(std::span(i == 0 ? first : second)));
  });
  const TensorFile file = read_tensor_file(path);
  {
    const std::vector<MappedFile> mapped = file.map();
    std::array<float, 3> values{};
    decode(encoding_of(file.tensors.at(1).dtype), file.bytes_of(file.tensors[1], mapped), values);
    EXPECT_EQ(values, second);
  }
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_EQ(error_of([&] { file.map(); }), path.string() + ": its length changed while it was being opened");
  fs::remove(path);
}

}  // namespace
}  // namespace reckon

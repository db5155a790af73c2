// GGUF files that are written: byte by byte what the format says, and read again as they were given.
#include "files/write_gguf.h"
#include "folder_fixture.h"
#include "gguf_fixture.h"

#include <gtest/gtest.h>

#include <numeric>

namespace reckon {
namespace {

using Json = nlohmann::json;

class WriteGguf : public FolderTest {
 protected:
  fs::path path() const { return folder_ / "t.gguf"; }
};

// The fixture writes the same file by hand.
TEST_F(WriteGguf, HasTheBytesOfTheFormat) {
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 0.5f);
  const std::string data(reinterpret_cast<const char*>(values.data()), 40);
  GgufFixture fixture;
  fixture.pair("general.architecture", "llama").pair("llama.block_count", 7u).pair("x", -1.5f).pair("flag", true);
  fixture.pair("wide", 10, raw(std::uint64_t{1} << 40)).pair("negative", 5, raw(std::int32_t{-3}));
  fixture.pair("exact", 12, raw(0.1));
  fixture.array("tokens", {"a", "bc"}).array<std::int32_t>("types", 5, {1, 3}).array<float>("scores", 6, {0.0f, -2.0f});
  fixture.array<std::uint64_t>("ids", 10, {1, std::uint64_t{1} << 33});
  fixture.tensor("a", {5, 2}, 0, data).tensor("b", {10}, 0, data).tensor("c", {32}, 8, std::string(34, 'c'));

  std::vector<GgufPair> pairs;
  pairs.push_back(gguf_pair("general.architecture", "llama"));
  pairs.push_back(gguf_pair("llama.block_count", 7u));
  pairs.push_back(gguf_pair("x", -1.5));
  pairs.push_back(gguf_pair("flag", true));
  pairs.push_back(gguf_pair("wide", std::uint64_t{1} << 40));
  pairs.push_back(gguf_pair("negative", -3));
  pairs.push_back(gguf_pair("exact", 0.1));
  pairs.push_back(gguf_pair("tokens", {"a", "bc"}));
  pairs.push_back(gguf_pair("types", {1, 3}));
  pairs.push_back(gguf_pair("scores", {0.0, -2.0}));
  pairs.push_back(gguf_pair("ids", {1u, std::uint64_t{1} << 33}));
  const std::vector<TensorToWrite> tensors = {
      {"a", DType::float32, {2, 5}}, {"b", DType::float32, {10}}, {"c", DType::q8_0, {32}}};
  write_gguf(path(), pairs, tensors, [&](std::size_t i, const TensorSink& sink) {
    const std::string bytes = i == 2 ? std::string(34, 'c') : data;
    sink(std::as_bytes(std::span(bytes)).first(10));  // in two pieces
    sink(std::as_bytes(std::span(bytes)).subspan(10));
  });
  std::string expected = fixture.file();
  expected.resize((expected.size() + 31) / 32 * 32, '\0');
  EXPECT_EQ(text_of(path()), expected);
  EXPECT_EQ(gguf_size(pairs, tensors), expected.size());
  EXPECT_EQ(read_gguf(path()).tensors.size(), 3u);
}

TEST_F(WriteGguf, ATensorThatIsNotWholeLeavesTheOldFile) {
  const std::vector<TensorToWrite> tensors = {{"a", DType::float32, {2}}};
  const std::vector<std::byte> eight(8);
  write_gguf(path(), {}, tensors, [&](std::size_t, const TensorSink& sink) { sink(eight); });
  const std::string old = text_of(path());
  EXPECT_EQ(error_of([&] {
              write_gguf(path(), {}, tensors,
                         [&](std::size_t, const TensorSink& sink) { sink(std::span(eight).first(4)); });
            }),
            path().string() + ": tensor 'a' was given 4 bytes, expected 8");
  EXPECT_EQ(text_of(path()), old);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(WriteGguf, RefusesWhatTheFormatCannotHold) {
  const std::vector<TensorToWrite> tensors = {{"a", DType::float8_e4m3, {2}}};
  EXPECT_EQ(error_of([&] { write_gguf(path(), {}, tensors, [](std::size_t, const TensorSink&) {}); }),
            "tensor 'a' is in float8_e4m3, which GGUF files don't have");
  EXPECT_EQ(error_of([&] { gguf_pair("k", Json::object()); }), "pair 'k' is object, which GGUF files have no type for");
  EXPECT_EQ(error_of([&] {
              gguf_pair("k", {1, "a"});
            }),
            "pair 'k' has elements of several types, which GGUF files cannot hold");
}

}  // namespace
}  // namespace reckon

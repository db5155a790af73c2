// Models that are larger than memory are refused before their files are read.
#include <gtest/gtest.h>

#include <chrono>

#include "gguf_fixture.h"
#include "program_fixture.h"

namespace reckon {
namespace {

using LargerThanMemory = ProgramTest;

// 2⁴⁰ elements of 2 bytes, of which the file system keeps none.
TEST_F(LargerThanMemory, AFileIsRefusedWithWhatWouldFitBeforeItIsRead) {
  constexpr std::uint32_t f32 = 0, f16 = 1;
  constexpr std::int64_t width = 1 << 14, vocabulary = 1 << 26, d_ff = 32;
  GgufFixture file;
  file.pair("general.architecture", "llama").pair("llama.block_count", 1u).pair("llama.context_length", 64u);
  file.pair("llama.embedding_length", std::uint32_t{width}).pair("llama.feed_forward_length", std::uint32_t{d_ff});
  file.pair("llama.attention.head_count", 128u).pair("llama.attention.head_count_kv", 1u);
  file.pair("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  std::uint64_t bytes = 0;
  const auto add = [&](const char* name, const std::vector<std::int64_t>& ne) {
    const bool vector = ne.size() == 1;
    file.info(name, ne, vector ? f32 : f16, bytes);
    bytes += static_cast<std::uint64_t>(vector ? 4 * ne[0] : 2 * ne[0] * ne[1]);
  };
  add("token_embd.weight", {width, vocabulary});
  add("output_norm.weight", {width});
  for (const char* norm : {"blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"}) add(norm, {width});
  for (const char* matrix : {"blk.0.attn_q.weight", "blk.0.attn_output.weight"}) add(matrix, {width, width});
  for (const char* matrix : {"blk.0.attn_k.weight", "blk.0.attn_v.weight"}) add(matrix, {width, 128});
  for (const char* matrix : {"blk.0.ffn_gate.weight", "blk.0.ffn_up.weight"}) add(matrix, {width, d_ff});
  add("blk.0.ffn_down.weight", {d_ff, width});
  const fs::path path = folder_ / "t.gguf";
  std::ofstream(path, std::ios::binary) << file.file();
  std::error_code error;
  fs::resize_file(path, fs::file_size(path) + bytes, error);
  if (error) GTEST_SKIP() << "the file system has no files of 2 TiB";

  EXPECT_EQ(json({"count", path.string()})["weights_in_file"]["bytes"], bytes);
  const auto begin = std::chrono::steady_clock::now();
  // 2⁴⁰ elements are 2 TiB in float16, 336 GiB in q2_k (84 bytes for 256) and 8 TiB in float64.
  const Result cpu = run({"generate", path.string(), "--ids", "1"});
  EXPECT_EQ(cpu.code, 1);
  EXPECT_EQ(cpu.err.find("reckon: " + path.string() + " takes 2.00 TiB of memory with a context of 64, but there are "),
            0)
      << cpu.err;
  EXPECT_NE(cpu.err.find(" it would take "), std::string::npos) << cpu.err;
  const Result reference = run({"generate", path.string(), "--ids", "1", "--device", "reference"});
  EXPECT_EQ(reference.code, 1);
  EXPECT_EQ(reference.err.find("reckon: the weights of " + path.string() +
                               ", of 8 bytes each on the reference, take 8.00 TiB, but there are "),
            0)
      << reference.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));  // reading it takes minutes
}

}  // namespace
}  // namespace reckon

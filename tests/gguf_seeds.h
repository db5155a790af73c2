// Small sound GGUF files: what the fuzz target of headers begins with, so that it need not find the format by itself.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gguf_fixture.h"

namespace reckon {

// Pairs of every type, and tensors whose header is not in the order of their data.
inline GgufFixture good_gguf() {
  GgufFixture file;
  file.pair("general.architecture", "llama");
  file.pair("u8", 0, raw(std::uint8_t{255})).pair("i8", 1, raw(std::int8_t{-1}));
  file.pair("u16", 2, raw(std::uint16_t{65535})).pair("i16", 3, raw(std::int16_t{-2}));
  file.pair("u32", 4, raw(~std::uint32_t{0})).pair("i32", 5, raw(std::int32_t{-3}));
  file.pair("f32", 0.5f).pair("bool", true).pair("no", false);
  file.pair("u64", 10, raw(~std::uint64_t{0})).pair("i64", 11, raw(std::numeric_limits<std::int64_t>::min()));
  file.pair("f64", 12, raw(0.1));
  file.array("tokens", {"a", "", "\xE2\x96\x81the"});
  file.array<float>("scores", 6, {-1.5f, 0, 2});
  file.array<std::int32_t>("types", 5, {1, 3, -6});
  file.array<std::uint8_t>("none", 0, {});
  file.tensor("b", {32, 2}, 8, std::string(68, 'b'));  // q8_0
  file.tensor("a", {2, 3}, 30, std::string(12, 'a'));  // bfloat16
  file.tensor("one", {}, 0, std::string(4, '1'));
  return file;
}

// The header and the tensors of a llama of one layer, 8 wide.
inline GgufFixture llama_gguf() {
  GgufFixture file;
  file.pair("general.architecture", "llama");
  for (const auto& [key, value] : {std::pair("context_length", 16u), std::pair("embedding_length", 8u),
                                   std::pair("block_count", 1u), std::pair("feed_forward_length", 8u),
                                   std::pair("attention.head_count", 2u), std::pair("attention.head_count_kv", 1u)})
    file.pair(std::string("llama.") + key, value);
  file.pair("llama.attention.layer_norm_rms_epsilon", 1e-5f).pair("llama.rope.freq_base", 10000.0f);
  const auto tensor = [&](const std::string& name, const std::vector<std::int64_t>& ne) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : ne) elements *= extent;
    file.tensor(name, ne, 0, std::string(static_cast<std::size_t>(4 * elements), '\0'));
  };
  tensor("token_embd.weight", {8, 6});
  for (const char* norm : {"output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"})
    tensor(std::string(norm) + ".weight", {8});
  for (const char* square : {"attn_q", "attn_output", "ffn_gate", "ffn_up", "ffn_down"})
    tensor("blk.0." + std::string(square) + ".weight", {8, 8});
  for (const char* half : {"attn_k", "attn_v"}) tensor("blk.0." + std::string(half) + ".weight", {8, 4});
  return file;
}

inline std::map<std::string, std::string> gguf_seeds() {
  GgufFixture byte_level = llama_gguf(), sentencepiece = llama_gguf();
  byte_level.pair("tokenizer.ggml.model", "gpt2").pair("tokenizer.ggml.pre", "llama-bpe");
  byte_level.array("tokenizer.ggml.tokens", {"a", "b", "ab", "Ġ", "Ġab", "<s>"});
  byte_level.array<std::int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 1, 1, 1, 3});
  byte_level.array("tokenizer.ggml.merges", {"a b", "Ġ ab"});
  byte_level.pair("tokenizer.ggml.bos_token_id", 5u).pair("tokenizer.ggml.add_bos_token", true);
  sentencepiece.pair("tokenizer.ggml.model", "llama");
  sentencepiece.array("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "<0x0A>", "▁", "▁a"});
  sentencepiece.array<std::int32_t>("tokenizer.ggml.token_type", 5, {2, 3, 3, 6, 1, 1});
  sentencepiece.array<float>("tokenizer.ggml.scores", 6, {0, 0, 0, 0, -1, -2});
  sentencepiece.pair("tokenizer.ggml.unknown_token_id", 0u).pair("tokenizer.ggml.add_space_prefix", true);
  return {
      {"every-type", good_gguf().file()}, {"byte-level", byte_level.file()}, {"sentencepiece", sentencepiece.file()}};
}

}  // namespace reckon

// GGUF files of the same network in other forms, older ones and those of other converters: tensors that are fused or
// apart, and files in shards. Their logits are those of the usual form, which gguf_model_test.cpp holds to
// transformers'.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "files/tensor_file.h"
#include "folder_fixture.h"
#include "gguf_of_folder.h"
#include "model/file_report.h"
#include "run/engine.h"
#include "tiny_models.h"

namespace reckon {
namespace {

using testing_models::tiny_folder;

std::vector<float> logits_of(const fs::path& path, Device device) {
  Engine engine(LoadedModel::open(path.string()), {.device = device, .threads = 2, .capacity = 32});
  Session session = engine.session();
  const std::vector<std::int32_t> ids = {5, 17, 3, 80, 42, 1, 9, 77, 60, 31, 2, 4};
  const std::span<const float> logits = session.run(ids, Logits::all);
  return {logits.begin(), logits.end()};
}

// The tensors of one layer's part, which become others.
struct Layers {
  PlainTensors& tensors;

  bool has(int layer, const std::string& name) const { return tensors.contains(fmt::format("blk.{}.{}", layer, name)); }
  PlainTensor take(int layer, const std::string& name) const {
    return tensors.extract(fmt::format("blk.{}.{}", layer, name)).mapped();
  }
  void put(int layer, const std::string& name, PlainTensor tensor) const {
    tensors[fmt::format("blk.{}.{}", layer, name)] = std::move(tensor);
  }
};

// Matrix after matrix of equal width, or bias after bias.
PlainTensor stacked(const std::vector<PlainTensor>& parts) {
  PlainTensor all{parts.front().shape, {}};
  all.shape.front() = 0;
  for (const PlainTensor& part : parts) {
    all.shape.front() += part.rows();
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
  }
  return all;
}

PlainTensor expert(const PlainTensor& all, std::int64_t index) {
  const auto each = static_cast<std::ptrdiff_t>(all.columns());
  const auto begin = all.values.begin() + static_cast<std::ptrdiff_t>(index) * each;
  return {{all.shape.begin() + 1, all.shape.end()}, {begin, begin + each}};
}

class GgufForms : public FolderTest {
 protected:
  // `changed` is another form of `usual`. Nothing of it is missing or left over.
  void expect_same_logits(const PlainGguf& usual, const PlainGguf& changed) {
    const fs::path one = folder_ / "usual.gguf", other = folder_ / "changed.gguf";
    std::ofstream(one, std::ios::binary) << usual.file();
    std::ofstream(other, std::ios::binary) << changed.file();
    const Model model = load_model(other.string());
    const FileReport report = inspect_file(model, read_tensor_file(other));
    EXPECT_TRUE(report.complete);
    for (const auto& tensor : report.unexpected) EXPECT_TRUE(tensor.may_be_left_out) << tensor.name;
    EXPECT_EQ(count_parameters(model), count_parameters(load_model(one.string())));
    EXPECT_EQ(logits_of(other, Device::reference), logits_of(one, Device::reference));
    const std::vector<float> expected = logits_of(one, Device::cpu), found = logits_of(other, Device::cpu);
    ASSERT_EQ(found.size(), expected.size());
    float worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::fabs(found[i] - expected[i]));
    EXPECT_LE(worst, 1e-5f);
  }
};

TEST_F(GgufForms, WhatRebuildsKeysAndValuesOfLatentsMayBeOneTensor) {
  for (const char* name : {"deepseek_v2", "deepseek_v2-lite", "deepseek_v3"}) {
    SCOPED_TRACE(name);
    const GgufOfFolder usual(tiny_folder() / name);
    const GgufOfFolder older(tiny_folder() / name, GgufOfFolder::Latents::whole);
    ASSERT_TRUE(older.tensors.contains("blk.0.attn_kv_b.weight"));
    ASSERT_FALSE(older.tensors.contains("blk.0.attn_k_b.weight"));
    expect_same_logits(usual, older);
    // …and one tensor with the keys of those that are split.
    PlainGguf mixed = usual;
    mixed.tensors = older.tensors;
    expect_same_logits(usual, mixed);
  }
}

TEST_F(GgufForms, GatesOfExpertsMayLieBeforeWhatTheyGate) {
  for (const char* name : {"mixtral", "qwen3_moe", "deepseek_v2"}) {
    SCOPED_TRACE(name);
    const GgufOfFolder usual(tiny_folder() / name);
    PlainGguf fused = usual;
    const Layers layers{fused.tensors};
    int mixtures = 0;
    for (int i = 0; layers.has(i, "attn_norm.weight"); ++i) {
      if (!layers.has(i, "ffn_gate_exps.weight")) continue;
      const PlainTensor gate = layers.take(i, "ffn_gate_exps.weight"), up = layers.take(i, "ffn_up_exps.weight");
      std::vector<PlainTensor> all;
      for (std::int64_t e = 0; e < gate.rows(); ++e)
        for (const PlainTensor* each : {&gate, &up}) all.push_back(expert(*each, e));
      PlainTensor both = stacked(all);
      both.shape = {gate.shape[0], 2 * gate.shape[1], gate.shape[2]};
      layers.put(i, "ffn_gate_up_exps.weight", both);
      ++mixtures;
    }
    ASSERT_GT(mixtures, 0);
    expect_same_logits(usual, fused);
  }
}

TEST_F(GgufForms, ExpertsOfMixtralMayBeTensorsOfTheirOwn) {
  const GgufOfFolder usual(tiny_folder() / "mixtral");
  PlainGguf apart = usual;
  const Layers layers{apart.tensors};
  for (int i = 0; layers.has(i, "attn_norm.weight"); ++i)
    for (const std::string part : {"ffn_gate", "ffn_up", "ffn_down"}) {
      const PlainTensor all = layers.take(i, part + "_exps.weight");
      for (std::int64_t e = 0; e < all.rows(); ++e) layers.put(i, fmt::format("{}.{}.weight", part, e), expert(all, e));
    }
  ASSERT_TRUE(apart.tensors.contains("blk.1.ffn_down.0.weight"));
  expect_same_logits(usual, apart);
}

TEST_F(GgufForms, QueriesKeysAndValuesMayBeOneTensor) {
  for (const char* name : {"llama-gqa", "llama-bias", "qwen2", "stablelm"}) {
    SCOPED_TRACE(name);
    const GgufOfFolder usual(tiny_folder() / name);
    PlainGguf fused = usual;
    const Layers layers{fused.tensors};
    for (int i = 0; layers.has(i, "attn_norm.weight"); ++i)
      for (const std::string piece : {".weight", ".bias"}) {
        if (!layers.has(i, "attn_q" + piece)) continue;
        std::vector<PlainTensor> parts;
        for (const std::string part : {"attn_q", "attn_k", "attn_v"}) parts.push_back(layers.take(i, part + piece));
        layers.put(i, "attn_qkv" + piece, stacked(parts));
      }
    ASSERT_TRUE(fused.tensors.contains("blk.1.attn_qkv.weight"));
    expect_same_logits(usual, fused);
  }
}

TEST_F(GgufForms, ShardsRunAsTheWholeFile) {
  const GgufOfFolder whole(tiny_folder() / "llama3-rope");
  std::ofstream(folder_ / "whole.gguf", std::ios::binary) << whole.file();
  const fs::path shards = folder_ / "shards";
  fs::create_directory(shards);
  // Layers in an order that is not that of the shards, and in the last one what belongs to the description.
  constexpr std::uint16_t count = 3;
  std::vector<PlainGguf> parts(count);
  parts[0].fixture = whole.fixture;
  for (const auto& [name, tensor] : whole.tensors)
    parts[name.starts_with("blk.1.") ? 0 : name.starts_with("blk.") ? 1 : 2].tensors[name] = tensor;
  std::vector<fs::path> named{shards};
  for (std::uint16_t i = 0; i < count; ++i) {
    ASSERT_FALSE(parts[i].tensors.empty());
    parts[i].fixture.pair("split.no", 2, raw(i)).pair("split.count", 2, raw(count));
    parts[i].fixture.pair("split.tensors.count", 5, raw(static_cast<std::int32_t>(whole.tensors.size())));
    named.push_back(shards / fmt::format("model-{:05}-of-{:05}.gguf", i + 1, count));
    std::ofstream(named.back(), std::ios::binary) << parts[i].file();
  }
  ASSERT_TRUE(parts[2].tensors.contains("rope_freqs.weight"));
  for (const Device device : {Device::reference, Device::cpu}) {
    const std::vector<float> expected = logits_of(folder_ / "whole.gguf", device);
    for (const fs::path& path : named) EXPECT_EQ(logits_of(path, device), expected) << path;
  }
}

}  // namespace
}  // namespace reckon

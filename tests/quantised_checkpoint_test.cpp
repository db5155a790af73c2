// Safetensors whose weights are quantised as they are published: gpt-oss' MXFP4 and FP8 with scales of blocks run as
// the numbers that they stand for; others are known by name and refused.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <reckon/reckon.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <random>

#include "backend/interleaved.h"
#include "files/encoding.h"
#include "files/safetensors.h"
#include "model/file_report.h"
#include "model/read.h"
#include "model/stored.h"
#include "program_fixture.h"
#include "run/engine.h"

namespace reckon {
namespace {

// A folder in parts: tensors by name, as bytes.
struct Checkpoint {
  struct Stored {
    DType dtype;
    std::vector<std::int64_t> shape;
    std::string bytes;
  };
  nlohmann::json config;
  std::map<std::string, Stored> tensors;

  std::string write(const fs::path& folder) const {
    fs::create_directories(folder);
    std::ofstream(folder / "config.json") << config;
    std::vector<TensorToWrite> all;
    for (const auto& [name, tensor] : tensors) all.push_back({name, tensor.dtype, tensor.shape});
    write_safetensors(folder / "model.safetensors", all, [&](std::size_t i, const TensorSink& sink) {
      sink(std::as_bytes(std::span(tensors.at(all[i].name).bytes)));
    });
    return folder.string();
  }

  void set(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<float>& values) {
    tensors[name] = {
        DType::float32, shape, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}};
  }
};

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

// Random numbers for all that the family's files hold.
Checkpoint random_checkpoint(const nlohmann::json& config) {
  Checkpoint made{config, {}};
  std::mt19937 random(3);
  for (const StoredTensor& tensor : stored_layout(read_config(config, "test")).tensors) {
    std::normal_distribution<float> normal(tensor.shape.size() > 1 ? 0.0f : 1.0f, 0.05f);
    std::vector<float> values(static_cast<std::size_t>(product(tensor.shape)));
    for (float& value : values) value = normal(random);
    made.set(tensor.name, tensor.shape, values);
  }
  return made;
}

std::vector<float> logits_of(const std::string& path, Device device) {
  Engine engine(LoadedModel::open(path), {.device = device, .threads = 1, .capacity = 32});
  Session session = engine.session();
  const std::vector<std::int32_t> ids = {5, 17, 3, 40, 42, 1, 9};
  const std::span<const float> logits = session.run(ids, Logits::all);
  return {logits.begin(), logits.end()};
}

const nlohmann::json gpt_oss = {{"model_type", "gpt_oss"},
                                {"vocab_size", 48},
                                {"hidden_size", 64},
                                {"intermediate_size", 32},
                                {"num_hidden_layers", 2},
                                {"num_attention_heads", 2},
                                {"num_key_value_heads", 1},
                                {"head_dim", 32},
                                {"num_local_experts", 3},
                                {"num_experts_per_tok", 2},
                                {"max_position_embeddings", 64},
                                {"sliding_window", 4},
                                {"rope_scaling", {{"rope_type", "default"}}},
                                {"tie_word_embeddings", false}};

const nlohmann::json llama = {{"model_type", "llama"},       {"vocab_size", 48},       {"hidden_size", 160},
                              {"intermediate_size", 272},    {"num_hidden_layers", 2}, {"num_attention_heads", 4},
                              {"num_key_value_heads", 2},    {"head_dim", 40},         {"max_position_embeddings", 64},
                              {"tie_word_embeddings", false}};

using QuantisedCheckpoint = ProgramTest;

TEST_F(QuantisedCheckpoint, ExpertsOfMxfp4RunAsTheNumbersThatTheyStandFor) {
  // What the sixteen codes stand for, from OCP's definition of MX.
  constexpr float codes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};
  Checkpoint packed = random_checkpoint(gpt_oss), plain = packed;
  std::mt19937 random(4);
  const std::map<std::string, Checkpoint::Stored> before = packed.tensors;
  for (const auto& [name, tensor] : before) {
    if (!name.ends_with("_proj") || tensor.shape.size() != 3) continue;
    const std::int64_t experts = tensor.shape[0], in = tensor.shape[1], out = tensor.shape[2];
    std::string bytes(static_cast<std::size_t>(experts * out * in / 2), '\0');
    std::string scales(static_cast<std::size_t>(experts * out * in / 32), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    for (char& scale : scales) scale = static_cast<char>(120 + random() % 3);
    std::vector<float> values(static_cast<std::size_t>(experts * in * out));
    for (std::int64_t e = 0; e < experts; ++e)
      for (std::int64_t o = 0; o < out; ++o)
        for (std::int64_t i = 0; i < in; ++i) {
          const std::int64_t at = (e * out + o) * in + i;
          const auto byte = static_cast<unsigned char>(bytes[static_cast<std::size_t>(at / 2)]);
          const auto scale = static_cast<unsigned char>(scales[static_cast<std::size_t>(at / 32)]);
          values[static_cast<std::size_t>((e * in + i) * out + o)] =
              std::ldexp(codes[i % 2 ? byte >> 4 : byte & 15], scale - 127);
        }
    plain.set(name, tensor.shape, values);
    packed.tensors.erase(name);
    packed.tensors[name + "_blocks"] = {DType::uint8, {experts, out, in / 32, 16}, bytes};
    packed.tensors[name + "_scales"] = {DType::uint8, {experts, out, in / 32}, scales};
  }
  const std::string path = packed.write(folder_ / "packed"), other = plain.write(folder_ / "plain");
  const std::vector<float> expected = logits_of(other, Device::reference);
  EXPECT_EQ(logits_of(path, Device::reference), expected);
  const std::vector<float> logits = logits_of(path, Device::cpu);
  double error = 0, sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    error += std::pow(logits[i] - expected[i], 2);
    sum += std::pow(expected[i], 2);
  }
  EXPECT_LT(std::sqrt(error / sum), 0.02);

  const FileReport report = inspect_file(load_model(path), read_tensor_file(path));
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.quantized.size(), 4u);
  EXPECT_EQ(report.types.at(DType::uint8).bytes, 2 * 3 * (64 * 64 + 64 * 32) * 17 / 32);

  // Gates and what they gate alternate in the file: they too are kept in the order of kernels, as memory says.
  const Json memory = json({"memory", path, "--target", "cpu"}), verified = json({"verify", path, "--tokens", "4"});
  const std::int64_t copies = memory.value("interleaved_copies", std::int64_t{0});
  EXPECT_EQ(copies, keeps_interleaved(DType::mxfp4, 32) ? report.types.at(DType::uint8).bytes : 0);
  std::int64_t measured = 0;
  for (const Json& check : verified["checks"])
    if (check["name"] == "interleaved copies") measured = check["measured"];
  EXPECT_EQ(measured, copies);

  packed.tensors.begin()->second.dtype = DType::float32;
  packed.tensors["model.layers.1.mlp.experts.down_proj_scales"] = {DType::uint8, {3, 64, 2}, std::string(384, 'x')};
  EXPECT_EQ(
      error_of([&] { LoadedModel::open(packed.write(folder_ / "bad")); }),
      (folder_ / "bad/model.safetensors").string() +
          ": tensor 'model.layers.1.mlp.experts.down_proj_scales' is 3 × 64 × 2 of type U8, expected 3 × 64 × 1 of "
          "type U8");
}

// The projections in 8-bit floats with a scale for every block of so many rows and columns; in `plain`, what they stand
// for.
void scale_blocks(std::int64_t high, std::int64_t wide, Checkpoint& packed, Checkpoint& plain) {
  std::mt19937 random(5);
  for (auto& [name, tensor] : plain.tensors) {
    if (!name.ends_with("_proj.weight")) continue;
    const std::int64_t rows = tensor.shape[0], cols = tensor.shape[1], across = (cols - 1) / wide + 1,
                       down = (rows - 1) / high + 1;
    std::string bytes(static_cast<std::size_t>(rows * cols), '\0');
    std::vector<float> scales(static_cast<std::size_t>(down * across)), values;
    for (float& scale : scales) scale = 0x1p-10f * static_cast<float>(1 + random() % 9);  // exact in 16 bits, too
    for (char& byte : bytes) {
      do byte = static_cast<char>(random());
      while ((byte & 0x7F) == 0x7F);  // a NaN
    }
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < cols; ++c) {
        const auto byte = static_cast<unsigned char>(bytes[static_cast<std::size_t>(r * cols + c)]);
        const int exponent = byte >> 3 & 15, mantissa = byte & 7;
        const double size =
            exponent == 0 ? mantissa * std::pow(2, -9) : (1 + mantissa / 8.0) * std::pow(2, exponent - 7);
        values.push_back(static_cast<float>(byte & 128 ? -size : size) *
                         scales[static_cast<std::size_t>(r / high * across + c / wide)]);
      }
    packed.tensors[name] = {DType::float8_e4m3, tensor.shape, bytes};
    packed.set(name + "_scale_inv", {down, across}, scales);
    tensor.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
}

TEST_F(QuantisedCheckpoint, EightBitFloatsRunTimesTheScaleOfTheirBlock) {
  Checkpoint packed = random_checkpoint(llama), plain = packed;
  scale_blocks(128, 128, packed, plain);
  const std::string path = packed.write(folder_ / "packed"), other = plain.write(folder_ / "plain");
  EXPECT_EQ(logits_of(path, Device::cpu), logits_of(other, Device::cpu));
  const FileReport report = inspect_file(load_model(path), read_tensor_file(path));
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.quantized.size(), 14u);
  EXPECT_EQ(report.quantized.front().format, "FP8");

  // Planned as they run on the cpu, and as they are in the file elsewhere; a scale for 128 × 128 is not counted there.
  const auto planned = [&](const std::string& target) {
    return json({"memory", path, "--target", target})["memory"]["weights"].get<std::int64_t>();
  };
  std::int64_t matrices = 0, others = 0;
  for (const auto& [name, tensor] : packed.tensors)
    if (tensor.dtype == DType::float8_e4m3)
      matrices += std::ssize(tensor.bytes);
    else if (!name.ends_with("_scale_inv"))
      others += std::ssize(tensor.bytes);
  const Model model = load_model(path);
  EXPECT_EQ(planned("cpu"), 4 * matrices + others);
  EXPECT_EQ(Weights::load(model, path).bytes(), 4 * matrices + others);
  EXPECT_EQ(planned("gpu"), matrices + others);
  EXPECT_EQ(json({"count", path})["weights_in_file"]["bytes"], report.bytes);

  const std::string first = "model.layers.0.mlp.down_proj.weight";
  packed.tensors.erase(first + "_scale_inv");
  EXPECT_EQ(error_of([&] { LoadedModel::open(packed.write(folder_ / "bad")); }),
            (folder_ / "bad/model.safetensors").string() + ": tensor '" + first +
                "' is of type F8_E4M3, but there is no '" + first + "_scale_inv' to scale it");
  packed.set(first + "_scale_inv", {1, 1}, {1});
  EXPECT_EQ(error_of([&] { LoadedModel::open(packed.write(folder_ / "worse")); }),
            (folder_ / "worse/model.safetensors").string() + ": tensor '" + first +
                "_scale_inv' is 1 × 1 of type F32, expected 2 × 3, or a number, of type F32, F16 or BF16");
  packed.tensors[first] = {DType::float8_e4m3, {2, 2}, "four"};
  EXPECT_EQ(error_of([&] { LoadedModel::open(packed.write(folder_ / "small")); }),
            (folder_ / "small").string() + ": tensor '" + first + "' is 2 × 2, expected 160 × 272");
}

TEST_F(QuantisedCheckpoint, BlocksOfMxfp4AreOfExperts) {
  const std::string name = "model.layers.0.mlp.down_proj.weight";
  Checkpoint made = random_checkpoint(llama);
  made.tensors.erase(name);
  made.tensors[name + "_blocks"] = {DType::uint8, {160, 8, 16}, std::string(160 * 128, 'x')};
  made.tensors[name + "_scales"] = {DType::uint8, {160, 8}, std::string(160 * 8, 'x')};
  EXPECT_EQ(error_of([&] { LoadedModel::open(made.write(folder_ / "packed")); }),
            "tensor '" + name + "' is in blocks of MXFP4, expected them of experts alone");
}

// 272, 160 and 80 rows have as many scales of 100 as of 128.
TEST_F(QuantisedCheckpoint, EightBitFloatsHaveTheBlocksOfTheirConfig) {
  const Checkpoint whole = random_checkpoint(llama);
  for (const auto& [high, wide] : {std::pair(100, 128), std::pair(64, 160)}) {
    Checkpoint packed = whole, plain = whole;
    scale_blocks(high, wide, packed, plain);
    packed.config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {high, wide}}};
    const std::string path = packed.write(folder_ / "packed"), other = plain.write(folder_ / "plain");
    EXPECT_EQ(logits_of(path, Device::cpu), logits_of(other, Device::cpu)) << high << " × " << wide;
    EXPECT_TRUE(json({"count", path})["file"]["complete"]);
  }
  Checkpoint packed = whole, plain = whole;
  scale_blocks(128, 128, packed, plain);
  packed.config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {64, 64}}};
  const std::string path = packed.write(folder_ / "packed");
  EXPECT_EQ(error_of([&] { LoadedModel::open(path); }),
            path +
                "/model.safetensors: tensor 'model.layers.0.self_attn.q_proj.weight_scale_inv' is 2 × 2 of type F32, "
                "expected 3 × 3, or a number, of type F32, F16 or BF16");
  for (const char* bad :
       {"[128]", "[128, 0]", "[128, -1]", "[128, 64.5]", "[128, 128, 128]", "\"128\"", "[64, 1e30]"}) {
    packed.config["quantization_config"]["weight_block_size"] = nlohmann::json::parse(bad);
    packed.write(folder_ / "packed");
    const std::string expected = path + "/config.json: quantization_config.weight_block_size is ";
    expect_complaint({"count", path}, 1, expected);
    expect_complaint({"logits", path, "--ids", "1,2"}, 1, expected);
  }
}

// Qwen3's have scales in BF16 or F16.
TEST_F(QuantisedCheckpoint, EightBitFloatsHaveScalesOf16Bits) {
  Checkpoint packed = random_checkpoint(llama), plain = packed;
  scale_blocks(128, 128, packed, plain);
  const std::vector<float> expected = logits_of(plain.write(folder_ / "plain"), Device::cpu);
  const Checkpoint wide = packed;
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    for (const auto& [name, tensor] : wide.tensors) {
      if (!name.ends_with("_scale_inv")) continue;
      std::vector<float> scales(tensor.bytes.size() / sizeof(float));
      std::memcpy(scales.data(), tensor.bytes.data(), tensor.bytes.size());
      Checkpoint::Stored& narrow = packed.tensors[name];
      narrow = {dtype, tensor.shape, std::string(2 * scales.size(), '\0')};
      encoding_of(dtype).encode(scales.data(), std::ssize(scales), reinterpret_cast<std::byte*>(narrow.bytes.data()));
    }
    EXPECT_EQ(logits_of(packed.write(folder_ / "packed"), Device::cpu), expected);
  }
  const std::string name = "model.layers.0.mlp.down_proj.weight_scale_inv";
  packed.tensors[name] = {DType::int32, {2, 3}, std::string(24, 'x')};
  EXPECT_EQ(error_of([&] { LoadedModel::open(packed.write(folder_ / "bad")); }),
            (folder_ / "bad/model.safetensors").string() + ": tensor '" + name +
                "' is 2 × 3 of type I32, expected 2 × 3, or a number, of type F32, F16 or BF16");
}

// As transformers' FP8Linear has it where weight_block_size is null, with another for activations (Ministral 3).
TEST_F(QuantisedCheckpoint, EightBitFloatsHaveOneScaleWithoutBlocks) {
  Checkpoint packed = random_checkpoint(llama), plain = packed;
  scale_blocks(1024, 1024, packed, plain);
  packed.config["quantization_config"] = {
      {"quant_method", "fp8"}, {"activation_scheme", "static"}, {"weight_block_size", nullptr}};
  const std::map<std::string, Checkpoint::Stored> before = packed.tensors;
  for (const auto& [name, tensor] : before) {
    if (!name.ends_with(".weight_scale_inv")) continue;
    packed.tensors[name].shape = {};
    packed.set(name.substr(0, name.rfind('.')) + ".activation_scale", {}, {0.5f});
  }
  const std::string path = packed.write(folder_ / "packed"), other = plain.write(folder_ / "plain");
  EXPECT_EQ(logits_of(path, Device::cpu), logits_of(other, Device::cpu));
  EXPECT_EQ(json({"count", path})["weights_in_file"]["bytes"],
            inspect_file(load_model(path), read_tensor_file(path)).bytes);
}

// …by the config.json's word, where it has one: tensors of one method are called as those of another.
TEST_F(QuantisedCheckpoint, OthersAreKnownByTheirConfig) {
  using Stored = Checkpoint::Stored;
  const std::string module = "model.layers.1.mlp.down_proj";
  const std::pair<const char*, Stored> awq[] = {{".qweight", {DType::int32, {272, 20}, std::string(272 * 20 * 4, 'x')}},
                                                {".qzeros", {DType::int32, {3, 20}, std::string(3 * 20 * 4, 'x')}},
                                                {".scales", {DType::float16, {3, 160}, std::string(3 * 160 * 2, 'x')}}};
  const std::pair<const char*, Stored> hqq[] = {{".W_q", {DType::uint8, {160, 136}, std::string(160 * 136, 'x')}},
                                                {".meta", {DType::float16, {160}, std::string(160 * 2, 'x')}}};
  const std::pair<const char*, Stored> bytes[] = {{".weight", {DType::int8, {160, 272}, std::string(160 * 272, 'x')}},
                                                  {".weight_scales", {DType::float16, {160}, std::string(320, 'x')}}};
  const std::pair<const char*, Stored> nvfp4[] = {
      {".weight", {DType::uint8, {160, 136}, std::string(160 * 136, 'x')}},
      {".weight_scale", {DType::float8_e4m3, {160, 17}, std::string(160 * 17, 'x')}},
      {".weight_scale_2", {DType::float32, {}, std::string(4, 'x')}}};
  const struct {
    const char *method, *name;
    std::span<const std::pair<const char*, Stored>> instead;  // of .weight
  } cases[] = {{"awq", "AWQ", awq},      {"gptq", "GPTQ", awq},       {"hqq", "HQQ", hqq},
               {"eetq", "EETQ", bytes},  {"quanto", "Quanto", bytes}, {"modelopt", "ModelOpt", nvfp4},
               {"novel", "novel", bytes}};
  for (const auto& each : cases) {
    Checkpoint made = random_checkpoint(llama);
    made.config["quantization_config"] = {{"quant_method", each.method}};
    const std::int64_t before = std::ssize(made.tensors.at(module + ".weight").bytes);
    made.tensors.erase(module + ".weight");
    std::int64_t after = 0;
    for (const auto& [ending, tensor] : each.instead) {
      made.tensors[module + ending] = tensor;
      after += std::ssize(tensor.bytes);
    }
    const std::string path = made.write(folder_ / each.method);
    const FileReport report = inspect_file(load_model(path), read_tensor_file(path));
    ASSERT_EQ(report.quantized.size(), 1u) << each.method;
    EXPECT_EQ(report.quantized.front().format, each.name);
    EXPECT_TRUE(report.complete) << each.method;
    EXPECT_EQ(report.weight_bytes, 4 * report.expected_elements - before + after) << each.method;
    EXPECT_EQ(report.weight_bytes, report.bytes);
    EXPECT_EQ(error_of([&] { LoadedModel::open(path); }), path + ": tensor '" + module + ".weight' is quantized as " +
                                                              each.name +
                                                              " does it, which reckon counts but does not run");
    const std::string said = run({"memory", path}).err;
    EXPECT_NE(said.find(" bytes, as " + std::string(each.name) + " packs them, which are planned as plain numbers"),
              std::string::npos)
        << said;
  }
}

TEST_F(QuantisedCheckpoint, OthersAreKnownByNameCountedByTheirBytesAndRefused) {
  const struct {
    const char* format;
    std::vector<std::pair<const char*, Checkpoint::Stored>> instead;  // of .weight
  } cases[] = {
      {"GPTQ",
       {{".qweight", {DType::int32, {34, 160}, std::string(34 * 160 * 4, 'x')}},
        {".g_idx", {DType::int32, {272}, std::string(272 * 4, 'x')}},
        {".scales", {DType::float16, {3, 160}, std::string(3 * 160 * 2, 'x')}}}},
      {"GPTQ or AWQ",
       {{".qweight", {DType::int32, {272, 20}, std::string(272 * 20 * 4, 'x')}},
        {".qzeros", {DType::int32, {3, 20}, std::string(3 * 20 * 4, 'x')}}}},
      {"compressed-tensors", {{".weight_packed", {DType::int32, {160, 34}, std::string(160 * 34 * 4, 'x')}}}},
      {"compressed-tensors",
       {{".weight", {DType::float8_e4m3, {160, 272}, std::string(160 * 272, 'x')}},
        {".weight_scale", {DType::float32, {1}, std::string(4, 'x')}}}},
      {"MLX",
       {{".weight", {DType::uint32, {160, 34}, std::string(160 * 34 * 4, 'x')}},
        {".scales", {DType::float16, {160, 4}, std::string(160 * 4 * 2, 'x')}},
        {".biases", {DType::float16, {160, 4}, std::string(160 * 4 * 2, 'x')}}}},
      {"bitsandbytes",
       {{".weight", {DType::uint8, {21760, 1}, std::string(21760, 'x')}},
        {".weight.absmax", {DType::float32, {680}, std::string(680 * 4, 'x')}}}},
  };
  const std::string module = "model.layers.1.mlp.down_proj";
  for (const auto& each : cases) {
    Checkpoint made = random_checkpoint(llama);
    made.tensors.erase(module + ".weight");
    for (const auto& [ending, tensor] : each.instead) made.tensors[module + ending] = tensor;
    const std::string path = made.write(folder_ / "packed");
    const FileReport report = inspect_file(load_model(path), read_tensor_file(path));
    ASSERT_EQ(report.quantized.size(), 1u) << each.format;
    EXPECT_EQ(report.quantized.front().format, each.format);
    EXPECT_TRUE(report.complete) << each.format;
    std::int64_t bytes = 0;
    for (const auto& [name, tensor] : made.tensors) bytes += std::ssize(tensor.bytes);
    EXPECT_EQ(report.bytes, bytes);
    EXPECT_EQ(error_of([&] { LoadedModel::open(path); }), path + ": tensor '" + module + ".weight' is quantized as " +
                                                              each.format +
                                                              " does it, which reckon counts but does not run");
  }
}

}  // namespace
}  // namespace reckon

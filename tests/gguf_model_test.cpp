// GGUF files as models: each is made here of a tiny model's folder as converters do, and must give the same logits.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <reckon/reckon.h>

#include <cmath>
#include <fstream>
#include <numbers>
#include <random>

#include "backend/cpu/instructions.h"
#include "compile/compile.h"
#include "files/tensor_file.h"
#include "folder_fixture.h"
#include "gguf_of_folder.h"
#include "model/file_report.h"
#include "model/location.h"
#include "model/read_gguf.h"
#include "model/stored.h"
#include "network/forward.h"
#include "report/memory_use.h"
#include "run/engine.h"
#include "run/logits.h"
#include "run/verify.h"
#include "run/verify_reference.h"
#include "tiny_models.h"

namespace reckon {
namespace {

using namespace testing_models;

// What GGUF cannot say, or llama.cpp has no architecture for.
const std::map<std::string, std::string> not_in_gguf = {
    {"arcee", "its activation is not relu²"},
    {"deepseek_v3-noq", "mscale is not mscale_all_dim"},
    {"deepseek_v3-plain-rope", "rotary halves"},
    {"gpt_neo", "no architecture"},
    {"gptj", "no architecture"},
    {"llama-dynamic", "dynamic scaling"},
    {"opt", "no architecture"},
    {"opt-350m", "no architecture"},
    {"phi-qknorm", "phi2 has no norms on queries and keys"},
};

std::vector<std::string> convertible() {
  std::vector<std::string> names;
  for (const std::string& name : tiny_names())
    if (!not_in_gguf.contains(name)) names.push_back(name);
  names.emplace_back("../families/tiny/qwen2_moe");
  return names;
}

fs::path written(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::vector<float> logits_of(const std::string& path, const nlohmann::json& io, Device device) {
  const std::shared_ptr<const LoadedModel> loaded = LoadedModel::open(path);
  Engine engine(loaded, {.device = device, .threads = 2, .capacity = 32});
  std::vector<float> all;
  for (const auto& row : io["ids"]) {
    Session session = engine.session();
    const auto ids = row.get<std::vector<std::int32_t>>();
    const std::span<const float> logits = session.run(ids, Logits::all);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

class GgufGolden : public FolderTest, public testing::WithParamInterface<std::string> {};

TEST_P(GgufGolden, GivesTheLogitsOfTheFolderThatItWasMadeOf) {
  const std::string path = written(folder_ / "model.gguf", GgufOfFolder(tiny_folder() / GetParam()).file()).string();
  const Model model = load_model(path);
  const FileReport report = inspect_file(model, read_tensor_file(path));
  EXPECT_TRUE(report.complete);
  for (const auto& tensor : report.missing) ADD_FAILURE() << "missing " << tensor.name;
  for (const auto& tensor : report.misshapen) ADD_FAILURE() << "misshapen " << tensor.name;
  for (const auto& tensor : report.unexpected) EXPECT_TRUE(tensor.may_be_left_out) << tensor.name;
  const Model original = load_model((tiny_folder() / GetParam()).string());
  EXPECT_EQ(count_parameters(model), count_parameters(original));

  const nlohmann::json io = tiny_io(GetParam());
  std::vector<float> expected;
  for (const auto& row : io["logits"])
    for (const auto& position : row)
      for (const auto& logit : position) expected.push_back(logit.get<float>());
  for (const Device device : {Device::cpu, Device::reference}) {
    const std::vector<float> logits = logits_of(path, io, device);
    ASSERT_EQ(logits.size(), expected.size());
    float worst = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) worst = std::max(worst, std::fabs(logits[i] - expected[i]));
    EXPECT_LE(worst, 2e-4f) << "device " << int(device);
  }
}

// What a file is predicted to be loaded as is what it is loaded as.
void expect_stored_types(const Model& model, const std::string& path) {
  const std::shared_ptr<const ParameterTypes> loaded = Weights::load(model, path).types();
  const std::shared_ptr<const ParameterTypes> stored = stored_types(model, read_tensor_file(path));
  EXPECT_FALSE(stored->empty());
  for (const auto& [key, type] : *stored)
    EXPECT_EQ(encoding_of(type).name, encoding_of(loaded->at(key)).name) << full_name(key);
}

TEST_P(GgufGolden, MeasuresWhatItPredicts) {
  const std::string path = written(folder_ / "model.gguf", GgufOfFolder(tiny_folder() / GetParam()).file()).string();
  const Model model = load_model(path);
  expect_stored_types(model, path);
  const Verification v = verify(model, Weights::load(model, path), {.tokens = 20, .steps = 3, .batch = 2});
  for (const Check& check : v.checks) EXPECT_TRUE(check.equal()) << check.name;
  for (const std::string& finding : v.findings) ADD_FAILURE() << finding;
  EXPECT_TRUE(v.holds());
}

INSTANTIATE_TEST_SUITE_P(Tiny, GgufGolden, testing::ValuesIn(convertible()), tiny_test_name);

// A llama with widths that every block divides.
PlainGguf wide_llama() {
  PlainGguf made;
  made.architecture = "llama";
  made.fixture.pair("general.architecture", "llama");
  made.number("context_length", 64);
  made.number("embedding_length", 256);
  made.number("block_count", 2);
  made.number("feed_forward_length", 512);
  made.number("attention.head_count", 4);
  made.number("attention.head_count_kv", 2);
  made.real("attention.layer_norm_rms_epsilon", 1e-5);
  std::mt19937 random(7);
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    PlainTensor& tensor = made.tensors[name];
    tensor.shape = std::move(shape);
    std::normal_distribution<float> normal(tensor.shape.size() > 1 ? 0.0f : 1.0f, 0.05f);
    for (std::int64_t i = 0; i < elements; ++i) tensor.values.push_back(normal(random));
  };
  add("token_embd.weight", {96, 256});
  add("output_norm.weight", {256});
  add("output.weight", {96, 256});
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    for (const char* norm : {"attn_norm.weight", "ffn_norm.weight"}) add(layer + norm, {256});
    add(layer + "attn_q.weight", {256, 256});
    add(layer + "attn_output.weight", {256, 256});
    for (const char* name : {"attn_k.weight", "attn_v.weight"}) add(layer + name, {128, 256});
    for (const char* name : {"ffn_gate.weight", "ffn_up.weight"}) add(layer + name, {512, 256});
    add(layer + "ffn_down.weight", {256, 512});
  }
  return made;
}

// The same file with matrices of float32 that hold what the blocks of `dtype` stand for.
PlainGguf decoded(PlainGguf made, DType dtype) {
  const Encoding& encoding = encoding_of(dtype);
  for (auto& [name, tensor] : made.tensors) {
    const std::int64_t width = tensor.shape.back();
    if (tensor.shape.size() < 2 || width % encoding.elements != 0 || name.find("_inp") != std::string::npos) continue;
    std::vector<std::byte> row(static_cast<std::size_t>(row_bytes(encoding, width)));
    for (std::size_t at = 0; at < tensor.values.size(); at += static_cast<std::size_t>(width)) {
      encode_row(dtype, &tensor.values[at], width, nullptr, row.data());
      encoding.decode(row.data(), width / encoding.elements, &tensor.values[at]);
    }
  }
  return made;
}

class GgufBlocks : public FolderTest, public testing::WithParamInterface<DType> {};

// The reference decodes, and so gives the bits of the decoded file. The cpu multiplies integers: activations of 8 bits
// are the only difference.
TEST_P(GgufBlocks, RunAsTheNumbersThatTheyStandFor) {
  const nlohmann::json io = {{"ids", {{5, 17, 3, 80, 42, 1, 9, 77, 60, 31, 2, 4, 8, 16, 32, 64, 95, 90, 11, 13}}}};
  std::vector<PlainGguf> files{wide_llama()};
  const std::int64_t block = encoding_of(GetParam()).elements;
  if (block == 32) files.push_back(GgufOfFolder(tiny_folder() / "llama3-rope"));
  for (const PlainGguf& made : files) {
    const std::string path = written(folder_ / "blocks.gguf", made.file(GetParam())).string();
    const std::string plain = written(folder_ / "plain.gguf", decoded(made, GetParam()).file()).string();
    const std::vector<float> expected = logits_of(plain, io, Device::reference);
    EXPECT_EQ(logits_of(path, io, Device::reference), expected);
    const std::vector<float> logits = logits_of(path, io, Device::cpu);
    double error = 0, sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      error += std::pow(logits[i] - expected[i], 2);
      sum += std::pow(expected[i], 2);
    }
    // 20 rows: AMX rounds both sides to bfloat16, too.
    EXPECT_LT(std::sqrt(error / sum), amx_quantised() ? 0.025 : 0.02);

    const Model model = load_model(path);
    const FileReport report = inspect_file(model, read_tensor_file(path));
    EXPECT_TRUE(report.complete);
    EXPECT_GT(report.types.at(GetParam()).bytes, 0);
    EXPECT_EQ(report.types.at(GetParam()).bytes, row_bytes(GetParam(), report.types.at(GetParam()).elements));
    const Verification v = verify(model, Weights::load(model, path), {.tokens = 20, .steps = 3, .batch = 2});
    for (const Check& check : v.checks)
      EXPECT_TRUE(check.equal()) << check.name << ": " << to_string(check.measured) << " of "
                                 << to_string(check.lowered);
    for (const std::string& finding : v.findings) ADD_FAILURE() << finding;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, GgufBlocks,
                         testing::Values(DType::q2_k, DType::q3_k, DType::iq4_xs, DType::mxfp4, DType::iq4_nl,
                                         DType::q4_0, DType::q4_k, DType::q4_1, DType::q5_0, DType::q5_k, DType::q5_1,
                                         DType::q6_k, DType::q8_0, DType::float16, DType::bfloat16),
                         [](const auto& tested) { return std::string(encoding_of(tested.param).name); });

// Experts and latents whose matrices lie in blocks: those that rebuild keys and values are decoded. The cpu's
// activations of 8 bits may send a token to other experts, so that it is held op by op.
TEST_F(FolderTest, GgufBlocksOfExpertsAndLatentsRun) {
  for (const char* name : {"gpt_oss", "mixtral", "qwen3_moe", "deepseek_v2", "deepseek_v3", "phi3", "falcon-new"})
    for (const DType dtype :
         {DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::iq4_nl, DType::mxfp4}) {
      SCOPED_TRACE(name + (", " + std::string(encoding_of(dtype).name)));
      const GgufOfFolder made(tiny_folder() / name);
      const nlohmann::json io = tiny_io(name);
      const std::string path = written(folder_ / "blocks.gguf", made.file(dtype)).string();
      const std::string plain = written(folder_ / "plain.gguf", decoded(made, dtype).file()).string();
      EXPECT_EQ(logits_of(path, io, Device::reference), logits_of(plain, io, Device::reference));
      const Model model = load_model(path);
      expect_stored_types(model, path);
      VerifyOptions options;
      options.tokens = 16;
      const ReferenceComparison c = compare_with_reference(model, Weights::load(model, path), options);
      EXPECT_GT(c.kinds.at("quantise").ops, 0);
      EXPECT_EQ(c.tolerance, ReferenceComparison::in_float32);
      if (c.first) ADD_FAILURE() << c.first->op << ": " << c.first->relative;
    }
}

// A header alone: the pairs by hand, and tensors without data.
TensorFile header_of(nlohmann::json pairs,
                     const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& tensors) {
  TensorFile file;
  file.files.push_back({"x.gguf", 0, 0, {}, std::move(pairs)});
  for (const auto& [name, shape] : tensors) {
    TensorInfo& info = file.tensors.emplace_back();
    info.name = name;
    info.shape = shape;
    measure(info);
  }
  return file;
}

nlohmann::json llama_pairs() {
  return {{"general.architecture", "llama"},    {"llama.context_length", 64},
          {"llama.embedding_length", 32},       {"llama.block_count", 3},
          {"llama.feed_forward_length", 48},    {"llama.attention.head_count", 4},
          {"llama.attention.head_count_kv", 2}, {"llama.attention.layer_norm_rms_epsilon", 9.999999747378752e-06}};
}

Model read_pairs(const nlohmann::json& pairs) {
  return read_gguf_model(header_of(pairs, {{"token_embd.weight", {100, 32}},
                                           {"blk.0.attn_norm.weight", {32}},
                                           {"blk.1.attn_norm.weight", {32}},
                                           {"blk.2.attn_norm.weight", {32}}}),
                         "x.gguf")
      .model;
}

TEST(GgufModel, ReadsSizesNumbersAndWhatEachLayerHas) {
  nlohmann::json pairs = llama_pairs();
  pairs["llama.feed_forward_length"] = {48, 64, 96};
  pairs["llama.attention.head_count"] = {4, 4, 2};
  pairs["llama.attention.head_count_kv"] = {2, 1, 2};
  const Model model = read_pairs(pairs);
  EXPECT_EQ(model.family, "llama");
  EXPECT_EQ(model.vocab_size, 100);  // the rows of the embedding
  EXPECT_EQ(model.context, 64);
  EXPECT_TRUE(model.head.tied);
  EXPECT_EQ(model.final_norm->epsilon, 1e-5);  // what was meant by the float32
  const Attention& last = *find<Attention>(model.layers[2]);
  EXPECT_EQ(find<FeedForward>(model.layers[1])->d_ff, 64);
  EXPECT_EQ(last.n_heads, 2);
  EXPECT_EQ(last.n_kv_heads, 2);
  EXPECT_EQ(last.d_head, 8);
  EXPECT_TRUE(last.rope->interleaved);
}

TEST(GgufModel, TellsLlama3ByItsDivisors) {
  // Llama 3.1: theta 500,000, factor 8; by hand for the pairs that turn often, seldom, and in between.
  GgufOfFolder made(tiny_folder() / "llama3-rope");
  const fs::path path = fs::temp_directory_path() / "reckon-divisors-test.gguf";
  std::vector<float> divisors;
  for (int i = 0; i < 8; ++i) {
    const double frequency = std::pow(500000.0, -i / 8.0), turns = 8192 * frequency / (2 * std::numbers::pi);
    const double smooth = std::clamp((turns - 1) / 3, 0.0, 1.0);
    divisors.push_back(static_cast<float>(1 / ((1 - smooth) / 8 + smooth)));
  }
  made.tensors["rope_freqs.weight"].values = divisors;
  std::ofstream(path, std::ios::binary) << made.file();
  const Rope rope = *first_attention(load_model(path.string())).rope;
  EXPECT_EQ(rope.scaling, Rope::Scaling::llama3);
  EXPECT_EQ(rope.factor, 8);
  EXPECT_EQ(rope.original_context, 8192);
  made.tensors["rope_freqs.weight"].values[3] = std::nanf("");
  std::ofstream(path, std::ios::binary) << made.file();
  EXPECT_EQ(error_of([&] { load_model(path.string()); }),
            path.string() + ": tensor 'rope_freqs.weight' holds nan; expected numbers above zero");
  fs::remove(path);
}

TEST(GgufModel, SaysWhatIsWrong) {
  const std::string at = "x.gguf: llama.";
  const struct {
    const char* key;
    nlohmann::json value;  // null: the pair is missing
    std::string error;
  } cases[] = {
      {"general.architecture", "mamba", "x.gguf: general.architecture is \"mamba\"; expected one of arcee, bloom,"},
      {"general.architecture", nullptr, "x.gguf: general.architecture is missing; expected one of arcee,"},
      {"general.architecture", std::string("a\0\n\x1b\xff", 5),
       "x.gguf: general.architecture is \"a\\u0000\\n\\u001b\\ufffd\"; expected one of arcee,"},
      {"llama.block_count", 0, at + "block_count is 0; expected a whole number of at least 1"},
      {"llama.block_count", nullptr, at + "block_count is missing; expected a whole number"},
      {"llama.block_count", 4000000000u, at + "block_count is 4000000000; expected a whole number of at most 100000"},
      {"llama.block_count", 100000, at + "block_count is 100000; expected at most 4, the number of tensors"},
      {"llama.attention.head_count", 0, at + "attention.head_count is 0; expected a whole number of at least 1"},
      {"llama.attention.head_count", 5,
       at + "attention.head_count_kv is 2, which does not divide llama.attention.head"},
      {"llama.attention.head_count_kv", 0, at + "attention.head_count_kv is 0; expected a whole number of at least 1"},
      {"llama.attention.head_count", {4, 4}, at + "attention.head_count is an array of 2; expected 3 numbers, one per"},
      {"llama.attention.head_count",
       {4, 0, 4},
       at + "attention.head_count[1] is 0; expected a whole number of at least"},
      {"llama.feed_forward_length",
       {1, 2},
       at + "feed_forward_length is an array of 2; expected 3 numbers, one per la"},
      {"llama.embedding_length", 30,
       at + "attention.head_count is 4, which does not divide llama.embedding_length, 30"},
      {"llama.embedding_length", "32", at + "embedding_length is \"32\", a string; expected a whole number"},
      {"llama.rope.dimension_count", 7, at + "rope.dimension_count is 7; expected an even number, at most the 8"},
      {"llama.rope.dimension_count", 16, at + "rope.dimension_count is 16; expected an even number, at most the 8"},
      {"llama.attention.key_length", 7,
       at + "attention.key_length is 7; expected an even number: heads of 7 cannot be rotated in pairs"},
      {"llama.embedding_length", 36,
       at + "attention.key_length is missing; expected an even number: heads of 9 cannot be rotated in pairs"},
      {"llama.rope.freq_base", 0.0, at + "rope.freq_base is 0; expected a number above zero"},
      {"llama.rope.scaling.type", "ntk", at + "rope.scaling.type is \"ntk\"; expected none, linear, yarn or longrope"},
      {"llama.rope.scaling.type", "longrope", at + "rope.scaling.type is \"longrope\", but there is no tensor"},
      {"llama.attention.value_length", 4, at + "attention.value_length is 4; expected llama.attention.key_length, 8"},
      {"llama.attention.layer_norm_rms_epsilon", nullptr,
       at + "attention.layer_norm_rms_epsilon is missing; expected a"},
      {"llama.expert_count", 4, at + "expert_used_count is missing; expected a whole number"},
      {"llama.expert_count", 1025, at + "expert_count is 1025; expected a whole number of at most 1024"},
      {"llama.attention.causal", false, at + "attention.causal is false; expected true: only causal models"},
      {"llama.ssm.state_size", 16, at + "ssm.state_size is 16, which is not understood and could change the network"},
      {"llama.attention.sliding_window_pattern",
       {true},
       at + "attention.sliding_window_pattern is an array of 1; expect"},
      {"llama.attention.clamp_kqv", 8.0, at + "attention.clamp_kqv is 8, which is not understood and could change"},
      {"llama.tensor_data_layout", "reference", at + "tensor_data_layout is \"reference\", which is not understood"},
      {"llama.expert_shared_count", 1, at + "expert_shared_count is 1, which is not understood and could change the"},
      {"llama.expert_gating_func", 2, at + "expert_gating_func is 2, which is not understood and could change the ne"},
      {"llama.nextn_predict_layers", 3, at + "nextn_predict_layers is 3; expected fewer than llama.block_count, 3"},
  };
  EXPECT_NO_THROW(read_pairs(llama_pairs()));
  for (const auto& each : cases) {
    nlohmann::json pairs = llama_pairs();
    if (each.value.is_null())
      pairs.erase(each.key);
    else
      pairs[each.key] = each.value;
    const std::string error = error_of([&] { read_pairs(pairs); });
    EXPECT_TRUE(error.starts_with(each.error)) << each.key << ": " << error;
  }
  EXPECT_EQ(error_of([] { read_gguf_model(header_of(llama_pairs(), {}), "x.gguf"); }),
            "x.gguf: there is no tensor 'token_embd.weight'; expected a whole model");
  EXPECT_EQ(error_of([] {
              read_gguf_model(header_of(llama_pairs(), {{"token_embd.weight", {3200}}}), "x.gguf");
            }),
            "x.gguf: tensor 'token_embd.weight' is [3200]; expected two extents");
}

TEST(GgufModel, TakesKeysWhoseValueChangesNothing) {
  nlohmann::json pairs = llama_pairs();
  const Model plain = read_pairs(pairs);
  pairs["llama.attention.clamp_kqv"] = 0.0;
  pairs["llama.expert_shared_count"] = 0;
  pairs["llama.tensor_data_layout"] = "Meta AI original pth";
  EXPECT_EQ(read_pairs(pairs), plain);
  pairs["llama.expert_count"] = 4;
  pairs["llama.expert_used_count"] = 2;
  const Model mixture = read_pairs(pairs);
  pairs["llama.expert_gating_func"] = 1;  // softmax, as Mixtral's
  EXPECT_EQ(read_pairs(pairs), mixture);
}

// Where the scales of a block are: float16s, but for mxfp4's exponent.
std::vector<std::size_t> scales_of(DType dtype) {
  switch (dtype) {
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k:
      return {0, 2};  // of the integers, and the offset
    case DType::q2_k:
      return {80, 82};
    case DType::q3_k:
      return {108};
    case DType::q6_k:
      return {208};
    default:
      return {0};
  }
}

// What of such a scale makes it no finite number.
std::vector<std::string> no_numbers(DType dtype) {
  using namespace std::string_literals;
  if (dtype == DType::mxfp4) return {"\xFF"s};  // NaN
  return {"\0\x7E"s, "\0\x7C"s};                // float16's NaN and infinity
}

// Also one of the last layer's gate: what is no number is then a single activation, which no norm has spread.
TEST_F(FolderTest, GgufScalesThatAreNoNumbersAreNamedWhenTheyRun) {
  for (const DType dtype :
       {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::iq4_nl, DType::mxfp4, DType::q2_k,
        DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_xs}) {
    const std::string whole = wide_llama().file(dtype);
    const TensorFile header = read_tensor_file(written(folder_ / "whole.gguf", whole).string());
    for (const char* name : {"blk.0.attn_output.weight", "blk.1.ffn_gate.weight"}) {
      const auto info = std::find_if(header.tensors.begin(), header.tensors.end(),
                                     [&](const TensorInfo& each) { return each.name == name; });
      ASSERT_NE(info, header.tensors.end());
      ASSERT_EQ(info->dtype, dtype);
      const auto begin = static_cast<std::size_t>(header.files[0].data_begin + info->begin);
      for (const std::size_t scale : scales_of(dtype))
        for (const std::string& bytes : no_numbers(dtype)) {
          std::string damaged = whole;
          damaged.replace(begin + scale, bytes.size(), bytes);
          Engine engine(LoadedModel::open(written(folder_ / "damaged.gguf", damaged).string()), {.capacity = 32});
          for (const std::size_t tokens : {2, 20}) {  // few rows and many
            const std::string sentence =
                error_of([&] { greatest(engine.session().run(std::vector<std::int32_t>(tokens, 1), Logits::last)); });
            EXPECT_TRUE(sentence.ends_with("expected finite numbers (are the weights damaged?)"))
                << encoding_of(dtype).name << " at " << scale << ", " << name << ", " << tokens
                << " tokens: " << sentence;
          }
        }
    }
  }
}

// Also of a processor that has no products of bytes, where q8_0 is read as it lies.
TEST_F(FolderTest, GgufCopiesInTheOrderOfKernelsAreThoseThatMemorySays) {
  for (const char* instructions : {"", "AVX2", "SSE4"}) {
    if (!choose_instructions(instructions)) continue;
    for (const DType dtype : {DType::q4_0, DType::q8_0, DType::q5_0}) {
      SCOPED_TRACE(std::string(instructions) + " " + std::string(encoding_of(dtype).name));
      const std::string path = written(folder_ / "blocks.gguf", wide_llama().file(dtype)).string();
      MemoryUse use;
      use.model = load_model(path);
      Workload workload = workload_of(Phase::prefill);
      workload.tokens = 8;
      workload.parameter_types = stored_types(use.model, read_tensor_file(path));
      use.workload = resolve(use.model, workload);
      use.target = cpu_target;
      use.compiled = compile(use.model, use.workload, use.target);
      use.held = break_down(use.compiled.lowered, use.compiled.plan);
      use.stored = true;
      const std::int64_t said = memory_document(use, MemoryBy::kind).json.value("interleaved_copies", std::int64_t{0});
      std::int64_t measured = 0;
      for (const Check& check : verify(use.model, Weights::load(use.model, path), {.tokens = 8, .steps = 1}).checks)
        if (check.name == "interleaved copies") measured = static_cast<std::int64_t>(check.measured);
      EXPECT_EQ(said, measured);
      if (instructions != std::string("")) {
        const bool copied = instructions == std::string("AVX2") && dtype == DType::q4_0;
        EXPECT_EQ(said, copied ? inspect_file(use.model, read_tensor_file(path)).types.at(dtype).bytes : 0);
      }
    }
  }
  choose_instructions("");
}

TEST(GgufModel, PassesOverAChatTemplate) {
  nlohmann::json pairs = llama_pairs();
  pairs["tokenizer.chat_template"] = "{% for x in ''.__class__.__mro__ %}{{ x }}{% endfor %}";
  EXPECT_EQ(read_pairs(pairs), read_pairs(llama_pairs()));
}

TEST(GgufModel, SaysWhichTensorIsMissing) {
  GgufOfFolder made(tiny_folder() / "llama-gqa");
  made.tensors.erase("blk.1.ffn_up.weight");
  const fs::path path = fs::temp_directory_path() / "reckon-missing-test.gguf";
  std::ofstream(path, std::ios::binary) << made.file();
  EXPECT_EQ(error_of([&] { LoadedModel::open(path.string()); }),
            path.string() + " has no tensor 'blk.1.ffn_up.weight', which the model needs (1 missing in all)");
  fs::remove(path);
}

}  // namespace
}  // namespace reckon

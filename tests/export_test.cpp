// Models written to other files: to GGUF as converters write them (gguf_of_folder.h has the same by itself), and back.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <reckon/reckon.h>

#include <atomic>
#include <cmath>
#include <numeric>

#include "files/tensor_file.h"
#include "folder_fixture.h"
#include "gguf_of_folder.h"
#include "model/describe_gguf.h"
#include "model/load.h"
#include "model/read.h"
#include "run/choose_encodings.h"
#include "run/export_model.h"
#include "run/importance.h"
#include "run/sensitivity.h"
#include "tiny_models.h"

namespace reckon {
namespace {

using namespace testing_models;

// What GGUF cannot say, or is not written, with a part of the sentence that says so.
const std::map<std::string, std::string> not_in_gguf = {
    {"arcee", "cannot say: its activation is gelu, arcee's relu2"},
    {"deepseek_v3-noq", "its mscale of RoPE is 1, deepseek2's 0.5"},
    {"deepseek_v3-plain-rope", "its pairing of rotated elements is halves, deepseek2's neighbours"},
    {"gpt_neo",
     "is of the family 'gpt_neo', for which reckon writes no GGUF file: it writes the architectures arcee, "},
    {"gptj", "qwen3moe, stablelm, starcoder2"},
    {"llama-dynamic", "scales RoPE dynamically"},
    {"opt", "reckon writes no GGUF file"},
    {"opt-350m", "reckon writes no GGUF file"},
    {"phi-qknorm", "it has norms of queries and keys, which phi2 has not"},
};

std::vector<std::string> convertible() {
  std::vector<std::string> names;
  for (const std::string& name : tiny_names())
    if (!not_in_gguf.contains(name)) names.push_back(name);
  names.emplace_back("../families/tiny/qwen2_moe");
  return names;
}

const auto silent = [](std::int64_t, std::int64_t) {};

std::vector<DType> same_types(const ModelExport& model) {
  std::vector<DType> types;
  for (const ExportedTensor& tensor : model.tensors()) types.push_back(tensor.stored);
  return types;
}

PlainTensors tensors_of(const fs::path& path) {
  const TensorFile file = read_tensor_file(path);
  const std::vector<MappedFile> mapped = file.map();
  PlainTensors all;
  for (const TensorInfo& info : file.tensors) {
    all[info.name] = {info.shape, std::vector<float>(static_cast<std::size_t>(info.elements))};
    decode(encoding_of(info.dtype), file.bytes_of(info, mapped), all[info.name].values);
  }
  return all;
}

std::vector<DType> folder_types(const ModelExport& model, std::optional<DType> vectors) {
  std::vector<DType> types;
  for (const ExportedTensor& tensor : model.tensors()) types.push_back(folder_type(tensor, vectors));
  return types;
}

class Export : public FolderTest, public testing::WithParamInterface<std::string> {
 protected:
  // Writes `model.gguf` from a folder, in the encodings that it has.
  void export_folder(const fs::path& folder) {
    const Model model = load_model(folder.string());
    const Weights weights = Weights::load(model, folder);
    const ModelExport all = ModelExport::to_gguf(model, weights);
    std::vector<GgufPair> pairs = all.pairs();
    pairs.push_back(gguf_pair(config_key, load_described(folder.string()).config.dump()));
    write_gguf_model(gguf(), all, pairs, same_types(all), {}, pool_, silent);
  }
  fs::path gguf() const { return folder_ / "model.gguf"; }
  Pool pool_{2};
};

TEST_P(Export, WritesTheTensorsThatAConverterWrites) {
  const fs::path folder = tiny_folder() / GetParam();
  export_folder(folder);
  const GgufOfFolder expected(folder);
  const PlainTensors found = tensors_of(gguf());
  for (const auto& [name, tensor] : expected.tensors) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_EQ(found.at(name).shape, tensor.shape) << name;
    EXPECT_EQ(found.at(name).values, tensor.values) << name;
  }
  EXPECT_EQ(found.size(), expected.tensors.size());
}

TEST_P(Export, AndBackIsTheIdentity) {
  const fs::path folder = tiny_folder() / GetParam();
  export_folder(folder);
  const Described described = load_described(gguf().string());
  const Weights weights = Weights::load(described.model, gguf());
  const nlohmann::json pairs = read_tensor_file(gguf()).files.front().pairs;
  const FolderForm form = folder_form(described.model, described.config, pairs);
  const ModelExport back = ModelExport::to_folder(described.model, weights, form.model);
  write_folder_model(folder_ / "back", back, form.config.dump(), folder_types(back, type_of_vectors(pairs)), pool_,
                     silent);

  const PlainTensors original = plain_tensors(folder), again = plain_tensors(folder_ / "back");
  const double most = original.contains("model.norm.weight") && GetParam().starts_with("gemma") ? 0x1p-24 : 0;
  std::size_t same = 0;
  for (const auto& [name, tensor] : again) {
    const auto found = original.find(name);
    ASSERT_NE(found, original.end()) << name;
    ++same;
    ASSERT_EQ(tensor.shape, found->second.shape) << name;
    for (std::size_t i = 0; i < tensor.values.size(); ++i)
      ASSERT_NEAR(tensor.values[i], found->second.values[i], most * std::max(1.0f, std::fabs(1 + tensor.values[i])))
          << name;
  }
  EXPECT_EQ(same, original.size());
  Model read = load_model((folder_ / "back").string()), first = load_model(folder.string());
  read.name = first.name = "";
  EXPECT_EQ(read, first);
}

TEST_P(Export, ValuesOfTensorsGoBackIntoTheirMatrices) {
  const fs::path folder = tiny_folder() / GetParam();
  const Model model = load_model(folder.string());
  const Weights weights = Weights::load(model, folder);
  const ModelExport all = ModelExport::to_gguf(model, weights);
  std::map<TensorKey, std::vector<float>> matrices;
  for (std::size_t i = 0; i < all.tensors().size(); ++i) {
    std::vector<float> values = all.values(i);
    for (float& value : values) value *= 2;
    all.scatter(i, values, matrices);
  }
  EXPECT_FALSE(matrices.empty());
  for (const auto& [key, values] : matrices) {
    Elements original(weights[key]);
    ASSERT_EQ(std::ssize(values), original.count());
    for (const float value : values) ASSERT_EQ(value, 2 * original.next()) << full_name(key);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, Export, testing::ValuesIn(convertible()), tiny_test_name);

TEST(ExportRefuses, WhatGgufCannotSay) {
  for (const auto& [name, sentence] : not_in_gguf) {
    const Model model = load_model((tiny_folder() / name).string());
    EXPECT_NE(error_of([&] { describe_gguf(model); }).find(sentence), std::string::npos) << name;
  }
}

// With random weights, and rows that blocks of 32 divide.
Model small_model(nlohmann::json more = nlohmann::json::object()) {
  nlohmann::json config{{"model_type", "llama"},    {"vocab_size", 160},
                        {"hidden_size", 64},        {"intermediate_size", 96},
                        {"num_hidden_layers", 2},   {"num_attention_heads", 4},
                        {"num_key_value_heads", 2}, {"max_position_embeddings", 64}};
  config.update(more);
  return read_config(config, "small");
}

class QuantisedExport : public Export {};

// 2 MiB lie in memory at most: what is written in one go.
TEST_F(QuantisedExport, AFolderIsWrittenTensorByTensor) {
  const Model model = small_model({{"vocab_size", 20000}, {"tie_word_embeddings", false}});
  const Weights weights = Weights::random(model, 1, DType::float32);
  const ModelExport all = ModelExport::to_folder(model, weights, model);
  const fs::path folder = folder_ / "folder";
  std::int64_t progressed = 0;
  write_folder_model(folder, all, "{}", folder_types(all, {}), pool_, [&](std::int64_t done, std::int64_t) {
    ++progressed;
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder)) bytes += fs::file_size(entry);
    EXPECT_GE(bytes + (2 << 20), 4 * static_cast<std::uintmax_t>(done));
  });
  EXPECT_EQ(progressed, std::ssize(all.tensors()));
}

// A flag that is set once a tensor is written: the next one is not begun, and nothing is left behind.
TEST_F(QuantisedExport, WhatIsCancelledLeavesNothingBehind) {
  const Model model = small_model();
  const Weights weights = Weights::random(model, 1, DType::float32);
  const auto cancelled_after_one = [&](const auto& write) {
    std::atomic<bool> cancel = false;
    std::int64_t tensors = 0;
    pool_.cancel_on(&cancel);
    EXPECT_THROW(write([&](std::int64_t, std::int64_t) {
                   ++tensors;
                   cancel = true;
                 }),
                 Cancelled);
    pool_.cancel_on(nullptr);
    EXPECT_EQ(tensors, 1);
  };
  const ModelExport to_folder = ModelExport::to_folder(model, weights, model);
  cancelled_after_one([&](const OnElements& progress) {
    write_folder_model(folder_ / "new" / "folder", to_folder, "{}", folder_types(to_folder, {}), pool_, progress);
  });
  EXPECT_TRUE(fs::is_empty(folder_));
  fs::create_directory(folder_ / "old");
  cancelled_after_one([&](const OnElements& progress) {
    write_folder_model(folder_ / "old", to_folder, "{}", folder_types(to_folder, {}), pool_, progress);
  });
  EXPECT_TRUE(fs::is_empty(folder_ / "old"));
  // Tensors that are copied as they are stored.
  const ModelExport all = ModelExport::to_gguf(model, weights);
  write_gguf_model(gguf(), all, all.pairs(), same_types(all), {}, pool_, silent);
  const Model read = load_model(gguf().string());
  const Weights mapped = Weights::load(read, gguf());
  const ModelExport copy = ModelExport::from_gguf(read, mapped, read_tensor_file(gguf()));
  cancelled_after_one([&](const OnElements& progress) {
    write_gguf_model(folder_ / "copy.gguf", copy, copy.pairs(), same_types(copy), {}, pool_, progress);
  });
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);  // model.gguf and old
}

TEST_F(QuantisedExport, RowsThatNoBlockDividesFallBack) {
  const struct {
    DType wanted;
    std::int64_t columns;
    DType expected;
  } cases[] = {
      {DType::q4_k, 256, DType::q4_k},    {DType::q4_k, 64, DType::q5_0},     {DType::q5_k, 64, DType::q5_1},
      {DType::q6_k, 64, DType::q8_0},     {DType::q2_k, 64, DType::q4_0},     {DType::q3_k, 96, DType::q4_0},
      {DType::iq4_xs, 32, DType::iq4_nl}, {DType::q4_k, 172, DType::float16}, {DType::q4_0, 48, DType::float16}};
  for (const auto& [wanted, columns, expected] : cases) EXPECT_EQ(fitting(wanted, columns), expected) << columns;
}

TEST_F(QuantisedExport, OnlyMatricesAreEncodedAndAFileOfTheSameEncodingIsCopied) {
  const Model model = small_model({{"model_type", "mixtral"}, {"num_local_experts", 4}, {"num_experts_per_tok", 2}});
  const Weights weights = Weights::random(model, 1, DType::float32);
  const ModelExport all = ModelExport::to_gguf(model, weights);
  std::vector<DType> types;
  for (const ExportedTensor& tensor : all.tensors()) {
    types.push_back(exported_type(tensor, DType::q8_0));
    const bool vector = tensor.shape.size() == 1 || tensor.name.ends_with("ffn_gate_inp.weight");
    EXPECT_EQ(types.back() == DType::float32, vector) << tensor.name;
  }
  const std::vector<WrittenTensor> written = write_gguf_model(gguf(), all, all.pairs(), types, {}, pool_, silent);
  for (const WrittenTensor& tensor : written) {
    if (tensor.to != DType::q8_0) continue;
    EXPECT_GT(tensor.error, 0.001) << tensor.name;
    EXPECT_LT(tensor.error, 0.01) << tensor.name;
  }
  // Once more from what was written.
  const Model from = load_model(gguf().string());
  const Weights again = Weights::load(from, gguf());
  const ModelExport copy = ModelExport::from_gguf(from, again, read_tensor_file(gguf()));
  const fs::path second = folder_ / "second.gguf";
  write_gguf_model(second, copy, copy.pairs(), same_types(copy), {}, pool_, silent);
  const TensorFile one = read_tensor_file(gguf()), two = read_tensor_file(second);
  EXPECT_EQ(one.files[0].pairs, two.files[0].pairs);
  ASSERT_EQ(one.tensors.size(), two.tensors.size());
  const auto mapped_one = one.map(), mapped_two = two.map();
  for (std::size_t i = 0; i < one.tensors.size(); ++i) {
    EXPECT_EQ(one.tensors[i].name, two.tensors[i].name);
    const auto a = one.bytes_of(one.tensors[i], mapped_one), b = two.bytes_of(two.tensors[i], mapped_two);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

// The inverse of 0.9^|i − j| has two diagonals; worked out by hand, its factor is (1, −0.9) / √(1 − 0.81) in each row,
// and 1 in the last corner.
TEST_F(QuantisedExport, TheFactorOfACorrelationIsThatOfItsInverse) {
  constexpr std::int64_t n = 40;
  std::vector<double> matrix(n * n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      matrix[static_cast<std::size_t>(i * n + j)] = std::pow(0.9, static_cast<double>(std::abs(i - j)));
  const std::vector<float> factor = inverse_factor(matrix, n);
  const double s = 1 / std::sqrt(1 - 0.81);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const double expected = i == j ? (i + 1 == n ? 1 : s) : j == i + 1 ? -0.9 * s : 0;
      EXPECT_NEAR(factor[static_cast<std::size_t>(i * n + j)], expected, 1e-5) << i << ", " << j;
    }
}

TEST_F(QuantisedExport, BytesDoNotDependOnThreads) {
  const Model model = small_model();
  const Weights weights = Weights::random(model, 1, DType::float32);
  const ModelExport all = ModelExport::to_gguf(model, weights);
  std::vector<DType> types;
  for (const ExportedTensor& tensor : all.tensors()) types.push_back(exported_type(tensor, DType::q4_k));
  Pool alone(1);
  write_gguf_model(gguf(), all, all.pairs(), types, {}, pool_, silent);
  write_gguf_model(folder_ / "alone.gguf", all, all.pairs(), types, {}, alone, silent);
  EXPECT_EQ(text_of(gguf()), text_of(folder_ / "alone.gguf"));
}

// Where the feed-forwards' last matrices are 0, what is lost before them never shows.
TEST_F(QuantisedExport, OnlyWhatReachesThePredictionsCounts) {
  const Model model = small_model();
  Weights weights = Weights::random(model, 1, DType::float32);
  std::vector<TensorKey> last;
  for (const auto& [key, data] : weights.parameters())
    if (key.scope.role.part == Part::down) last.push_back(key);
  ASSERT_EQ(last.size(), 2u);
  for (const TensorKey& key : last)
    weights.replace(key, DType::float32, std::vector<std::byte>(std::size_t{64} * 96 * sizeof(float)));
  const auto loaded = std::make_shared<const LoadedModel>(model, std::move(weights));
  const ModelExport all = ModelExport::to_gguf(model, loaded->weights());
  const auto quiet = [](std::string_view, std::int64_t, std::int64_t) {};
  for (const std::vector<std::int32_t>& ids : {std::vector<std::int32_t>{}, {1, 5, 9, 2, 7, 150, 33, 8}}) {
    const std::vector<double> counts =
        measure_sensitivity(loaded, all, {}, ids, {.threads = 1, .capacity = 32}, pool_, quiet);
    ASSERT_EQ(counts.size(), all.tensors().size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const ExportedTensor& tensor = all.tensors()[i];
      const bool hidden = tensor.name.find("ffn_") != std::string::npos;
      EXPECT_EQ(counts[i] > 0, tensor.quantisable && !hidden) << tensor.name;
    }
  }
}

TEST_F(QuantisedExport, WhatCountsMoreGetsMoreBits) {
  const Model model = small_model();
  const Weights weights = Weights::random(model, 1, DType::float32);
  const ModelExport all = ModelExport::to_gguf(model, weights);
  const std::vector<DType> candidates = {DType::q4_0, DType::q8_0};
  std::vector<double> counts(all.tensors().size(), 1.0);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const ExportedTensor& tensor = all.tensors()[i];
    const bool important = tensor.name == "blk.1.attn_k.weight";
    if (important) counts[i] = 100;
    bytes += tensor.rows() * row_bytes(!tensor.quantisable ? DType::float32
                                       : important         ? DType::q8_0
                                                           : DType::q4_0,
                                       tensor.columns());
  }
  const EncodingChoice choice = choose_encodings(all, candidates, bytes, {}, counts, pool_, silent);
  EXPECT_EQ(choice.bytes, bytes);
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(choice.types[i] == DType::q8_0, counts[i] > 1) << i;
}

TEST_F(QuantisedExport, MoreBytesLoseLessAndNoneAreMoreThanAskedFor) {
  const Model model = small_model();
  const Weights weights = Weights::random(model, 1, DType::float32);
  const ModelExport all = ModelExport::to_gguf(model, weights);
  const std::vector<DType> candidates = {DType::q4_0, DType::q5_0, DType::q8_0};
  const std::vector<double> alike(all.tensors().size(), 1.0);
  std::int64_t elements = 0, fixed = 0;
  for (const ExportedTensor& tensor : all.tensors()) (tensor.quantisable ? elements : fixed) += tensor.elements();
  const auto size = [&](double bits) {
    return static_cast<std::int64_t>(bits / 8 * static_cast<double>(elements)) + 4 * fixed;
  };
  std::int64_t before = 0;
  for (const double bits : {4.5, 5.0, 6.0, 8.5}) {
    const EncodingChoice choice = choose_encodings(all, candidates, size(bits), {}, alike, pool_, silent);
    EXPECT_LE(choice.bytes, size(bits)) << bits;
    EXPECT_GT(choice.bytes, before) << bits;
    EXPECT_GT(choice.bytes, 0.9 * static_cast<double>(size(bits))) << bits;
    before = choice.bytes;
  }
  EXPECT_NE(error_of([&] {
              choose_encodings(all, candidates, size(4.4), {}, alike, pool_, silent);
            }).find("the smallest of these encodings take"),
            std::string::npos);
}

}  // namespace
}  // namespace reckon

// reckon quantize, as a person or a script uses it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/interleaved.h"
#include "files/numbers.h"
#include "files/tensor_file.h"
#include "gguf_of_folder.h"
#include "paths.h"
#include "program_fixture.h"

#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <thread>
#include <tuple>

namespace reckon {
namespace {

const std::string tiny = project_folder() + "/tests/data/tiny/";

class QuantizeProgram : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    std::ofstream(folder_ / "config.json") << R"({"model_type": "llama", "vocab_size": 256, "hidden_size": 64,
      "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
      "max_position_embeddings": 64})";
  }
  std::string out(const std::string& name) const { return (folder_ / name).string(); }
  Json quantize(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "quantize");
    return json(arguments);
  }
};

TEST_F(QuantizeProgram, WritesAFileThatGivesNearlyTheSameLogits) {
  const Json plain = json({"logits", out("config.json"), "--random", "1", "--ids", "1,2,3"})["logits"];
  for (const auto& [encoding, most] : {std::pair("float32", 1e-5), std::pair("q8_0", 0.01)}) {
    const std::string file = out(std::string(encoding) + ".gguf");
    const Json report = quantize({out("config.json"), "--random", "1", "--to", encoding, "--out", file});
    EXPECT_EQ(report["schema"], "reckon.quantize/1");
    EXPECT_EQ(report["bytes"], fs::file_size(file));
    const Json found = json({"logits", file, "--ids", "1,2,3"})["logits"];
    for (std::size_t t = 0; t < plain.size(); ++t)
      for (std::size_t v = 0; v < plain[t].size(); ++v)
        ASSERT_NEAR(found[t][v].get<double>(), plain[t][v].get<double>(), most) << encoding;
  }
}

// 64 and 96 wide: q4_k becomes q5_0.
TEST_F(QuantizeProgram, BlocksBecomePlainNumbersInAFolder) {
  const std::string file = out("t.gguf"), folder = out("folder");
  for (const char* encoding : {"q8_0", "q4_0", "q4_k"}) {
    quantize({out("config.json"), "--random", "1", "--to", encoding, "--out", file});
    for (const std::string to : {"", "bfloat16"}) {
      std::vector<std::string> arguments{file, "--out", folder};
      if (!to.empty()) arguments.insert(arguments.end(), {"--to", to});
      const Json report = quantize(arguments);
      for (const Json& tensor : report["tensors"]) EXPECT_EQ(tensor["to"], to.empty() ? "float32" : to);
      EXPECT_TRUE(json({"count", folder})["file"]["complete"]) << encoding;
      // Products with blocks round what meets them to 8 bits.
      const Json expected = json({"logits", file, "--ids", "1,2,3"})["logits"];
      const Json found = json({"logits", folder, "--ids", "1,2,3"})["logits"];
      for (std::size_t t = 0; t < expected.size(); ++t)
        for (std::size_t v = 0; v < expected[t].size(); ++v)
          ASSERT_NEAR(found[t][v].get<double>(), expected[t][v].get<double>(), 0.01) << encoding;
    }
    // What the blocks stand for is held exactly: encoded once more, nothing is lost.
    quantize({file, "--out", folder});
    const Json again = quantize({folder, "--to", encoding, "--out", out("again.gguf")});
    for (const Json& tensor : again["tensors"]) EXPECT_LT(tensor["error"], 1e-3) << encoding << ", " << tensor["name"];
  }
}

TEST_F(QuantizeProgram, AConfigOfPlainNumbersDoesNotSayThatTheyAreQuantised) {
  Json config = Json::parse(text_of(folder_ / "config.json"));
  config["quantization_config"] = {{"quant_method", "mxfp4"}};
  std::ofstream(folder_ / "config.json") << config;
  const std::string file = out("t.gguf"), folder = out("folder"), back = out("back");
  quantize({out("config.json"), "--random", "1", "--out", folder});
  quantize({out("config.json"), "--random", "1", "--to", "q8_0", "--out", file});
  quantize({file, "--out", back});
  for (const std::string& written : {folder, back})
    EXPECT_FALSE(Json::parse(text_of(fs::path(written) / "config.json")).contains("quantization_config"));
}

// Whether a tensor is written anew, in another float or as it is, in a GGUF file or a folder.
TEST_F(QuantizeProgram, FloatsKeepWeightsThatAreNoNumbers) {
  const float nan = std::nanf(""), infinity = INFINITY;
  GgufOfFolder made(tiny + "llama3-rope");
  made.tensors.at("blk.0.attn_v.weight").values[5] = nan;
  made.tensors.at("blk.1.ffn_up.weight").values[5] = -infinity;
  made.tensors.at("output_norm.weight").values[5] = 1e9f;
  std::ofstream(folder_ / "damaged.gguf", std::ios::binary) << made.file();
  const auto expect_kept = [&](const std::string& written, const std::string& v, const std::string& up,
                               const std::string& norm) {
    PlainTensors found = plain_tensors(written);
    EXPECT_TRUE(std::isnan(found.at(v).values[5])) << written;
    EXPECT_EQ(found.at(up).values[5], -infinity) << written;
    EXPECT_NEAR(found.at(norm).values[5] / 1e9f, 1, 0.005) << written;
  };
  for (const std::string type : {"float32", "bfloat16"}) {
    const Json file = quantize({out("damaged.gguf"), "--to", type, "--out", out(type + ".gguf")});
    const Json folder = quantize({out("damaged.gguf"), "--to", type, "--out", out(type)});
    for (const Json& report : {file, folder})
      for (const Json& tensor : report["tensors"]) EXPECT_LT(tensor["error"].get<double>(), 0.005) << tensor["name"];
    expect_kept(out(type + ".gguf"), "blk.0.attn_v.weight", "blk.1.ffn_up.weight", "output_norm.weight");
    expect_kept(out(type), "model.layers.0.self_attn.v_proj.weight", "model.layers.1.mlp.up_proj.weight",
                "model.norm.weight");
  }
  expect_complaint({"quantize", out("damaged.gguf"), "--to", "q8_0", "--out", out("t.gguf")}, 1,
                   "tensor 'blk.0.attn_v.weight': element 5 of a row is nan, expected a number within ");
  expect_complaint({"quantize", out("damaged.gguf"), "--to", "f16", "--out", out("half")}, 1,
                   "tensor 'model.norm.weight': element 5 of a row is 1000000000, expected a number within ±65504, the "
                   "largest of float16");
}

TEST_F(QuantizeProgram, AConfigNamesTheTypeThatWasWritten) {
  Json config = Json::parse(text_of(folder_ / "config.json"));
  config["torch_dtype"] = "bfloat16";
  std::ofstream(folder_ / "config.json") << config;
  const auto type_in = [&](const std::string& folder) {
    return Json::parse(text_of(fs::path(folder) / "config.json"))["torch_dtype"];
  };
  const std::string random = out("random"), half = out("half"), back = out("back"), file = out("t.gguf");
  quantize({out("config.json"), "--random", "1", "--out", random});
  EXPECT_EQ(type_in(random), "float32");
  quantize({random, "--to", "f16", "--out", half});
  EXPECT_EQ(type_in(half), "float16");
  const struct {
    const char *to, *back_to, *expected;  // empty: as it is
  } cases[] = {{"", "", "float16"}, {"bf16", "", "bfloat16"}, {"q8_0", "", "float32"}, {"q8_0", "bf16", "bfloat16"}};
  for (const auto& [to, back_to, expected] : cases) {
    std::vector<std::string> there{half, "--out", file}, again{file, "--out", back};
    if (*to != 0) there.insert(there.end(), {"--to", to});
    if (*back_to != 0) again.insert(again.end(), {"--to", back_to});
    quantize(there);
    quantize(again);
    EXPECT_EQ(type_in(back), expected) << to << " and back to " << back_to;
  }
  quantize({half, "--out", file});
  quantize({file, "--to", "bf16", "--out", out("second.gguf")});
  quantize({out("second.gguf"), "--out", back});
  EXPECT_EQ(type_in(back), "bfloat16");
}

// Over pieces that take a while each: the signal falls into them.
TEST_F(QuantizeProgram, AnInterruptLeavesNothingBehind) {
  if (!fs::exists("/proc/self/status")) GTEST_SKIP() << "there is no /proc";
  const pid_t child =
      start({"quantize", "gpt2", "--random", "1", "--to", "f32", "--threads", "1", "--out", out("folder")});
  ASSERT_GT(child, 0);
  while (!fs::exists(folder_ / "folder")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::kill(child, SIGINT);
  const Result result = end(child);
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "reckon: interrupted before it was done\n");
  EXPECT_FALSE(fs::exists(folder_ / "folder"));
}

TEST_F(QuantizeProgram, AGgufFileOnStandardInputIsRefusedByItsKind) {
  const std::string file = out("t.gguf");
  quantize({tiny + "llama-gqa", "--out", file});
  fs::resize_file(file, 70'000'000);  // longer than a config.json may be, as such files are
  const Result result = run({"count", "-"}, file);
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err,
            "reckon: standard input: this is a GGUF file, which cannot be read from there; give its name\n");
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string model : {"-", "/dev/stdin"}) {
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << text_of(file).substr(0, 1000); });
    const Result piped = run({"count", model}, pipe);
    writer.join();
    EXPECT_EQ(piped.code, 1);
    EXPECT_EQ(piped.err, "reckon: " + (model == "-" ? "standard input" : model) +
                             ": this is a GGUF file, which cannot be read from there; give its name\n");
  }
}

TEST_F(QuantizeProgram, BlocksThatAreQuantisedAgainAreNoted) {
  const std::string once = out("once.gguf"), twice = out("twice.GGUF");  // whatever the case
  quantize({out("config.json"), "--random", "1", "--to", "q8_0", "--out", once});
  const Result result = run({"quantize", once, "--to", "q4_0", "--out", twice});
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.err.find("are quantised already, and so a second time in " + twice), std::string::npos)
      << result.err;
  EXPECT_TRUE(text_of(twice).starts_with("GGUF"));
  EXPECT_EQ(json({"count", twice})["file"]["complete"], true);
  EXPECT_EQ(run({"quantize", once, "--to", "q8_0", "--out", out("same.gguf")}).err, "");
}

TEST_F(QuantizeProgram, AFolderIsTheSameAfterAGgufFile) {
  for (const std::string name : {"llama-gqa", "qwen2", "gemma2"})
    for (const std::string dtype : {"float32", "bfloat16", "float16"}) {
      const fs::path folder = folder_ / (name + dtype), back = folder_ / ("back" + name + dtype);
      const std::string file = out(name + ".gguf");
      quantize({tiny + name, "--to", dtype, "--out", folder.string()});
      std::ofstream(folder / "generation_config.json") << R"({"bos_token_id": 3, "eos_token_id": [4, 5, 6]})";
      for (const auto& [from, to] : {std::pair(folder.string(), file), std::pair(file, back.string())}) {
        const Result result = run({"quantize", from, "--out", to});
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_EQ(result.err.find("reckon: note: " + to + " has no tokenizer: "), 0U) << result.err;
      }
      EXPECT_EQ(text_of(back / "config.json"), text_of(folder / "config.json")) << name;
      EXPECT_EQ(Json::parse(text_of(back / "generation_config.json")),
                Json::parse(text_of(folder / "generation_config.json")));
      EXPECT_FALSE(fs::exists(back / "tokenizer.json"));
      // But for Gemma's norms, which have 1 added on the way.
      const bool same = text_of(back / "model.safetensors") == text_of(folder / "model.safetensors");
      EXPECT_TRUE(same || (name == "gemma2" && dtype == "float32")) << name << dtype;
    }
}

TEST_F(QuantizeProgram, AFolderOfAFileFromElsewhereKnowsWhereTextsEnd) {
  const std::string file = out("t.gguf");
  quantize({tiny + "llama-gqa", "--out", file});
  std::string bytes = text_of(file);
  bytes.replace(bytes.find("reckon.config"), 13, "reckon.nobody");
  std::ofstream(file, std::ios::binary) << bytes;
  quantize({file, "--out", out("folder")});
  const Json config = Json::parse(text_of(folder_ / "folder" / "config.json"));
  EXPECT_EQ(config["bos_token_id"], 1);
  EXPECT_EQ(config["eos_token_id"], 2);
  EXPECT_FALSE(config.contains("dtype"));
}

TEST_F(QuantizeProgram, AFolderOfAFileWhoseTokensAreNoTextHasNoTokenizer) {
  GgufOfFolder made(tiny + "llama-gqa");
  made.fixture.pair("tokenizer.ggml.model", "llama");
  made.fixture.array("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "\xff\xfe"});
  made.fixture.array<float>("tokenizer.ggml.scores", 6, {0, 0, 0, 0});
  made.fixture.array<std::int32_t>("tokenizer.ggml.token_type", 5, {2, 3, 3, 1});
  const std::string file = out("t.gguf"), folder = out("folder");
  std::ofstream(file, std::ios::binary) << made.file();
  const Result result = run({"quantize", file, "--out", folder});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "reckon: note: " + folder +
                            " has no tokenizer: token 3 is '\\xff\\xfe'; expected UTF-8, which a tokenizer.json is "
                            "written in\n");
  EXPECT_FALSE(fs::exists(folder_ / "folder" / "tokenizer.json"));
  EXPECT_TRUE(json({"count", folder})["file"]["complete"]);
}

TEST_F(QuantizeProgram, AConfigThatAFileCarriesAndThatSaysNothingIsPassedOver) {
  const std::string file = out("t.gguf");
  const auto written = [&](const std::string& carried, const std::string& folder) {
    GgufOfFolder made(tiny + "llama-gqa");
    if (!carried.empty()) made.fixture.pair("reckon.config", carried);
    std::ofstream(file, std::ios::binary) << made.file();
    quantize({file, "--out", out(folder)});
    return Json::parse(text_of(folder_ / folder / "config.json"));
  };
  const Json plain = written("", "plain");
  EXPECT_EQ(plain["model_type"], "llama");
  for (const char* carried : {"1", "[]", "{", "{}", R"({"model_type": "novel"})"})
    EXPECT_EQ(written(carried, "folder"), plain) << carried;
}

// Mistral's windows, but biases, which its config.json has no field for.
TEST_F(QuantizeProgram, ANetworkThatAConfigCannotSayIsRefused) {
  GgufOfFolder made(tiny + "llama-bias");
  made.fixture.pair("llama.attention.sliding_window", 16u);
  const std::string file = out("t.gguf");
  std::ofstream(file, std::ios::binary) << made.file();
  expect_complaint({"quantize", file, "--out", out("folder")}, 1,
                   file +
                       " has something that a config.json of type mistral cannot say; a file whose name ends in "
                       ".gguf keeps it");
  EXPECT_FALSE(fs::exists(folder_ / "folder"));
  EXPECT_EQ(run({"quantize", file, "--to", "q8_0", "--out", out("t2.gguf")}).code, 0);
}

// As a text of tokenizer_config.json, or, as newer folders have it, in a file of its own, which goes before.
TEST_F(QuantizeProgram, AChatTemplateGoesAlong) {
  const std::string one = out("one"), file = out("t.gguf"), back = out("back"), copy = out("copy");
  const auto in_file = [&] {
    quantize({one, "--to", "q8_0", "--out", file});
    return read_tensor_file(file).files.front().pairs.value("tokenizer.chat_template", "");
  };
  quantize({out("config.json"), "--random", "1", "--out", one});
  EXPECT_EQ(in_file(), "");
  std::ofstream(folder_ / "one" / "tokenizer_config.json") << R"({"chat_template": "{{ old }}"})";
  EXPECT_EQ(in_file(), "{{ old }}");
  std::ofstream(folder_ / "one" / "chat_template.jinja") << "{{ new }}\n";
  EXPECT_EQ(in_file(), "{{ new }}\n");
  quantize({file, "--out", back});
  EXPECT_EQ(text_of(folder_ / "back" / "chat_template.jinja"), "{{ new }}\n");
  quantize({one, "--to", "bf16", "--out", copy});
  EXPECT_EQ(text_of(folder_ / "copy" / "chat_template.jinja"), "{{ new }}\n");
}

TEST_F(QuantizeProgram, ReportsEveryTensor) {
  const Json report = quantize({out("config.json"), "--random", "1", "--to", "q4_0", "--out", out("t.gguf")});
  std::int64_t bytes = 0, elements = 0;
  for (const Json& tensor : report["tensors"]) {
    bytes += tensor["bytes"].get<std::int64_t>();
    std::int64_t product = 1;
    for (const Json& extent : tensor["shape"]) product *= extent.get<std::int64_t>();
    elements += product;
    const bool matrix = tensor["shape"].size() == 2;
    EXPECT_EQ(tensor["to"], matrix ? "q4_0" : "float32") << tensor["name"];
    EXPECT_EQ(tensor["bits_per_weight"], matrix ? 4.5 : 32.0);
    EXPECT_EQ(tensor["error"] > 0.05, matrix);
  }
  EXPECT_EQ(report["tensor_bytes"], bytes);
  EXPECT_NEAR(report["bits_per_weight"].get<double>(), 8.0 * static_cast<double>(bytes) / static_cast<double>(elements),
              1e-9);
}

// 256 × 64 of the embedding and of the head, two layers of 3·64² (keys and values are half as wide) and 3·64·96, five
// norms: 34 bytes hold 32 in Q8_0, 18 in Q4_0.
TEST_F(QuantizeProgram, WhatIsWrittenIsCountedByItsBytes) {
  constexpr std::int64_t table = 256 * 64, matrices = 2 * table + 2 * (3 * 64 * 64 + 3 * 64 * 96), norms = 5 * 64;
  const std::string eight = out("eight.gguf"), four = out("four.gguf");
  for (const auto& [file, encoding, block] : {std::tuple(eight, "q8_0", 34), std::tuple(four, "q4_0", 18)}) {
    quantize({out("config.json"), "--random", "1", "--to", encoding, "--out", file});
    const Json counted = json({"count", file, "--phase", "decode", "--past", "0"});
    const std::int64_t bytes = matrices / 32 * block + norms * 4;
    EXPECT_EQ(counted["weights_in_file"]["bytes"], bytes);
    EXPECT_DOUBLE_EQ(counted["weights_in_file"]["bits_per_weight"].get<double>(),
                     8.0 * static_cast<double>(bytes) / (matrices + norms));
    EXPECT_EQ(counted["bytes"]["type"], "stored");
    // Of the embedding one row, in the bfloat16 that it becomes.
    EXPECT_EQ(counted["bytes"]["weights_read"], bytes - table / 32 * block + 64 * 2);
    std::int64_t sum = 0;
    for (const Json& tensor : counted["file"]["tensors"]) {
      EXPECT_EQ(tensor["type"], tensor["shape"].size() > 1 ? (block == 34 ? "Q8_0" : "Q4_0") : "F32");
      sum += tensor["bytes"].get<std::int64_t>();
    }
    EXPECT_EQ(sum, bytes);
    EXPECT_NE(run({"count", file})
                  .out.find(fmt::format(" as in the file, {:.2f} bits per weight; ",
                                        8.0 * static_cast<double>(bytes) / (matrices + norms))),
              std::string::npos);
    EXPECT_FALSE(json({"count", file, "--layers", "1"}).contains("weights_in_file"));
    EXPECT_EQ(json({"count", file, "--precision", "float32"})["bytes"]["type"], "float32");
  }
  const Json compared = json({"compare", eight, four});
  EXPECT_EQ(compared["models"][0]["weights_in_file"]["bytes"], matrices / 32 * 34 + norms * 4);
  EXPECT_EQ(compared["models"][1]["weights_in_file"]["bytes"], matrices / 32 * 18 + norms * 4);
  EXPECT_GT(compared["models"][0]["bytes"]["read"], compared["models"][1]["bytes"]["read"]);
  EXPECT_NE(run({"compare", eight, four}).out.find("weights in the file"), std::string::npos);
}

TEST_F(QuantizeProgram, CalibratesAndChoosesWithinWhatIsAskedFor) {
  std::string ids;
  for (int i = 0; i < 64; ++i) ids += static_cast<char>('a' + i % 26);
  std::ofstream(folder_ / "text") << ids;
  const Json report = quantize({out("config.json"), "--random", "1", "--to", "q4_0,q5_0,q8_0", "--bits", "7",
                                "--calibrate", out("text"), "--tokenizer", "bytes", "--out", out("t.gguf")});
  EXPECT_LE(report["bits_per_weight"], 7.0);
  EXPECT_GT(report["bits_per_weight"], 5.0);
}

TEST_F(QuantizeProgram, ChoosesEncodingsForAFileOfBlocks) {
  std::string text;
  for (int i = 0; i < 64; ++i) text += static_cast<char>('a' + i % 26);
  std::ofstream(folder_ / "text") << text;
  for (const char* stored : {"q8_0", "q4_0"}) {
    const std::string file = out(std::string(stored) + ".gguf");
    quantize({out("config.json"), "--random", "1", "--to", stored, "--out", file});
    for (const bool calibrated : {false, true}) {
      std::vector<std::string> arguments{file, "--to", "q4_0,q5_0,q8_0", "--bits", "6", "--out", out("t.gguf")};
      if (calibrated) arguments.insert(arguments.end(), {"--calibrate", out("text"), "--tokenizer", "bytes"});
      const Json report = quantize(arguments);
      EXPECT_LE(report["bits_per_weight"], 6.0) << stored;
      EXPECT_GT(report["bits_per_weight"], 4.0) << stored;
    }
  }
}

// Blocks of 32 with 4 bits lose enough to be seen in a model that says nothing, and the columns of its activations
// differ.
TEST_F(QuantizeProgram, WhatIsCalibratedLosesLessOnItsText) {
  const std::string plain = out("plain.gguf"), file = out("t.gguf");
  std::string text;
  for (int i = 0; i < 400; ++i) text += static_cast<char>('a' + i * i % 26);
  std::ofstream(folder_ / "text") << text;
  quantize({out("config.json"), "--random", "1", "--to", "float32", "--out", plain});
  const auto divergence = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {plain, "--to", "q4_0", "--out", file});
    quantize(more);
    return json({"score", file, out("text"), "--tokenizer", "bytes", "--against", plain})["divergence"]["mean"]
        .get<double>();
  };
  EXPECT_LT(divergence({"--calibrate", out("text"), "--tokenizer", "bytes"}), 0.9 * divergence({}));
}

TEST_F(QuantizeProgram, EncodingsAreThoseOfTheTensorsWhateverTheFileTypeSays) {
  const std::string file = out("t.gguf"), key = "general.file_type";
  quantize({out("config.json"), "--random", "1", "--to", "q8_0", "--out", file});
  const Json before = json({"count", file})["file"];
  ASSERT_TRUE(before["types"].contains("Q8_0")) << before;
  std::string bytes = text_of(file);
  const std::size_t value = bytes.find(key) + key.size() + 4;  // behind the type of the pair
  ASSERT_EQ(bytes[value], 7);                                  // mostly Q8_0, as llama.cpp numbers them
  bytes[value] = 2;                                            // mostly Q4_0
  std::ofstream(file, std::ios::binary) << bytes;
  EXPECT_EQ(json({"count", file})["file"], before);
}

TEST_F(QuantizeProgram, AFileThatIsToFitIsNoLarger) {
  const std::string file = out("t.gguf");
  quantize({out("config.json"), "--random", "1", "--to", "q4_0", "--out", file});
  const auto least = static_cast<std::int64_t>(fs::file_size(file));
  std::int64_t before = 0;
  for (const std::int64_t bytes : {least, least + 5000, least + 20000}) {
    quantize(
        {out("config.json"), "--random", "1", "--to", "q4_0,q5_0,q8_0", "--fit", std::to_string(bytes), "--out", file});
    const auto found = static_cast<std::int64_t>(fs::file_size(file));
    EXPECT_LE(found, bytes);
    EXPECT_GT(found, std::max(before, bytes - 4000));
    before = found;
  }
  const Result refused = run({"quantize", out("config.json"), "--random", "1", "--to", "q4_0,q8_0", "--fit",
                              std::to_string(least - 1), "--out", file});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("reckon: the smallest of these encodings take "), std::string::npos) << refused.err;
  const std::uint64_t header = read_tensor_file(file).files.front().data_begin;
  const auto fit = [&](std::uint64_t bytes) {
    return std::vector<std::string>{"quantize", file, "--fit", std::to_string(bytes), "--out", out("again.gguf")};
  };
  expect_complaint(fit(header), 2, fmt::format("--fit is {0} bytes; expected more than the {0} that", grouped(header)));
  expect_complaint(fit(header + 1), 2, "more than the 1 that there are for them");
}

TEST_F(QuantizeProgram, CopiesInTheOrderOfKernelsAreAsLargeAsMemorySays) {
  const std::string file = out("t.gguf");
  for (const auto& [name, dtype] : {std::pair("q4_0", DType::q4_0), std::pair("q8_0", DType::q8_0)}) {
    const Json written = quantize({out("config.json"), "--random", "1", "--to", name, "--out", file});
    std::int64_t bytes = 0;
    for (const Json& tensor : written["tensors"])
      if (tensor["to"] == name) bytes += tensor["bytes"].get<std::int64_t>();
    if (!keeps_interleaved(dtype, 64)) bytes = 0;  // this processor has no kernels that are faster with it
    EXPECT_EQ(json({"memory", file, "--target", "cpu"}).value("interleaved_copies", std::int64_t{0}), bytes) << name;
    EXPECT_FALSE(json({"memory", file, "--target", "gpu"}).contains("interleaved_copies"));
    std::int64_t lowered = 0, measured = 0;
    const Json verified = json({"verify", file});
    for (const Json& check : verified["checks"])
      if (check["name"] == "interleaved copies") lowered = check["lowered"], measured = check["measured"];
    EXPECT_EQ(lowered, bytes) << name;
    EXPECT_EQ(measured, bytes) << name;
  }
}

// 64 and 172 wide: rows of 64 become q5_0 in place of q4_k, those of 172 float16. With 5.5 bits it should lose less
// than 8 billion parameters do with the 4.8 of llama.cpp's Q4_K_M: 0.031 nats a token.
TEST_F(QuantizeProgram, StoriesAreToldByTheEncodingsThatFitTheirWidths) {
  const fs::path folder = fs::path(project_folder()) / "../shared/data/stories260K";
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no ../shared/data/stories260K";
  const std::string file = out("stories.gguf");
  const Json report = quantize({folder.string(), "--to", "q4_k", "--out", file});
  std::map<std::string, int> found;
  for (const Json& tensor : report["tensors"]) {
    const Json& shape = tensor["shape"];
    const std::string to = tensor["to"];
    EXPECT_EQ(to, shape.size() == 1 ? "float32" : shape.back() == 64 ? "q5_0" : "float16") << tensor["name"];
    ++found[to];
  }
  EXPECT_EQ(found, (std::map<std::string, int>{{"q5_0", 1 + 5 * 6}, {"float16", 5}, {"float32", 1 + 5 * 2}}));

  const Json io = Json::parse(text_of(folder / "io.json"));
  std::string ids;
  for (const Json& id : io["greedy"]) ids += (ids.empty() ? "" : ",") + id.dump();
  const Json score = json({"score", file, "--ids", ids, "--against", folder.string()});
  EXPECT_GT(score["divergence"]["mean"], 0.0);
  EXPECT_LT(score["divergence"]["mean"], 0.031);
  EXPECT_GT(score["divergence"]["same_best"], 0.9 * static_cast<double>(io["greedy"].size() - 1));

  const Json logits = json({"logits", file, "--ids", "1,403,407,261,378"})["logits"];
  ASSERT_EQ(io["logits_ids"], (Json{1, 403, 407, 261, 378}));
  double error = 0, sum = 0;
  for (std::size_t t = 0; t < logits.size(); ++t)
    for (std::size_t v = 0; v < logits[t].size(); ++v) {
      const double expected = io["logits"][t][v];
      error += std::pow(logits[t][v].get<double>() - expected, 2);
      sum += expected * expected;
    }
  EXPECT_LT(std::sqrt(error / sum), 0.1);
  const Result told = run({"generate", file, "Once upon a time", "--temperature", "0", "--tokens", "8"});
  EXPECT_EQ(told.out, ", there was a little girl\n");
}

TEST_F(QuantizeProgram, TableHasARowForEachEncoding) {
  ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);  // where no profile is stored
  const fs::path temporary = folder_ / "temporary";
  fs::create_directory(temporary);
  ::setenv("TMPDIR", temporary.c_str(), 1);
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>('a' + i * i % 26);
  std::ofstream(folder_ / "text") << text;
  const std::vector<std::string> arguments{"quantize", out("config.json"), "--random",  "1",    "--tokenizer",
                                           "bytes",    "--table",          out("text"), "--to", "q8_0,q4_0,q2_k"};
  std::vector<std::string> drawn = arguments;
  drawn.insert(drawn.end(), {"--svg", out("loss.svg")});
  const Json table = json(drawn);
  EXPECT_EQ(table["schema"], "reckon.quantize-table/1");
  EXPECT_EQ(table["scored_tokens"], 299);
  EXPECT_NE(table["unpredicted"].get<std::string>().find("`reckon calibrate`"), std::string::npos);
  const Json& rows = table["encodings"];
  ASSERT_EQ(rows.size(), 4U);
  // 96 and 64 are no multiples of 256, so q2_k becomes q4_0.
  EXPECT_EQ(rows[0]["encoding"], "float32");
  EXPECT_EQ(rows[0]["bits_per_weight"], 32.0);
  EXPECT_EQ(rows[0]["divergence"], 0.0);
  EXPECT_TRUE(rows[0]["original"]);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const Json& row = rows[i];
    // What it weighs is what `quantize --to` writes.
    const Json written =
        quantize({out("config.json"), "--random", "1", "--to", row["encoding"], "--out", out("t.gguf")});
    EXPECT_EQ(row["bytes"], written["tensor_bytes"]);
    EXPECT_EQ(row["bits_per_weight"], written["bits_per_weight"]);
    EXPECT_GT(row["measured_tokens_per_second"], 0.0);
    EXPECT_TRUE(row["predicted_tokens_per_second"].is_null());
    EXPECT_GT(row["memory"], row["bytes"]);
    EXPECT_TRUE(row["fits"]);
  }
  EXPECT_EQ(rows[1]["matrices"], Json{"q8_0"});
  EXPECT_EQ(rows[3]["matrices"], Json{"q4_0"});
  EXPECT_LT(rows[1]["divergence"], rows[2]["divergence"]);
  EXPECT_EQ(rows[2]["divergence"], rows[3]["divergence"]);
  // …and what it loses is what `score --against` says.
  run({"quantize", out("config.json"), "--random", "1", "--to", "float32", "--out", out("plain.gguf")});
  run({"quantize", out("config.json"), "--random", "1", "--to", "q4_0", "--out", out("t.gguf")});
  const Json score =
      json({"score", out("t.gguf"), out("text"), "--tokenizer", "bytes", "--against", out("plain.gguf")});
  EXPECT_NEAR(score["divergence"]["mean"].get<double>(), rows[2]["divergence"].get<double>(), 1e-6);
  EXPECT_NEAR(score["perplexity"].get<double>(), rows[2]["perplexity"].get<double>(), 1e-4);
  std::ifstream file(out("loss.svg"));
  const std::string svg((std::istreambuf_iterator<char>(file)), {});
  for (const char* part : {"<svg", "q8_0", "q4_0", "q2_k", "divergence, nats per token", "</svg>"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  // Two names of one dot stand apart.
  const auto place = [&](const std::string& name) {
    const std::size_t end = svg.find(">" + name + "</text>"), begin = svg.rfind("<text", end);
    return svg.substr(begin, end - begin);
  };
  EXPECT_NE(place("q4_0"), place("q2_k"));
  for (const char* format : {"table", "markdown", "csv"}) {
    std::vector<std::string> other = arguments;
    other.insert(other.end(), {"--format", format});
    const Result result = run(other);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.out.find("q2_k"), std::string::npos);
    const bool noted = result.out.find("q2_k becomes q4_0") != std::string::npos;
    EXPECT_EQ(noted, format != std::string("csv")) << result.out;
  }
  EXPECT_TRUE(fs::is_empty(temporary)) << "what was written for a row stays";
  ::unsetenv("XDG_CONFIG_HOME");
  ::unsetenv("TMPDIR");
}

TEST_F(QuantizeProgram, ModelsWhoseIdsStandForOtherTokensAreNotComparable) {
  const auto write_tokenizer = [&](const std::string& folder, const Json& vocabulary) {
    std::ofstream(fs::path(folder) / "tokenizer.json")
        << Json{{"version", "1.0"}, {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
  };
  const std::string one = out("one"), two = out("two");
  quantize({out("config.json"), "--random", "1", "--out", one});
  quantize({out("config.json"), "--random", "2", "--out", two});
  write_tokenizer(one, {{"a", 0}, {"b", 1}, {"c", 2}, {"d", 3}});
  write_tokenizer(two, {{"a", 0}, {"c", 1}, {"b", 2}});
  for (const auto& text : {std::pair("--ids", "0,1,2,0"), std::pair("--ids", "0,0,0")})
    expect_complaint({"score", one, text.first, text.second, "--against", two}, 2,
                     "token 1 is 'b' in " + one + " and 'c' in " + two + "; expected one vocabulary of both");
  write_tokenizer(two, {{"a", 0}, {"b", 1}, {"c", 2}});  // one token fewer
  EXPECT_GT(json({"score", one, "--ids", "0,1,2,0", "--against", two})["divergence"]["mean"], 0.0);

  // Of the 256 ids of both models, the likeliest are some that only fill the vocabulary up.
  std::ofstream(folder_ / "text") << "abca";
  const Json best = json({"score", one, out("text"), "--against", two})["divergence"]["worst"][0]["best"];
  ASSERT_GT(best, 4);
  const std::string shown = run({"score", one, out("text"), "--against", two}).out;
  EXPECT_NE(shown.find(" 1 'b' "), std::string::npos) << shown;
  EXPECT_NE(shown.find(fmt::format(" {} ", best.get<int>())), std::string::npos) << shown;
}

TEST_F(QuantizeProgram, RefusesWhatItCannotDo) {
  const std::string model = tiny + "llama-gqa";
  expect_complaint({"quantize", model, "--to", "q4_k", "--out", out("folder")}, 2,
                   "--out is the folder '" + out("folder") +
                       "', whose safetensors cannot hold q4_k; expected a name that ends in .gguf");
  expect_complaint({"quantize", model, "--to", "q4_0,q8_0", "--out", out("t.gguf")}, 2,
                   "--to has several encodings; expected one, or --bits or --fit to choose among them");
  expect_complaint({"quantize", model}, 2, "nowhere to write to; expected --out, or --table");
  expect_complaint({"quantize", model, "--table", "--out", out("t.gguf")}, 2,
                   "--table writes no model; expected no --out with it");
  expect_complaint({"quantize", model, out("text"), "--out", out("t.gguf")}, 2,
                   "a text to score is given; expected --table with it");
  expect_complaint({"quantize", model, "--table", "--svg", "-"}, 2,
                   "--svg draws the loss on a text; expected TEXT with it");
  const fs::path stories = fs::path(project_folder()) / "../shared/data/stories260K";
  if (fs::exists(stories))  // whose tokenizer puts <s> before any text, also before none
    expect_complaint({"quantize", stories.string(), "--to", "q4_0", "--calibrate", "/dev/null", "--out", out("t.gguf")},
                     2, "'/dev/null' is empty; expected a text to calibrate with");
  expect_complaint({"quantize", model, "--to", "Q4_K_M", "--out", out("t.gguf")}, 2,
                   "--to has 'Q4_K_M', which in llama.cpp is a mix of encodings; expected q4_k for all matrices, or "
                   "--bits or --fit, which choose an encoding for each");
  expect_complaint({"quantize", model, "--to", "bf16", "--calibrate", "/dev/null", "--out", out("folder")}, 2,
                   "--calibrate keeps exact what blocks would lose, but --out is the folder '" + out("folder") +
                       "', whose safetensors have none; expected a name that ends in .gguf");
  fs::create_directory(folder_ / "shards");
  std::ofstream(folder_ / "shards" / "model.safetensors.index.json") << "{}";
  expect_complaint({"quantize", model, "--to", "bf16", "--out", out("shards")}, 2,
                   "--out is the folder '" + out("shards") +
                       "', which holds a model in several files; expected another one, where the new "
                       "model.safetensors stands alone");
  EXPECT_TRUE(run({"quantize", tiny + "arcee", "--out", out("t.gguf")})
                  .err.ends_with("arcee's relu2; a folder as --out is written as safetensors\n"));
  EXPECT_TRUE(run({"quantize", tiny + "arcee", "--table", "--to", "q4_0"})
                  .err.ends_with("arcee's relu2; the rows of --table are GGUF files, so that this model has none\n"));
  EXPECT_EQ(run({"quantize", model, "--to", "q9", "--out", out("t.gguf")}).code, 2);
  EXPECT_EQ(run({"quantize", tiny + "gptj", "--out", out("t.gguf")}).code, 1);
  EXPECT_FALSE(fs::exists(folder_ / "t.gguf"));
}

}  // namespace
}  // namespace reckon

// Models by name and by path, and what is said of paths that are none.
#include <gtest/gtest.h>
#include <reckon/error.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "model/load.h"
#include "model/nearest.h"
#include "model/presets.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

const char* const tiny = R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
                             "intermediate_size": 128, "vocab_size": 100})";

class LoadModel : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / (std::string("reckon_load_") + info->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  std::string complaint(const std::string& path) {
    try {
      load_model(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "(no error)";
  }
  void expect_complaint(const std::string& path, const std::string& part) {
    EXPECT_NE(complaint(path).find(part), std::string::npos) << complaint(path);
  }

  fs::path folder_;
};

TEST_F(LoadModel, FindsAPresetByItsName) {
  const Model model = load_model("gpt2");
  EXPECT_EQ(model.name, "gpt2");
  EXPECT_EQ(model.family, "gpt2");
  EXPECT_EQ(load_model("qwen2.5-0.5b").name, "qwen2.5-0.5b");
}

TEST_F(LoadModel, ReadsEveryPreset) {
  ASSERT_GT(presets().size(), 100u);
  EXPECT_TRUE(std::is_sorted(presets().begin(), presets().end(),
                             [](const Preset& a, const Preset& b) { return a.name < b.name; }));
  for (const Preset& preset : presets()) EXPECT_NO_THROW(find_preset(std::string(preset.name))) << preset.name;
}

TEST_F(LoadModel, SuggestsTheNearestPreset) {
  expect_complaint("gtp2", "did you mean gpt2?");
  expect_complaint("Llama-3.1-8B", "did you mean llama-3.1-8b?");
  expect_complaint("something else entirely", "`reckon models` lists the presets");
  EXPECT_THROW(load_model("gtp2"), UsageError);
  EXPECT_THROW(load_model(""), UsageError);
}

TEST_F(LoadModel, ReadsAFolderAConfigAndASafetensorsFileBesideOne) {
  const std::string config = write("config.json", tiny);
  const std::string weights = write("model.safetensors", "");
  const std::string index = write("model.safetensors.index.json", "{}");
  for (const std::string& path : {folder_.string(), config, weights, index}) {
    const Model model = load_model(path);
    EXPECT_EQ(model.name, path);
    EXPECT_EQ(model.d_model, 64);
  }
}

TEST_F(LoadModel, AcceptsAByteOrderMark) {
  EXPECT_EQ(load_model(write("config.json", "\xEF\xBB\xBF" + std::string(tiny))).d_model, 64);
}

TEST_F(LoadModel, NamesWhatIsMissing) {
  expect_complaint((folder_ / "nothing").string(), "there is no such file or folder");
  expect_complaint("nonexistent", "there is neither a file nor a preset \"nonexistent\"; `reckon models` lists");
  expect_complaint(folder_.string(), "this folder has no config.json");
  expect_complaint(write("model.safetensors", ""), "there is no config.json beside this file");
}

TEST_F(LoadModel, RefusesPicklesAndFormatsThatItDoesNotRead) {
  for (const char* name : {"pytorch_model.bin", "model.pt", "model.pth", "last.ckpt"})
    expect_complaint(write(name, "\x80\x02}q"), "pickle");
  expect_complaint(write("model.gguf", "GGUF"), "bytes follow");
  expect_complaint(write("notes.txt", "x"), "expected a folder");
}

TEST_F(LoadModel, KnowsAFileOfAnyNameByWhatIsInIt) {
  const std::string safetensors("\x02\0\0\0\0\0\0\0{}", 10);
  EXPECT_EQ(load_model(write("llama.cfg", "\n  " + std::string(tiny))).d_model, 64);
  EXPECT_EQ(load_model(write("5f2e", tiny)).d_model, 64);
  expect_complaint(write("blob", safetensors), "there is no config.json beside this file");
  write("config.json", tiny);
  EXPECT_EQ(locate_model(write("blob", safetensors)).weights, folder_ / "blob");
  EXPECT_EQ(load_model((folder_ / "blob").string()).d_model, 64);
  expect_complaint(write("zip", "PK\x03\x04 and so on"), "pickle");
  expect_complaint(write("bare", "\x80\x02}q"), "pickle");
  expect_complaint(write("other", "GGUF\x03"), "bytes follow");
}

TEST_F(LoadModel, TakesTheNewestCheckpointOfARun) {
  write("run/metrics.jsonl", "");
  const std::string run = (folder_ / "run").string();
  expect_complaint(run, "this folder of a run has no checkpoint yet");
  write("run/checkpoints/step-000009/config.json", R"({"model_type": "llama"})");
  write("run/checkpoints/step-1000000/config.json", tiny);
  write("run/checkpoints/step-1000000/model.safetensors", "");
  write("run/checkpoints/step-last/config.json", R"({"model_type": "llama"})");
  const Model model = load_model(run);
  EXPECT_EQ(model.name, run);
  EXPECT_EQ(model.d_model, 64);
  EXPECT_EQ(model.notes, std::vector<std::string>{"the newest checkpoint of this run, step-1000000, is taken"});
  EXPECT_EQ(locate_model(run).weights, folder_ / "run/checkpoints/step-1000000");
}

TEST_F(LoadModel, SaysWhereAFileStopsBeingJson) {
  expect_complaint(write("config.json", "{\n  \"a\": 1,\n  oops\n}"), "not JSON from line 3, byte 15");
  expect_complaint(write("config.json", "{"), "not JSON from line 1");
  expect_complaint(write("config.json", "\xff\xfe"), "not JSON");
  expect_complaint(write("config.json", ""), "is empty; expected a config.json");
  expect_complaint(write("config.json", R"({"hidden_size": 1e999})"), "too large");
  expect_complaint(write("config.json", "[1, 2]"), "expected an object");
}

TEST_F(LoadModel, RefusesAConfigOfMoreThan64Megabytes) {
  const std::string path = write("config.json", "");
  fs::resize_file(path, (64u << 20) + 1);
  expect_complaint(path, "is longer than 67,108,864 bytes");
}

TEST_F(LoadModel, RefusesWhatIsNoRegularFile) {
  fs::create_directories(folder_ / "config.json");
  expect_complaint(folder_.string(), "not a regular file");
}

TEST_F(LoadModel, NamesTheConfigInTheErrorsOfAFolder) {
  write("config.json", R"({"model_type": "llama"})");
  expect_complaint(folder_.string(), "config.json: hidden_size is missing");
}

TEST_F(LoadModel, PrefersAPresetToAFolderOfTheSameNameUnlessThereIsASlash) {
  write("gpt2/config.json", tiny);
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const Model preset = load_model("gpt2");
  const Model folder = load_model("./gpt2");
  fs::rename("gpt2", "mine");
  const Model other = load_model("mine");
  fs::current_path(before);
  EXPECT_EQ(preset.family, "gpt2");
  EXPECT_EQ(folder.family, "llama");
  EXPECT_EQ(other.family, "llama");
}

TEST(Nearest, IsTheWordWithTheFewestChangedLetters) {
  EXPECT_EQ(nearest("qwen4", {"llama", "qwen2", "gemma"}), "qwen2");
  EXPECT_EQ(nearest("LLAMA", {"llama", "qwen2"}), "llama");
  EXPECT_EQ(nearest("zzzzzz", {"llama", "qwen2"}), "");
  EXPECT_EQ(nearest(std::string(100000, 'x'), {"llama"}), "");
}

}  // namespace
}  // namespace reckon

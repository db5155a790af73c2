// Files of weights that do not fit their config, or change while they are read: one sentence each, exit code 1.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "paths.h"
#include "program_fixture.h"

namespace reckon {
namespace {

const std::string tiny_models = project_folder() + "/tests/data/tiny/";

class BadFiles : public ProgramTest {
 protected:
  // A copy of the tiny gpt2 whose header is changed; `more` bytes are added behind the data.
  std::string changed(const std::function<void(Json&)>& change, std::size_t more = 0) const {
    const fs::path folder = copy();
    const std::string before = text_of(folder / "model.safetensors");
    std::uint64_t length = 0;
    std::memcpy(&length, before.data(), sizeof length);
    Json header = Json::parse(before.substr(8, length));
    change(header);
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    length = text.size();
    std::string after(sizeof length, '\0');
    std::memcpy(after.data(), &length, sizeof length);
    std::memcpy(&length, before.data(), sizeof length);
    std::ofstream(folder / "model.safetensors", std::ios::binary)
        << after << text << before.substr(8 + length) << std::string(more, '\0');
    return folder.string();
  }

  fs::path copy() const {
    const fs::path folder = folder_ / "model";
    fs::remove_all(folder);
    fs::copy(tiny_models + "gpt2", folder);
    return folder;
  }

  void expect_refusal(const std::string& model, const std::string& part) const {
    expect_complaint({"generate", model, "--ids", "1", "--tokens", "2"}, 1, part);
  }

  const std::string name_ = "transformer.h.1.mlp.c_fc.weight";
};

TEST_F(BadFiles, AHeaderThatIsWrittenAnewIsTheSameModel) {
  EXPECT_EQ(run({"generate", changed([](Json&) {}), "--ids", "1", "--tokens", "2"}).code, 0);
}

TEST_F(BadFiles, TensorsThatAreMissingMisshapenOrTooManyAreNamed) {
  expect_refusal(changed([&](Json& header) {
                   header["transformer.h.1.mlp.c_fc.other"] = header.at(name_);
                   header.erase(name_);
                 }),
                 "has no tensor '" + name_ + "', which the model needs");
  expect_refusal(changed([&](Json& header) { std::swap(header[name_]["shape"][0], header[name_]["shape"][1]); }),
                 "tensor '" + name_ + "' is 192 × 48, expected 48 × 192");
  for (const std::string extra : {"extra.weight", "transformer.h.9.ln_1.weight"}) {  // the second: a layer too many
    expect_refusal(changed(
                       [&](Json& header) {
                         std::uint64_t end = 0;
                         for (const auto& [name, tensor] : header.items()) {
                           if (name != "__metadata__")
                             end = std::max(end, tensor["data_offsets"][1].get<std::uint64_t>());
                         }
                         header[extra] = {{"dtype", "F32"}, {"shape", {2}}, {"data_offsets", {end, end + 8}}};
                       },
                       8),
                   "tensor '" + extra + "' is no part of the model");
  }
}

TEST_F(BadFiles, ATiedHeadThatIsStoredAgainHasTheShapeOfTheEmbedding) {
  for (const bool fits : {true, false}) {
    const std::string model = changed(
        [&](Json& header) {
          std::uint64_t end = 0;
          for (const auto& [name, tensor] : header.items()) {
            if (name != "__metadata__") end = std::max(end, tensor["data_offsets"][1].get<std::uint64_t>());
          }
          const std::uint64_t rows = fits ? 257 : 256;
          header["lm_head.weight"] = {
              {"dtype", "F32"}, {"shape", {rows, 48}}, {"data_offsets", {end, end + rows * 48 * 4}}};
        },
        (fits ? 257 : 256) * 48 * 4);
    if (fits)
      EXPECT_EQ(run({"generate", model, "--ids", "1", "--tokens", "2"}).code, 0);
    else
      expect_refusal(model, "tensor 'lm_head.weight' is 256 × 48, expected 257 × 48");
  }
}

TEST_F(BadFiles, TypesThatCannotRunAreNamed) {
  expect_refusal(changed([&](Json& header) { header[name_]["dtype"] = "I32"; }),
                 "is of type I32; reckon runs F32, F16, BF16 and the blocks of GGUF");
  expect_refusal(changed([&](Json& header) { header[name_]["dtype"] = "Q9_K"; }), "Q9_K");
}

TEST_F(BadFiles, WhatIsOnlyNamedLikeAPickleIsNotCalledOne) {
  for (const char* name : {"nomodel.bin", "nomodel.pt", "nomodel.pkl"}) {
    std::ofstream(folder_ / name) << "\x17 neither nor \xc3";
    expect_refusal((folder_ / name).string(), "neither JSON nor safetensors nor GGUF");
  }
  std::ofstream(folder_ / "zip.bin") << "PK\x03\x04 and so on";
  expect_refusal((folder_ / "zip.bin").string(), "this is a pickle");
}

TEST_F(BadFiles, PicklesAreNamedAndRefused) {
  for (const char* name : {"model.bin", "model.pt"}) {
    std::ofstream(folder_ / name) << "\x80\x02}q";
    expect_refusal((folder_ / name).string(), "this is a pickle, which can run code when it is read, and is refused");
  }
  const fs::path folder = copy();
  for (const char* name : {"model.safetensors", "grads.safetensors"}) fs::remove(folder / name);
  std::ofstream(folder / "pytorch_model.bin") << "\x80\x02}q";
  expect_refusal(folder.string(), "pickle");
}

TEST_F(BadFiles, AFileThatShrinksWhileItIsMappedEndsWithASentence) {
  const fs::path folder = copy();
  const pid_t child =
      start({"generate", folder.string(), "--ids", "1", "--tokens", "100000000", "--window", "--threads", "1"});
  ASSERT_GT(child, 0);
  for (int i = 0; i < 2000 && text_of(folder_ / "stdout").empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(text_of(folder_ / "stdout").empty());  // it runs
  fs::resize_file(folder / "model.safetensors", 0);
  const Result result = end(child);
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "reckon: a file became shorter while it was being read\n");
}

}  // namespace
}  // namespace reckon

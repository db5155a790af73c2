// Weights as files have them: of a type each, and at odd places: half-precision tensors after one of an odd size, and a
// header of any length.
#include "run/weights.h"

#include <gtest/gtest.h>

#include <cstring>

#include "files/read_text.h"
#include "files/tensor_file.h"
#include "files/safetensors.h"
#include "folder_fixture.h"
#include "run/save.h"
#include "run/verify.h"
#include "tiny_models.h"

namespace reckon {
namespace {

class OddPlaces : public FolderTest {
 protected:
  static constexpr const char* name = "phi";  // its lm_head.bias has 131 elements, and comes first

  // What a folder with phi's config.json and this file gives.
  std::vector<float> logits_of(const fs::path& folder) const {
    const Model model = load_model(folder.string());
    Engine engine(model, Weights::load(model, folder), {.threads = 1});
    Session session = engine.session();
    const std::span<const float> logits = session.run(std::vector<std::int32_t>{1, 2, 3, 4, 5}, Logits::all);
    return {logits.begin(), logits.end()};
  }

  fs::path copy() const {
    const fs::path folder = folder_ / "model";
    fs::create_directories(folder);
    for (const char* file : {"config.json", "model.safetensors"})
      fs::copy_file(original_ / file, folder / file, fs::copy_options::overwrite_existing);
    return folder;
  }

  const fs::path original_ = testing_models::tiny_folder() / name;
};

// The upper half of each float.
std::vector<std::byte> to_bfloat16(std::string_view floats) {
  std::vector<std::byte> halves;
  for (std::size_t i = 0; i < floats.size(); i += 4)
    for (std::size_t b : {i + 2, i + 3}) halves.push_back(static_cast<std::byte>(floats[b]));
  return halves;
}

TEST_F(OddPlaces, HalfPrecisionAfterAnOddNumberOfElements) {
  const fs::path folder = copy();
  const std::string file = read_text(original_ / "model.safetensors", 1 << 24);
  const TensorFile header = read_tensor_file(original_ / "model.safetensors");
  std::vector<std::vector<std::byte>> halves;
  for (const TensorInfo& info : header.tensors)
    halves.push_back(
        to_bfloat16(std::string_view(file).substr(header.files[0].data_begin + info.begin, info.end - info.begin)));
  // In this order nothing begins at an odd place; in the other, what follows the bias does.
  std::vector<TensorToWrite> tensors;
  std::vector<std::vector<float>> logits;
  for (const bool bias_last : {true, false}) {
    tensors.clear();
    std::vector<std::size_t> order;
    for (const bool bias : {!bias_last, bias_last})
      for (std::size_t i = 0; i < halves.size(); ++i)
        if ((header.tensors[i].name == "lm_head.bias") == bias) {
          tensors.push_back({header.tensors[i].name, DType::bfloat16, header.tensors[i].shape});
          order.push_back(i);
        }
    write_safetensors(folder / "model.safetensors", tensors,
                      [&](std::size_t i, const TensorSink& sink) { sink(halves[order[i]]); });
    logits.push_back(logits_of(folder));
  }
  EXPECT_EQ(tensors.front().name, "lm_head.bias");
  EXPECT_EQ(bytes_of(tensors.front()) % 4, 2u);
  EXPECT_EQ(logits[0], logits[1]);
  const Model model = load_model(folder.string());
  EXPECT_EQ(Weights::load(model, folder).copied(), 0);
}

TEST_F(OddPlaces, AHeaderOfAnyLength) {
  const fs::path folder = copy();
  const std::string file = read_text(original_ / "model.safetensors", 1 << 24);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  for (const std::size_t more : {1, 2, 3}) {
    const std::uint64_t longer = length + more;
    std::string text(sizeof longer, '\0');
    std::memcpy(text.data(), &longer, sizeof longer);
    std::ofstream(folder / "model.safetensors", std::ios::binary)
        << text << file.substr(8, length) << std::string(more, ' ') << file.substr(8 + length);
    EXPECT_EQ(logits_of(folder), logits_of(original_)) << more;
  }
}

// Matrices in bfloat16 and norms in float32, as many checkpoints have them.
class MixedTypes : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    const fs::path original = testing_models::tiny_folder() / "mixtral";
    fs::copy_file(original / "config.json", folder_ / "config.json");
    const std::string file = read_text(original / "model.safetensors", 1 << 24);
    const TensorFile header = read_tensor_file(original / "model.safetensors");
    std::vector<std::vector<std::byte>> values;
    std::vector<TensorToWrite> tensors;
    for (const TensorInfo& info : header.tensors) {
      const std::string_view data =
          std::string_view(file).substr(header.files[0].data_begin + info.begin, info.end - info.begin);
      const bool norm = info.shape.size() == 1;
      const auto bytes = std::as_bytes(std::span(data));
      values.push_back(norm ? std::vector<std::byte>(bytes.begin(), bytes.end()) : to_bfloat16(data));
      bytes_ += static_cast<std::int64_t>(values.back().size());
      (norm ? norms_ : matrices_) += info.elements;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const TensorInfo& info = header.tensors[i];
      tensors.push_back({info.name, info.shape.size() == 1 ? DType::float32 : DType::bfloat16, info.shape});
    }
    write_safetensors(folder_ / "model.safetensors", tensors,
                      [&](std::size_t i, const TensorSink& sink) { sink(values[i]); });
  }

  std::int64_t norms_ = 0, matrices_ = 0, bytes_ = 0;
};

TEST_F(MixedTypes, AreCountedTensorByTensor) {
  ASSERT_GT(norms_, 0);
  ASSERT_EQ(bytes_, 4 * norms_ + 2 * matrices_);
  const Model model = load_model(folder_.string());
  EXPECT_EQ(Weights::load(model, folder_).bytes(), bytes_);
  const Verification verification = verify(model, Weights::load(model, folder_), {});
  EXPECT_TRUE(verification.holds());
  const Check& check = verification.checks.at(1);
  ASSERT_EQ(check.name, "weight bytes");
  EXPECT_EQ(check.headline, bytes_);
  EXPECT_EQ(check.lowered, bytes_);
  EXPECT_EQ(check.measured, bytes_);
}

TEST_F(MixedTypes, StayAsTheyAreWhenACheckpointIsWritten) {
  const Model model = load_model(folder_.string());
  save_checkpoint(model, Weights::load(model, folder_), "{}", folder_ / "again");
  for (const TensorInfo& info : read_tensor_file(folder_ / "again" / "model.safetensors").tensors)
    EXPECT_EQ(info.dtype, info.shape.size() == 1 ? DType::float32 : DType::bfloat16) << info.name;
}

}  // namespace
}  // namespace reckon

// Checkpoints that are written read back as they were, in the layout of each family.
#include "run/save.h"

#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include "files/read_text.h"
#include "files/tensor_file.h"
#include "paths.h"
#include "run/engine.h"

#include <filesystem>

namespace reckon {
namespace {

const std::filesystem::path tiny_folders = std::filesystem::path(project_folder()) / "tests/data/tiny";

TEST(Save, AFolderReadsBackWithTheSameLogitsForEveryLayout) {
  for (const char* family : {"gpt2", "gpt_neox", "phi3", "mixtral", "gpt_oss", "deepseek_v3", "opt-350m"}) {
    const std::string config = read_text(tiny_folders / family / "config.json", 1 << 20);
    const Model model = load_model((tiny_folders / family).string());
    const auto folder = std::filesystem::temp_directory_path() / ("reckon-save-" + std::string(family));
    save_checkpoint(model, Weights::load(model, tiny_folders / family), config, folder);
    const Model again = load_model(folder.string());
    const std::vector<std::int32_t> ids = {1, 2, 3, 4, 5};
    EngineOptions options;
    options.threads = 1;
    Engine before(model, Weights::load(model, tiny_folders / family), options),
        after(again, Weights::load(again, folder), options);
    Session first = before.session(), second = after.session();
    const auto a = first.run(ids, Logits::all);
    const auto b = second.run(ids, Logits::all);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << family;
    std::filesystem::remove_all(folder);
  }
}

TEST(Save, WritesEveryTensorThatTheOriginalHasWithTheSameNameAndShape) {
  for (const char* family : {"gpt2", "gpt_neox", "phi3", "llama-gqa", "gemma2"}) {
    const Model model = load_model((tiny_folders / family).string());
    const auto folder = std::filesystem::temp_directory_path() / ("reckon-save-names-" + std::string(family));
    save_checkpoint(model, Weights::load(model, tiny_folders / family), "{}", folder);
    const TensorFile original = read_tensor_file(tiny_folders / family),
                     written = read_tensor_file(folder / "model.safetensors");
    ASSERT_EQ(original.tensors.size(), written.tensors.size()) << family;
    for (const TensorInfo& tensor : original.tensors) {
      const auto same = std::find_if(written.tensors.begin(), written.tensors.end(),
                                     [&](const TensorInfo& other) { return other.name == tensor.name; });
      ASSERT_NE(same, written.tensors.end()) << tensor.name;
      EXPECT_EQ(same->shape, tensor.shape) << tensor.name;
    }
    std::filesystem::remove_all(folder);
  }
}

}  // namespace
}  // namespace reckon

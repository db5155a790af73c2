// GGUF files as models: each is made here of a tiny model's folder as converters do, and must give the same logits.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <reckon/reckon.h>

#include <cmath>
#include <fstream>

#include "files/tensor_file.h"
#include "folder_fixture.h"
#include "gguf_of_folder.h"
#include "model/file_report.h"
#include "model/location.h"
#include "model/read_gguf.h"
#include "run/engine.h"
#include "run/verify.h"
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

TEST_P(GgufGolden, MeasuresWhatItPredicts) {
  const std::string path = written(folder_ / "model.gguf", GgufOfFolder(tiny_folder() / GetParam()).file()).string();
  const Model model = load_model(path);
  const Verification v = verify(model, Weights::load(model, path), {.tokens = 20, .steps = 3, .batch = 2});
  for (const Check& check : v.checks) EXPECT_TRUE(check.equal()) << check.name;
  for (const std::string& finding : v.findings) ADD_FAILURE() << finding;
  EXPECT_TRUE(v.holds());
}

INSTANTIATE_TEST_SUITE_P(Tiny, GgufGolden, testing::ValuesIn(convertible()), tiny_test_name);

}  // namespace
}  // namespace reckon

// The tiny models as their files are: read from config.json, nothing missing, nothing left over.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <filesystem>
#include <string>

#include "files/tensor_file.h"
#include "model/file_report.h"
#include "model/presets.h"
#include "model/stored.h"
#include "stored_coverage.h"
#include "tiny_models.h"

namespace {

class TinyModel : public testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path folder = reckon::testing_models::tiny_folder() / GetParam();
};

TEST_P(TinyModel, HoldsExactlyWhatItsConfigurationSays) {
  const reckon::Model model = reckon::load_model(folder.string());
  const reckon::FileReport report = reckon::inspect_file(model, reckon::read_tensor_file(folder));
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.unexpected.empty());
  EXPECT_EQ(report.elements, report.expected_elements + report.buffer_elements);
  EXPECT_EQ(report.expected_elements, reckon::testing_models::tiny_io(GetParam()).at("params").get<std::int64_t>());
}

TEST_P(TinyModel, CoversEachStoredElementOnce) {
  const reckon::Model model = reckon::load_model(folder.string());
  const reckon::TensorFile header = reckon::read_tensor_file(folder);
  reckon::testing_models::expect_each_element_covered_once(reckon::stored_layout(model, header));
}

INSTANTIATE_TEST_SUITE_P(Golden, TinyModel, testing::ValuesIn(reckon::testing_models::tiny_names()),
                         reckon::testing_models::tiny_test_name);

// Two derivations that share no code: the parameters of the program and the elements of the files.
TEST(Presets, HaveAsManyElementsInFilesAsParameters) {
  for (const reckon::Preset& preset : reckon::presets()) {
    const reckon::Model model = reckon::load_model(std::string(preset.name));
    std::int64_t elements = 0;
    for (const reckon::StoredParameter& parameter : reckon::stored_layout(model).parameters)
      elements += reckon::testing_models::product(parameter.shape);
    EXPECT_EQ(elements, reckon::count_parameters(model)) << preset.name;
  }
}

}  // namespace

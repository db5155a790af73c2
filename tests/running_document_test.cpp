// What docs/running.md and docs/training.md say of devices and targets is what the program has.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "files/read_text.h"
#include "paths.h"

namespace reckon {
namespace {

std::string document(const std::string& name) { return read_text(project_folder() + "/docs/" + name, 1 << 20); }

TEST(RunningDocument, SaysHowManySequencesReadTheWeightsTogether) {
  const std::string sentence = fmt::format("reads the weights once for up to {} of them", cpu_target.few_rows);
  EXPECT_NE(document("running.md").find(sentence), std::string::npos) << sentence;
}

TEST(RunningDocument, NamesEveryDevice) {
  std::string choices;
  for (const DeviceName& name : device_names()) {
    EXPECT_NE(document("running.md").find(fmt::format("`{}`", name.word)), std::string::npos) << name.word;
    choices += (choices.empty() ? "| `--device " : "\\|") + std::string(name.word);
  }
  EXPECT_NE(document("training.md").find(choices + "` |"), std::string::npos) << choices;
}

}  // namespace
}  // namespace reckon

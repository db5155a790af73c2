// Sentences about wrong use: the library names fields, the program the options that set them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "paths.h"
#include "program_fixture.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

TEST(Library, NamesNoOptionOfTheCommandLine) {
  const std::regex option(R"re("[^"]*--[a-z])re");
  const fs::path sources = fs::path(project_folder()) / "src";
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(sources)) {
    const std::string path = entry.path().lexically_relative(sources).string();
    if (!entry.is_regular_file() || path.starts_with("cli/") || path.starts_with("report/training_")) continue;
    ++files;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const std::size_t comment = line.find("//");
      EXPECT_FALSE(std::regex_search(line.substr(0, comment), option)) << path << ": " << line;
    }
  }
  EXPECT_GT(files, 200u);
}

TEST_F(ProgramTest, SaysTheOptionForEachFieldThatTheLibraryNames) {
  const auto complaint = [&](const std::vector<std::string>& arguments) {
    const Result ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    return ran.err;
  };
  EXPECT_EQ(complaint({"count", "deepseek-v2", "--kv-heads", "4"}),
            "reckon: --kv-heads cannot be changed in latent attention: keys and values come from one latent\n");
  EXPECT_EQ(complaint({"count", "gpt2", "--experts", "8"}),
            "reckon: a dense model becomes a mixture with both --experts and --active-experts\n");
  EXPECT_EQ(complaint({"count", "gpt2", "--past", "5"}),
            "reckon: --past is 5 in phase forward, which has no cache; expected 0, or phase prefill or decode\n");
  EXPECT_EQ(complaint({"generate", "mini-gpt", "--random", "1", "--ids", "1", "--top-p", "2"}),
            "reckon: --top-p is 2; expected a probability above 0, at most 1 (off)\n");
  EXPECT_EQ(complaint({"train", "mini-gpt", "--lr", "0.001", "--min-lr", "1"}),
            "reckon: --min-lr is 1; expected 0 to --lr\n");
  EXPECT_EQ(complaint({"train", "mini-gpt", "--schedule", "steep"}),
            "reckon: --schedule is 'steep'; expected one of: cosine linear constant wsd\n");
}

TEST_F(ProgramTest, LeavesOtherWordsInBackticksAsTheyAre) {
  EXPECT_NE(run({"count", "no-such-model"}).err.find("`reckon models` lists them"), std::string::npos);
}

}  // namespace
}  // namespace reckon

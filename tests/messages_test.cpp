// Sentences about wrong use: the library names fields, the program the options that set them.
#include <gtest/gtest.h>

#include <algorithm>
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

TEST_F(ProgramTest, ListsTheWordsThatAnOptionTakes) {
  const auto complaint = [&](const std::string& option, const std::string& word) {
    const Result ran = run({"count", "gpt2", option, word});
    EXPECT_EQ(ran.code, 2) << ran.err;
    return ran.err;
  };
  EXPECT_EQ(complaint("--ffn", "glu"), "reckon: --ffn is 'glu'; expected one of: gelu relu silu swiglu geglu\n");
  EXPECT_EQ(complaint("--norm", "batchnorm"), "reckon: --norm is 'batchnorm'; expected one of: layernorm rmsnorm\n");
  EXPECT_EQ(complaint("--norm-position", "middle"), "reckon: --norm-position is 'middle'; expected one of: pre post\n");
  EXPECT_EQ(complaint("--positions", "x"),
            "reckon: --positions is 'x'; expected one of: learned sinusoidal rope alibi none\n");
  EXPECT_EQ(complaint("--tied", "1"), "reckon: --tied is '1'; expected one of: yes no\n");
}

TEST_F(ProgramTest, ShowsTheHelpWhateverElseIsWrong) {
  const Result help = run({"count", "--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* wrong : {"--by=color", "--layers=many", "--phase=bake", "--format=yaml"}) {
    const Result ran = run({"count", "gpt2", wrong, "--help"});
    EXPECT_EQ(ran.code, 0) << wrong << ran.err;
    EXPECT_EQ(ran.out, help.out) << wrong;
  }
}

TEST_F(ProgramTest, NamesOnlyOptionsThatWereGiven) {
  const auto complaint = [&](const std::vector<std::string>& arguments) {
    const Result ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    return ran.err;
  };
  EXPECT_EQ(complaint({"generate", "mini-gpt", "--random", "1", "--ids", "1", "--top-k", "1k", "--beams", "1k"}),
            "reckon: a beam search draws nothing, so that --top-k has no meaning with 1,024 beams\n");
  EXPECT_EQ(complaint({"generate", "mini-gpt", "--random", "1", "--ids", "1", "--beams", "2", "--min-p", "0.1",
                       "--temperature", "2"}),
            "reckon: a beam search draws nothing, so that --temperature, --min-p have no meaning with 2 beams\n");
  EXPECT_EQ(complaint({"count", "gpt2", "--kv-heads", "5"}),
            "reckon: --kv-heads is 5; expected a divisor of the 12 heads\n");
  EXPECT_EQ(complaint({"count", "llama-3-8b", "--heads", "12"}),
            "reckon: 8 key-value heads do not divide 12 heads; say them with --kv-heads\n");
  // 96 / 32 = 3
  EXPECT_EQ(complaint({"sweep", "llama-3-8b", "--d-model", "64..96:32"}),
            "reckon: a head would be 3 wide, of which RoPE rotates 3, an odd number; choose another --d-model\n");
  EXPECT_EQ(complaint({"count", "llama-3-8b", "--d-head", "7"}),
            "reckon: a head would be 7 wide, of which RoPE rotates 7, an odd number; choose another --d-head\n");
}

TEST_F(ProgramTest, SpeaksOfGroupsOfExpertsInWords) {
  const auto complaint = [&](const char* experts, const char* active) {
    const Result ran = run({"count", "deepseek-v3", "--experts", experts, "--active-experts", active});
    EXPECT_EQ(ran.code, 2) << ran.err;
    const std::string place = "reckon: deepseek-v3: layer 3: ";  // after a note about what is left out
    return ran.err.substr(std::min(ran.err.find(place), ran.err.size() - place.size()) + place.size());
  };
  EXPECT_EQ(complaint("8", "2"),
            "the 8 experts are in 8 groups of 1, but a group is chosen by its best 2; expected at least 16 experts\n");
  EXPECT_EQ(complaint("20", "2"), "20 experts do not divide into its 8 groups of experts; expected a multiple of 8\n");
  EXPECT_EQ(complaint("16", "9"),
            "a token takes 9 experts, but the 4 groups of 2 that it chooses have 8 together; expected no more\n");
}

TEST_F(ProgramTest, GroupsTheDigitsOfLargeNumbers) {
  expect_complaint({"count", "gpt2", "--tokens", "64k"}, 2,
                   "gpt2 has 1,024 learned positions, but 65,536 are asked for; give it more with --context");
  EXPECT_NE(run({"count", "mini-gpt", "--layers", "100000"}).out.find("· 100,000 layers ·"), std::string::npos);
}

TEST_F(ProgramTest, LeavesOtherWordsInBackticksAsTheyAre) {
  EXPECT_NE(run({"count", "no-such-model"}).err.find("`reckon models` lists the presets"), std::string::npos);
}

}  // namespace
}  // namespace reckon

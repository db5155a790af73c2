// What a shell gets from reckon: completion scripts and manual pages, both made from its help.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "program_fixture.h"

namespace reckon {
namespace {

bool is_installed(const std::string& command) {
  return std::system(("command -v " + command + " > /dev/null").c_str()) == 0;
}

class Shell : public ProgramTest {
 protected:
  // What a command says, run in the test's folder.
  std::string said(const std::string& command) const {
    const std::string all = "cd '" + folder_.string() + "' && { " + command + "; } > said 2>&1";
    EXPECT_EQ(std::system(all.c_str()), 0) << command << "\n" << text_of(folder_ / "said");
    return text_of(folder_ / "said");
  }

  void write_script(const std::string& shell) const {
    std::ofstream(folder_ / shell) << run({"completion", shell}).out;
  }
};

// "  --tokens N   so many" → "--tokens".
std::vector<std::string> flags_in(const std::string& help) {
  std::vector<std::string> flags;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t from = line.find("--");
    if (from == 2 || line.starts_with("  -h,--")) flags.push_back(line.substr(from, line.find(' ', from) - from));
  }
  return flags;
}

TEST_F(Shell, ScriptsKnowCommandsOptionsPresetsAndTokenizers) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Result result = run({"completion", shell});
    EXPECT_EQ(result.code, 0);
    for (const char* word :
         {"compare", "norm-position", "mixtral-8x7b", "layernorm rmsnorm", "bytes gpt2 cl100k_base o200k_base"}) {
      EXPECT_NE(result.out.find(word), std::string::npos) << shell << word;
    }
    EXPECT_EQ(result.out.find("manual"), std::string::npos) << shell;  // that command is for the build
  }
}

TEST_F(Shell, BashCompletes) {
  write_script("bash");
  std::ofstream(folder_ / "clown.txt");
  const auto completed = [&](const std::string& line) {
    return said("bash -c 'source ./bash; COMP_WORDS=(" + line +
                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _reckon; echo ${COMPREPLY[@]}'");
  };
  EXPECT_EQ(completed("reckon count gpt2 --phase tr"), "train\n");
  EXPECT_EQ(completed("reckon count gpt2-x"), "gpt2-xl\n");
  for (const char* command : {"tokenize", "train mini-gpt", "generate gpt2", "score gpt2", "explain gpt2"})
    EXPECT_EQ(completed(std::string("reckon ") + command + " --tokenizer cl"), "clown.txt cl100k_base\n") << command;
  EXPECT_EQ(completed("reckon train --out clo"), "clown.txt\n");
  EXPECT_EQ(completed("reckon tokenizer train clo"), "clown.txt\n");
  EXPECT_EQ(completed("reckon tokenizer \"\""), "train\n");
  EXPECT_EQ(completed("reckon tokenizer train --voc"), "--vocab\n");
}

TEST_F(Shell, FishCompletes) {
  if (!is_installed("fish")) GTEST_SKIP() << "there is no fish";
  write_script("fish");
  std::ofstream(folder_ / "clown.txt");
  const auto completed = [&](const std::string& line) {
    return said("HOME=$PWD fish -c 'source ./fish; complete -C \"" + line + "\"' | cut -f 1");
  };
  EXPECT_EQ(completed("reckon count gpt2 --phase tr"), "train\n");
  EXPECT_EQ(completed("reckon count gpt2-x"), "gpt2-xl\n");
  EXPECT_EQ(completed("reckon tokenize --tokenizer cl"), "cl100k_base\nclown.txt\n");
  EXPECT_EQ(completed("reckon tokenizer train clo"), "clown.txt\n");
}

TEST_F(Shell, ZshCompletes) {
  if (!is_installed("zsh")) GTEST_SKIP() << "there is no zsh";
  write_script("zsh");
  std::ofstream(folder_ / "clown.txt");
  // With the functions of its completion system put in place of those that need a terminal.
  const auto completed = [&](const std::string& line) {
    return said(
        "zsh -fc 'compdef() {}; _files() { print -l c*; }; compadd() { shift; print -l ${(M)@:#$current*}; }\n"
        "_describe() {}; _arguments() { for spec; do [[ $spec == $option\\[* ]] && eval ${spec##*:}; done; true; }\n"
        "source ./zsh; option=" +
        line + "; words=(reckon tokenize $option); CURRENT=3; current=cl; _reckon'");
  };
  EXPECT_EQ(completed("--tokenizer"), "cl100k_base\nclown.txt\n");
}

TEST_F(Shell, EveryCommandHasAManualPageWithAllOfItsHelp) {
  const fs::path pages = folder_ / "man1";
  ASSERT_EQ(run({"manual", pages.string()}).code, 0);
  const auto check = [&](std::vector<std::string> command) {
    std::string name = "reckon";
    for (const std::string& word : command) name += "-" + word;
    const std::string page = text_of(pages / (name + ".1"));
    EXPECT_TRUE(std::all_of(page.begin(), page.end(), [](char c) { return c == '\n' || (c >= ' ' && c < 127); }));
    EXPECT_NE(page.find(".SH \"EXAMPLES\"\n.EX\n  "), std::string::npos) << page;
    std::string plain = page;
    for (const auto& [escape, character] : {std::pair{"\\-", "-"}, {"\\(aq", "'"}}) {
      for (std::size_t at; (at = plain.find(escape)) != std::string::npos;)
        plain.replace(at, std::string(escape).size(), character);
    }
    command.push_back("--help");
    const std::string help = run(command).out;
    EXPECT_NE(plain.find(" - " + help.substr(0, help.find('\n')) + "\n"), std::string::npos) << page;
    const std::vector<std::string> flags = flags_in(help);
    EXPECT_FALSE(flags.empty());
    for (const std::string& flag : flags) EXPECT_NE(plain.find(flag + "\\fR"), std::string::npos) << name << flag;
    if (is_installed("groff")) {
      EXPECT_EQ(said("groff -man -ww -z -Tutf8 man1/" + name + ".1"), "");
    }
  };
  check({});
  int commands = 0;
  std::istringstream top(run({"--help"}).out);
  bool listed = false;
  for (std::string line; std::getline(top, line);) {
    if (line.starts_with("Commands:")) listed = true;
    if (line.empty()) listed = false;
    if (!listed || !line.starts_with("  ") || line[2] == ' ') continue;
    check({line.substr(2, line.find(' ', 2) - 2)});
    ++commands;
  }
  EXPECT_GE(commands, 14);
  check({"tokenizer", "train"});
  EXPECT_FALSE(fs::exists(pages / "reckon-manual.1"));
  EXPECT_EQ(run({"--help"}).out.find("manual"), std::string::npos);
  expect_complaint({"manual", "/dev/null/pages"}, 1, "/dev/null/pages: cannot be made");
}

}  // namespace
}  // namespace reckon

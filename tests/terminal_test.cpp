// What a person sees on a terminal: narrow ones, small ones, and those without UTF-8.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "paths.h"
#include "program_fixture.h"
#include "report/ascii.h"
#include "report/document.h"
#include "report/progress.h"
#include "report/text.h"
#include "text_fixture.h"
#include "text/utf8.h"

namespace reckon {
namespace {

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Sets a variable of the environment for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* old = std::getenv(name);
    if (old != nullptr) before_ = old;
    had_ = old != nullptr;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { had_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool had_ = false;
};

TEST(Ascii, HasAStandInForWhatReportsWrite) {
  EXPECT_EQ(to_ascii("4·L·d² + 2·dₕ²·(H + K)"), "4*L*d^2 + 2*d_h^2*(H + K)");
  EXPECT_EQ(to_ascii("k is 1,024² and T 10¹²"), "k is 1,024^2 and T 10^12");
  EXPECT_EQ(to_ascii("gpt2 · 12 layers · 8 × 32"), "gpt2 - 12 layers - 8 x 32");
  EXPECT_EQ(to_ascii("y = x·Wᵀ / √(var + ε), x / √dₕ"), "y = x*W^T / sqrt(var + eps), x / sqrt d_h");
  EXPECT_EQ(to_ascii("½T(T+1) − 1 … ±5"), "1/2*T(T+1) - 1 ... +/-5");
  EXPECT_EQ(to_ascii("███▌ ─━│"), "#### -=|");
  EXPECT_EQ(to_ascii("⠉⠤⡇⠀"), "'.: ");  // Braille: dots above, below, both, none
}

TEST(Ascii, EscapesOtherCharactersAndBrokenBytes) {
  EXPECT_EQ(to_ascii("mod\u00e8le 世 🙂"), "mod\\u00e8le \\u4e16 \\U0001f642");
  EXPECT_EQ(to_ascii("a\xff"
                     "b"),
            "a\\xffb");
  EXPECT_EQ(to_ascii("a\tb\n\033[1mc"), "a\tb\n\033[1mc");
}

// So that a new symbol in a report gets a stand-in too.
TEST(Ascii, HasAStandInForEverySymbolInTheSources) {
  namespace fs = std::filesystem;
  std::set<std::string> symbols;
  for (const char* room : {"cli", "count", "files", "model", "network", "ops", "program", "report", "run", "train"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(project_folder()) / "src" / room)) {
      const fs::path path = entry.path();
      if ((path.extension() != ".cpp" && path.extension() != ".h") || path.filename() == "ascii.cpp") continue;
      std::ifstream file(path);
      for (std::string line; std::getline(file, line);) {
        if (line.find("reckon tokenize") != std::string::npos) continue;  // an example with text of other languages
        line = line.substr(0, line.find("//"));
        for (std::size_t i = 0; i < line.size();) {
          const Utf8Char c = utf8_char(line.data() + i, line.data() + line.size());
          if (c.point >= 0x80) symbols.insert(line.substr(i, c.length));
          i += c.length;
        }
      }
    }
  }
  EXPECT_GT(symbols.size(), 40u);
  for (const std::string& symbol : symbols) {
    const std::string text = to_ascii(symbol);
    EXPECT_TRUE(text.find("\\u") == std::string::npos && text.find("\\U") == std::string::npos) << symbol;
  }
}

// A terminal writes "^C" behind the line; on two rows, the first would stay when the line is erased.
TEST(ProgressLine, LeavesRoomForWhatCtrlCWrites) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(terminal >= 0 && ::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0);
  const int shown = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY), before = ::dup(STDERR_FILENO);
  constexpr int width = 60;
  winsize size{};
  size.ws_col = width;
  ASSERT_EQ(::ioctl(shown, TIOCSWINSZ, &size), 0);
  const Variable kind("TERM", "xterm"), locale("LC_ALL", "C.UTF-8");
  ::dup2(shown, STDERR_FILENO);
  {
    ProgressLine progress;
    progress.show("scoring a text of some length", 0, 10);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    progress.show("scoring a text of some length", 5, 10);
  }
  ::dup2(before, STDERR_FILENO);
  char buffer[4096];
  const ssize_t count = ::read(terminal, buffer, sizeof buffer);
  for (const int descriptor : {terminal, shown, before}) ::close(descriptor);
  ASSERT_GT(count, 0);
  std::string line(buffer, static_cast<std::size_t>(count));  // "\r…\x1b[K\r\x1b[K"
  ASSERT_NE(line.find("50%"), std::string::npos) << line;
  line = line.substr(1, line.find('\x1b') - 1);
  EXPECT_LE(display_width(line) + 2, width - 1) << line;
}

TEST_F(ProgramTest, WritesPlainAsciiWhereTheLocaleHasNoUtf8) {
  for (const char* locale : {"C", "POSIX"}) {
    const Variable all("LC_ALL", locale);
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"count", "deepseek-v3"},
             {"count", "gpt2", "--phase", "train", "--by", "layer"},
             {"explain", "mini-gpt"},
             {"compare", "gpt2", "gpt2-xl"},
             {"sweep", "gpt2", "--context", "256..1k"},
             {"models"},
             {"count", "--help"},
             {"verify", "mini-gpt", "--random", "1"},
         }) {
      const Result result = run(arguments);
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_TRUE(is_ascii(result.out)) << arguments[0];
      EXPECT_TRUE(is_ascii(result.err)) << arguments[0];
      EXPECT_EQ(result.out.find("\\u"), std::string::npos) << arguments[0];
    }
    EXPECT_NE(run({"count", "gpt2"}).out.find("*L*d^2"), std::string::npos);
    EXPECT_TRUE(is_ascii(run({"count", "modèle"}).err));
  }
}

TEST_F(ProgramTest, WritesUtf8ForProgramsAndIntoFilesInEveryLocale) {
  const std::string json = run({"count", "gpt2", "--format", "json"}).out;
  const std::string csv = run({"count", "gpt2", "--format", "csv"}).out;
  ASSERT_EQ(run({"count", "gpt2", "--output", (folder_ / "report").string()}).code, 0);
  const std::string file = text_of(folder_ / "report");
  const Variable all("LC_ALL", "C");
  EXPECT_EQ(run({"count", "gpt2", "--format", "json"}).out, json);
  EXPECT_EQ(run({"count", "gpt2", "--format", "csv"}).out, csv);
  EXPECT_EQ(run({"tokenize", "--tokenizer", "bytes", "--decode", "195,169"}).out, "é\n");  // text stays what it is
  ASSERT_EQ(run({"count", "gpt2", "--output", (folder_ / "report").string()}).code, 0);
  EXPECT_EQ(text_of(folder_ / "report"), file);
  EXPECT_FALSE(is_ascii(file));
}

TEST_F(ProgramTest, TakesTheNameOfALocaleThatIsNotInstalledForWhatItSays) {
  const Variable all("LC_ALL", "tlh_QO.UTF-8");
  EXPECT_FALSE(is_ascii(run({"count", "gpt2"}).out));
}

TEST_F(ProgramTest, FitsEveryReportIntoFortyColumns) {
  const std::vector<std::vector<std::string>> reports{
      {"count", "gpt2"},
      {"count", "deepseek-v3", "--phase", "train", "--by", "layer"},
      {"count", "llama-3.1-405b", "--by", "op"},
      {"compare", "gpt2", "deepseek-v3", "llama-3.1-405b"},
      {"sweep", "llama-3.1-405b", "--context", "1k..1M"},
      {"explain", "mini-gpt"},
      {"explain", "deepseek-v3", "--phase", "train"},
      {"models"},
      {"verify", "mini-gpt", "--random", "1"},
      {"tokenize", "--tokenizer", "bytes", "--show", "--count", "Once upon a time"},
      {"score", "mini-gpt", "--random", "1", "--ids", "1,2,3,4"},
      {"logits", "mini-gpt", "--random", "1", "--ids", "1,2"},
      {"memory", "gpt2", "--phase", "train", "--batch", "8"},
      {"memory", "llama-3-8b", "--phase", "prefill", "--tokens", "4k", "--on", "h100"},
      {"memory", "mini-gpt", "--phase", "train", "--tensor", "2", "--data", "4", "--zero", "3"},
      {"time", "gpt2", "--on", "h100", "--phase", "train", "--steps", "9"},
      {"logits", "mini-gpt", "--random", "1", "--ids", "1,2,3,4", "--next", "9", "--u", "0.12345678901234567"},
      {"logits", "mini-gpt", "--random", "1", "--ids", "1,2,3,4", "--attention"},
      {"logits", "mini-gpt", "--random", "1", "--nearest", "1"},
  };
  for (const char* columns : {"40", "60", "80", "100"}) {
    const Variable width("COLUMNS", columns);
    for (const char* locale : {"C.UTF-8", "C"}) {
      const Variable all("LC_ALL", locale);
      for (const std::vector<std::string>& arguments : reports) {
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 0) << result.err;
        for (const std::string& line : lines_of(result.out))
          EXPECT_LE(display_width(line), std::stoi(columns)) << arguments[0] << " " << arguments[1] << ": " << line;
      }
    }
  }
}

}  // namespace
}  // namespace reckon

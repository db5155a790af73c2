// What the page's counting module exports: the commands that count, as a function from words to what they write.
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "cli/program.h"

namespace {

using namespace reckon::cli;

#define COMMAND(name) {#name, add_##name},
constexpr struct {
  std::string_view name;
  AddCommand add;
} commands[] = {RECKON_COMMANDS};  // cmake/page_modules.cmake has them

// Making the options of a command takes longer than most counts: only those of the one that is asked for, or of all
// where it is none of them and the sentence or the help is about all.
std::vector<AddCommand> commands_for(const std::vector<std::string>& words) {
  std::vector<AddCommand> all;
  for (const auto& [name, add] : commands) {
    if (!words.empty() && words.front() == name) return {add};
    all.push_back(add);
  }
  return all;
}

// As wasm.js reads it.
struct Answer {
  int code = 0;
  const char *out = "", *err = "";  // up to a zero byte, until the next call
};

}  // namespace

// `text`: the words behind `reckon`, each ended by a zero byte.
extern "C" const Answer* report(const char* text, std::size_t bytes) {
  static Captured written;
  static Answer answer;
  std::vector<std::string> words;
  for (const char* at = text; at < text + bytes; at += words.back().size() + 1) words.emplace_back(at);
  written.out.clear(), written.err.clear();
  capture(&written);
  answer.code = run_program(commands_for(words), words);
  answer.out = written.out.c_str();
  answer.err = written.err.c_str();
  return &answer;
}

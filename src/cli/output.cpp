// Where a report goes, and in which form.
#include <fmt/format.h>
#include <reckon/error.h>
#include <sys/ioctl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "cli/options.h"
#include "files/atomic_write.h"
#include "report/ascii.h"
#include "report/text.h"

namespace reckon::cli {
namespace {

constexpr int narrowest = 40, widest = 100;

Captured* captured = nullptr;

// False: the reader has gone.
bool put(const std::string& text) {
  if (captured != nullptr) return captured->out += text, true;
  if (write_all(STDOUT_FILENO, std::as_bytes(std::span(text)))) return true;
  if (errno == EPIPE) return false;
  throw Error(fmt::format("standard output cannot be written: {}", std::generic_category().message(errno)));
}

bool ascii() {
  static const bool without = !utf8_locale();
  return without && captured == nullptr;
}

}  // namespace

void capture(Captured* to) { captured = to; }

std::string words(const std::string& text) { return ascii() ? to_ascii(text) : text; }

// Colour only where a person looks at it and has not said no (https://no-color.org).
Terminal live_terminal() {
  Terminal terminal{widest, false, ascii(), 0};
  if (captured != nullptr || !::isatty(STDOUT_FILENO)) return terminal;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.width = std::clamp<int>(size.ws_col, narrowest, widest);
    terminal.height = size.ws_row;
  }
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  terminal.color = (no_color == nullptr || *no_color == '\0') && term != nullptr && std::string_view(term) != "dumb";
  return terminal;
}

Terminal this_terminal() {
  Terminal terminal = live_terminal();
  if (const char* text = std::getenv("COLUMNS")) {
    const int columns = parse_whole<int>(text).value_or(0);
    if (columns > 0) terminal.width = std::clamp(columns, narrowest, widest);
  }
  return terminal;
}

void add_output(CLI::App& command, Output& output) {
  output.form =
      add_choice(
          command, "--format", output.format, "form of the report (table)",
          {{"table", Format::table}, {"json", Format::json}, {"csv", Format::csv}, {"markdown", Format::markdown}})
          .group("Output");
  command.add_option("--output", output.file, "write to this file, replacing it in one step; -: standard output")
      ->type_name("FILE")
      ->group("Output");
}

void write_text(const std::string& text) { put(words(text)); }

void say(const std::string& text) {
  const std::string line = words(text);
  if (captured != nullptr) {
    captured->err += line;
    return;
  }
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void note(const std::string& sentence) { say("reckon: note: " + sentence + "\n"); }

bool write_foreign_text(const std::string& text) {
  return put(::isatty(STDOUT_FILENO) != 0 ? printable_text(text) : text);
}

void write_file(const std::string& file, const std::string& text) {
  if (file != "-") return atomic_write(file, text);
  put(text);
}

void check_file(const std::string& file) {
  if (!file.empty() && file != "-") check_writable(file);
}

bool to_standard_output(const Output& output) { return output.file.empty() || output.file == "-"; }

bool draws_alone(const std::string& svg, const Output& output) {
  if (svg != "-" || !to_standard_output(output)) return false;
  if (output.form->count() > 0)
    throw UsageError(
        "--svg - draws to standard output in place of the report; expected no --format with it, or --output FILE");
  return true;
}

void write_report(const Document& document, const Output& output) {
  const std::string text = render(document, output.format, to_standard_output(output) ? this_terminal() : Terminal());
  write_file(output.file.empty() ? "-" : output.file, text);
}

}  // namespace reckon::cli

// Where a report goes, and in which form.
#include <fmt/format.h>
#include <reckon/error.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "cli/options.h"
#include "files/atomic_write.h"
#include "files/quote.h"
#include "report/ascii.h"
#include "report/text.h"

namespace reckon::cli {
namespace {

constexpr int narrowest = 40, widest = 100;

Format format_of(const std::string& word) {
  if (word == "table") return Format::table;
  if (word == "json") return Format::json;
  if (word == "csv") return Format::csv;
  if (word == "markdown") return Format::markdown;
  throw UsageError(fmt::format("--format is {}; expected one of: table json csv markdown", quote(word)));
}

// False: the reader has gone.
bool put(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno == EPIPE) {
      return false;
    } else if (errno != EINTR) {
      throw Error(fmt::format("standard output cannot be written: {}", std::generic_category().message(errno)));
    }
  }
  return true;
}

bool ascii() {
  static const bool without = !utf8_locale();
  return without;
}

}  // namespace

std::string words(const std::string& text) { return ascii() ? to_ascii(text) : text; }

// Colour only where a person looks at it and has not said no (https://no-color.org).
Terminal live_terminal() {
  Terminal terminal{widest, false, ascii(), 0};
  if (!::isatty(STDOUT_FILENO)) return terminal;
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
    int columns = 0;
    const std::string_view digits = text;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), columns);
    if (error == std::errc() && end == digits.data() + digits.size() && columns > 0)
      terminal.width = std::clamp(columns, narrowest, widest);
  }
  return terminal;
}

void add_output(CLI::App& command, Output& output) {
  command.add_option("--format", output.format, "form of the report (table)")
      ->type_name("table|json|csv|markdown")
      ->group("Output");
  command.add_option("--output", output.file, "write to this file, replacing it in one step; -: standard output")
      ->type_name("FILE")
      ->group("Output");
}

void write_text(const std::string& text) { put(words(text)); }

void say(const std::string& text) {
  const std::string line = words(text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

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

void check_output(const Output& output) {
  (void)format_of(output.format);
  check_file(output.file);
}

bool to_standard_output(const Output& output) { return output.file.empty() || output.file == "-"; }

void write_report(const Document& document, const Output& output) {
  const Format format = format_of(output.format);
  const std::string text = render(document, format, to_standard_output(output) ? this_terminal() : Terminal());
  write_file(output.file.empty() ? "-" : output.file, text);
}

}  // namespace reckon::cli

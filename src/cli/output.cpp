// Where a report goes, and in which form.
#include <fmt/format.h>
#include <reckon/error.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "cli/options.h"
#include "files/atomic_write.h"
#include "files/quote.h"
#include "report/text.h"

namespace reckon::cli {
namespace {

constexpr int narrowest = 60, widest = 100;

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

}  // namespace

// Colour only where a person looks at it and has not said no (https://no-color.org).
Terminal this_terminal() {
  Terminal terminal{widest, false};
  if (!::isatty(STDOUT_FILENO)) return terminal;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.width = std::clamp<int>(size.ws_col, narrowest, widest);
  }
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  terminal.color = (no_color == nullptr || *no_color == '\0') && term != nullptr && std::string_view(term) != "dumb";
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

void write_text(const std::string& text) { put(text); }

bool write_foreign_text(const std::string& text) {
  return put(::isatty(STDOUT_FILENO) != 0 ? printable_text(text) : text);
}

void write_file(const std::string& file, const std::string& text) {
  if (file == "-") return write_text(text);
  atomic_write(file, text);
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
  if (to_standard_output(output)) return write_text(render(document, format, this_terminal()));
  atomic_write(output.file, render(document, format, {}));
}

}  // namespace reckon::cli

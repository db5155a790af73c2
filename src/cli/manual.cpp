// reckon manual: the pages that `man reckon-count` shows, from the same description as the help. The build writes them;
// the command is in no list.
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>

#include "cli/commands.h"
#include "cli/options.h"
#include "files/atomic_write.h"
#include "text/utf8.h"

namespace reckon::cli {
namespace {

namespace fs = std::filesystem;

// Text as groff's man macros take it (man(7)): in ASCII, with no character that means something else there.
std::string roff(std::string_view text) {
  static const std::map<char32_t, std::string_view> escapes = {{U'\\', "\\e"},  {U'-', "\\-"},   {U'\'', "\\(aq"},
                                                               {U'`', "\\(ga"}, {U'^', "\\(ha"}, {U'~', "\\(ti"}};
  std::string out;
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    const Utf8Char c = utf8_char(at, end);
    const bool starts_line = out.empty() || out.back() == '\n';
    if (const auto escape = escapes.find(c.point); escape != escapes.end()) {
      out += escape->second;
    } else if (c.point >= 0x80) {
      out += fmt::format("\\[u{:04X}]", static_cast<unsigned>(c.point));
    } else {
      if (c.point == U'.' && starts_line) out += "\\&";
      out += static_cast<char>(c.point);
    }
    at += c.length;
  }
  return out;
}

std::string page_name(const CLI::App& command) { return full_name(command, '-'); }

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

class Page {
 public:
  explicit Page(const CLI::App& command)
      : command_(command), formatter_(dynamic_cast<const CLI::Formatter&>(*command.get_formatter())) {}

  std::string write() {
    const std::string name = page_name(command_);
    text_ = fmt::format(".TH \"{}\" \"1\" \"\" \"reckon {}\" \"reckon\"\n", roff(upper(name)), version());
    section("Name");
    text_ += fmt::format("{} \\- {}\n", roff(name), roff(first_line(command_.get_description())));
    section("Synopsis");
    synopsis();
    options("Arguments", true);
    commands();
    for (const std::string& group : command_.get_groups()) options(group, false);
    footer();
    section("Exit status");
    text_ += "0: done. 2: wrong use. 1: anything else that went wrong; one sentence on standard error says what.\n";
    see_also();
    return text_;
  }

 private:
  static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

  void section(const std::string& title) { text_ += fmt::format(".SH \"{}\"\n", roff(upper(title))); }

  // A term and what it means.
  void entry(const std::string& term, const std::string& meaning) {
    text_ += fmt::format(".TP\n{}\n{}\n", term, roff(meaning));
  }

  // "Usage: reckon count [options] MODEL", with the command in bold.
  void synopsis() {
    const std::string name = full_name(command_);
    std::string usage = formatter_.make_usage(&command_, name);
    usage = first_line(usage.substr(usage.find(": ") + 2));
    text_ += fmt::format("\\fB{}\\fR{}\n", roff(name), roff(usage.substr(name.size())));
  }

  void options(const std::string& title, bool positional) {
    const std::vector<const CLI::Option*> listed = command_.get_options([&](const CLI::Option* option) {
      return positional ? option->get_positional() : option->nonpositional() && option->get_group() == title;
    });
    if (listed.empty() || title.empty()) return;
    section(title);
    for (const CLI::Option* option : listed) {
      std::string value = formatter_.make_option_opts(option);  // " N", " TEXT ..."
      value.erase(value.find_last_not_of(' ') + 1);
      const std::string shown = value.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(value.substr(1)));
      entry(fmt::format("\\fB{}\\fR{}", roff(formatter_.make_option_name(option, positional)), shown),
            formatter_.make_option_desc(option));
    }
  }

  void commands() {
    const std::vector<const CLI::App*> listed = listed_commands(command_);
    if (listed.empty()) return;
    section("Commands");
    for (const CLI::App* sub : listed)
      entry(fmt::format("\\fB{}\\fR(1)", roff(page_name(*sub))), sub->get_description());
  }

  // "Examples:" and indented lines; other paragraphs are notes.
  void footer() {
    constexpr std::string_view examples = "Examples:\n";
    std::string notes;
    const std::string all = command_.get_footer();
    for (std::size_t from = 0; from < all.size();) {
      const std::size_t to = std::min(all.find("\n\n", from), all.size());
      const std::string paragraph = all.substr(from, to - from);
      if (paragraph.starts_with(examples)) {
        section("Examples");
        text_ += fmt::format(".EX\n{}\n.EE\n", roff(paragraph.substr(examples.size())));
      } else if (!paragraph.empty()) {
        notes += fmt::format("{}{}\n", notes.empty() ? "" : ".PP\n", roff(paragraph));
      }
      from = to + 2;
    }
    if (notes.empty()) return;
    section("Notes");
    text_ += notes;
  }

  void see_also() {
    if (command_.get_parent() == nullptr) return;
    section("See also");
    text_ += fmt::format("\\fB{}\\fR(1)\n", roff(page_name(*command_.get_parent())));
  }

  const CLI::App& command_;
  const CLI::Formatter& formatter_;
  std::string text_;
};

void write_pages(const CLI::App& command, const fs::path& folder) {
  write_file((folder / (page_name(command) + ".1")).string(), Page(command).write());
  for (const CLI::App* sub : listed_commands(command)) write_pages(*sub, folder);
}

}  // namespace

void add_manual(CLI::App& program) {
  const auto folder = std::make_shared<std::string>();
  CLI::App& command =
      add_command(program, "manual", "its manual pages, one for each command", "  reckon manual man1", false);
  command.group("");  // in no list
  command.add_option("FOLDER", *folder, "where to put them; made if need be")->required()->type_name("");
  command.callback([&program, folder] {
    make_folder(*folder);
    write_pages(program, *folder);
  });
}

}  // namespace reckon::cli

#include "cli/program.h"

#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "cli/options.h"
#include "files/quote.h"
#include "model/nearest.h"
#include "report/text.h"

namespace reckon::cli {
namespace {

// The sentence with the options of this command for the fields that the library names in backticks.
std::string as_typed(const std::string& sentence, const CLI::App& command) {
  std::string out;
  for (std::size_t from = 0; from < sentence.size();) {
    const std::size_t open = std::min(sentence.find('`', from), sentence.size());
    const std::size_t close = std::min(sentence.find('`', open + 1), sentence.size());
    out += sentence.substr(from, open - from);
    if (open == sentence.size()) break;
    const std::string option = option_of(sentence.substr(open + 1, close - open - 1));
    const bool known = command.get_option_no_throw(option) != nullptr;
    out += known ? option : sentence.substr(open, close + 1 - open);
    from = close + 1;
  }
  return out;
}

int complain(const std::string& sentence, int code) {
  say("reckon: " + printable(sentence) + "\n");
  return code;
}

// The command that was being read, the innermost; or the program itself.
const CLI::App& command_of(const CLI::App& program) {
  const std::vector<CLI::App*> parsed = program.get_subcommands();
  return parsed.empty() ? program : command_of(*parsed.front());
}

std::vector<const CLI::App*> all_commands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

// Its options, or the commands within it.
std::vector<std::string> known_words(const CLI::App& command, bool options) {
  std::vector<std::string> words;
  if (options) {
    for (const CLI::Option* option : command.get_options())
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  } else {
    for (const CLI::App* sub : all_commands(command)) words.push_back(sub->get_name());
  }
  return words;
}

// "help" and "version" are options here, not commands; nothing where the first word is neither.
std::string option_for(const std::string& word, const CLI::App& program) {
  const CLI::App& command = command_of(program);
  if (word == "help") return fmt::format("`reckon {}--help`", &command == &program ? "" : command.get_name() + " ");
  return word == "version" ? "`reckon --version`" : "";
}

std::string usage_sentence(const CLI::App& program, const CLI::ParseError& error) {
  const std::vector<std::string> before = program.remaining(false);  // what stands before any command
  if (!before.empty()) {
    const std::string option = option_for(before.front(), program);
    if (!option.empty()) return fmt::format("unknown command {}; did you mean {}?", quote(before.front()), option);
  }
  const CLI::App& command = command_of(program);
  const bool top = !all_commands(command).empty();
  const std::string help = fmt::format("`{} --help` shows what it takes", full_name(command));
  const std::vector<std::string> extra = program.remaining(true);
  if (!extra.empty()) {
    const std::string word = extra.front().substr(0, extra.front().find('='));
    const bool option = word.starts_with('-');
    const std::string near = option || top ? nearest(word, known_words(command, option)) : "";
    const std::string what = option ? "option" : top ? "command" : "argument";
    return fmt::format("unknown {} {}{}; {}", what, quote(word), near.empty() ? "" : " (did you mean " + near + "?)",
                       help);
  }
  if (top) return fmt::format("a command is missing; `{} --help` lists them", full_name(command));
  std::string what = error.what();
  std::replace(what.begin(), what.end(), '\n', ' ');
  if (constexpr std::string_view unread = "Could not convert: "; what.starts_with(unread)) {
    const std::size_t equals = what.find(" = ");  // "Could not convert: --lr = fast"
    what = fmt::format("{} is {}; expected a number", what.substr(unread.size(), equals - unread.size()),
                       quote(what.substr(std::min(equals, what.size() - 3) + 3)));
  }
  if (error.get_name() == "ArgumentMismatch") {
    const bool missing = what.find("missing") != std::string::npos;
    what = what.substr(0, what.find(':')) + (missing ? " has no value" : " is given more than once");
  }
  return fmt::format("{}; {}", what, help);
}

// "--layers -3" is a wrong number, not an option called -3.
std::vector<std::string> arguments(std::span<const std::string> given) {
  std::vector<std::string> out;
  for (const std::string& text : given) {
    const bool negative = text.size() > 1 && text[0] == '-' && (text[1] == '.' || (text[1] >= '0' && text[1] <= '9'));
    if (negative && !out.empty() && out.back().starts_with("--") && out.back().find('=') == std::string::npos) {
      out.back() += "=" + text;
    } else {
      out.push_back(text);
    }
  }
  std::reverse(out.begin(), out.end());  // CLI11 takes them from the back
  return out;
}

void write_help(const CLI::App& command) {
  std::string text = command.help(command.get_parent() == nullptr ? "" : full_name(*command.get_parent()));
  // CLI11 leaves two empty lines between groups.
  for (std::size_t at; (at = text.find("\n\n\n")) != std::string::npos;) text.erase(at, 1);
  write_text(text);
}

// "--prompt TEXT", "[TEXT]".
bool takes_text(const CLI::Option& option) {
  return option.get_type_name() == "TEXT" || option.get_single_name() == "TEXT";
}

// An option with an empty value (a script's unset variable) is a mistake, not the same as no option. But an empty text
// is a text.
void refuse_empty_values(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_expected_max() == 0 || takes_text(*option)) continue;  // a flag, or a text
    option->check(
        [](const std::string& value) { return value.empty() ? std::string("its value is empty") : std::string(); });
  }
}

int run(std::span<const AddCommand> commands, std::span<const std::string> given) {
  CLI::App program("reckon counts, runs and trains transformer language models from one description.\n", "reckon");
  program.set_version_flag("--version", std::string("reckon ") + version(), "print the version");
  program.set_help_flag("--help,-h", "print this help");
  program.require_subcommand(1);
  program.get_formatter()->column_width(34);
  for (const auto& [from, to] :
       {std::pair{"OPTIONS", "options"}, {"SUBCOMMAND", "COMMAND"}, {"REQUIRED", ""}, {"Positionals", "Arguments"}}) {
    program.get_formatter()->label(from, to);
  }
  program.footer(
      "Examples:\n"
      "  reckon count gpt2                                   where every parameter and every FLOP goes\n"
      "  reckon count llama-3.1-8b --phase decode --past 8k  what one more token costs\n"
      "  reckon explain mini-gpt                             the derivation of every number, step by step\n"
      "  reckon compare gpt2 gpt2-xl                         two models side by side\n"
      "  reckon sweep cs336-gpt2-xl --context 1k..1M         what grows how\n"
      "  reckon memory llama-3.1-8b --context 8k --on h100   what fits a device, and what is left\n"
      "  reckon time gpt2 --phase train --on h200            how long a step takes, and what bounds it\n"
      "  reckon plan gpt2 --on h100:8 --batch-tokens 1M       how to split a training over devices\n"
      "  reckon train mini-gpt                               learn from stories that come with reckon\n"
      "  reckon generate ./model \"Once upon a time\"           text from a folder of Hugging Face's form\n"
      "  reckon verify gpt2 --random 1                       predicted and measured, side by side\n"
      "  reckon serve                                        the page, for a browser\n\n"
      "`reckon COMMAND --help` shows the options of a command.");
  for (const AddCommand add : commands) add(program);
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; }))
    command->preparse_callback([command](std::size_t) { refuse_empty_values(*command); });
  try {
    program.parse(arguments(given));
  } catch (const CLI::CallForVersion& call) {
    write_text(std::string(call.what()) + "\n");
  } catch (const CLI::CallForHelp&) {
    write_help(command_of(program));
  } catch (const CLI::ParseError& error) {
    if (given.empty()) say(program.help() + "\n");
    return complain(usage_sentence(program, error), 2);
  } catch (const UsageError& error) {
    if (command_of(program).get_help_ptr()->count() > 0) return write_help(command_of(program)), 0;
    return complain(as_typed(error.what(), command_of(program)), 2);
  } catch (const Error& error) {
    return complain(as_typed(error.what(), command_of(program)), 1);
  }
  return 0;
}

}  // namespace

int run_program(std::span<const AddCommand> commands, std::span<const std::string> given) {
  try {
    return run(commands, given);
  } catch (const std::bad_alloc&) {
    return complain("there is not enough memory for this", 1);
  } catch (const std::exception& error) {
    return complain(error.what(), 1);
  }
}

}  // namespace reckon::cli

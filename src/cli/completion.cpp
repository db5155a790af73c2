// reckon completion: scripts that complete commands, options, their words and the names of presets and tokenizers, made
// from the program's own description of itself.
#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string_view>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_text.h"
#include "files/quote.h"
#include "model/presets.h"
#include "text/openai_formats.h"

namespace reckon::cli {
namespace {

struct Flag {
  std::string name, help;
  bool takes_value = false, takes_file = false;
  std::vector<std::string> words;
};

struct Command {
  std::string name, help;
  std::vector<Flag> flags;
  std::vector<std::string> commands;  // within it, the first of its arguments
  std::vector<std::string> words;     // of its argument
  bool takes_models = false, takes_files = false;
};

// "a|b|c" → the words; "N", "FILE" → none.
std::vector<std::string> words_of(const std::string& type) {
  std::vector<std::string> words;
  if (type == tokenizer_type) {
    words.assign(fetched_encodings.begin(), fetched_encodings.end());
    words.insert(words.begin(), "bytes");
  } else if (type.find('|') != std::string::npos) {
    words = CLI::detail::split(type, '|');
    std::erase_if(words, [](const std::string& word) { return !std::islower(static_cast<unsigned char>(word[0])); });
  }
  return words;
}

bool is_file(std::string_view type) { return type == "FILE" || type == "FOLDER" || type == tokenizer_type; }

std::vector<Command> commands_of(const CLI::App& program) {
  std::vector<Command> commands;
  for (const CLI::App* app : listed_commands(program)) {
    Command command{app->get_name(), app->get_description(), {}, {}, {}, false, false};
    // Its own options, or those of the command within it.
    std::vector<const CLI::Option*> options = app->get_options();
    for (const CLI::App* within : listed_commands(*app)) {
      command.commands.push_back(within->get_name());
      options = within->get_options();
    }
    for (const CLI::Option* option : options) {
      const std::string type = option->get_type_name();
      if (option->get_lnames().empty()) {
        const std::string name = option->get_name();
        command.takes_models = command.takes_models || name.starts_with("MODEL");
        command.takes_files = command.takes_files || name.starts_with("FILE") || name == "RUN";
        const std::vector<std::string> words = words_of(type);
        command.words.insert(command.words.end(), words.begin(), words.end());
        continue;
      }
      command.flags.push_back({"--" + option->get_lnames().front(), option->get_description(),
                               option->get_expected_min() > 0, is_file(type), words_of(type)});
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  return names;
}

std::string bash_script(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  std::string values, words;
  for (const Command& command : commands) {
    names.push_back(command.name);
    std::vector<std::string> flags;
    for (const Flag& flag : command.flags) {
      flags.push_back(flag.name);
      const std::string reply =
          fmt::format("$(compgen {}-W \"{}\" -- \"$current\")", flag.takes_file ? "-f " : "", joined(flag.words));
      if (flag.takes_value)
        values += fmt::format("    \"{} {}\") COMPREPLY=({}); return ;;\n", command.name, flag.name, reply);
    }
    if (!command.commands.empty()) {
      values += fmt::format("    \"{0} {0}\") COMPREPLY=($(compgen -W \"{1}\" -- \"$current\")); return ;;\n",
                            command.name, joined(command.commands));
    }
    words += fmt::format("    {}) words=\"{} {}\"{} ;;\n", command.name, joined(flags), joined(command.words),
                         command.takes_models  ? "; [[ $current == -* ]] || words=$presets files=yes"
                         : command.takes_files ? "; files=yes"
                                               : "");
  }
  return fmt::format(
      "# reckon completion bash > ~/.local/share/bash-completion/completions/reckon\n"
      "_reckon() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\" words files=\n"
      "  local presets=\"{}\"\n"
      "  if [[ $COMP_CWORD == 1 ]]; then\n"
      "    COMPREPLY=($(compgen -W \"{} --help --version\" -- \"$current\")); return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}} $previous\" in\n{}  esac\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{}  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  if [[ $files ]]; then COMPREPLY+=($(compgen -f -- \"$current\")); fi\n"
      "}}\n"
      "complete -o filenames -F _reckon reckon\n",
      joined(preset_names()), joined(names), values, words);
}

// Text inside single quotes, and inside zsh's [description].
std::string within_quotes(std::string_view text, std::string_view also = "") {
  std::string out;
  for (char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (also.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// What a value is completed from.
std::string zsh_action(const std::vector<std::string>& words, bool files) {
  if (words.empty()) return files ? "_files" : " ";
  if (!files) return fmt::format("({})", joined(words));
  return fmt::format(" _reckon_or_files {}", joined(words));  // the space: with these arguments and no others
}

std::string zsh_script(const std::vector<Command>& commands) {
  std::string list, cases;
  for (const Command& command : commands) {
    list += fmt::format("    '{}:{}'\n", command.name, within_quotes(command.help, ":"));
    cases += fmt::format("    {})\n      _arguments \\\n", command.name);
    for (const Flag& flag : command.flags) {
      const std::string value = flag.takes_value ? ":value:" + zsh_action(flag.words, flag.takes_file) : "";
      cases += fmt::format("        '{}[{}]{}' \\\n", flag.name, within_quotes(flag.help, "[]:"), value);
    }
    const std::string argument =
        command.takes_models ? zsh_action(preset_names(), true) : zsh_action(command.words, command.takes_files);
    if (!command.commands.empty()) cases += fmt::format("        '1:command:({})' \\\n", joined(command.commands));
    cases += fmt::format("        '*:argument:{}' ;;\n", argument);
  }
  return fmt::format(
      "#compdef reckon\n"
      "# reckon completion zsh > ~/.zfunc/_reckon   (with ~/.zfunc in fpath, before compinit)\n"
      "_reckon_or_files() {{ compadd -- $@; _files }}\n"
      "_reckon() {{\n"
      "  local -a commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      "  shift words; (( CURRENT-- ))\n"
      "  case $words[1] in\n{}  esac\n"
      "}}\n"
      "# As a file in fpath it is this function's body; sourced, it defines the function.\n"
      "if [[ $funcstack[1] == _reckon ]]; then _reckon \"$@\"; else compdef _reckon reckon; fi\n",
      list, cases);
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string out =
      "# reckon completion fish > ~/.config/fish/completions/reckon.fish\n"
      "function __reckon_command  # whether the command is this one\n"
      "  set -l words (commandline -opc)\n"
      "  test \"$words[2]\" = $argv[1]\n"
      "end\n"
      "complete -c reckon -f\n";
  for (const Command& command : commands) {
    out += fmt::format("complete -c reckon -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                       within_quotes(command.help));
    const std::string condition = fmt::format("complete -c reckon -n '__reckon_command {}'", command.name);
    for (const Flag& flag : command.flags) {
      out += fmt::format("{} -l {} -d '{}'", condition, flag.name.substr(2), within_quotes(flag.help));
      if (flag.takes_value) {
        out += flag.takes_file ? " -rF" : " -x";
        if (!flag.words.empty()) out += fmt::format(" -a '{}'", joined(flag.words));
      }
      out += "\n";
    }
    if (!command.commands.empty()) {
      out +=
          fmt::format("complete -c reckon -n '__reckon_command {}; and test (count (commandline -opc)) = 2' -a '{}'\n",
                      command.name, joined(command.commands));
    }
    if (!command.words.empty()) out += fmt::format("{} -a '{}'\n", condition, joined(command.words));
    if (command.takes_models) out += fmt::format("{} -Fa '{}'\n", condition, joined(preset_names()));
    if (command.takes_files) out += condition + " -F\n";
  }
  return out;
}

}  // namespace

void add_completion(CLI::App& program) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& command = add_command(program, "completion", "a script that completes reckon's commands in a shell",
                                  "  source <(reckon completion bash)\n"
                                  "  reckon completion fish > ~/.config/fish/completions/reckon.fish",
                                  false);
  command.add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("bash|zsh|fish");
  command.callback([&program, shell] {
    const std::vector<Command> commands = commands_of(program);
    if (*shell == "bash") return write_text(bash_script(commands));
    if (*shell == "zsh") return write_text(zsh_script(commands));
    if (*shell == "fish") return write_text(fish_script(commands));
    throw UsageError(fmt::format("there are no completions for {}; expected one of: bash zsh fish", quote(*shell)));
  });
}

}  // namespace reckon::cli

// The options that commands share: what to change about a model, what to ask of it, how to report.
// A command adds the groups that it takes, and reads them when it runs.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cli/sizes.h"
#include "model/modify.h"
#include "report/document.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace reckon::cli {

// A command with its help: one line of what it does, examples (indented lines), and what sizes mean if it takes any.
CLI::App& add_command(CLI::App& program, const std::string& name, const std::string& help, const std::string& examples,
                      bool sizes = true);
std::string full_name(const CLI::App& command, char between = ' ');     // "reckon tokenizer train"
std::vector<const CLI::App*> listed_commands(const CLI::App& command);  // those within it that the help lists
std::string option_of(const std::string& field);                        // "--kv-heads" for "kv_heads"

// An option that takes a size or an amount: 512, 16k. A UsageError says what was expected.
template <class Integer>  // int or std::int64_t
CLI::Option& add_size(CLI::App& command, const std::string& flag, Integer& value, const std::string& help,
                      Bounds bounds = above_zero, Units units = Units::lengths);

// A whole number from `least` to `most`, in digits.
void expect_whole(CLI::Option& option, std::int64_t least, std::int64_t most);

// An option that takes a number above 0, up to `most`; `type` is its word in the help.
CLI::Option& add_number(CLI::App& command, const char* flag, std::optional<double>& value, double most,
                        const char* type, const char* help);

// An option that takes one of several words, each with what it means; the help and a UsageError list them. Types and
// optimizers are also taken by the short names that people type (bf16), which the help names.
// `choose` is given which of the words it was.
CLI::Option& add_choice(CLI::App& command, const char* flag, const char* help, std::vector<const char*> words,
                        std::function<void(std::size_t)> choose);
template <class Value, class Choices = std::initializer_list<std::pair<const char*, Value>>>
CLI::Option& add_choice(CLI::App& command, const char* flag, Value& value, const char* help, const Choices& choices) {
  std::vector<const char*> words;
  std::vector<Value> values;
  for (const auto& [word, meaning] : choices) {
    words.push_back(word);
    values.push_back(meaning);
  }
  return add_choice(command, flag, help, std::move(words),
                    [&value, values = std::move(values)](std::size_t i) { value = values[i]; });
}

// What the options say, once they are read.
struct Setting {
  Changes changes;
  Workload workload;
};

// An option that sets a size of the model or of the workload.
struct SizeOption {
  const char* flag;  // "--context"
  const char* help;
  std::variant<std::optional<std::int64_t> Changes::*, std::int64_t Workload::*> field;
  Bounds bounds;

  bool changes_model() const { return field.index() == 0; }
  void set(Setting& setting, std::int64_t value) const;
};

// The options as they were given; read_options() adds what follows from several of them.
struct Options {
  Setting setting;
  std::optional<Logits> logits;
  std::optional<DType> precision;
  std::map<const SizeOption*, std::string> ranges;  // sizes that were given as one
};

void add_model(CLI::App& command, std::string& model);                          // the argument MODEL
void add_models_argument(CLI::App& command, std::vector<std::string>& models);  // MODELS...
void add_modifiers(CLI::App& command, Options& options);                        // --layers … --cross-attention
// --phase … --encoder-tokens; `usual`: the phase where none is given
void add_workload(CLI::App& command, Options& options, Phase usual = Phase::forward);
Setting read_options(const Options& options);

// The one option that was given as a range, for a sweep.
struct Swept {
  const SizeOption& option;
  SizeRange range;
};
Swept take_range(Options& options, std::int64_t steps);
// All that were given as ranges, at most so many, in the order of the list of options' flags.
std::vector<Swept> take_ranges(Options& options, std::size_t most);

// The model, with what is to be said about how it was read on stderr.
Model read_model(const std::string& name);
void say_notes(const Model& model);
// Says on stderr that more tokens are asked for than the model's context, and what of it stays frozen in training.
void note_workload(const Model& model, const Workload& workload);

struct Output {
  Format format = Format::table;
  std::string file;
  const CLI::Option* form = nullptr;  // --format
};
void add_output(CLI::App& command, Output& output);
// What every command that counts takes: the workload, --precision (where bytes are shown), modifiers and the output.
void add_counting(CLI::App& command, Options& options, Output& output);
bool to_standard_output(const Output& output);
// Whether a drawing goes to standard output, where a table behind it would be neither. Throws where the table's form is
// asked for all the same.
bool draws_alone(const std::string& svg, const Output& output);
void write_report(const Document& document, const Output& output);
// What goes to standard output and standard error, for a caller that is no process with these: from capture() on, it is
// added here, in UTF-8; until capture(nullptr).
struct Captured {
  std::string out, err;
};
void capture(Captured* to);
// How wide standard output is (COLUMNS, the terminal's own width, or 100), and whether it takes colours and UTF-8.
Terminal this_terminal();
// The same as it is at this moment, for what is drawn over and over: without COLUMNS, which does not follow a resize.
Terminal live_terminal();
// Our own words, to standard output, in ASCII where the locale has no UTF-8. A reader that has gone away (| head) is no
// error.
void write_text(const std::string& text);
// … to standard error.
void say(const std::string& text);
void note(const std::string& sentence);  // "reckon: note: …"
// … as both write it.
std::string words(const std::string& text);
// Text that a model or a file made up: byte for byte, but on a terminal without what could control it.
// False: the reader has gone.
bool write_foreign_text(const std::string& text);
// To a file, replacing it in one step; "-" is standard output. Files, and forms for programs (JSON, CSV, …), are UTF-8
// in every locale.
void write_file(const std::string& file, const std::string& text);
// Before a long task: an Error where write_file() would fail at its end. An empty name is no file.
void check_file(const std::string& file);

}  // namespace reckon::cli

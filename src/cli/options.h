// The options that commands share: what to change about a model, what to ask of it, how to report.
// A command adds the groups that it takes, and reads them when it runs.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/sizes.h"
#include "model/modify.h"
#include "report/document.h"

namespace CLI {
class App;
}

namespace reckon::cli {

// What the options say, once they are read.
struct Setting {
  Changes changes;
  Workload workload;
};

// The options as they were written; empty: not given.
inline constexpr std::size_t n_sizes = 17, n_words = 10;
struct Options {
  std::array<std::string, n_sizes> sizes;
  std::array<std::string, n_words> words;
  bool cross_attention = false;
  std::string precision;
};

// The option that sets a field: "--kv-heads" for "kv_heads".
std::string option_of(const std::string& field);

// A command with its help: one line of what it does, examples (indented lines), and what sizes mean if it takes any.
CLI::App& add_command(CLI::App& program, const std::string& name, const std::string& help, const std::string& examples,
                      bool sizes = true);
void add_model(CLI::App& command, std::string& model);                          // the argument MODEL
void add_models_argument(CLI::App& command, std::vector<std::string>& models);  // MODELS...
void add_modifiers(CLI::App& command, Options& options);                        // --layers … --cross-attention
void add_workload(CLI::App& command, Options& options);                         // --phase … --encoder-tokens
void add_precision(CLI::App& command, Options& options);                        // --precision, where bytes are shown
Setting read_options(const Options& options);

// The one option that was given as a range, for a sweep.
struct Swept {
  std::size_t option;
  std::string flag;  // "--context"
  SizeRange range;
};
Swept take_range(Options& options, std::int64_t steps);
void set_size(Setting& setting, std::size_t option, std::int64_t value);
bool changes_model(std::size_t option);  // as opposed to the workload

// The model, with what is to be said about how it was read on stderr.
Model read_model(const std::string& name);
void say_notes(const Model& model);
// Says on stderr that more tokens are asked for than the model's context.
void note_past_context(const Model& model, const Workload& workload);

struct Output {
  std::string format = "table", file;
};
void add_output(CLI::App& command, Output& output);
bool to_standard_output(const Output& output);
void check_output(const Output& output);  // so that a long task does not end in a wrong --format or --output
void write_report(const Document& document, const Output& output);
// How wide standard output is (COLUMNS, the terminal's own width, or 100), and whether it takes colours and UTF-8.
Terminal this_terminal();
// The same as it is at this moment, for what is drawn over and over: without COLUMNS, which does not follow a resize.
Terminal live_terminal();
// Our own words, to standard output, in ASCII where the locale has no UTF-8. A reader that has gone away (| head) is no
// error.
void write_text(const std::string& text);
// … to standard error.
void say(const std::string& text);
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

// reckon train: a model learns from text.
#include <CLI/CLI.hpp>
#include <limits>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "cli/run_text.h"
#include "cli/train_run.h"

namespace reckon::cli {
namespace {

class TrainOptions {
 public:
  TrainOptions(CLI::App& command, TrainCommand& asked) : command_(command), asked_(asked) {}

  void add_all() {
    Settings& s = asked_.settings;
    command_
        .add_option("MODEL", s.model, "a preset, a folder, a config.json; with weights: training goes on from them")
        ->type_name("");
    group("Data");
    add("text", s.text, "text files and folders of them (the embedded stories)", "FILE");
    add("tokens", s.tokens, "a token file, instead of text", "FILE");
    add("tokenizer", s.tokenizer, "its name, file or folder; train:N: made from the text (train:V)", tokenizer_type);
    add("validation", s.validation, "share of the data that is held out (0.1)", "X");
    expect_whole(*add("seed", s.seed, "of the weights, the order of the data and dropout (0)", "N"), 0,
                 std::numeric_limits<std::int64_t>::max());
    group("Training");
    steps("steps", s.schedule.steps, "updates of the weights (1000)", above_zero);
    expect_size(*add("batch", s.batch, "sequences of a micro-step (8)", "N"));
    expect_size(*add("accumulate", s.accumulate, "micro-steps of a step (1)", "N"));
    add("schedule", word_, "of the learning rate, after the warm-up (cosine)", "cosine|linear|constant|wsd");
    add("lr", s.schedule.peak, "highest learning rate (1e-3)", "X");
    add("min_lr", s.schedule.least, "the last one (a tenth of --lr)", "X");
    steps("warmup", s.schedule.warmup, "steps in which it rises (a tenth of --steps, at most 100)");
    add("decay_share", s.schedule.decay_share, "share of the steps in which wsd falls (0.2)", "X");
    add("beta1", s.beta1, "AdamW's (0.9)", "X");
    add("beta2", s.beta2, "AdamW's (0.95)", "X");
    add("epsilon", s.epsilon, "AdamW's (1e-8)", "X");
    add("decay", s.decay, "of weights, matrices only (0.1)", "X");
    add("clip", s.clip, "largest norm of the gradient; 0: any (1)", "X");
    add("dropout", s.dropout, "share of activations that is dropped (0)", "X");
    add("init", s.init, "how weights begin (gpt2)", "gpt2|scaled");
    add("precision", s.precision, "of products; weights are kept in float32 too (float32)", "float32|bfloat16");
    add("recompute", s.recompute, "what is computed again instead of kept: less memory (none)", "none|attention|block");
    add_threads(command_, asked_.threads).group(group_);
    add_device(command_, asked_.device).group(group_);
    group("The run");
    command_.add_option("--out", asked_.out, "folder of the run (runs/MODEL-1, …)")->type_name("FOLDER")->group(group_);
    command_.add_flag("--resume", asked_.resume, "go on with the run in --out; ends as if it had never stopped")
        ->group(group_);
    command_
        .add_flag("--fall-back", asked_.fall_back, "with --resume: from an older checkpoint where the last is broken")
        ->group(group_);
    steps("save_every", s.save_every, "steps between checkpoints (a tenth of --steps)");
    steps("keep", s.keep, "checkpoints to keep besides the best (3)", above_zero);
    steps("eval_every", s.eval_every, "steps between evaluations of what is held out (a tenth of --steps)");
    steps("eval_windows", s.eval_windows,
          "so much of it each time, and all of it at the end; 0: always all (32 batches)");
    add("sample", s.sample, "prompt of the text that is generated at the end", "TEXT");
    steps("sample_every", s.sample_every, "steps between samples; 0: at the end (0)");
    steps("layers_every", s.layers_every, "steps between norms of each layer in the metrics (a 100th of --steps)");
    command_.add_option("--report", asked_.report, "a page in HTML at the end, as `reckon report` makes it")
        ->type_name("FILE")
        ->group(group_);
  }

  void read() {
    for (const auto& [key, option] : options_) {
      if (option->count() > 0) asked_.given.insert(key);
    }
    if (asked_.given.contains("schedule")) asked_.settings.schedule.kind = parse_schedule(word_);
  }

 private:
  void group(const std::string& name) { group_ = name; }

  template <class Value>
  CLI::Option* add(const std::string& key, Value& value, const std::string& help, const std::string& type) {
    CLI::Option* option = command_.add_option(option_of(key), value, help)->type_name(type)->group(group_);
    options_.emplace_back(key, option);
    return option;
  }

  // A number of steps, or something like it: 10k is 10,000.
  void steps(const std::string& key, std::int64_t& value, const std::string& help, Bounds bounds = zero_or_more) {
    expect_size(*add(key, value, help, "N"), bounds, Units::amounts);
  }

  CLI::App& command_;
  TrainCommand& asked_;
  std::string group_, word_;
  std::vector<std::pair<std::string, CLI::Option*>> options_;
};

}  // namespace

void add_train(CLI::App& program) {
  CLI::App& command =
      add_command(program, "train", "train a model on text, with checkpoints that can be resumed",
                  "  reckon train mini-gpt                                      on stories that come with reckon\n"
                  "  reckon train mini-gpt --text book.txt --steps 2000 --report run.html\n"
                  "  reckon train --resume --out runs/mini-gpt-1\n"
                  "  reckon train gpt2 --layers 4 --heads 4 --d-model 128 --context 64 --bias no --tokenizer bytes \\\n"
                  "    --text shakespeare.txt --batch 12 --steps 2000 --beta2 0.99\n"
                  "  reckon train gpt2 --tokens openwebtext.tokens --accumulate 8 --precision bfloat16\n"
                  "  reckon train mini-gpt --steps 5 --device reference         slowly, in plain loops",
                  true);
  const auto asked = std::make_shared<TrainCommand>();
  const auto options = std::make_shared<TrainOptions>(command, *asked);
  options->add_all();
  add_modifiers(command, asked->changes);
  command.remove_option(command.get_option("--cross-attention"));  // there is no encoder to train with
  command.callback([asked, options] {
    options->read();
    run_training(*asked);
  });
}

}  // namespace reckon::cli

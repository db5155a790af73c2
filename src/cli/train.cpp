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

void add_train(CLI::App& program) {
  CLI::App& command =
      add_command(program, "train", "train a model on text, with checkpoints that can be resumed",
                  "  reckon train mini-gpt                                      on stories that come with reckon\n"
                  "  reckon train mini-gpt --text book.txt --steps 2000 --report run.html\n"
                  "  reckon train --resume --out runs/mini-gpt-1\n"
                  "  reckon train gpt2 --layers 4 --heads 4 --d-model 128 --context 64 --bias no --tokenizer bytes \\\n"
                  "    --text shakespeare.txt --batch 12 --steps 2000 --beta2 0.99\n"
                  "  reckon train gpt2 --tokens openwebtext.tokens --accumulate 8 --precision bfloat16\n"
                  "  reckon train mini-gpt --steps 5 --device reference         slowly, in plain loops");
  const auto asked = std::make_shared<TrainCommand>();
  Settings& s = asked->settings;
  std::string group;
  const auto setting = [&](const std::string& key, CLI::Option& option) -> CLI::Option& {
    return *option.group(group)->each([asked, key](const std::string&) { asked->given.insert(key); });
  };
  const auto add = [&](const std::string& key, auto& value, const std::string& help,
                       const std::string& type) -> CLI::Option& {
    return setting(key, *command.add_option(option_of(key), value, help)->type_name(type));
  };
  const auto size = [&](const std::string& key, std::int64_t& value, const std::string& help) {
    setting(key, add_size(command, option_of(key), value, help));
  };
  // A number of steps, or something like it: 10k is 10,000.
  const auto steps = [&](const std::string& key, std::int64_t& value, const std::string& help,
                         Bounds bounds = zero_or_more) {
    setting(key, add_size(command, option_of(key), value, help, bounds, Units::amounts));
  };
  command.add_option("MODEL", s.model, "a preset, a folder, a config.json; with weights: training goes on from them")
      ->type_name("");
  group = "Data";
  add("text", s.text, "text files and folders of them (the embedded stories)", "FILE");
  add("tokens", s.tokens, "a token file, instead of text", "FILE");
  add("tokenizer", s.tokenizer, "its name, file or folder; train:N: made from the text (train:V)", tokenizer_type);
  add("validation", s.validation, "share of the data that is held out (0.1)", "X");
  expect_whole(add("seed", s.seed, "of the weights, the order of the data and dropout (0)", "N"), 0,
               std::numeric_limits<std::int64_t>::max());
  group = "Training";
  steps("steps", s.schedule.steps, "updates of the weights (1000)", above_zero);
  size("batch", s.batch, "sequences of a micro-step (8)");
  size("accumulate", s.accumulate, "micro-steps of a step (1)");
  using enum Schedule::Kind;
  setting("schedule",
          add_choice(command, "--schedule", s.schedule.kind, "of the learning rate, after the warm-up (cosine)",
                     {{"cosine", cosine}, {"linear", linear}, {"constant", constant}, {"wsd", wsd}}));
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
  setting("precision",
          add_choice(command, "--precision", s.precision, "of products; weights are kept in float32 too (float32)",
                     {{"float32", "float32"}, {"bfloat16", "bfloat16"}}));
  add("recompute", s.recompute, "what is computed again instead of kept: less memory (none)", "none|selective|block");
  add_threads(command, asked->threads).group(group);
  add_device(command, asked->device).group(group);
  group = "The run";
  command.add_option("--out", asked->out, "folder of the run (runs/MODEL-1, …)")->type_name("FOLDER")->group(group);
  command.add_flag("--resume", asked->resume, "go on with the run in --out; ends as if it had never stopped")
      ->group(group);
  command.add_flag("--fall-back", asked->fall_back, "with --resume: from an older checkpoint where the last is broken")
      ->group(group);
  steps("save_every", s.save_every, "steps between checkpoints (a tenth of --steps)");
  steps("keep", s.keep, "checkpoints to keep besides the best (3)", above_zero);
  steps("eval_every", s.eval_every, "steps between evaluations of what is held out (a tenth of --steps)");
  steps("eval_windows", s.eval_windows,
        "so much of it each time, and all of it at the end; 0: always all (32 batches)");
  add("sample", s.sample, "prompt of the text that is generated at the end", "TEXT");
  steps("sample_every", s.sample_every, "steps between samples; 0: at the end (0)");
  steps("layers_every", s.layers_every, "steps between norms of each layer in the metrics (a 100th of --steps)");
  command.add_option("--report", asked->report, "a page in HTML at the end, as `reckon report` makes it")
      ->type_name("FILE")
      ->group(group);
  add_modifiers(command, asked->changes);
  command.remove_option(command.get_option("--cross-attention"));  // there is no encoder to train with
  command.callback([asked] { run_training(*asked); });
}

}  // namespace reckon::cli

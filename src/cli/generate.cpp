// reckon generate: continues a sequence, token by token. Only what is generated goes to standard output, or --output.
#include <fmt/format.h>
#include <reckon/generate.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "cli/run_text.h"
#include "cli/sampling_options.h"
#include "count/ledger.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "model/boundary_ids.h"
#include "report/generation.h"
#include "report/progress.h"
#include "report/run.h"
#include "run/engine.h"
#include "run/inputs.h"
#include "run/limits.h"
#include "text/continuation.h"

namespace reckon::cli {
namespace {

struct GenerateOptions {
  RunOptions run;
  std::string prompt, ids, prompts, stop_ids, tokenizer, profile;
  std::vector<std::string> stops;
  bool prompt_given = false, tokens_given = false, ignore_eos = false;
  std::int64_t context = 0;
  Generation generation;
  Output output;

  bool from_file() const { return !prompts.empty(); }
  bool in_text() const { return prompt_given || from_file(); }  // as opposed to ids
};

std::string tokens_text(std::int64_t tokens) {
  return fmt::format("{} {}", grouped(tokens), tokens == 1 ? "token" : "tokens");
}

// Bytes of weights that a step of decoding reads: of a mixture, those of as many experts as one token chooses.
double weights_read(Engine& engine) {
  return static_cast<double>(read_ledger(engine.core().lowered(1, 1, Logits::last, 0)).total().weights);
}

// Decoding beside its limit, where that could be measured in between: every token reads all weights that it needs.
void say_pace(Engine& engine, const Pace& pace, const std::optional<Spread>& reading) {
  std::string line;
  const auto add = [&](const char* what, std::int64_t tokens, double seconds) {
    if (tokens == 0 || seconds <= 0) return;
    line += fmt::format("{}{} {}, {:.1f} tokens/s", line.empty() ? "" : " · ", what, tokens_text(tokens),
                        static_cast<double>(tokens) / seconds);
  };
  add("prefill", pace.prefill_tokens, pace.prefill_seconds);
  add("decode", pace.decode_tokens, pace.decode_seconds);
  if (reading && reading->median > 0 && pace.decode_tokens > 0) {
    const double rate = static_cast<double>(pace.decode_tokens) * weights_read(engine) / pace.decode_seconds;
    line += fmt::format(" ({} of reading the weights at {:.1f} to {:.1f} GB/s)", percent(rate / reading->median, 0),
                        reading->least / 1e9, reading->most / 1e9);
  }
  if (!line.empty()) say(line + "\n");
}

std::string interruption(const Generated& generated, const Prompts& prompts) {
  if (!prompts.texts.empty()) {
    std::int64_t tokens = 0;
    for (const Continuation& one : generated.continuations) tokens += std::ssize(one.ids);
    return fmt::format("interrupted after {} of {} prompts", tokens_text(tokens), grouped(std::ssize(prompts.texts)));
  }
  if (generated.pace.prefill_tokens == 0) {
    return fmt::format("interrupted after {} of {} of the prompt", grouped(generated.continuations.front().ran),
                       tokens_text(std::ssize(prompts.ids.front())));
  }
  return fmt::format("interrupted after {}", tokens_text(std::ssize(generated.continuations.front().ids)));
}

// The text, or the ids, as they come.
class Stream {
 public:
  using Write = std::function<bool(const std::string&)>;  // false: its reader has gone

  Stream(const Tokenizer* tokenizer, std::span<const std::int32_t> prompt, const std::vector<std::string>& stops,
         Write write)
      : write_(std::move(write)) {
    if (tokenizer != nullptr) text_.emplace(*tokenizer, prompt, stops);
  }

  // False: enough.
  bool add(std::int32_t id) {
    const bool read = write_(text_ ? text_->add(id) : fmt::format("{}{}", first_ ? "" : " ", id));
    first_ = false;
    return read && (!text_ || !text_->stopped());
  }
  void finish() {
    if (text_) write_(text_->finish());
    write_("\n");
  }

 private:
  Write write_;
  bool first_ = true;
  std::optional<ContinuationText> text_;
};

// Without --tokens there may be as many new ones as the context has room for; the last of them is not run itself.
std::int64_t new_tokens(const GenerateOptions& asked, const Model& model, std::int64_t context, std::int64_t prompt) {
  const std::int64_t room = context - prompt + 1, wanted = asked.generation.tokens;
  if (asked.generation.window || wanted <= room) return wanted;
  if (room < 1) {
    throw UsageError(fmt::format("the prompt has {} tokens and {} a context of {}; shorten it, or give --window{}",
                                 grouped(prompt), model.name, grouped(context), room_hint(model)));
  }
  if (!asked.tokens_given) return room;
  throw UsageError(fmt::format(
      "{} tokens after a prompt of {} do not fit the context of {}, {}; ask for at most {}, or give --window{}",
      grouped(wanted), grouped(prompt), model.name, grouped(context), grouped(room), room_hint(model)));
}

// The last line may end without a line break; CR LF is one too.
std::vector<std::string> lines_of(const std::string& file) {
  const TextFile input = text_input(file);
  std::vector<std::string> lines;
  for (std::string_view rest = input.text(); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r') && end < rest.size()) line.remove_suffix(1);
    lines.emplace_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (lines.empty()) throw UsageError(fmt::format("{} is empty; expected a prompt a line", quote(file)));
  return lines;
}

// So many texts of a file are continued at a time.
constexpr std::int64_t most_together = 64;

// Before any file of the model is opened.
void check_use(const GenerateOptions& asked) {
  if (asked.from_file() && (asked.prompt_given || !asked.ids.empty()))
    throw UsageError("--prompts has the prompts, a line each; give no other beside it");
  if (asked.in_text() == !asked.ids.empty())
    throw UsageError("give the prompt either as text or with --ids, or several with --prompts FILE");
  if (asked.from_file() && (asked.generation.beams > 1 || asked.generation.best > 1))
    throw UsageError("--beams and --best search for one prompt; give it without --prompts");
  if (!asked.in_text() && !asked.stops.empty()) throw UsageError("--stop is text; it needs a prompt in text too");
  if (asked.generation.logprobs > 0 && asked.output.format != Format::json) {
    throw UsageError("--logprobs are reported in JSON; give --format json too");
  }
  check_file(asked.output.file);
  if (asked.profile == "-") throw UsageError("--profile is -; expected a file, beside the text on standard output");
  if (!asked.profile.empty() && asked.profile == asked.output.file)
    throw UsageError("--profile and --output name the same file; expected two");
  check_file(asked.profile);
}

void run(const GenerateOptions& asked) {
  check_use(asked);
  const bool from_file = asked.from_file();
  Generation generation = asked.generation;
  if (!asked.stop_ids.empty()) generation.stop_ids = parse_ids(asked.stop_ids, "--stop-ids");
  std::vector<std::int32_t> ends;
  if (asked.in_text() && !asked.ignore_eos) ends = end_of_text_ids(asked.run.model);
  Model model = model_to_run(asked.run);
  check_ids(generation.stop_ids, model.vocab_size);
  generation.stop_ids.insert(generation.stop_ids.end(), ends.begin(), ends.end());
  std::optional<Tokenizer> tokenizer;
  if (asked.in_text()) tokenizer = model_tokenizer(asked.tokenizer, asked.run.model, ", or ids with --ids");
  const std::int64_t context = longest_run(model, asked.context);
  Prompts prompts;
  std::int64_t longest = 0;
  generation.tokens = 0;
  const auto add_prompt = [&](std::vector<std::int32_t> ids) {
    if (tokenizer) check_vocabulary(ids, *tokenizer, model);
    longest = std::max<std::int64_t>(longest, std::ssize(ids));
    generation.tokens = std::max(generation.tokens, new_tokens(asked, model, context, std::ssize(ids)));
    prompts.ids.push_back(std::move(ids));
  };
  if (from_file) prompts.texts = lines_of(asked.prompts);
  for (std::size_t i = 0; i < prompts.texts.size(); ++i) {
    try {
      add_prompt(prompt_ids(*tokenizer, prompts.texts[i], asked.run.model));
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: line {}: {}", asked.prompts, i + 1, error.what()));
    }
  }
  if (!from_file) add_prompt(tokenizer ? prompt_ids(*tokenizer, asked.prompt, asked.run.model) : parse_ids(asked.ids));
  const std::vector<std::int32_t>& prompt = prompts.ids.front();
  EngineOptions options = engine_options(asked.run);
  options.sessions = from_file ? std::min(std::ssize(prompts.ids), most_together) : generation.beams;
  options.capacity = std::min(context, longest + generation.tokens - 1);
  const InterruptHandler handler;
  Weights weights = weights_to_run(asked.run, model, options.capacity);
  Engine engine(std::move(model), std::move(weights), options);
  RunProfile profile;
  if (!asked.profile.empty()) engine.core().backend().set_profile(&profile);

  const Tokenizer* const decoder = tokenizer ? &*tokenizer : nullptr;
  const bool report = asked.output.format != Format::table, at_once = to_standard_output(asked.output);
  std::string buffered;  // for a file
  const auto write = [&](const std::string& text) {
    if (report) return true;
    if (at_once) return write_foreign_text(text);
    buffered += text;
    return true;
  };
  if (!asked.stops.empty()) {
    generation.ends_beam = [begin =
                                ContinuationText(*decoder, prompt, asked.stops)](std::span<const std::int32_t> ids) {
      ContinuationText text = begin;
      for (const std::int32_t id : ids) text.add(id);
      return text.stopped();
    };
  }
  // The tokens of one result are shown as they come; several results, which come all at once, at the end.
  const bool several = generation.best > 1 || from_file;
  std::vector<Stream> streams;  // of each prompt
  for (const std::vector<std::int32_t>& ids : prompts.ids)
    streams.emplace_back(decoder, ids, asked.stops,
                         several ? [](const std::string&) { return true; } : Stream::Write(write));
  std::optional<Limit> reading;
  if (Backend::Measure measure = engine.core().backend().read_limit(engine.core().weights().parameters()))
    reading.emplace(std::move(measure));
  ProgressLine progress;
  std::int64_t generated_tokens = 0;
  const auto on_token = [&](std::size_t index, const Token& token) {
    if (from_file) {
      progress.show("generating", ++generated_tokens, generation.tokens * std::ssize(prompts.ids));
      return streams[index].add(token.id);
    }
    try {
      if (reading) reading->turn();
    } catch (const Cancelled&) {  // so will be the next token
    }
    return several || streams[index].add(token.id);
  };
  Generated generated;
  if (from_file) {
    generated.continuations = generate(engine, prompts.ids, generation, on_token, generated.pace);
    progress.clear();
  } else {
    generated = generate(engine, prompt, generation, [&](const Token& token) { return on_token(0, token); });
  }
  const GenerationView view{decoder, asked.stops, generation.beams > 1};
  if (report) {
    write_report(from_file ? prompts_document(prompts, generated, view) : generation_document(prompt, generated, view),
                 asked.output);
  } else if (several) {
    for (std::size_t i = 0; i < generated.continuations.size(); ++i) {
      const Continuation& one = generated.continuations[i];
      const std::string heading = continuation_heading(one, i + 1, generated.continuations.size(), view.beams);
      write((i == 0 ? "" : "\n") + (at_once ? words(heading) : heading) + "\n");
      Stream each(decoder, prompts.ids[from_file ? i : 0], asked.stops, write);
      for (const std::int32_t id : one.ids) {
        if (!each.add(id)) break;
      }
      each.finish();
    }
  } else {
    streams.front().finish();
  }
  if (!report && !at_once) write_file(asked.output.file, buffered);
  engine.core().backend().set_profile(nullptr);
  say_pace(engine, generated.pace, reading ? reading->spread() : std::nullopt);
  if (!asked.profile.empty()) {
    write_file(asked.profile, chrome_trace(profile));
    Terminal terminal = this_terminal();
    terminal.color = false;
    say(render(profile_document(profile), Format::table, terminal));
  }
  if (interrupted()) throw Error(interruption(generated, prompts));
}

}  // namespace

void add_generate(CLI::App& program) {
  const auto asked = std::make_shared<GenerateOptions>();
  Generation& g = asked->generation;
  CLI::App& command =
      add_command(program, "generate", "continue a text, or a sequence of ids",
                  "  reckon generate ./model \"Once upon a time\" --tokens 64\n"
                  "  reckon generate gpt2 --random 1 --ids 5 --tokens 32 --temperature 0\n"
                  "  reckon generate ./model \"Once upon a time\" --beams 4 --best 3\n"
                  "  reckon generate ./model --prompts prompts.txt --tokens 64 --format json\n"
                  "  reckon generate model-Q4_K_M.gguf \"Once upon a time\" --cache q8_0\n"
                  "  reckon generate ./model --ids 1 --top-k 40 --top-p 0.95 --seed 7 --profile trace.json");
  add_run(command, asked->run);
  CLI::Option& prompt = *command.add_option(
      "PROMPT", asked->prompt, "the text to continue; \"\": from the token that begins a text, where there is one");
  command.add_option("--ids", asked->ids, "the prompt as ids, instead of text")->type_name("1,2,3");
  command.add_option("--prompts", asked->prompts, "several texts, a line each, that run together; -: standard input")
      ->type_name("FILE");
  add_tokenizer_option(command, asked->tokenizer);
  command.add_option("--stop", asked->stops, "text that ends the generation, and is not shown; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  CLI::Option& tokens =
      add_size(command, "--tokens", g.tokens, "so many new tokens (128, or what the context has room for)");
  add_sampling(command, g.sampling);
  expect_whole(
      *command.add_option("--seed", g.sampling.seed, "the same seed draws the same tokens (0)")->type_name("N"), 0,
      std::numeric_limits<std::int64_t>::max());
  add_size(command, "--beams", g.beams, "a beam search of this width (1)", {1, 1024});
  add_size(command, "--best", g.best, "so many of its results, each below a line that says which (1)", {1, 1024});
  command.add_option("--length-penalty", g.length_penalty, "above 0 favours long ones (1)")->type_name("X");
  command.add_option("--stop-ids", asked->stop_ids, "each of these ends it; text ends at the model's own too")
      ->type_name("1,2");
  command.add_flag("--ignore-eos", asked->ignore_eos, "go on behind the model's own end of text");
  add_size(command, "--logprobs", g.logprobs, "report this many alternatives of each token, in JSON (0)", {0, 100});
  add_context(command, asked->context);
  command.add_flag("--window", g.window, "slide over a text that is longer than the context");
  command
      .add_option("--profile", asked->profile, "time of each operation, and a trace for Chrome's viewer in this file")
      ->type_name("FILE");
  add_output(command, asked->output);
  command.get_option("--format")->description("table: the text or ids alone; others: a report (table)");
  command.get_option("--output")->description("write that to this file, in one step; -: standard output");
  command.callback([asked, &prompt, &tokens] {
    asked->prompt_given = prompt.count() > 0;
    asked->tokens_given = tokens.count() > 0;
    run(*asked);
  });
}

}  // namespace reckon::cli

// reckon generate: continues a sequence, token by token. Only what is generated goes to standard output.
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/model_tokenizer.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "count/ledger.h"
#include "report/numbers.h"
#include "report/run.h"
#include "run/generate.h"
#include "run/limits.h"
#include "text/tokenizer.h"

namespace reckon::cli {
namespace {

struct GenerateOptions {
  RunOptions run;
  std::string prompt, ids, stop_ids, stop, tokenizer, profile;
  Generation generation;
  Output output;
};

volatile std::sig_atomic_t interrupted = 0;

std::string ending_word(Ending ending) {
  switch (ending) {
    case Ending::length:
      return "length";
    case Ending::end_of_text:
      return "end of text";
    case Ending::context:
      return "context";
    case Ending::stopped:
      return "stopped";
  }
  return "";
}

// FLOPs of the prefill as benchmarks rate it: causal pairs only, the last logits only.
double prefill_flops(const Model& model, std::int64_t tokens) {
  Workload workload = workload_of(Phase::prefill);
  workload.tokens = tokens;
  workload.causal = Causal::exact;
  return static_cast<double>(count(model, workload).total().matmul);
}

std::string tokens_text(std::int64_t tokens) { return fmt::format("{} {}", tokens, tokens == 1 ? "token" : "tokens"); }

void say_pace(Engine& engine, const Pace& pace) {
  const MachineLimits limits = measure_limits(engine);
  std::string line;
  if (pace.prefill_seconds > 0 && pace.prefill_tokens > 0) {
    const auto tokens = static_cast<double>(pace.prefill_tokens);
    const double rate = prefill_flops(engine.model(), pace.prefill_tokens) / pace.prefill_seconds;
    line += fmt::format("prefill {}, {:.1f} tokens/s ({} of the product limit)", tokens_text(pace.prefill_tokens),
                        tokens / pace.prefill_seconds, percent(rate / limits.product_flops_per_second, 0));
  }
  if (pace.decode_seconds > 0 && pace.decode_tokens > 0) {
    const double each = static_cast<double>(pace.decode_tokens) / pace.decode_seconds;
    line +=
        fmt::format("{}decode {}, {:.1f} tokens/s", line.empty() ? "" : " · ", tokens_text(pace.decode_tokens), each);
    if (limits.read_bytes_per_second > 0) {
      const double flow = each * static_cast<double>(engine.weights().bytes());
      line += fmt::format(" ({} of the read limit)", percent(flow / limits.read_bytes_per_second, 0));
    }
  }
  fmt::print(stderr, "{}\n", line);
}

nlohmann::ordered_json json_of(const GenerateOptions& asked, const std::vector<std::int32_t>& prompt,
                               const Generated& generated) {
  nlohmann::ordered_json continuations = nlohmann::ordered_json::array();
  for (const Continuation& one : generated.continuations) {
    nlohmann::ordered_json entry{{"ids", one.ids}, {"ending", ending_word(one.ending)}};
    if (asked.generation.beams > 1) {
      entry["log_probability"] = one.log_probability;
      entry["score"] = one.score;
    }
    if (!one.tokens.empty()) {
      nlohmann::ordered_json tokens = nlohmann::ordered_json::array();
      for (const Token& token : one.tokens) {
        nlohmann::ordered_json top = nlohmann::ordered_json::array();
        for (const TokenProbability& other : token.alternatives) {
          top.push_back({{"id", other.id}, {"log_probability", other.log_probability}});
        }
        tokens.push_back({{"id", token.id}, {"log_probability", token.log_probability}, {"top", top}});
      }
      entry["logprobs"] = tokens;
    }
    continuations.push_back(entry);
  }
  const Pace& pace = generated.pace;
  return {{"schema", "reckon.generate/1"},
          {"prompt_ids", prompt},
          {"ids", generated.continuations.front().ids},
          {"continuations", continuations},
          {"prefill", {{"tokens", pace.prefill_tokens}, {"seconds", pace.prefill_seconds}}},
          {"decode", {{"tokens", pace.decode_tokens}, {"seconds", pace.decode_seconds}}}};
}

void run(const GenerateOptions& asked) {
  if (asked.prompt.empty() == asked.ids.empty()) throw UsageError("give the prompt either as text or with --ids");
  std::optional<Tokenizer> tokenizer;
  if (!asked.prompt.empty()) tokenizer = load_model_tokenizer(asked.tokenizer, asked.run.model);
  if (!asked.stop.empty() && !tokenizer) throw UsageError("--stop is text; it needs a prompt in text too");
  const std::vector<std::int32_t> prompt = tokenizer ? tokenizer->encode(asked.prompt) : parse_ids(asked.ids);
  Generation generation = asked.generation;
  if (!asked.stop_ids.empty()) generation.stop_ids = parse_ids(asked.stop_ids);
  Loaded loaded = load(asked.run);
  if (tokenizer) check_vocabulary(*tokenizer, loaded.model);
  EngineOptions options;
  options.threads = asked.run.threads;
  options.batch = generation.beams;
  const std::int64_t wanted = static_cast<std::int64_t>(prompt.size()) + generation.tokens;
  options.capacity = std::min(loaded.model.context, wanted);
  Engine engine(std::move(loaded.model), std::move(loaded.weights), options);
  Profile profile;
  if (!asked.profile.empty()) engine.set_profile(&profile);

  const bool streams = asked.output.format == "table" && to_standard_output(asked.output);
  std::signal(SIGINT, [](int) { interrupted = 1; });
  bool first = true;
  std::optional<StreamDecoder> decoder;
  std::string held;  // text that may be the beginning of the stop string
  bool stopped = false;
  if (tokenizer) decoder.emplace(*tokenizer);
  // A model may have more ids than its tokenizer: rows that only make the matrix a round size.
  const std::string no_text = "\uFFFD";
  const auto has_text = [&](std::int32_t id) { return static_cast<std::size_t>(id) < tokenizer->size(); };
  const auto text_of = [&](std::vector<std::int32_t> ids) {
    std::erase_if(ids, [&](std::int32_t id) { return !has_text(id); });
    return tokenizer->decode(ids, true);
  };
  // Shows what can no longer become the stop string.
  const auto show = [&](std::string text) {
    held += text;
    if (!asked.stop.empty()) {
      if (const std::size_t at = held.find(asked.stop); at != std::string::npos) {
        stopped = true;
        held.resize(at);
      }
    }
    const std::size_t kept = stopped || asked.stop.empty() ? 0 : std::min(held.size(), asked.stop.size() - 1);
    if (streams) write_text(held.substr(0, held.size() - kept));
    if (streams) std::fflush(stdout);
    held.erase(0, held.size() - kept);
  };
  if (tokenizer && streams && generation.beams == 1) {
    // The text goes on from the prompt as the tokenizer sees it.
    for (std::int32_t id : prompt) decoder->add(id);
  }
  const Generated generated = generate(
      engine, prompt, generation,
      [&](const Token& token) {
        if (decoder) {
          show(has_text(token.id) ? decoder->add(token.id) : no_text);
        } else if (streams) {
          write_text(fmt::format("{}{}", first ? "" : " ", token.id));
          std::fflush(stdout);
          first = false;
        }
        return interrupted == 0 && !stopped;
      },
      [] { return interrupted == 0; });
  if (decoder && !stopped) {
    show(decoder->finish());
    if (streams) write_text(held);
  }
  if (streams) {
    write_text("\n");
    for (std::size_t i = 1; i < generated.continuations.size(); ++i) {
      const std::vector<std::int32_t>& ids = generated.continuations[i].ids;
      write_text(tokenizer ? text_of(ids) + "\n" : fmt::format("{}\n", fmt::join(ids, " ")));
    }
  } else {
    Document document;
    Table table;
    table.columns = {{"continuation", true}, {"ending", false}, {"ids", false}};
    for (std::size_t i = 0; i < generated.continuations.size(); ++i) {
      const Continuation& one = generated.continuations[i];
      table.rows.push_back(
          {std::to_string(i + 1), ending_word(one.ending), fmt::format("{}", fmt::join(one.ids, " "))});
    }
    document.parts.push_back(table);
    document.json = json_of(asked, prompt, generated);
    if (tokenizer) document.json["text"] = text_of(generated.continuations.front().ids);
    write_report(document, asked.output);
  }
  engine.set_profile(nullptr);
  say_pace(engine, generated.pace);
  if (!asked.profile.empty()) {
    write_file(asked.profile, chrome_trace(profile));
    const std::string table = render(profile_document(profile), Format::table, {});
    std::fwrite(table.data(), 1, table.size(), stderr);
  }
}

}  // namespace

void add_generate(CLI::App& program) {
  const auto asked = std::make_shared<GenerateOptions>();
  Generation& g = asked->generation;
  CLI::App& command =
      add_command(program, "generate", "continue a sequence of tokens",
                  "  reckon generate ./model \"Once upon a time\" --tokens 64\n"
                  "  reckon generate gpt2 --random 1 --ids 5 --tokens 32 --temperature 0\n"
                  "  reckon generate ./model --ids 1,15 --beams 4 --best 2\n"
                  "  reckon generate ./model --ids 1 --top-k 40 --top-p 0.95 --seed 7 --profile trace.json",
                  false);
  add_run(command, asked->run);
  command.add_option("PROMPT", asked->prompt, "the text to continue");
  command.add_option("--ids", asked->ids, "the prompt as ids, instead of text")->type_name("1,2,3");
  command.add_option("--tokenizer", asked->tokenizer, "a tokenizer's name, file or folder (the model's)")
      ->type_name("NAME");
  command.add_option("--stop", asked->stop, "text that ends the generation, and is not shown")->type_name("TEXT");
  expect_within(*command.add_option("--tokens", g.tokens, "at most so many new tokens (128)")->type_name("N"), 1);
  command.add_option("--temperature", g.sampling.temperature, "0: the most likely token (1)")->type_name("X");
  expect_within(
      *command.add_option("--top-k", g.sampling.top_k, "draw from the k most likely; 0: from all (0)")->type_name("K"),
      0);
  command.add_option("--top-p", g.sampling.top_p, "draw from the fewest that have this probability together (1)")
      ->type_name("P");
  command.add_option("--min-p", g.sampling.min_p, "draw from what is so many times as likely as the best (0)")
      ->type_name("P");
  command.add_option("--repetition-penalty", g.sampling.repetition_penalty, "over 1: less of what was there (1)")
      ->type_name("X");
  command.add_option("--seed", g.sampling.seed, "the same seed draws the same tokens (0)")->type_name("N");
  expect_within(*command.add_option("--beams", g.beams, "a beam search of this width (1)")->type_name("N"), 1, 1024);
  expect_within(*command.add_option("--best", g.best, "so many of its results (1)")->type_name("N"), 1, 1024);
  command.add_option("--length-penalty", g.length_penalty, "above 0 favours long ones (1)")->type_name("X");
  command.add_option("--stop-ids", asked->stop_ids, "end of text: each of these ends it")->type_name("1,2");
  expect_within(
      *command.add_option("--logprobs", g.logprobs, "report this many alternatives of each token, in JSON (0)")
           ->type_name("N"),
      0, 100);
  command.add_flag("--window", g.window, "slide over a text that is longer than the context");
  command
      .add_option("--profile", asked->profile, "time of each operation, and a trace for Chrome's viewer in this file")
      ->type_name("FILE");
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli

// reckon score: how well a model predicts a text.
#include "report/run.h"

#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "cli/run_text.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "files/read_text.h"
#include "report/progress.h"
#include "run/engine.h"
#include "run/score.h"

namespace reckon::cli {
namespace {

struct ScoreOptions {
  RunOptions run;
  std::string file, ids, ids_file, tokenizer;
  std::string against;
  std::int64_t context = 0, stride = 0;
  Output output;
};

struct Text {
  std::vector<std::int32_t> ids;
  std::optional<Tokenizer> tokenizer;  // none where only ids are known
  std::int64_t bytes = 0;

  // Nothing for ids that only fill the model's vocabulary up.
  std::function<std::string(std::int32_t)> piece() const {
    if (!tokenizer) return {};
    return [this](std::int32_t id) {
      return static_cast<std::size_t>(id) < tokenizer->size() ? std::string(tokenizer->bytes(id)) : "";
    };
  }

  // What the scored tokens stand for. Nothing predicts the first token; where it is one that the tokenizer adds, <s>
  // say, that leaves the whole text.
  std::optional<std::int64_t> scored_bytes(const Score& score) const {
    if (!tokenizer) return std::nullopt;
    const auto bytes_of = [&](std::int64_t first) {
      return std::ssize(tokenizer->decode(std::span(ids).first(static_cast<std::size_t>(first)), true));
    };
    const std::int64_t scored = (score.whole() ? bytes : bytes_of(1 + score.tokens)) - bytes_of(1);
    return scored > 0 ? std::optional(scored) : std::nullopt;
  }
};

Text read(const ScoreOptions& asked, const Model& model) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 32;
  if (!asked.ids.empty()) return {parse_ids(asked.ids), {}};
  if (!asked.ids_file.empty()) return {parse_ids(read_text(asked.ids_file, largest), "--ids-file"), {}};
  Tokenizer tokenizer = model_tokenizer(asked.tokenizer, asked.run.model, ", or ids with --ids");
  const TextFile input = text_input(asked.file);
  if (input.text().empty()) throw UsageError(quote(asked.file) + " is empty; expected a text to score");
  std::vector<std::int32_t> ids = encode_something(tokenizer, input.text(), quote(asked.file));
  check_vocabulary(ids, tokenizer, model);
  return {std::move(ids), std::move(tokenizer), std::ssize(input.text())};
}

constexpr std::int64_t shown_tokens = 10;

// None where the model comes without one, or with one that cannot be read.
std::optional<Tokenizer> own_tokenizer(const std::string& model) {
  try {
    return model_tokenizer("", model, "");
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Of two models that both have a tokenizer, each id must stand for the same text.
void check_same_tokens(const ScoreOptions& asked) {
  if (asked.run.model == asked.against) return;
  const std::optional<Tokenizer> one = own_tokenizer(asked.run.model);
  const std::optional<Tokenizer> other = one ? own_tokenizer(asked.against) : std::nullopt;
  if (!other) return;
  if (const std::optional<TokenId> id = first_difference(*one, *other))
    throw UsageError(fmt::format("token {} is {} in {} and {} in {}; expected one vocabulary of both", *id,
                                 quote(one->bytes(*id)), asked.run.model, quote(other->bytes(*id)), asked.against));
}

RunOptions other_run(const ScoreOptions& asked) {
  RunOptions run = asked.run;
  run.model = asked.against;
  return run;
}

// The model of --against, with all else as for the first. Its files are opened before those of the first: what is wrong
// about them is said before anything takes long.
std::shared_ptr<const LoadedModel> other_model(const ScoreOptions& asked, const Model& first, std::int64_t capacity) {
  if (asked.against.empty()) return nullptr;
  const RunOptions run = other_run(asked);
  Model model = model_to_run(run);
  check_comparable(first, model);
  check_same_tokens(asked);
  longest_run(model, capacity);
  Weights weights = weights_to_run(run, model, capacity);
  return std::make_shared<const LoadedModel>(std::move(model), std::move(weights));
}

void run(const ScoreOptions& asked) {
  const int given = !asked.file.empty() + !asked.ids.empty() + !asked.ids_file.empty();
  if (given != 1) throw UsageError("give one of FILE, --ids and --ids-file: the text to score");
  check_file(asked.output.file);
  Model model = model_to_run(asked.run);
  const Text text = read(asked, model);
  EngineOptions options = engine_options(asked.run);
  const auto length = static_cast<std::int64_t>(text.ids.size());
  if (length < 2) throw UsageError("a text of a single token has nothing to predict; expected two or more");
  const std::int64_t context = longest_run(model, asked.context);
  if (context > 1 && asked.stride >= context)
    throw UsageError(fmt::format("--stride is {}; expected 1 to {}, one less than the context", grouped(asked.stride),
                                 grouped(context - 1)));
  options.capacity = std::min(context, length);
  const InterruptHandler handler;
  const std::shared_ptr<const LoadedModel> against = other_model(asked, model, options.capacity);
  Weights weights =
      weights_to_run(asked.run, model, options.capacity,
                     against != nullptr ? bytes_to_take(other_run(asked), against->model(), options.capacity) : 0);
  Engine engine(std::move(model), std::move(weights), options);
  ProgressLine progress;
  const OnScored show = [&](const Score& so_far) { progress.show("scoring", so_far.tokens, so_far.all); };
  const Scoring scoring{.stride = std::min(asked.stride, options.capacity - 1)};  // a text of one window slides nowhere
  Score result;
  Document document;
  if (against == nullptr) {
    result = score(engine, text.ids, scoring, show);
    if (result.tokens > 0)
      document = score_document(engine.model().name, result, text.scored_bytes(result), options.capacity);
  } else {
    Engine other(against, options);
    const Divergence divergence = diverge(engine, other, text.ids, scoring, shown_tokens, show);
    result = divergence.score;
    if (result.tokens > 0)
      document = divergence_document({asked.run.model, asked.against, text.piece()}, text.ids, divergence,
                                     text.scored_bytes(result), options.capacity);
  }
  progress.clear();
  if (result.tokens > 0) write_report(document, asked.output);
  if (!result.whole())
    throw Error(fmt::format("interrupted after {} of {} tokens", grouped(result.tokens), grouped(result.all)));
}

}  // namespace

void add_score(CLI::App& program) {
  const auto asked = std::make_shared<ScoreOptions>();
  CLI::App& command = add_command(program, "score", "loss, perplexity and bits per byte of a text",
                                  "  reckon score ./model book.txt\n"
                                  "  reckon score ./model book.txt --context 512 --stride 256 --format json\n"
                                  "  reckon score small.gguf book.txt --against ./model\n"
                                  "  reckon score gpt2 --random 1 - < book.txt\n"
                                  "  reckon score ./model --ids 1,15,27,8");
  add_run(command, asked->run);
  command.add_option("FILE", asked->file, "the text (-: standard input)")->type_name("");
  add_tokenizer_option(command, asked->tokenizer);
  command.add_option("--ids", asked->ids, "the text as ids")->type_name("1,2,3");
  command.add_option("--ids-file", asked->ids_file, "a file of ids, separated by commas or spaces")->type_name("FILE");
  command
      .add_option("--against", asked->against,
                  "another model with the same tokens: how far MODEL's predictions are from its")
      ->type_name("MODEL");
  add_context(command, asked->context);
  add_size(command, "--stride", asked->stride, "how far the window slides (half of it)");
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli

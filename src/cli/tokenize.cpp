// reckon tokenize: text to tokens and back.
#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "cli/run_text.h"
#include "report/tokens.h"
#include "run/inputs.h"
#include "text/load.h"
#include "text/openai_formats.h"
#include "threads/pool.h"
#include "threads/thread_count.h"

namespace reckon::cli {
namespace {

struct TokenizeOptions {
  std::string tokenizer = "gpt2", text, file, decode;
  bool text_given = false, show = false, count = false, no_special = false;
  int threads = 0;
  Output output;
};

void run(const TokenizeOptions& asked) {
  const int given = asked.text_given + !asked.file.empty() + !asked.decode.empty();
  if (given != 1) {
    throw UsageError(
        fmt::format("{} given; expected one of TEXT, --file and --decode", given ? "several texts are" : "no text is"));
  }
  check_file(asked.output.file);
  const bool plain = asked.output.format == Format::table && !asked.show && !asked.count;  // no report
  TokensView view;
  view.counts = asked.count;
  view.pieces = asked.show || !asked.count;
  view.color = asked.output.file.empty() && this_terminal().color;
  const auto write = [&](const std::string& as_it_is, const Tokenizer& tokenizer, std::span<const TokenId> ids,
                         std::size_t bytes) {
    if (!plain) return write_report(tokens_document(tokenizer, ids, bytes, view), asked.output);
    if (!to_standard_output(asked.output)) return write_file(asked.output.file, as_it_is + "\n");
    write_foreign_text(as_it_is + "\n");
  };
  const std::vector<TokenId> given_ids =
      asked.decode.empty() ? std::vector<TokenId>() : parse_ids(asked.decode, "--decode");
  const Tokenizer tokenizer = load_tokenizer(asked.tokenizer);
  if (!given_ids.empty()) {
    check_ids(given_ids, static_cast<std::int64_t>(tokenizer.size()));
    const std::string text = tokenizer.decode(given_ids, asked.no_special);
    return write(text, tokenizer, given_ids, text.size());
  }
  std::optional<TextFile> input;
  if (!asked.text_given) input = text_input(asked.file);
  const std::string_view text = input ? input->text() : asked.text;
  EncodeOptions options;
  options.add_special = !asked.no_special;
  Pool pool(thread_count(asked.threads));
  const std::vector<TokenId> ids = tokenizer.encode(text, options, &pool);
  write(fmt::format("{}", fmt::join(ids, " ")), tokenizer, ids, text.size());
}

}  // namespace

void add_tokenize(CLI::App& program) {
  const auto asked = std::make_shared<TokenizeOptions>();
  CLI::App& command =
      add_command(program, "tokenize", "text to token ids and back, with the pieces and their statistics",
                  "  reckon tokenize \"Hello, I am\"\n"
                  "  reckon tokenize --tokenizer o200k_base --show \"Grüße, 世界! 🙂 x = 42\"\n"
                  "  reckon tokenize --tokenizer ./folder-with-tokenizer-json --file book.txt --count\n"
                  "  reckon tokenize --decode 15496,11,314,716",
                  false);
  command.add_option("TEXT", asked->text, "the text")->type_name("")->each([asked](const std::string&) {
    asked->text_given = true;
  });
  command
      .add_option("--tokenizer", asked->tokenizer,
                  fmt::format("{}, bytes, a tokenizer.json, vocab.json or .tiktoken file, or a folder (gpt2)",
                              fmt::join(fetched_encodings, ", ")))
      ->type_name(tokenizer_type);
  command.add_option("--file", asked->file, "take the text from this file (-: standard input)")->type_name("FILE");
  command.add_option("--decode", asked->decode, "write the text of these ids")->type_name("IDS");
  command.add_flag("--show", asked->show, "show each token: piece, id, bytes");
  command.add_flag("--count", asked->count, "count the tokens, by kind");
  command.add_flag("--no-special", asked->no_special, "add no special tokens such as <s>; decoding leaves them out");
  add_threads(command, asked->threads);
  add_output(command, asked->output);
  command.get_option("--format")->description("form of the report (table: the ids or text alone)");
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli

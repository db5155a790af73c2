#include "report/trained_tokenizer.h"

#include <fmt/format.h>

#include "files/numbers.h"
#include "report/describe.h"

namespace reckon {

Document trained_tokenizer_document(const TrainedTokenizer& trained, const TrainedReport& report) {
  const auto tokens = static_cast<std::int64_t>(trained.spec.tokens.size());
  const auto merges = static_cast<std::int64_t>(trained.spec.merges.size());
  const auto special = static_cast<std::int64_t>(trained.spec.added_tokens.size());
  const double bytes_per_token =
      trained.text_tokens == 0 ? 0 : static_cast<double>(trained.text_bytes) / static_cast<double>(trained.text_tokens);

  Document document;
  document.parts.emplace_back(
      Table{"",
            {{"what"}, {"value", true}},
            {{"tokens in the vocabulary", count_cell(tokens)},
             {Cell("special tokens").below(), count_cell(special)},
             {Cell("bytes").below(), count_cell(tokens - special - merges)},
             {Cell("merges").below(), count_cell(merges)},
             {"bytes of text", count_cell(trained.text_bytes)},
             {"distinct words", count_cell(trained.distinct_words)},
             {"the text in tokens", count_cell(trained.text_tokens)},
             {"bytes per token", {fmt::format("{:.3f}", bytes_per_token), fmt::format("{:.6g}", bytes_per_token)}},
             {"time", {fmt::format("{:.3f} s", report.seconds), fmt::format("{:.6g}", report.seconds)}}},
            0,
            {}});
  document.parts.emplace_back(Paragraph{"Written to " + report.file + "."});
  document.json = {{"schema", "reckon.tokenizer-train/1"},
                   {"file", report.file},
                   {"vocab_asked", report.vocab_asked},
                   {"tokens", tokens},
                   {"special_tokens", special},
                   {"merges", merges},
                   {"text_bytes", trained.text_bytes},
                   {"distinct_words", trained.distinct_words},
                   {"text_tokens", trained.text_tokens},
                   {"bytes_per_token", bytes_per_token},
                   {"seconds", report.seconds}};
  return document;
}

}  // namespace reckon

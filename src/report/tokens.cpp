#include "report/tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "files/numbers.h"
#include "files/quote.h"
#include "report/describe.h"
#include "report/text.h"
#include "text/statistics.h"
#include "text/utf8.h"

namespace reckon {

namespace {

// What can be seen of a piece: line breaks and tabs by their symbols, bytes that are no whole character by their
// values.
std::string visible(std::string_view piece) {
  std::string out;
  for (const char *at = piece.data(), *end = at + piece.size(); at != end;) {
    const Utf8Char c = utf8_char(at, end);
    const std::string_view bytes(at, c.length);
    if (!c.valid) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(*at));
    } else {
      out += bytes == "\n" ? "⏎" : bytes == "\t" ? "⇥" : printable(bytes);
    }
    at += c.length;
  }
  return out;
}

// The text with its tokens apart; a line break of the text breaks the line here too.
std::string coloured(const Tokenizer& tokenizer, std::span<const TokenId> ids, bool color) {
  constexpr int backgrounds[] = {153, 223, 157, 225, 229};  // of the 256 colours: light, to be read in black
  std::string out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string_view piece = tokenizer.bytes(ids[i]);
    const std::string text = visible(piece);
    out += color ? fmt::format("\x1b[30;48;5;{}m{}\x1b[0m", backgrounds[i % std::size(backgrounds)], text)
                 : (out.empty() || out.ends_with('\n') ? "" : "|") + text;
    if (piece.ends_with('\n')) out += '\n';
  }
  return out;
}

std::string hexadecimal(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes)
    out += fmt::format("{}{:02x}", out.empty() ? "" : " ", static_cast<unsigned char>(byte));
  return out;
}

// The same with its spaces.
std::string with_spaces_shown(std::string_view piece) {
  std::string text = visible(piece);
  for (std::size_t at; (at = text.find(' ')) != std::string::npos;) text.replace(at, 1, "␣");
  return text;
}

Table piece_table(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  Table table{"", {{"id", true}, {"piece"}, {"bytes"}, {"kind"}}};
  for (const TokenId id : ids) {
    const std::string_view piece = tokenizer.bytes(id);
    table.rows.push_back({std::to_string(id), with_spaces_shown(piece), hexadecimal(piece),
                          std::string(name_of(kind_of(tokenizer, id)))});
  }
  return table;
}

Table count_table(const TokenStatistics& statistics) {
  Table table{"", {{"kind"}, {"tokens", true}, {"share", true}, {"bytes", true}, {"bytes per token", true}}, {}, 1};
  const auto row = [&](std::string_view name, const TokenStatistics::Count& count) {
    const auto tokens = static_cast<double>(std::max<std::int64_t>(count.tokens, 1));
    const double share =
        static_cast<double>(count.tokens) / static_cast<double>(std::max<std::int64_t>(statistics.total.tokens, 1));
    table.rows.push_back({std::string(name), grouped(count.tokens), Cell(percent(share), fmt::format("{:.6f}", share)),
                          grouped(count.bytes), fmt::format("{:.3f}", static_cast<double>(count.bytes) / tokens)});
  };
  for (std::size_t kind = 0; kind < n_token_kinds; ++kind) {
    if (statistics.by_kind[kind].tokens > 0) row(name_of(static_cast<TokenKind>(kind)), statistics.by_kind[kind]);
  }
  row("all", statistics.total);
  return table;
}

OrderedJson json_of(const TokenStatistics& statistics, std::size_t bytes) {
  OrderedJson kinds = OrderedJson::object();
  for (std::size_t kind = 0; kind < n_token_kinds; ++kind) {
    const TokenStatistics::Count& count = statistics.by_kind[kind];
    kinds[std::string(name_of(static_cast<TokenKind>(kind)))] = {{"tokens", count.tokens}, {"bytes", count.bytes}};
  }
  return {{"tokens", statistics.total.tokens},
          {"bytes", bytes},
          {"bytes_per_token",
           statistics.total.tokens ? static_cast<double>(bytes) / static_cast<double>(statistics.total.tokens) : 0.0},
          {"kinds", kinds}};
}

OrderedJson pieces_json(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  OrderedJson pieces = OrderedJson::array();
  for (const TokenId id : ids) pieces.push_back(as_utf8(tokenizer.bytes(id)));
  return pieces;
}

}  // namespace

void add_prompt(Document& document, const Tokenizer& tokenizer, const std::string& prompt,
                std::span<const TokenId> ids) {
  std::string tokens;
  for (const TokenId id : ids)
    tokens += fmt::format("{}{}={}", tokens.empty() ? "" : " · ", with_spaces_shown(tokenizer.bytes(id)), id);
  Paragraph line{fmt::format("The prompt {} is {} {} (piece=id): {}", quote(prompt), grouped(ids.size()),
                             ids.size() == 1 ? "token" : "tokens", tokens)};
  document.parts.insert(document.parts.begin(), std::move(line));
  document.json["prompt"] = {{"text", as_utf8(prompt)}, {"ids", ids}, {"pieces", pieces_json(tokenizer, ids)}};
}

Document tokens_document(const Tokenizer& tokenizer, std::span<const TokenId> ids, std::size_t bytes,
                         const TokensView& view) {
  Document document;
  document.json = {{"schema", "reckon.tokenize/1"}};
  if (view.pieces) {
    document.json["ids"] = ids;
    document.json["pieces"] = pieces_json(tokenizer, ids);
    document.parts.emplace_back(Verbatim{coloured(tokenizer, ids, view.color), "text", true, false});
    document.parts.emplace_back(piece_table(tokenizer, ids));
  }
  if (view.counts) {
    const TokenStatistics statistics = token_statistics(tokenizer, ids);
    const double each = ids.empty() ? 0 : static_cast<double>(bytes) / static_cast<double>(ids.size());
    document.parts.emplace_back(Paragraph{
        fmt::format("{} bytes are {} tokens: {:.3f} bytes per token.", grouped(bytes), grouped(ids.size()), each)});
    document.parts.emplace_back(count_table(statistics));
    document.json["statistics"] = json_of(statistics, bytes);
  }
  return document;
}

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
             {Cell("special tokens").indent(), count_cell(special)},
             {Cell("bytes").indent(), count_cell(tokens - special - merges)},
             {Cell("merges").indent(), count_cell(merges)},
             {"bytes of text", count_cell(trained.text_bytes)},
             {"distinct words", count_cell(trained.distinct_words)},
             {"the text in tokens", count_cell(trained.text_tokens)},
             {"bytes per token", {fmt::format("{:.3f}", bytes_per_token), fmt::format("{:.6g}", bytes_per_token)}},
             {"time", {fmt::format("{:.3f} s", report.seconds), fmt::format("{:.6g}", report.seconds)}}}});
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

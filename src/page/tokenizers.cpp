// Tokenizers: read, trained, and what they make of a text.
#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "files/atomic_write.h"
#include "model/validate.h"
#include "page/answers.h"
#include "page/pieces.h"
#include "text/load.h"
#include "text/text_files.h"
#include "text/tokenizer_json.h"
#include "text/train.h"
#include "text/utf8.h"
#include "threads/thread_count.h"
#include "train/data.h"
#include "train/stories.h"

namespace reckon::page {
namespace {

Json kept_tokenizer(Page& page, Tokenizer tokenizer) {
  const auto& added = tokenizer.spec().added_tokens;
  const auto special = std::count_if(added.begin(), added.end(), [](const AddedToken& one) { return one.special; });
  const std::size_t vocab = tokenizer.size();
  const std::int64_t handle = page.keep(std::make_shared<const Tokenizer>(std::move(tokenizer)));
  return {{"tokenizer", handle}, {"vocab", vocab}, {"special", special}};
}

// Whether each place in a text, its end included, is one where a character begins or ends.
std::vector<bool> character_borders(std::string_view text) {
  std::vector<bool> borders(text.size() + 1, false);
  borders[0] = true;
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    at += utf8_char(at, end).length;
    borders[static_cast<std::size_t>(at - text.data())] = true;
  }
  return borders;
}

}  // namespace

Reply tokenizer(Page& page, const Fields& fields) {
  return {kept_tokenizer(page, load_tokenizer(fields.text("name")))};
}

Reply train_tokenizer(Page& page, const Fields& fields) {
  TokenizerTraining options;
  options.vocab_size = fields.whole("vocab", 257, largest_size);
  options.threads = thread_count(0);
  check_options(options);
  const std::vector<std::string> names = fields.texts("text");
  TrainedTokenizer trained;
  if (names.empty()) {
    const std::string text = stories(0, DataOptions().story_bytes);
    const std::string_view view = text;
    trained = reckon::train_tokenizer({&view, 1}, options);
  } else {
    const std::vector<std::filesystem::path> paths(names.begin(), names.end());
    const TextFiles files(paths);
    if (files.bytes() == 0) throw Error(fmt::format("{}: is empty; expected text to train on", names.front()));
    trained = reckon::train_tokenizer(files.texts(), options);
  }
  const std::size_t merges = trained.spec.merges.size();
  Json json = kept_tokenizer(page, Tokenizer(std::move(trained.spec)));
  json["merges"] = merges;
  json["text_bytes"] = trained.text_bytes;
  json["text_tokens"] = trained.text_tokens;
  json["distinct_words"] = trained.distinct_words;
  return {json};
}

Reply save_tokenizer(Page& page, const Fields& fields) {
  const std::string path = fields.text("path");
  atomic_write(path, write_tokenizer_json(tokenizer_of(page, fields, "tokenizer")->spec()));
  return {{{"path", path}}};
}

Reply tokens(Page& page, const Fields& fields) {
  const auto tokenizer = tokenizer_of(page, fields, "tokenizer");
  const auto size = static_cast<std::int64_t>(tokenizer->size());
  const std::int64_t first = fields.whole("first", 0), count = fields.whole("count", 0);
  Json all = Json::array();
  for (std::int64_t id = first; id < size && id - first < count; ++id)
    all.push_back(piece_of(tokenizer.get(), static_cast<std::int32_t>(id)));
  return {{{"tokens", all}}};
}

Reply encode(Page& page, const Fields& fields) {
  const auto tokenizer = tokenizer_of(page, fields, "tokenizer");
  const std::string text = fields.text("text");
  const auto most = static_cast<std::size_t>(fields.whole("most", 0, Fields::any, 20'000));
  EncodeOptions options;
  options.add_special = fields.answer("special", true);
  const std::vector<TokenId> all = tokenizer->encode(text, options);
  const std::span<const TokenId> ids = std::span(all).first(std::min(most, all.size()));
  // Tokens that the tokenizer adds stand for no text.
  const auto before = options.add_special ? tokenizer->spec().before.size() : 0;
  const auto behind = all.size() - (options.add_special ? tokenizer->spec().after.size() : 0);
  const std::vector<TokenId> of_text(all.begin() + static_cast<std::ptrdiff_t>(before),
                                     all.begin() + static_cast<std::ptrdiff_t>(std::max(before, behind)));
  const std::vector<std::string> parts = tokenizer->decode_each(of_text);
  std::string decoded;
  std::vector<std::size_t> ends = {0};
  for (const std::string& part : parts) {
    decoded += part;
    ends.push_back(decoded.size());
  }
  const std::vector<bool> borders = character_borders(decoded);
  Json pieces = Json::array();
  std::size_t shown = 0;  // bytes of `decoded` that the pieces have
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::size_t at = std::clamp(i, before, before + parts.size()) - before;
    const bool added = i < before || i >= before + parts.size();
    const std::size_t begin = ends[at], end = added ? begin : ends[at + 1];
    Json piece = piece_of(tokenizer.get(), ids[i]);
    piece["begin"] = begin;
    piece["end"] = end;
    piece["joined"] = end > begin && !borders[begin];
    pieces.push_back(std::move(piece));
    shown = end;
  }
  const bool exact = decoded == text;
  decoded.resize(shown);
  decoded.resize(decoded.size() - unfinished_utf8(decoded));
  return {{{"tokens", all.size()},
           {"bytes", text.size()},
           {"ids", ids},
           {"pieces", pieces},
           {"decoded", decoded},
           {"exact", exact}}};
}

Reply decode(Page& page, const Fields& fields) {
  const auto tokenizer = tokenizer_of(page, fields, "tokenizer");
  const std::vector<std::int32_t> ids = fields.ids("ids");
  return {{{"text", tokenizer->decode(ids)}, {"pieces", pieces_of(tokenizer.get(), ids)}}};
}

}  // namespace reckon::page

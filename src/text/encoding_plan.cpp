// Making a plan of a spec: tables of symbols and merges, and where a text without a splitter may be cut.
#include <fmt/core.h>

#include "text/byte_level.h"
#include "text/encoder.h"
#include "text/nfc.h"
#include "text/replace.h"
#include "text/utf8.h"

namespace reckon {
namespace {

TokenIndex make_index(const TokenizerSpec& spec, bool byte_level) {
  TokenIndex index(spec.tokens.size());
  for (const std::string& token : spec.tokens) {
    if (!byte_level) {
      index.add(token, !token.empty());
    } else if (const auto bytes = byte_level_bytes(token)) {
      index.add(*bytes, !bytes->empty());
    } else {
      index.add(token, false);  // no bytes are written like this
    }
  }
  return index;
}

AddedTokenFinder make_finder(const TokenizerSpec& spec, const EncodingPlan& plan, bool normalized) {
  std::vector<AddedToken> tokens;
  for (AddedToken token : spec.added_tokens) {
    if (token.normalized != normalized) continue;
    if (normalized) token.content = plan.normalized(token.content);
    if (!token.content.empty()) tokens.push_back(std::move(token));
  }
  return AddedTokenFinder(std::move(tokens));
}

// What spaces become, where the steps say so: ▁. Empty if they stay.
std::string space_replacement(const TokenizerSpec& spec) {
  std::string found;
  for (const Normalizer& step : spec.normalizers) {
    const auto* replace = std::get_if<Replace>(&step);
    if (replace && replace->from == " ") found = replace->to;
  }
  for (const PreTokenizer& step : spec.pre_tokenizers) {
    if (const auto* metaspace = std::get_if<Metaspace>(&step)) found = metaspace->replacement;
  }
  return found;
}

bool holds_behind_other(std::string_view token, std::string_view text) {
  for (std::size_t at = 0; (at = token.find(text, at)) != std::string_view::npos; at += text.size()) {
    if (at > 0 && !token.substr(0, at).ends_with(text)) return true;
  }
  return false;
}

// Whether a CutBefore changes nothing: the text is a symbol, and no merge makes a token that holds it behind another.
bool may_cut_before(const TokenizerSpec& spec, const EncodingPlan& plan, const std::string& text) {
  if (text.empty() || spec.ignore_merges || plan.byte_level || plan.index.find(text) == no_token) return false;
  if (utf8_char(text.data(), text.data() + text.size()).length != text.size()) return false;
  for (const TokenMerge& merge : spec.merges) {
    if (holds_behind_other(plan.index.bytes()[merge.product], text)) return false;
  }
  return true;
}

}  // namespace

EncodingPlan::EncodingPlan(const TokenizerSpec& spec)
    : byte_level(is_byte_level(spec)),
      fuse_unk(spec.fuse_unk),
      ignore_merges(spec.ignore_merges),
      index(make_index(spec, byte_level)),
      byte_symbols(),
      fallback(),
      merges({}, 0),
      added({}),
      added_normalized({}),
      normalizers(spec.normalizers) {
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    byte_symbols[byte] = byte_level || byte < 0x80 ? index.find({&text, 1}) : no_token;
    fallback[byte] = spec.byte_fallback ? index.find(fmt::format("<0x{:02X}>", byte)) : no_token;
  }
  unk = spec.unk_token.empty() ? no_token : index.find(byte_level ? byte_level_bytes(spec.unk_token).value_or("") : spec.unk_token);
  merges = make_merges(spec);
  added = make_finder(spec, *this, false);
  added_normalized = make_finder(spec, *this, true);
  bool is_split = false;
  for (const PreTokenizer& step : spec.pre_tokenizers) {
    std::visit([&](const auto& each) { steps.emplace_back(each); }, step);
    const auto* metaspace = std::get_if<Metaspace>(&step);
    is_split = is_split || !metaspace || metaspace->split;
  }
  const std::string space = space_replacement(spec);
  if (!is_split && may_cut_before(spec, *this, space)) steps.emplace_back(CutBefore{space});
}

Merges EncodingPlan::make_merges(const TokenizerSpec& spec) const {
  Merges all(spec.merges, spec.tokens.size());
  if (all.ordered()) return all;
  const auto symbols = [this](TokenId token, std::vector<TokenId>& out) { append_symbols(index.bytes()[token], out); };
  return Merges(essential_merges(spec.merges, spec.tokens.size(), symbols), spec.tokens.size());
}

std::string EncodingPlan::normalized(std::string_view given) const {
  std::string text(given);
  for (const Normalizer& step : normalizers) {
    if (const auto* prepend = std::get_if<Prepend>(&step)) {
      if (!text.empty()) text.insert(0, prepend->text);
    } else if (const auto* replace = std::get_if<Replace>(&step)) {
      text = replaced(text, replace->from, replace->to);
    } else {
      text = nfc(text);
    }
  }
  return text;
}

void EncodingPlan::append_symbols(std::string_view piece, std::vector<TokenId>& symbols) const {
  bool after_unk = false;
  for (const char *at = piece.data(), *end = at + piece.size(); at != end;) {
    const auto byte = static_cast<unsigned char>(*at);
    std::size_t length = 1;
    TokenId symbol = byte_symbols[byte];
    if (!byte_level && byte >= 0x80) {
      length = utf8_char(at, end).length;
      symbol = index.find({at, length});
    }
    const char* const begin = at;
    at += length;
    if (symbol != no_token) {
      symbols.push_back(symbol);
      after_unk = false;
      continue;
    }
    bool all = true;
    for (const char* b = begin; b != at; ++b) all = all && fallback[static_cast<unsigned char>(*b)] != no_token;
    if (all) {
      for (const char* b = begin; b != at; ++b) symbols.push_back(fallback[static_cast<unsigned char>(*b)]);
      after_unk = false;
    } else if (unk != no_token && !(after_unk && fuse_unk)) {
      symbols.push_back(unk);
      after_unk = true;
    }
  }
}

}  // namespace reckon

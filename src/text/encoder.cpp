#include "text/encoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "text/byte_level.h"
#include "text/nfc.h"
#include "text/split.h"
#include "text/utf8.h"

namespace reckon {
namespace {

template <class... Calls>
struct Overloaded : Calls... {
  using Calls::operator()...;
};
template <class... Calls>
Overloaded(Calls...) -> Overloaded<Calls...>;  // clang before 17 does not find this by itself

// The first place at or after `from` where a `text` begins that does not follow another, other than the start.
std::size_t next_cut_before(std::string_view whole, std::string_view text, std::size_t from) {
  for (std::size_t at = from; (at = whole.find(text, at)) != std::string_view::npos; at += text.size()) {
    if (at > 0 && !whole.substr(0, at).ends_with(text)) return at;
  }
  return whole.size();
}

TokenIndex make_index(const TokenizerSpec& spec, bool byte_level) {
  TokenIndex index(spec.tokens.size());
  for (const std::string& token : spec.tokens) {
    // Without bytes: none are written like this.
    const std::optional<std::string> bytes = byte_level ? byte_level_bytes(token) : std::optional(token);
    index.add(bytes.value_or(token), bytes && !bytes->empty());
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

// Whether cutting before it changes nothing: the text is a symbol, and no merge makes a token that holds it behind
// another.
bool may_cut_before(const TokenizerSpec& spec, const EncodingPlan& plan, const std::string& text) {
  if (text.empty() || spec.ignore_merges || plan.byte_level || plan.index.find(text) == no_token) return false;
  if (utf8_char(text.data(), text.data() + text.size()).length != text.size()) return false;
  return std::none_of(spec.merges.begin(), spec.merges.end(), [&](const TokenMerge& merge) {
    const std::string_view product = plan.index.bytes()[merge.product];
    return next_cut_before(product, text, 0) != product.size();
  });
}

template <class Take>
void split_at_text(const TextSplit& split, std::string_view whole, Take&& take) {
  using enum TextSplit::Behavior;
  const auto give = [&](std::size_t begin, std::size_t end) {
    if (end > begin) take(whole.substr(begin, end - begin));
  };
  std::size_t begin = 0, at = 0;
  for (std::size_t found; (found = whole.find(split.text, at)) != std::string_view::npos;) {
    const std::size_t after = found + split.text.size();
    give(begin, split.behavior == merged_with_previous ? after : found);
    if (split.behavior == isolated) give(found, after);
    begin = split.behavior == merged_with_next ? found : after;
    at = after;
  }
  give(begin, whole.size());
}

// Cuts where the kind of character changes, and around each of the kind if they stand alone. `next` gives the character
// at a place: whether it is of the kind, and where it ends.
struct KindOfChar {
  bool wanted;
  const char* next;
};
template <class Next, class Take>
void split_by_kind(std::string_view whole, bool alone, const Next& next, Take&& take) {
  const char *begin = whole.data(), *end = begin + whole.size();
  bool inside = false;
  for (const char* at = begin; at != end;) {
    const KindOfChar c = next(at, end);
    if (at != begin && (c.wanted != inside || (c.wanted && alone))) {
      take(std::string_view(begin, static_cast<std::size_t>(at - begin)));
      begin = at;
    }
    inside = c.wanted;
    at = c.next;
  }
  if (begin != end) take(std::string_view(begin, static_cast<std::size_t>(end - begin)));
}

KindOfChar number_at(const char* at, const char* end) {
  const SplitChar c = split_char(at, end);
  return {is_in(c.kind, number_chars), c.next};
}

// In GPT-2's alphabet, where ² ³ ¹ ¼ ½ ¾ stand for bytes too.
KindOfChar number_byte_at(const char* at, const char*) {
  constexpr std::string_view numbers = "0123456789\xB2\xB3\xB9\xBC\xBD\xBE";
  return {numbers.find(*at) != std::string_view::npos, at + 1};
}

KindOfChar punctuation_at(const char* at, const char* end) {
  const SplitChar c = split_char(at, end);
  const bool ascii_sign = c.next == at + 1 && is_in(c.kind, sign_chars) && static_cast<unsigned char>(*at) < 0x80;
  return {is_in(c.kind, punctuation_chars) || ascii_sign, c.next};
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
      normalizers(spec.normalizers),
      steps(spec.pre_tokenizers) {
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    byte_symbols[byte] = byte_level || byte < 0x80 ? index.find({&text, 1}) : no_token;
    fallback[byte] = spec.byte_fallback ? index.find(fmt::format("<0x{:02X}>", byte)) : no_token;
  }
  unk = index.find(byte_level ? byte_level_bytes(spec.unk_token).value_or("") : spec.unk_token);
  merges = Merges(spec.merges, spec.tokens.size());
  if (!merges.ordered()) {
    const auto symbols = [this](TokenId token, std::vector<TokenId>& out) {
      append_symbols(index.bytes()[token], out);
    };
    merges = Merges(essential_merges(spec.merges, spec.tokens.size(), symbols), spec.tokens.size());
  }
  added = make_finder(spec, *this, false);
  added_normalized = make_finder(spec, *this, true);
  const bool is_split = std::any_of(steps.begin(), steps.end(), [](const PreTokenizer& step) {
    const auto* metaspace = std::get_if<Metaspace>(&step);
    return !metaspace || metaspace->split;
  });
  const std::string space = space_replacement(spec);
  if (!is_split && may_cut_before(spec, *this, space)) cut_before = space;
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
    const std::string_view character(at, length);
    const auto fallback_of = [this](char each) { return fallback[static_cast<unsigned char>(each)]; };
    at += length;
    if (symbol != no_token) {
      symbols.push_back(symbol);
      after_unk = false;
    } else if (std::all_of(character.begin(), character.end(), [&](char c) { return fallback_of(c) != no_token; })) {
      for (const char each : character) symbols.push_back(fallback_of(each));
      after_unk = false;
    } else if (unk != no_token && !(after_unk && fuse_unk)) {
      symbols.push_back(unk);
      after_unk = true;
    }
  }
}

void Encoder::encode(const Segment& segment, std::vector<TokenId>& out) {
  if (segment.added != no_token) {
    out.push_back(segment.added);
  } else {
    pre_tokenize(segment.text, 0, segment, out);
  }
}

void Encoder::pre_tokenize(std::string_view text, std::size_t step, const Segment& segment, std::vector<TokenId>& out) {
  if (step == plan_.steps.size()) {
    if (plan_.cut_before.empty()) return encode_piece(text, out);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = next_cut_before(text, plan_.cut_before, begin + 1);
      encode_piece(text.substr(begin, end - begin), out);
      begin = end;
    }
    return;
  }
  const auto next = [&](std::string_view piece) { pre_tokenize(piece, step + 1, segment, out); };
  const bool may_prefix = step > 0 || !segment.continued;
  std::visit(
      Overloaded{
          [&](const RegexSplit& regex) { split(regex.splitter, text, next); },
          [&](const TextSplit& literal) { split_at_text(literal, text, next); },
          [&](const Digits& digits) {
            const auto begin = plan_.steps.begin(), here = begin + static_cast<std::ptrdiff_t>(step);
            const bool bytes = std::any_of(
                begin, here, [](const PreTokenizer& before) { return std::holds_alternative<ByteLevel>(before); });
            split_by_kind(text, digits.individual, bytes ? number_byte_at : number_at, next);
          },
          [&](const Punctuation& punctuation) { split_by_kind(text, !punctuation.contiguous, punctuation_at, next); },
          [&](const ByteLevel& level) {
            std::string prefixed;
            if (level.add_prefix_space && may_prefix && !text.starts_with(' '))
              text = prefixed = " " + std::string(text);
            if (!level.use_regex) return next(text);
            split(Splitter::gpt2, text, next);
          },
          [&](const Metaspace& metaspace) {
            std::string marked = replaced(text, " ", metaspace.replacement);
            const bool prepends = metaspace.prepending == Metaspace::Prepending::always ||
                                  (metaspace.prepending == Metaspace::Prepending::first && segment.at_start);
            if (prepends && may_prefix && !marked.starts_with(metaspace.replacement))
              marked.insert(0, metaspace.replacement);
            if (!metaspace.split) return next(marked);
            split_at_text({metaspace.replacement, TextSplit::Behavior::merged_with_next}, marked, next);
          },
      },
      plan_.steps[step]);
}

void Encoder::encode_piece(std::string_view piece, std::vector<TokenId>& out) {
  if (piece.empty()) return;
  if (piece.size() > PieceCache::longest) return merge_piece(piece, out);
  const PieceCache::Key key = cache_.at(piece);
  if (key.found()) {
    const std::span<const TokenId> tokens = key.place.found();
    if (tokens.size() == 1) return out.push_back(tokens[0]);
    out.insert(out.end(), tokens.begin(), tokens.end());
    return;
  }
  const std::size_t before = out.size();
  merge_piece(piece, out);
  key.keep(std::span(out).subspan(before));
}

void Encoder::merge_piece(std::string_view piece, std::vector<TokenId>& out) {
  if (plan_.ignore_merges) {
    if (const TokenId whole = plan_.index.find(piece); whole != no_token) return out.push_back(whole);
  }
  symbols_.clear();
  plan_.append_symbols(piece, symbols_);
  merger_.merge(plan_.merges, symbols_, out);
}

std::vector<Segment> segments_of(const EncodingPlan& plan, std::string_view text, bool special) {
  std::vector<Segment> segments;
  const auto token = [&](TokenId id) { segments.push_back({id, {}, nullptr, false, false}); };
  const auto take_raw = [&](std::string_view raw, bool at_start) {
    std::shared_ptr<const std::string> normalized;
    if (!plan.normalizers.empty()) raw = *(normalized = std::make_shared<const std::string>(plan.normalized(raw)));
    const auto take_normal = [&](std::string_view part, bool first) {
      segments.push_back({no_token, part, normalized, at_start && first, false});
    };
    plan.added_normalized.cut_out(raw, special, take_normal, token);
  };
  plan.added.cut_out(text, special, take_raw, token);
  return segments;
}

void cut_long_segments(const EncodingPlan& plan, std::size_t length, std::vector<Segment>& segments) {
  const bool cut_before = plan.steps.empty() && !plan.cut_before.empty();
  const auto* byte_level = plan.steps.empty() ? nullptr : std::get_if<ByteLevel>(&plan.steps[0]);
  const auto* regex = plan.steps.empty() ? nullptr : std::get_if<RegexSplit>(&plan.steps[0]);
  const bool is_regex = byte_level ? byte_level->use_regex : regex && matches_all(regex->splitter);
  if (!cut_before && !is_regex) return;
  std::vector<Segment> parts;
  for (const Segment& segment : segments) {
    Segment rest = segment;
    while (rest.text.size() > length) {
      const std::size_t cut =
          cut_before ? next_cut_before(rest.text, plan.cut_before, length) : safe_cut(rest.text, length);
      if (cut == rest.text.size()) break;
      Segment part = rest;
      part.text = rest.text.substr(0, cut);
      parts.push_back(part);
      rest.text.remove_prefix(cut);
      rest.continued = true;
    }
    parts.push_back(rest);
  }
  segments = std::move(parts);
}

}  // namespace reckon

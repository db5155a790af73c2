#include "text/encoder.h"

#include <algorithm>
#include <optional>

#include "text/replace.h"
#include "text/split.h"
#include "text/utf8.h"

namespace reckon {
namespace {

template <class... Calls>
struct Overloaded : Calls... {
  using Calls::operator()...;
};

// The first place at or after `from` where a `text` begins that does not follow another, other than the start.
std::size_t next_cut_before(std::string_view whole, std::string_view text, std::size_t from) {
  for (std::size_t at = from; (at = whole.find(text, at)) != std::string_view::npos; at += text.size()) {
    if (at > 0 && !whole.substr(0, at).ends_with(text)) return at;
  }
  return whole.size();
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

template <class Take>
void split_digits(const Digits& digits, std::string_view whole, Take&& take) {
  const char *begin = whole.data(), *end = begin + whole.size();
  bool in_number = false;
  for (const char* at = begin; at != end;) {
    const SplitChar c = split_char(at, end);
    const bool number = is_in(c.kind, number_chars);
    if (at != begin && (number != in_number || (number && digits.individual))) {
      take(std::string_view(begin, static_cast<std::size_t>(at - begin)));
      begin = at;
    }
    in_number = number;
    at = c.next;
  }
  if (begin != end) take(std::string_view(begin, static_cast<std::size_t>(end - begin)));
}

}  // namespace

void Encoder::encode(const Segment& segment, std::vector<TokenId>& out) {
  if (segment.added != no_token) {
    out.push_back(segment.added);
  } else {
    pre_tokenize(segment.text, 0, segment, out);
  }
}

void Encoder::pre_tokenize(std::string_view text, std::size_t step, const Segment& segment, std::vector<TokenId>& out) {
  if (step == plan_.steps.size()) return encode_piece(text, out);
  const auto next = [&](std::string_view piece) { pre_tokenize(piece, step + 1, segment, out); };
  const bool may_prefix = step > 0 || !segment.continued;
  std::visit(
      Overloaded{
          [&](const RegexSplit& regex) { split(regex.splitter, text, next); },
          [&](const TextSplit& literal) { split_at_text(literal, text, next); },
          [&](const Digits& digits) { split_digits(digits, text, next); },
          [&](const ByteLevel& level) {
            std::string prefixed;
            if (level.add_prefix_space && may_prefix && !text.starts_with(' ')) text = prefixed = " " + std::string(text);
            if (!level.use_regex) return next(text);
            split(Splitter::gpt2, text, next);
          },
          [&](const Metaspace& metaspace) {
            std::string marked = replaced(text, " ", metaspace.replacement);
            const bool prepends = metaspace.prepending == Metaspace::Prepending::always ||
                                  (metaspace.prepending == Metaspace::Prepending::first && segment.at_start);
            if (prepends && may_prefix && !marked.starts_with(metaspace.replacement)) marked.insert(0, metaspace.replacement);
            if (!metaspace.split) return next(marked);
            split_at_text({metaspace.replacement, TextSplit::Behavior::merged_with_next}, marked, next);
          },
          [&](const CutBefore& cut) {
            for (std::size_t begin = 0; begin < text.size();) {
              const std::size_t end = next_cut_before(text, cut.text, begin + 1);
              next(text.substr(begin, end - begin));
              begin = end;
            }
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
  // Calls take_text and take_token for what lies between matches and for the matches.
  const auto cut_out = [special](const AddedTokenFinder& finder, std::string_view whole, auto take_text, auto take_token) {
    std::size_t begin = 0;
    while (const auto match = finder.find(whole, begin, special)) {
      if (match->begin > begin) take_text(whole.substr(begin, match->begin - begin), begin == 0);
      take_token(match->id);
      begin = match->end;
    }
    if (begin < whole.size()) take_text(whole.substr(begin), begin == 0);
  };
  const auto token = [&](TokenId id) { segments.push_back({id, {}, nullptr, false, false}); };
  const auto take_raw = [&](std::string_view raw, bool at_start) {
    std::shared_ptr<const std::string> normalized;
    if (!plan.normalizers.empty()) raw = *(normalized = std::make_shared<const std::string>(plan.normalized(raw)));
    const auto take_normal = [&](std::string_view part, bool first) {
      segments.push_back({no_token, part, normalized, at_start && first, false});
    };
    cut_out(plan.added_normalized, raw, take_normal, token);
  };
  cut_out(plan.added, text, take_raw, token);
  return segments;
}

void cut_long_segments(const EncodingPlan& plan, std::size_t length, std::vector<Segment>& segments) {
  if (plan.steps.empty()) return;
  const auto* byte_level = std::get_if<ByteLevel>(&plan.steps[0]);
  const auto* before = std::get_if<CutBefore>(&plan.steps[0]);
  if (!std::holds_alternative<RegexSplit>(plan.steps[0]) && !(byte_level && byte_level->use_regex) && !before) return;
  std::vector<Segment> parts;
  for (const Segment& segment : segments) {
    Segment rest = segment;
    while (rest.text.size() > length) {
      const std::size_t cut = before ? next_cut_before(rest.text, before->text, length) : safe_cut(rest.text, length);
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

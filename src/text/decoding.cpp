#include "text/decoding.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "text/byte_level.h"

namespace reckon {
namespace {

void strip(std::string& text, const Strip& step) {
  for (std::int64_t i = 0; i < step.start && text.starts_with(step.content); ++i) text.erase(0, step.content.size());
  for (std::int64_t i = 0; i < step.stop && text.ends_with(step.content); ++i)
    text.resize(text.size() - step.content.size());
}

// <0x41> is A.
std::string byte_of_fallback(const std::string& text) {
  unsigned value = 0;
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return text;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
  return error == std::errc() && end == text.data() + 5 ? std::string(1, static_cast<char>(value)) : text;
}

// One token by the steps before Fuse.
std::string decode_token(std::string text, std::span<const Decoder> steps, bool added, bool first) {
  for (const Decoder& step : steps) {
    if (const auto* replace = std::get_if<Replace>(&step)) {
      text = replaced(text, replace->from, replace->to);
    } else if (const auto* metaspace = std::get_if<Metaspace>(&step)) {
      const bool drops = first && metaspace->prepending != Metaspace::Prepending::never;
      text = replaced(text, metaspace->replacement, drops ? "" : " ");
    } else if (std::holds_alternative<ByteLevelDecoder>(step)) {
      if (!added) text = byte_level_bytes(text).value_or(text);
    } else if (std::holds_alternative<ByteFallback>(step)) {
      text = byte_of_fallback(text);
    } else if (const auto* each = std::get_if<Strip>(&step)) {
      strip(text, *each);
    }
  }
  return text;
}

}  // namespace

Decoding::Decoding(const TokenizerSpec& spec) : joined_by_space_(spec.decoders.empty()) {
  const auto fuse = std::find_if(spec.decoders.begin(), spec.decoders.end(),
                                 [](const Decoder& step) { return std::holds_alternative<Fuse>(step); });
  const std::span<const Decoder> steps(spec.decoders.data(), static_cast<std::size_t>(fuse - spec.decoders.begin()));
  for (auto step = fuse; step != spec.decoders.end(); ++step) {
    if (std::holds_alternative<Fuse>(*step)) continue;
    const auto* behind = std::get_if<Strip>(&*step);
    if (!behind || behind->stop != 0 || strip_ != 0) {
      throw Error("decoder: behind Fuse only one Strip with 'stop' 0 is understood");
    }
    strip_ = behind->start;
    strip_content_ = behind->content;
  }
  differs_first_ = std::any_of(steps.begin(), steps.end(), [](const Decoder& step) {
    const auto* metaspace = std::get_if<Metaspace>(&step);
    return metaspace && metaspace->prepending != Metaspace::Prepending::never;
  });

  std::size_t size = spec.tokens.size();
  for (const AddedToken& token : spec.added_tokens) size = std::max(size, static_cast<std::size_t>(token.id) + 1);
  std::vector<const AddedToken*> added(size);
  for (const AddedToken& token : spec.added_tokens) added[static_cast<std::size_t>(token.id)] = &token;
  special_.resize(size);
  for (std::size_t id = 0; id < size; ++id) {
    const std::string& text = added[id] ? added[id]->content : id < spec.tokens.size() ? spec.tokens[id] : "";
    special_[id] = added[id] && added[id]->special ? 1 : 0;
    bytes_.add(decode_token(text, steps, added[id] != nullptr, false));
    if (differs_first_) first_bytes_.add(decode_token(text, steps, added[id] != nullptr, true));
  }
}

void Decoding::check(TokenId id) const {
  if (id >= 0 && static_cast<std::size_t>(id) < size()) return;
  throw Error(fmt::format("token id {} is not in the vocabulary, whose ids are 0 to {}", id,
                          static_cast<std::int64_t>(size()) - 1));
}

std::string Decoding::decode(std::span<const TokenId> ids, bool skip_special) const {
  constexpr std::size_t room = TokenBytes::readable_behind, block = 256;
  std::string text;
  std::string scratch;
  std::size_t end = 0;
  Start state = start();
  for (std::size_t from = 0; from < ids.size(); from += block) {
    const std::span<const TokenId> some = ids.subspan(from, std::min(block, ids.size() - from));
    std::size_t most = some.size() + room;  // a space before each, and what a short token's copy writes behind it
    for (const TokenId id : some) {
      check(id);
      most += bytes(id).size();
    }
    if (text.size() < end + most) text.resize(std::max(end + most, 2 * text.size()));
    char* at = text.data() + end;
    for (const TokenId id : some) {
      if (skip_special && is_special(id)) continue;
      const bool plain = !state.first && state.strip == 0 && !joined_by_space_;
      const std::string_view part = plain ? bytes(id) : next(id, state, scratch);
      // Most tokens are short, and a copy of fixed length is one instruction.
      if (plain && part.size() <= room) {
        std::memcpy(at, part.data(), room);
      } else if (!part.empty()) {
        std::memcpy(at, part.data(), part.size());
      }
      at += part.size();
    }
    end = static_cast<std::size_t>(at - text.data());
  }
  text.resize(end);
  return text;
}

std::string_view Decoding::next(TokenId id, Start& state, std::string& scratch) const {
  std::string_view part = state.first && differs_first_ ? first_bytes_[id] : bytes(id);
  if (joined_by_space_ && !state.first) part = scratch = " " + std::string(part);
  state.first = false;
  while (state.strip > 0 && !part.empty()) {
    if (!part.starts_with(strip_content_)) {
      state.strip = 0;
    } else {
      part.remove_prefix(strip_content_.size());
      --state.strip;
    }
  }
  return part;
}

}  // namespace reckon

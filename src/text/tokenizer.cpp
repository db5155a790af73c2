#include "text/tokenizer.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "text/encoder.h"
#include "text/utf8.h"
#include "threads/pool.h"

namespace reckon {

struct Tokenizer::State {
  explicit State(TokenizerSpec given) : spec(std::move(given)), plan(spec), decoding(spec) {}

  TokenizerSpec spec;
  EncodingPlan plan;
  Decoding decoding;

  // Encoders that no thread is using, with the pieces that they know.
  std::unique_ptr<Encoder> borrow() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return std::make_unique<Encoder>(plan);
    std::unique_ptr<Encoder> encoder = std::move(idle.back());
    idle.pop_back();
    return encoder;
  }
  void give_back(std::unique_ptr<Encoder> encoder) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(encoder));
  }

 private:
  std::mutex mutex;
  std::vector<std::unique_ptr<Encoder>> idle;
};

Tokenizer::Tokenizer(TokenizerSpec spec) : state_(std::make_shared<State>(std::move(spec))) {}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options, Pool* pool) const {
  constexpr std::size_t part_length = std::size_t{1} << 20;  // bytes of a text that one task encodes
  std::vector<TokenId> ids;
  if (options.add_special) ids = state_->spec.before;
  std::vector<Segment> segments = segments_of(state_->plan, text, options.special_text);
  if (pool) cut_long_segments(state_->plan, part_length, segments);
  const auto encode_some = [this](std::span<const Segment> some, std::vector<TokenId>& out) {
    std::unique_ptr<Encoder> encoder = state_->borrow();
    for (const Segment& segment : some) encoder->encode(segment, out);
    state_->give_back(std::move(encoder));
  };
  if (!pool || segments.size() < 2) {
    encode_some(segments, ids);
  } else {
    // Short segments side by side are one task.
    std::vector<std::span<const Segment>> tasks;
    std::size_t begin = 0, length = 0;
    for (std::size_t end = 1; end <= segments.size(); ++end) {
      length += segments[end - 1].text.size();
      if (length < part_length && end < segments.size()) continue;
      tasks.push_back(std::span(segments).subspan(begin, end - begin));
      begin = end;
      length = 0;
    }
    std::vector<std::vector<TokenId>> parts(tasks.size());
    pool->run(std::ssize(tasks), [&](std::int64_t task, int) {
      encode_some(tasks[static_cast<std::size_t>(task)], parts[static_cast<std::size_t>(task)]);
    });
    std::size_t total = ids.size() + state_->spec.after.size();
    for (const auto& part : parts) total += part.size();
    ids.reserve(total);
    for (const auto& part : parts) ids.insert(ids.end(), part.begin(), part.end());
  }
  if (options.add_special) ids.insert(ids.end(), state_->spec.after.begin(), state_->spec.after.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  return state_->decoding.decode(ids, skip_special);
}

std::vector<std::string> Tokenizer::decode_each(std::span<const TokenId> ids) const {
  std::vector<std::string> parts;
  std::string scratch;
  Decoding::Start start = state_->decoding.start();
  for (const TokenId id : ids) {
    state_->decoding.check(id);
    parts.emplace_back(state_->decoding.next(id, start, scratch));
  }
  return parts;
}

std::size_t Tokenizer::size() const { return state_->decoding.size(); }

std::string_view Tokenizer::bytes(TokenId id) const {
  state_->decoding.check(id);
  return state_->decoding.bytes(id);
}

bool Tokenizer::is_special(TokenId id) const {
  state_->decoding.check(id);
  return state_->decoding.is_special(id);
}

const TokenizerSpec& Tokenizer::spec() const { return state_->spec; }

std::optional<TokenId> first_difference(const Tokenizer& one, const Tokenizer& other) {
  const auto size = static_cast<TokenId>(std::min(one.size(), other.size()));
  for (TokenId id = 0; id < size; ++id)
    if (one.bytes(id) != other.bytes(id) && !one.bytes(id).empty() && !other.bytes(id).empty()) return id;
  return std::nullopt;
}

StreamDecoder::StreamDecoder(Tokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)), start_(tokenizer_.state_->decoding.start()) {}

std::string StreamDecoder::add(TokenId id) {
  const Decoding& decoding = tokenizer_.state_->decoding;
  decoding.check(id);
  if (decoding.is_special(id)) return "";
  std::string scratch;
  held_ += decoding.next(id, start_, scratch);
  std::string whole = held_.substr(0, held_.size() - unfinished_utf8(held_));
  held_.erase(0, whole.size());
  return whole;
}

std::string StreamDecoder::finish() {
  start_ = tokenizer_.state_->decoding.start();
  return std::exchange(held_, "");
}

}  // namespace reckon

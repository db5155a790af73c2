#include "train/data.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <algorithm>

#include "files/atomic_write.h"
#include "files/numbers.h"
#include "files/random.h"
#include "files/stable_hash.h"
#include "text/load.h"
#include "text/text_files.h"
#include "text/tokenizer_json.h"
#include "threads/pool.h"
#include "train/stories.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

void check(const DataOptions& options) {
  if (options.context < 1) throw UsageError(fmt::format("`context` is {}; expected 1 or more", options.context));
  if (!(options.validation >= 0 && options.validation < 1)) {
    throw UsageError(fmt::format("`validation` is {}; expected 0 or more, below 1", options.validation));
  }
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks) {
    throw UsageError(fmt::format("rank {} of {} makes no sense", options.rank, options.ranks));
  }
}

// Two different random numbers for each epoch, whatever the seed.
std::uint64_t epoch_seed(std::uint64_t seed, std::int64_t epoch, std::uint64_t purpose) {
  return mixed(mixed(mixed(seed) + static_cast<std::uint64_t>(epoch)) + purpose);
}

// A token file of this tokenizer, whole.
bool is_usable(const fs::path& path, std::int64_t vocab_size, std::uint64_t tokenizer_hash) {
  try {
    const TokenFile file(path);
    return file.tokenizer_hash() == tokenizer_hash && file.vocab_size() == vocab_size;
  } catch (const Error&) {
    return false;
  }
}

// What a file is known by: when it changed, or if that means nothing (a pipe), what it holds.
std::string key_of(const fs::path& path, std::string_view text) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  if (error || !fs::is_regular_file(whole, error)) return fmt::format("{} {:016x}\n", text.size(), stable_hash(text));
  const auto changed = fs::last_write_time(whole, error).time_since_epoch().count();
  return fmt::format("{} {} {}\n", whole.string(), text.size(), static_cast<std::int64_t>(changed));
}

}  // namespace

Permutation::Permutation(std::int64_t length, std::uint64_t seed)
    : length_(static_cast<std::uint64_t>(length)), seed_(mixed(seed)) {
  while (half_bits_ < 31 && (std::uint64_t{1} << (2 * half_bits_)) < length_) ++half_bits_;
}

std::int64_t Permutation::operator()(std::int64_t index) const {
  constexpr std::uint64_t n_rounds = 6;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  auto value = static_cast<std::uint64_t>(index);
  do {
    std::uint64_t left = value >> half_bits_, right = value & mask;
    for (std::uint64_t round = 0; round < n_rounds; ++round) {
      const std::uint64_t next = left ^ (mixed(seed_ + round * splitmix_step + right) & mask);
      left = right;
      right = next;
    }
    value = left << half_bits_ | right;
  } while (value >= length_);
  return static_cast<std::int64_t>(value);
}

std::uint64_t hash_of(const Tokenizer& tokenizer) { return stable_hash(write_tokenizer_json(tokenizer.spec())); }

Dataset::Dataset(const DataOptions& options) : options_(options) {
  check(options);
  const auto token_files = std::count_if(options.paths.begin(), options.paths.end(), is_token_file);
  if (token_files > 0) {
    if (options.paths.size() > 1) {
      throw Error(fmt::format("{} of {} files hold tokens; expected one token file, or text", token_files,
                              options.paths.size()));
    }
    path_ = options.paths.front();
    reused_ = true;
    if (!options.tokenizer.empty()) tokenizer_ = load_tokenizer(options.tokenizer);
  } else {
    tokenizer_ = load_tokenizer(options.tokenizer);
    if (options.paths.empty()) {
      const std::string text = stories(0, options.story_bytes);
      tokenize(std::vector<std::string_view>{text}, fmt::format("stories {}", options.story_bytes));
    } else {
      const TextFiles files(options.paths);
      if (files.bytes() == 0) {
        throw Error(fmt::format("{}: is empty; expected text to train on", options.paths.front().string()));
      }
      std::string key;
      for (std::size_t i = 0; i < files.texts().size(); ++i) key += key_of(files.paths()[i], files.texts()[i]);
      tokenize(files.texts(), key);
    }
  }
  tokens_.emplace(path_);
  if (tokenizer_ && tokens_->tokenizer_hash() != 0 && tokens_->tokenizer_hash() != hash_of(*tokenizer_)) {
    throw Error(fmt::format("{}: was made with another tokenizer than {}", path_.string(), options.tokenizer));
  }
  if (options.vocab_size > 0 && tokens_->vocab_size() > options.vocab_size) {
    throw Error(fmt::format("{}: has a vocabulary of {} tokens; expected at most {}, as the model has", path_.string(),
                            grouped(tokens_->vocab_size()), grouped(options.vocab_size)));
  }

  const std::int64_t size = tokens_->size(), context = options.context;
  training_ = static_cast<std::int64_t>(static_cast<double>(size) * (1 - options.validation));
  if (training_ < context + 1 || (options.validation > 0 && size - training_ < 2)) {
    throw Error(
        fmt::format("the text has {} tokens, {} of them for training and {} for validation; expected at least {} "
                    "for training, one more than the context, and 2 for validation",
                    grouped(size), grouped(training_), grouped(size - training_), grouped(context + 1)));
  }
  // As many windows as there are room for at any offset below the context, so that every epoch has the same number.
  windows_ = std::max<std::int64_t>(1, (training_ - context) / context);
  offsets_ = std::min(context, training_ - windows_ * context);
}

void Dataset::tokenize(std::span<const std::string_view> texts, const std::string& key) {
  const std::uint64_t hash = hash_of(*tokenizer_);
  const auto vocab_size = static_cast<std::int64_t>(tokenizer_->size());
  path_ = options_.cache / fmt::format("{:016x}-{:016x}.tokens", stable_hash(key), hash);
  reused_ = is_usable(path_, vocab_size, hash);
  if (reused_) return;
  make_folder(options_.cache);
  TokenFileWriter writer(path_, vocab_size, hash);
  Pool pool(options_.threads);
  for (const std::string_view text : texts) writer.add(tokenizer_->encode(text, {.add_special = false}, &pool));
  writer.commit();
}

void Dataset::next(DataPosition& position, std::int64_t batch, std::int32_t* ids, std::int32_t* labels) const {
  const std::int64_t context = options_.context;
  for (std::int64_t row = 0; row < batch; ++row) {
    const std::int64_t at = position.window + options_.rank * batch + row;
    const std::int64_t epoch = position.epoch + at / windows_;
    const Permutation order(windows_, epoch_seed(options_.seed, epoch, 0));
    const auto offset =
        static_cast<std::int64_t>(epoch_seed(options_.seed, epoch, 1) % static_cast<std::uint64_t>(offsets_));
    const std::int64_t first = offset + order(at % windows_) * context;
    tokens_->copy(first, context, ids + row * context);
    tokens_->copy(first + 1, context, labels + row * context);
  }
  position.window += options_.ranks * batch;
  position.epoch += position.window / windows_;
  position.window %= windows_;
}

std::vector<std::int64_t> Dataset::training_counts() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocab_size()));
  std::vector<std::int32_t> ids(std::size_t{1} << 16);
  for (std::int64_t first = 0; first < training_; first += std::ssize(ids)) {
    const std::int64_t count = std::min<std::int64_t>(std::ssize(ids), training_ - first);
    tokens_->copy(first, count, ids.data());
    for (std::int64_t i = 0; i < count; ++i) ++counts[static_cast<std::size_t>(ids[static_cast<std::size_t>(i)])];
  }
  return counts;
}

std::int64_t Dataset::validation_windows() const {
  return std::max<std::int64_t>(0, validation_tokens() - 1 + options_.context - 1) / options_.context;
}

std::int64_t Dataset::validation(std::int64_t first, std::int64_t batch, std::int32_t* ids,
                                 std::int32_t* labels) const {
  const std::int64_t context = options_.context, last = tokens_->size() - 1;  // the last token is a label only
  std::fill(ids, ids + batch * context, 0);
  std::fill(labels, labels + batch * context, -1);
  std::int64_t sum = 0;
  for (std::int64_t row = 0; row < batch; ++row) {
    const std::int64_t begin = training_ + (first + row) * context;
    const std::int64_t length = std::clamp<std::int64_t>(last - begin, 0, context);
    if (length == 0) break;
    tokens_->copy(begin, length, ids + row * context);
    tokens_->copy(begin + 1, length, labels + row * context);
    sum += length;
  }
  return sum;
}

std::string Dataset::description() const {
  const std::string what = options_.paths.empty()       ? "the embedded stories"
                           : options_.paths.size() == 1 ? options_.paths.front().filename().string()
                                                        : fmt::format("{} files", options_.paths.size());
  const bool is_file = !options_.paths.empty() && path_ == options_.paths.front();
  return fmt::format("{}: {} tokens{}", what, grouped(tokens_->size()),
                     is_file   ? ""
                     : reused_ ? ", read from the cache"
                               : ", tokenized now");
}

}  // namespace reckon

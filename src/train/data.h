// What a model is trained on: text that is tokenized once, or a token file; cut into windows, shuffled each epoch, with
// its end held out for validation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "train/token_file.h"

namespace reckon {

struct DataOptions {
  std::vector<std::filesystem::path> paths = {};  // text files and folders of them, or one token file; none: the
                                                  // stories of train/stories.h
  std::int64_t story_bytes = 2'000'000;           // so much of those
  std::string tokenizer = "bytes";                // as load_tokenizer() takes it; a token file needs none
  std::int64_t vocab_size = 0;                    // of the model; 0: any
  std::filesystem::path cache = {};               // folder for the token files of texts; made if need be. A file counts
                                                  // as unchanged while its path, size and time of change are the same
  double validation = 0.1;                        // share of the tokens that is held out: the last ones
  std::int64_t context = 64;                      // tokens of a window
  std::uint64_t seed = 0;                         // of the shuffling
  int rank = 0, ranks = 1;                        // this process among those that train together
  int threads = 1;                                // that tokenize
};

// Where training is in the data; the same for all ranks. Saved and put back, it goes on with the same windows.
struct DataPosition {
  std::int64_t epoch = 0, window = 0;  // windows of the epoch that are done
  bool operator==(const DataPosition&) const = default;
};

// A shuffled order of any length that takes no memory: a Feistel network over the smallest even number of bits that
// holds the length, applied again while its result lies past the end (cycle walking: Black and Rogaway 2002).
class Permutation {
 public:
  Permutation(std::int64_t length, std::uint64_t seed);
  // One to one from [0, length) to itself.
  std::int64_t operator()(std::int64_t index) const;

 private:
  std::uint64_t length_, seed_;
  unsigned half_bits_ = 1;
};

// A hash of its tokenizer.json, as reckon writes it.
std::uint64_t hash_of(const Tokenizer& tokenizer);

class Dataset {
 public:
  // An Error where there is no text, too little for the context, or the ids do not fit the model.
  explicit Dataset(const DataOptions& options);

  // The next `batch` windows of this rank: batch × context ids, and for each the id that follows it as its label.
  // All ranks together take ranks × batch windows, rank after rank: what one would take with such a batch. An epoch
  // takes each window once, in an order of its own; a batch may go on into the next.
  void next(DataPosition& position, std::int64_t batch, std::int32_t* ids, std::int32_t* labels) const;

  // `batch` windows of the held-out part from window `first` on, which follow each other without overlap. What lies
  // past the end has the label -1 (and id 0). Returns the number of labels that are not -1.
  std::int64_t validation(std::int64_t first, std::int64_t batch, std::int32_t* ids, std::int32_t* labels) const;

  std::int64_t windows() const { return windows_; }  // of an epoch
  std::int64_t validation_windows() const;           // the last may be shorter
  std::int64_t training_tokens() const { return training_; }
  std::int64_t validation_tokens() const { return tokens_->size() - training_; }
  std::int64_t vocab_size() const { return tokens_->vocab_size(); }
  std::vector<std::int64_t> training_counts() const;  // how often each id occurs in what is not held out

  const Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }
  const std::filesystem::path& token_file() const { return path_; }
  bool reused() const { return reused_; }  // the token file was there already
  // A sentence: "book.txt: 1115394 tokens, read from the cache".
  std::string description() const;

 private:
  // Opens the token file of these texts in the cache, or makes it: its name says what it is made of, which is `key` and
  // the tokenizer.
  void tokenize(std::span<const std::string_view> texts, const std::string& key);

  DataOptions options_;
  std::filesystem::path path_;
  bool reused_ = false;
  std::optional<Tokenizer> tokenizer_;
  std::optional<TokenFile> tokens_;
  std::int64_t training_ = 0, windows_ = 0, offsets_ = 0;
};

}  // namespace reckon

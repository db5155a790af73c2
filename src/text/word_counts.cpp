#include "text/word_counts.h"

#include <algorithm>
#include <atomic>

#include "text/added_tokens.h"
#include "text/hash.h"
#include "threads/pool.h"

namespace reckon {
namespace {

constexpr std::size_t chunk_size = 256 << 10;

// Whether an occurrence of a special token begins before the place and ends behind it.
bool is_spanned(std::string_view text, std::size_t at, std::span<const std::string> special_tokens) {
  return std::any_of(special_tokens.begin(), special_tokens.end(), [&](const std::string& token) {
    const std::size_t reach = token.size() - 1, from = at - std::min(at, reach);
    return text.substr(from, at - from + reach).find(token) != std::string_view::npos;
  });
}

// Open addressing, linear probing: no copy of the words, one cache line for most look-ups.
class WordTable {
 public:
  void add(std::string_view bytes, std::int64_t count) {
    if (size_ * 2 >= entries_.size()) grow();
    const std::uint64_t hash = hash_bytes(bytes);
    Entry& entry = find(bytes, hash);
    if (entry.word.count == 0) {
      entry = {{bytes, 0}, hash};
      ++size_;
    }
    entry.word.count += count;
  }

  std::size_t size() const { return size_; }

  std::vector<Word> words() const {
    std::vector<Word> words;
    words.reserve(size_);
    for (const Entry& entry : entries_) {
      if (entry.word.count > 0) words.push_back(entry.word);
    }
    return words;
  }

 private:
  struct Entry {
    Word word;  // count 0: free
    std::uint64_t hash = 0;
  };

  Entry& find(std::string_view bytes, std::uint64_t hash) {
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      Entry& entry = entries_[at];
      if (entry.word.count == 0 || (entry.hash == hash && entry.word.bytes == bytes)) return entry;
    }
  }

  void grow() {
    std::vector<Entry> old(std::max<std::size_t>(entries_.size() * 2, 1 << 12));
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.word.count > 0) find(entry.word.bytes, entry.hash) = entry;
    }
  }

  std::vector<Entry> entries_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace

std::vector<std::string_view> cut_text(std::string_view text, std::size_t size,
                                       std::span<const std::string> special_tokens) {
  std::vector<std::string_view> chunks;
  while (!text.empty()) {
    std::size_t at = safe_cut(text, size);
    while (at < text.size() && is_spanned(text, at, special_tokens)) at = safe_cut(text, at + 1);
    chunks.push_back(text.substr(0, at));
    text.remove_prefix(at);
  }
  return chunks;
}

std::vector<Word> count_words(std::span<const std::string_view> texts, Splitter splitter,
                              std::span<const std::string> special_tokens, int threads,
                              const std::function<void(std::int64_t)>& counted) {
  std::vector<std::string_view> chunks;
  for (const std::string_view text : texts) {
    const std::vector<std::string_view> cut = cut_text(text, chunk_size, special_tokens);
    chunks.insert(chunks.end(), cut.begin(), cut.end());
  }
  std::vector<AddedToken> added;
  for (const std::string& token : special_tokens) added.push_back({.content = token});
  const AddedTokenFinder finder(std::move(added));
  Pool pool(threads);
  std::vector<WordTable> tables(static_cast<std::size_t>(pool.threads()));
  std::atomic<std::int64_t> done = 0;
  pool.run(std::ssize(chunks), [&](std::int64_t task, int worker) {
    WordTable& table = tables[static_cast<std::size_t>(worker)];
    const std::string_view chunk = chunks[static_cast<std::size_t>(task)];
    const auto count_pieces = [&](std::string_view text, bool) {
      split(splitter, text, [&](std::string_view piece) { table.add(piece, 1); });
    };
    finder.cut_out(chunk, true, count_pieces, [](TokenId) {});
    done += std::ssize(chunk);
    if (counted && worker == 0) counted(done);
  });
  // The sum does not depend on which worker counted which chunk. The largest table need not be copied.
  const auto largest = std::max_element(tables.begin(), tables.end(),
                                        [](const WordTable& a, const WordTable& b) { return a.size() < b.size(); });
  std::swap(tables.front(), *largest);
  for (std::size_t i = 1; i < tables.size(); ++i) {
    for (const Word& word : tables[i].words()) tables.front().add(word.bytes, word.count);
    tables[i] = {};
  }
  return tables.front().words();
}

}  // namespace reckon

// The data of training: tokenized once, split, shuffled without replacement, shared out among ranks.
#include "train/data.h"

#include <gtest/gtest.h>
#include <reckon/error.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "folder_fixture.h"
#include "paths.h"
#include "text/load.h"
#include "text/tokenizer_json.h"
#include "train/stories.h"

namespace reckon {
namespace {

using Ids = std::vector<std::int32_t>;

TEST(Permutation, TakesEachIndexOnceForAnyLength) {
  std::vector<std::int64_t> lengths = {1000, 4096, 4097, 100'000};
  for (std::int64_t length = 1; length < 70; ++length) lengths.push_back(length);
  for (const std::int64_t length : lengths) {
    const Permutation order(length, 5);
    std::vector<bool> seen(static_cast<std::size_t>(length));
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t to = order(i);
      ASSERT_GE(to, 0);
      ASSERT_LT(to, length);
      ASSERT_FALSE(seen[static_cast<std::size_t>(to)]) << length;
      seen[static_cast<std::size_t>(to)] = true;
    }
  }
}

TEST(Permutation, IsAnotherForAnotherSeedAndSpreadsEvenly) {
  constexpr std::int64_t length = 10;
  std::map<std::pair<std::int64_t, std::int64_t>, int> counts;  // of (from, to)
  std::set<std::vector<std::int64_t>> orders;
  constexpr int n_seeds = 2000;
  for (std::uint64_t seed = 0; seed < n_seeds; ++seed) {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < length; ++i) {
      order.push_back(Permutation(length, seed)(i));
      ++counts[{i, order.back()}];
    }
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), n_seeds * 99 / 100);
  // Each of the hundred should come n_seeds / length = 200 times, with a standard deviation of 13.4.
  EXPECT_EQ(counts.size(), static_cast<std::size_t>(length * length));
  for (const auto& [pair, count] : counts) EXPECT_NEAR(count, n_seeds / length, 80) << pair.first << pair.second;
}

class Data : public FolderTest {
 protected:
  // A token file with the ids 0, 1, 2 …: an id is its place.
  DataOptions counting(std::int64_t size, std::int64_t context) const {
    Ids ids(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i);
    TokenFileWriter writer(folder_ / "tokens", size);
    writer.add(ids);
    writer.commit();
    DataOptions options;
    options.paths = {folder_ / "tokens"};
    options.tokenizer = "";
    options.context = context;
    return options;
  }
  DataOptions text(const std::string& text, std::int64_t context = 8) const {
    std::ofstream(folder_ / "text.txt", std::ios::binary) << text;
    DataOptions options;
    options.paths = {folder_ / "text.txt"};
    options.cache = folder_ / "cache";
    options.context = context;
    return options;
  }
  static std::string error_with(const DataOptions& options) {
    return error_of([&] { Dataset{options}; });
  }
};

// Of a token file whose ids are bytes.
std::string characters_of(const fs::path& path) {
  const TokenFile file(path);
  Ids ids(static_cast<std::size_t>(file.size()));
  file.copy(0, file.size(), ids.data());
  return {ids.begin(), ids.end()};
}

struct Batch {
  Ids ids, labels;
  explicit Batch(std::int64_t size) : ids(static_cast<std::size_t>(size)), labels(ids) {}
};

TEST_F(Data, AnEpochTakesEachWindowOnceAndLabelsAreTheNextTokens) {
  const DataOptions options = counting(1005, 10);
  const Dataset data(options);
  EXPECT_EQ(data.training_tokens(), 904);  // of 1005 · 0.9 = 904.5
  EXPECT_EQ(data.validation_tokens(), 101);
  ASSERT_EQ(data.windows(), 89);
  DataPosition position;
  std::set<std::vector<std::int64_t>> orders;
  std::set<std::int32_t> offsets;
  for (int epoch = 0; epoch < 20; ++epoch) {
    std::vector<std::int64_t> firsts;
    for (std::int64_t i = 0; i < data.windows(); ++i) {
      ASSERT_EQ(position, (DataPosition{epoch, i}));
      Batch batch(10);
      data.next(position, 1, batch.ids.data(), batch.labels.data());
      for (std::size_t t = 0; t < 10; ++t) {
        ASSERT_EQ(batch.ids[t], batch.ids[0] + static_cast<std::int32_t>(t));
        ASSERT_EQ(batch.labels[t], batch.ids[t] + 1);
        ASSERT_LT(batch.labels[t], data.training_tokens());
      }
      firsts.push_back(batch.ids[0]);
    }
    orders.insert(firsts);
    std::sort(firsts.begin(), firsts.end());
    offsets.insert(static_cast<std::int32_t>(firsts[0]));
    ASSERT_LT(firsts[0], 10);
    for (std::size_t i = 1; i < firsts.size(); ++i) ASSERT_EQ(firsts[i], firsts[i - 1] + 10) << "no overlap, no gap";
  }
  EXPECT_EQ(orders.size(), 20u);
  EXPECT_GT(offsets.size(), 5u);
}

TEST_F(Data, RanksTogetherReadWhatOneWouldWithTheirBatches) {
  DataOptions options = counting(500, 7);
  const Dataset one(options);
  DataPosition alone;
  std::vector<DataPosition> positions(3);
  options.ranks = 3;
  for (int step = 0; step < 40; ++step) {  // through several epochs, in the middle of which batches end
    Batch whole(3 * 4 * 7);
    one.next(alone, 12, whole.ids.data(), whole.labels.data());
    Ids ids, labels;
    for (options.rank = 0; options.rank < 3; ++options.rank) {
      Batch part(4 * 7);
      Dataset(options).next(positions[static_cast<std::size_t>(options.rank)], 4, part.ids.data(), part.labels.data());
      ids.insert(ids.end(), part.ids.begin(), part.ids.end());
      labels.insert(labels.end(), part.labels.begin(), part.labels.end());
      ASSERT_EQ(positions[static_cast<std::size_t>(options.rank)], alone);
    }
    ASSERT_EQ(ids, whole.ids);
    ASSERT_EQ(labels, whole.labels);
  }
  EXPECT_GT(alone.epoch, 3);
}

TEST_F(Data, GoesOnFromASavedPosition) {
  const Dataset data(counting(500, 7));
  DataPosition position;
  Batch skipped(35), first(35), again(35);
  for (int i = 0; i < 30; ++i) data.next(position, 5, skipped.ids.data(), skipped.labels.data());
  DataPosition saved = position;
  data.next(position, 5, first.ids.data(), first.labels.data());
  Dataset(counting(500, 7)).next(saved, 5, again.ids.data(), again.labels.data());
  EXPECT_EQ(first.ids, again.ids);
  EXPECT_EQ(position, saved);
}

TEST_F(Data, ValidationCoversTheHeldOutPartOnceWithAShorterLastWindow) {
  const Dataset data(counting(1000, 32));
  ASSERT_EQ(data.training_tokens(), 900);
  ASSERT_EQ(data.validation_windows(), 4);  // of 99 labels: 32, 32, 32, 3
  Ids all;
  std::int64_t sum = 0;
  for (std::int64_t first = 0; first < 4; first += 3) {
    Batch batch(3 * 32);
    const std::int64_t count = data.validation(first, 3, batch.ids.data(), batch.labels.data());
    EXPECT_EQ(count, 96 - std::count(batch.labels.begin(), batch.labels.end(), -1));
    sum += count;
    for (std::size_t i = 0; i < batch.ids.size(); ++i) {
      if (batch.labels[i] == -1) continue;
      EXPECT_EQ(batch.labels[i], batch.ids[i] + 1);
      all.push_back(batch.labels[i]);
    }
  }
  ASSERT_EQ(sum, 99);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], 901 + static_cast<std::int32_t>(i));

  DataOptions none = counting(1000, 32);
  none.validation = 0;
  EXPECT_EQ(Dataset(none).validation_windows(), 0);
  EXPECT_EQ(Dataset(none).training_tokens(), 1000);
}

TEST_F(Data, IsTokenizedOnceWhileTheTextIsTheSame) {
  DataOptions options = text("Some text, and some more of it, to be read in windows.");
  const Dataset first(options), second(options);
  EXPECT_FALSE(first.reused());
  EXPECT_TRUE(second.reused());
  EXPECT_EQ(second.description(), "text.txt: 54 tokens, read from the cache");
  EXPECT_EQ(first.token_file(), second.token_file());
  EXPECT_EQ(characters_of(first.token_file()).front(), 'S');

  const auto later = fs::last_write_time(folder_ / "text.txt") + std::chrono::seconds(1);
  std::ofstream(folder_ / "text.txt") << "Another text, to be read in windows, as long as before";
  fs::last_write_time(folder_ / "text.txt", later);
  EXPECT_FALSE(Dataset(options).reused());
  EXPECT_EQ(characters_of(Dataset(options).token_file()).front(), 'A');

  // A file that was cut is made anew.
  const fs::path cached = Dataset(options).token_file();
  fs::resize_file(cached, fs::file_size(cached) - 2);
  EXPECT_FALSE(Dataset(options).reused());
  EXPECT_TRUE(Dataset(options).reused());

  // Another tokenizer is another file.
  options.tokenizer = project_folder() + "/tests/data/tokenizer/shakespeare8k.tokenizer.json";
  EXPECT_FALSE(Dataset(options).reused());
  EXPECT_EQ(Dataset(options).vocab_size(), 8192);
}

TEST_F(Data, MayBeAFolderOfTextsOrTheEmbeddedStories) {
  fs::create_directories(folder_ / "texts" / "more");
  std::ofstream(folder_ / "texts" / "b.txt") << "bbbbbbbbbbbbbbbb";
  std::ofstream(folder_ / "texts" / "more" / "c.txt") << "cccccccc";
  std::ofstream(folder_ / "texts" / "a.txt") << "aaaaaaaa";
  DataOptions options = text("x");
  options.paths = {folder_ / "texts"};
  EXPECT_EQ(characters_of(Dataset(options).token_file()), "aaaaaaaabbbbbbbbbbbbbbbbcccccccc");

  options.paths = {};
  options.story_bytes = 5000;
  options.threads = 2;
  const Dataset told(options);
  EXPECT_EQ(told.training_tokens() + told.validation_tokens(), std::ssize(stories(0, 5000)));
  EXPECT_FALSE(told.reused());
  EXPECT_TRUE(Dataset(options).reused());
}

TEST_F(Data, OfBytesIsWrittenAsATokenizerThatGenerateReads) {
  const Dataset data(text("Some text, and some more of it."));
  ASSERT_NE(data.tokenizer(), nullptr);
  std::ofstream(folder_ / "tokenizer.json") << write_tokenizer_json(data.tokenizer()->spec());
  const Tokenizer read = load_tokenizer(folder_.string());
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  Ids expected(256);
  for (int byte = 0; byte < 256; ++byte) expected[static_cast<std::size_t>(byte)] = byte;
  EXPECT_EQ(read.encode(every), expected);
  EXPECT_EQ(read.size(), 256u);
  EXPECT_EQ(hash_of(read), hash_of(*data.tokenizer()));
}

TEST_F(Data, ThatIsNoGoodIsRefusedInOneSentence) {
  EXPECT_EQ(error_with(text("")), (folder_ / "text.txt").string() + ": is empty; expected text to train on");
  EXPECT_EQ(error_with(text("nine byte")),
            "the text has 9 tokens, 8 of them for training and 1 for validation; expected at least 9 for training, one "
            "more than the context, and 2 for validation");
  EXPECT_EQ(error_with(text("twenty bytes of text")), "no error");
  DataOptions missing = text("some text that is long enough");
  missing.paths = {folder_ / "none.txt"};
  EXPECT_NE(error_with(missing).find("none.txt: cannot be opened"), std::string::npos) << error_with(missing);
  DataOptions small = text("some text that is long enough");
  small.vocab_size = 255;
  EXPECT_NE(error_with(small).find("has a vocabulary of 256 tokens; expected at most 255, as the model has"),
            std::string::npos);
  DataOptions wrong = counting(100, 8);
  wrong.validation = 1;
  EXPECT_NE(error_with(wrong).find("`validation` is 1"), std::string::npos);
  DataOptions mixed = counting(100, 8);
  mixed.paths.push_back(folder_ / "text.txt");
  EXPECT_EQ(error_with(mixed), "1 of 2 files hold tokens; expected one token file, or text");

  // A token file whose ids pass its vocabulary, found when the window is read.
  const DataOptions edited = counting(100, 8);
  std::string bytes = text_of(folder_ / "tokens");
  bytes[64 + 2 * 50 + 1] = 1;
  std::ofstream(folder_ / "tokens", std::ios::binary) << bytes;
  const Dataset data(edited);
  DataPosition position;
  Batch batch(8);
  const std::string error = error_of([&] {
    for (std::int64_t i = 0; i < data.windows(); ++i) data.next(position, 1, batch.ids.data(), batch.labels.data());
  });
  EXPECT_NE(error.find("token 50 has id 306, past its vocabulary of 100 tokens"), std::string::npos) << error;
}

TEST_F(Data, OfAnotherTokenizerIsRefused) {
  {
    TokenFileWriter writer(folder_ / "tokens", 256, 12345);
    writer.add(Ids(100, 7));
    writer.commit();
  }
  DataOptions options;
  options.paths = {folder_ / "tokens"};
  options.context = 8;
  EXPECT_NE(error_with(options).find("was made with another tokenizer than bytes"), std::string::npos);
  options.tokenizer = "";
  EXPECT_EQ(error_with(options), "no error");
}

}  // namespace
}  // namespace reckon

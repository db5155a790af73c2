// How long it takes to train a tokenizer: on generated text, and on the files that are given. Prints rows of a Markdown
// table: what, threads, time, processor time, limit, time over limit, peak memory so far.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "text/text_files.h"
#include "text/train.h"

namespace {

using namespace reckon;

// Made-up words, the r-th of a million drawn with a chance of about 1/r as in real text (Zipf's law), in sentences.
std::string generated_text(std::size_t bytes) {
  constexpr std::size_t n_words = 1'000'000;
  const std::string onsets[] = {"b", "c", "d", "f", "g", "h",  "l",  "m",  "n",  "p",
                                "r", "s", "t", "v", "w", "th", "st", "ch", "br", ""};
  const std::string rhymes[] = {"a",  "e",  "i",  "o",  "u",  "an",  "er", "in",
                                "on", "ed", "es", "al", "or", "ing", "at", "é"};
  std::mt19937_64 random(1);
  std::vector<std::string> words(n_words);
  for (std::size_t r = 0; r < n_words; ++r) {
    const auto syllables =
        1 + static_cast<int>(std::log2(1.0 + static_cast<double>(r)) / 6) + static_cast<int>(random() % 2);
    for (int i = 0; i < syllables; ++i)
      words[r] += onsets[random() % std::size(onsets)] + rhymes[random() % std::size(rhymes)];
  }
  const double range = std::log(static_cast<double>(n_words) + 1);
  std::uniform_real_distribution<double> uniform(0, range);
  std::string text;
  text.reserve(bytes + 64);
  while (text.size() < bytes) {
    text += words[std::min(n_words, static_cast<std::size_t>(std::exp(uniform(random)))) - 1];
    const auto end = random() % 100;
    text += end < 82 ? " " : end < 90 ? ", " : end < 97 ? ". " : ".\n\n";
  }
  return text;
}

rusage used() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage;
}

// Of all threads: what the time would be on one processor of our own, however busy the machine is.
double processor_s() {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  const rusage usage = used();
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The best of several runs, of a short text more.
void measure(const std::string& what, std::string_view text, std::int64_t vocab, int threads, double limit_s) {
  std::vector<double> seconds, processor;
  TrainedTokenizer trained;
  const std::vector<std::string_view> texts = {text};
  const int runs = text.size() < 10'000'000 ? 9 : 3;
  for (int i = 0; i < runs; ++i) {
    const double processor_begin = processor_s();
    const auto begin = std::chrono::steady_clock::now();
    trained = train_tokenizer(texts, {.vocab_size = vocab, .threads = threads});
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    processor.push_back(processor_s() - processor_begin);
  }
  const double wall_s = *std::min_element(seconds.begin(), seconds.end());
  const double processor_time_s = *std::min_element(processor.begin(), processor.end());
  fmt::print("| {:.1f} MB of {}, {} distinct words, {} tokens | {} | {:.3f} s | {:.3f} s | {} | {} | {:.0f} MiB |\n",
             static_cast<double>(text.size()) / 1e6, what, trained.distinct_words, trained.spec.tokens.size(), threads,
             wall_s, processor_time_s, limit_s > 0 ? fmt::format("{} s", limit_s) : "",
             limit_s > 0 ? fmt::format("{:.3f}", wall_s / limit_s) : "", static_cast<double>(used().ru_maxrss) / 1024);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    constexpr std::int64_t vocab = 8192;
    // The limits: 0.3 s for a book of 1.1 MB, 15 s for 100 MB on two threads.
    for (int i = 1; i < argc; ++i) {
      const std::filesystem::path path = argv[i];
      const TextFiles file(std::vector{path});
      const std::string_view text = file.texts().front();
      for (const int threads : {1, 2})
        measure(path.filename().string(), text, vocab, threads, text.size() < 2'000'000 ? 0.3 : 0);
      // What the peer makes of it (tests/peer/huggingface.cjs).
      for (const int threads : {1, 2}) measure(path.filename().string(), text, 30'000, threads, 0);
    }
    const std::string text = generated_text(100'000'000);
    for (const int threads : {1, 2})
      measure("generated text (Zipf, a million made-up words)", text, vocab, threads, threads == 2 ? 15 : 0);
    measure("the same", text, 32768, 2, 0);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

// How fast text becomes tokens and back, on one thread: a real text, and single pieces that are as bad as can be.
//   bench_text TEXT_FILE
// prints lines for bench/run-text; the time is that of the processor.
#include <fmt/core.h>
#include <reckon/error.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <random>
#include <string>

#include "files/read_text.h"
#include "text/load.h"

namespace {

using reckon::Tokenizer;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double best_seconds(int runs, const std::function<void()>& work) {
  double best = 1e9;
  for (int run = 0; run < runs; ++run) {
    const double begin = processor_seconds();
    work();
    best = std::min(best, processor_seconds() - begin);
  }
  return best;
}

std::string repeated(const std::string& text, std::size_t length) {
  std::string out;
  while (out.size() < length) out += text;
  return out;
}

void real_text(const std::string& name, const std::string& text) {
  const Tokenizer tokenizer = reckon::load_tokenizer(name);
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  std::vector<reckon::TokenId> ids;
  const double encode = best_seconds(5, [&] { ids = tokenizer.encode(text); });
  const double decode = best_seconds(5, [&] { (void)tokenizer.decode(ids); });
  fmt::print("real {} {:.1f} {:.1f}\n", name, megabytes / encode, megabytes / decode);
}

void single_piece(const Tokenizer& tokenizer, const std::string& name, const std::function<char(std::mt19937&)>& next) {
  constexpr std::size_t longest = std::size_t{4} << 20;
  std::mt19937 random(1);
  std::string text;
  double before = 0, slowest = 1e9, growth = 0, last = 0;
  for (std::size_t length = std::size_t{64} << 10; length <= longest; length *= 2) {
    while (text.size() < length) text += next(random);
    const double seconds = best_seconds(5, [&] { (void)tokenizer.encode(text); });
    last = static_cast<double>(length) / 1e6 / seconds;
    slowest = std::min(slowest, last);
    if (before > 0) growth = std::max(growth, seconds / before);
    before = seconds;
  }
  fmt::print("piece {} {:.1f} {:.1f} {:.2f}\n", name, last, slowest, growth);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw reckon::Error("usage: bench_text TEXT_FILE");
    const std::string text = repeated(reckon::read_text(argv[1], 1u << 30), 20'000'000);
    for (const char* name : {"gpt2", "cl100k_base", "o200k_base"}) real_text(name, text);
    const Tokenizer gpt2 = reckon::load_tokenizer("gpt2");
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    single_piece(gpt2, "spaces", [](std::mt19937&) { return ' '; });
    single_piece(gpt2, "the_letter_a", [](std::mt19937&) { return 'a'; });
    single_piece(gpt2, "random_letters", [&](std::mt19937& random) { return letters[random() % letters.size()]; });
    single_piece(gpt2, "likely_letters", [](std::mt19937& random) { return "etaoinshrdlu"[random() % 12]; });
    single_piece(gpt2, "punctuation", [](std::mt19937& random) { return "!?-=*#.,"[random() % 8]; });
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_text: {}\n", error.what());
    return 1;
  }
}

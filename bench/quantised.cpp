// One round of one model: prefill of 512 tokens and decode of 64 from an empty context, as llama-bench -p 512 -n 64
// measures them, and what a loop that only reads gets of the machine before and after the decoding, on average.
// bench/quantised puts rounds beside those of a peer. Usage: bench_quantised MODEL THREADS. Prints: bytes of weights,
// prefill tokens/s, decode tokens/s, read limit in GB/s
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "backend/cpu/backend.h"
#include "backend/host_buffer.h"
#include "measure.h"
#include "run/engine.h"

int main(int count, char** arguments) {
  using namespace reckon;
  if (count < 3) return 2;
  const std::string path = arguments[1];
  EngineOptions options;
  options.threads = std::atoi(arguments[2]);
  options.capacity = 1024;
  const Model model = load_model(path);
  Engine engine(model, Weights::load(model, path), options);
  std::vector<std::int32_t> prompt(512);
  for (std::size_t i = 0; i < prompt.size(); ++i)
    prompt[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) * 7919 % model.vocab_size);
  const auto prefill = [&] {
    Session session = engine.session();
    return 512 / seconds([&] { session.run(prompt, Logits::last); });
  };
  const auto decode = [&] {
    Session session = engine.session();
    return 64 / seconds([&] {
             for (int i = 0; i < 64; ++i) session.run({prompt.data() + i, 1}, Logits::last);
           });
  };
  prefill();  // programs are compiled, pages are there
  decode();
  const HostBuffer memory(std::int64_t{256} << 20);
  const std::span<const std::byte> range(memory.at(0, memory.bytes()), static_cast<std::size_t>(memory.bytes()));
  Pool pool(options.threads);
  const double prefilled = prefill(), before = measure_read_limit(pool, {&range, 1}), decoded = decode(),
               after = measure_read_limit(pool, {&range, 1});
  fmt::print("{} {:.2f} {:.2f} {:.2f}\n", engine.core().weights().bytes(), prefilled, decoded,
             (before + after) / 2 / 1e9);
}

// Continues texts, as ids of tokens, with a model that has its weights:  generate_text FOLDER
#include <reckon/generate.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

namespace {

using Ids = std::vector<std::int32_t>;

void print(const char* what, const Ids& ids) {
  std::cout << what << ":";
  for (const std::int32_t id : ids) std::cout << " " << id;
  std::cout << "\n";
}

// By hand: two texts of different lengths take their steps together, each with its most likely token.
void by_hand(reckon::Engine& engine, Ids a, Ids b) {
  reckon::Session first = engine.session(), second = engine.session();
  const auto vocabulary = static_cast<std::size_t>(engine.model().vocab_size);
  for (int i = 0; i < 6; ++i) {
    const auto fresh = [](const reckon::Session& session, const Ids& ids) {
      return std::span(ids).subspan(static_cast<std::size_t>(session.length()));
    };
    const reckon::Engine::Part parts[] = {{first, fresh(first, a)}, {second, fresh(second, b)}};
    const std::span<const float> logits = engine.step(parts);  // a row for each
    const auto best = [&](std::size_t row) {
      const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row * vocabulary);
      return static_cast<std::int32_t>(std::max_element(begin, begin + static_cast<std::ptrdiff_t>(vocabulary)) -
                                       begin);
    };
    a.push_back(best(0));
    b.push_back(best(1));
  }
  print("first", a);
  print("second", b);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: generate_text FOLDER\n";
    return 2;
  }
  try {
    const auto model = reckon::LoadedModel::open(argv[1]);  // any number of engines may share it
    reckon::Engine engine(model, {.sessions = 2, .capacity = 32});
    const Ids a = {178, 15, 124, 189, 6, 190, 70, 242}, b = {3, 1, 4};
    by_hand(engine, a, b);
    const reckon::Generation generation{.sampling = {.temperature = 0}, .tokens = 6};
    print("generated", reckon::generate(engine, b, generation).continuations[0].ids);
  } catch (const reckon::Error& error) {
    std::cerr << "generate_text: " << error.what() << "\n";
    return 1;
  }
}

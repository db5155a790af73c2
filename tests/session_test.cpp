// Texts of different lengths that run together: each as it would alone.
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/generate.h>

#include <atomic>
#include <thread>

#include "run/engine.h"
#include "tiny_models.h"

namespace reckon {
namespace {

using testing_models::tiny_engine;
using Ids = std::vector<std::int32_t>;
using Rows = std::vector<std::vector<float>>;

// A text of `length` tokens of its own.
Ids numbered_text(std::int64_t vocabulary, std::size_t length, int seed) {
  Ids ids(length);
  for (std::size_t i = 0; i < length; ++i)
    ids[i] = static_cast<std::int32_t>((i * 31 + static_cast<std::size_t>(seed) * 17 + 3) %
                                       static_cast<std::size_t>(vocabulary));
  return ids;
}

// The logits of each of `more` further tokens behind a prompt, alone.
Rows alone(Engine& engine, const Ids& text, std::size_t prompt) {
  Session session = engine.session();
  Rows rows;
  const auto keep = [&](std::span<const float> logits) { rows.emplace_back(logits.begin(), logits.end()); };
  keep(session.run(std::span(text).first(prompt), Logits::last));
  for (std::size_t i = prompt; i < text.size(); ++i) keep(session.run({&text[i], 1}, Logits::last));
  return rows;
}

class Together : public testing::TestWithParam<std::string> {};

TEST_P(Together, SessionsOfDifferentLengthsHaveTheBitsThatEachHasAlone) {
  Engine engine = tiny_engine(GetParam(), {.threads = 2, .sessions = 20, .capacity = 24, .chunk = 7});
  const std::int64_t vocabulary = engine.model().vocab_size;
  constexpr std::size_t sessions = 19, steps = 4;  // more than one group
  std::vector<Ids> texts;
  std::vector<Rows> expected, found(sessions);
  for (std::size_t i = 0; i < sessions; ++i) {
    const std::size_t prompt = 1 + i;
    texts.push_back(numbered_text(vocabulary, prompt + steps, static_cast<int>(i)));
    expected.push_back(alone(engine, texts.back(), prompt));
  }
  std::vector<Session> running;
  for (std::size_t i = 0; i < sessions; ++i) running.push_back(engine.session());
  for (std::size_t step = 0; step <= steps; ++step) {
    std::vector<Engine::Part> parts;
    for (std::size_t i = 0; i < sessions; ++i) {
      const std::size_t done = step == 0 ? 0 : i + step, count = step == 0 ? i + 1 : 1;
      parts.push_back({running[i], std::span(texts[i]).subspan(done, count)});
    }
    const std::span<const float> logits = engine.step(parts);
    for (std::size_t i = 0; i < sessions; ++i) {
      const auto row = logits.subspan(i * static_cast<std::size_t>(vocabulary), static_cast<std::size_t>(vocabulary));
      found[i].emplace_back(row.begin(), row.end());
    }
  }
  for (std::size_t i = 0; i < sessions; ++i) EXPECT_EQ(found[i], expected[i]) << "session " << i;
}

TEST_P(Together, AForkGoesOnAsItsTextWould) {
  Engine engine = tiny_engine(GetParam(), {.threads = 1, .sessions = 3, .capacity = 24, .chunk = 5});
  const Ids text = numbered_text(engine.model().vocab_size, 12, 1),
            other = numbered_text(engine.model().vocab_size, 12, 2);
  Session first = engine.session();
  first.run(std::span(text).first(8), Logits::none);
  Session second = first.fork();
  EXPECT_EQ(second.length(), 8);
  second.run(std::span(other).subspan(8, 4), Logits::last);  // does not disturb the first
  const auto logits = first.run(std::span(text).subspan(8, 4), Logits::last);
  const std::vector<float> found(logits.begin(), logits.end());
  Session whole = engine.session();
  whole.run(std::span(text).first(8), Logits::none);
  const auto expected = whole.run(std::span(text).subspan(8, 4), Logits::last);
  EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
}

INSTANTIATE_TEST_SUITE_P(Tiny, Together, testing::ValuesIn(testing_models::tiny_names()),
                         testing_models::tiny_test_name);

TEST(Session, MemoryAfterTenThousandPromptsIsWhatItWasAfterAHundred) {
  Engine engine = tiny_engine("llama-gqa", {.threads = 1, .sessions = 2, .capacity = 48, .chunk = 16});
  std::int64_t cache = 0, arena = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Ids text = numbered_text(engine.model().vocab_size, static_cast<std::size_t>(1 + i * 7 % 48), i);
    Session session = engine.session();
    session.run(text, Logits::last);
    if (i == 99) {
      cache = engine.cache_bytes();
      arena = engine.arena_bytes();
    }
  }
  EXPECT_EQ(engine.cache_bytes(), cache);
  EXPECT_EQ(engine.arena_bytes(), arena);
}

TEST(Session, PagesThatAreFullAreSharedAndAFullCacheRefusesBeforeAnythingRuns) {
  const Model model = load_model("mini-gpt");
  Engine engine(model, Weights::random(model, 3, DType::float32), {.threads = 1, .sessions = 2});
  const Ids text = numbered_text(model.vocab_size, 20, 1);
  Session first = engine.session(), second = engine.session(), third = engine.session();
  first.run(text, Logits::none);
  second.run(text, Logits::none);
  EXPECT_THROW(third.run(text, Logits::none), Error);
  EXPECT_EQ(third.length(), 0);
  EXPECT_THROW(first.fork(), Error);
  second.reset();
  third.run(text, Logits::none);
  EXPECT_EQ(third.length(), 20);
  const Ids many(40, 1);
  EXPECT_THROW(first.run(many, Logits::none), UsageError);
  EXPECT_EQ(first.length(), 20);
}

TEST(Session, AStepThatIsCancelledLeavesTheTextAsLongAsItsWholeChunks) {
  std::atomic<bool> cancel = false;
  Engine engine = tiny_engine("mistral", {.threads = 1, .sessions = 2, .capacity = 24, .chunk = 4, .cancel = &cancel});
  const Ids text = numbered_text(engine.model().vocab_size, 20, 1);
  Session session = engine.session(), undisturbed = engine.session();
  session.run(std::span(text).first(10), Logits::none);
  cancel = true;
  EXPECT_THROW(session.run(std::span(text).subspan(10), Logits::last), Cancelled);
  EXPECT_EQ(session.length(), 10);
  cancel = false;
  const auto logits = session.run(std::span(text).subspan(10), Logits::last);
  const std::vector<float> found(logits.begin(), logits.end());
  undisturbed.run(std::span(text).first(10), Logits::none);
  const auto expected = undisturbed.run(std::span(text).subspan(10), Logits::last);
  EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
}

TEST(LoadedModel, IsSharedByEnginesThatOutliveItsOwner) {
  auto model = LoadedModel::open((testing_models::tiny_folder() / "llama-gqa").string());
  Engine one(model, {.threads = 1, .capacity = 40}), two(model, {.threads = 2, .sessions = 2, .capacity = 40});
  EXPECT_EQ(model.use_count(), 3);
  EXPECT_EQ(&one.model(), &two.model());
  model.reset();
  const nlohmann::json io = testing_models::tiny_io("llama-gqa");
  Ids expected = io["greedy"].get<Ids>();
  const Ids prompt = io["greedy_prompt"].get<Ids>();
  expected.erase(expected.begin(), expected.begin() + std::ssize(prompt));
  const Generation generation{.sampling = {.temperature = 0}, .tokens = std::ssize(expected)};
  EXPECT_EQ(generate(one, prompt, generation).continuations[0].ids, expected);
  EXPECT_EQ(generate(two, prompt, generation).continuations[0].ids, expected);
  Engine random(LoadedModel::random(load_model("mini-gpt"), 3), {.threads = 1});
  EXPECT_EQ(random.session().run(Ids{1, 2}, Logits::last).size(), 512u);
}

TEST(LoadedModel, ADescriptionWithoutWeightsIsRefused) {
  EXPECT_THROW(LoadedModel::open("gpt2"), UsageError);
  EXPECT_THROW(LoadedModel::open("./no/such/folder"), Error);
}

TEST(Engine, WhatMakesNoSenseIsRefused) {
  const auto model = LoadedModel::random(load_model("mini-gpt"), 3);
  const auto refused = [&](const EngineOptions& options) { EXPECT_THROW(Engine(model, options), UsageError); };
  EXPECT_THROW(Engine(nullptr), UsageError);
  refused({.sessions = 0});
  refused({.capacity = -1});
  refused({.chunk = 0});
  const auto learned = LoadedModel::open((testing_models::tiny_folder() / "gpt2").string());
  EXPECT_THROW(Engine(learned, {.capacity = learned->model().context + 1}), UsageError);  // that has positions
  Engine engine(model, {.threads = 1, .sessions = 2}), other(model, {.threads = 1});
  Session session = engine.session(), stranger = other.session();
  const Ids ids = {1, 2, 3};
  const Engine::Part twice[] = {{session, ids}, {session, ids}}, foreign[] = {{session, ids}, {stranger, ids}};
  EXPECT_THROW(engine.step(twice), UsageError);
  EXPECT_THROW(engine.step(foreign), UsageError);
  EXPECT_EQ(session.length(), 0);
}

TEST(Generate, SeveralPromptsGetTheTokensThatEachGetsAlone) {
  Engine engine = tiny_engine("llama-gqa", {.threads = 1, .sessions = 3, .capacity = 48});
  const Generation generation{.sampling = {.temperature = 0.9, .seed = 7}, .tokens = 9};
  std::vector<Ids> prompts;
  for (int i = 0; i < 7; ++i) prompts.push_back(numbered_text(263, static_cast<std::size_t>(2 + 5 * i), i));
  std::vector<Ids> told(prompts.size());
  Pace pace;
  const auto found = generate(
      engine, prompts, generation,
      [&](std::size_t prompt, const Token& token) {
        told[prompt].push_back(token.id);
        return prompt != 3 || told[prompt].size() < 2;
      },
      pace);
  ASSERT_EQ(found.size(), prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    Ids expected = generate(engine, prompts[i], generation).continuations[0].ids;
    if (i == 3) expected.resize(2);
    EXPECT_EQ(found[i].ids, expected) << i;
    EXPECT_EQ(told[i], expected) << i;
    EXPECT_EQ(found[i].ending, i == 3 ? Ending::stopped : Ending::length);
  }
}

}  // namespace
}  // namespace reckon

// Beam search against exhaustive search where the beams hold everything, and against a plain one without a cache.
#include "run/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "small_models.h"
#include "tiny_models.h"

namespace reckon {
namespace {

using Ids = std::vector<std::int32_t>;
using testing_models::tiny_engine;
using testing_models::tiny_io;

struct Found {
  Ids ids;  // with the end of text
  double sum = 0;
  bool ended = false;
  double score(double penalty) const { return sum / std::pow(static_cast<double>(ids.size()), penalty); }
};

bool is_end(const Generation& generation, std::int32_t id) {
  return std::count(generation.stop_ids.begin(), generation.stop_ids.end(), id) > 0;
}

// All continuations of `before` by one token, each by a pass over the whole text in double.
std::vector<Found> children(Engine& engine, const Ids& prompt, const Found& before, const Generation& generation) {
  Ids text = prompt;
  text.insert(text.end(), before.ids.begin(), before.ids.end());
  Session session = engine.session();
  const std::span<const float> logits = session.run(text, Logits::last);
  double total = 0;
  for (const float x : logits) total += std::exp(static_cast<double>(x));
  std::vector<Found> result;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    Found child = before;
    child.ids.push_back(static_cast<std::int32_t>(id));
    child.sum += static_cast<double>(logits[id]) - std::log(total);
    child.ended = is_end(generation, child.ids.back());
    result.push_back(child);
  }
  return result;
}

void sort_by_score(std::vector<Found>& all, double penalty) {
  std::stable_sort(all.begin(), all.end(),
                   [&](const Found& a, const Found& b) { return a.score(penalty) > b.score(penalty); });
}

// Every sequence that ends or has all its tokens, the best first.
std::vector<Found> exhaustive(Engine& engine, const Ids& prompt, const Generation& generation) {
  std::vector<Found> running(1), all;
  for (std::int64_t n = 1; n <= generation.tokens; ++n) {
    std::vector<Found> next;
    for (const Found& before : running) {
      for (Found& child : children(engine, prompt, before, generation)) {
        (child.ended || n == generation.tokens ? all : next).push_back(std::move(child));
      }
    }
    running = std::move(next);
  }
  sort_by_score(all, generation.length_penalty);
  return all;
}

// The search as beam.h describes it, by sorting all continuations of every step.
std::vector<Found> plain_search(Engine& engine, const Ids& prompt, const Generation& generation) {
  const auto beams = static_cast<std::size_t>(generation.beams);
  std::vector<Found> running(1), finished;
  for (std::int64_t n = 1; n <= generation.tokens && !running.empty(); ++n) {
    std::vector<Found> all, next;
    for (const Found& before : running) {
      for (Found& child : children(engine, prompt, before, generation)) all.push_back(std::move(child));
    }
    sort_by_score(all, 0);
    for (std::size_t i = 0; i < all.size() && next.size() < beams; ++i) {
      if (!all[i].ended && n < generation.tokens)
        next.push_back(all[i]);
      else if (i < beams)
        finished.push_back(all[i]);
      else if (n == generation.tokens)
        break;
    }
    running = std::move(next);
    sort_by_score(finished, generation.length_penalty);
    if (finished.size() > beams) finished.resize(beams);
    if (finished.size() < beams || running.empty()) continue;
    if (generation.beam_stop == BeamStop::full) break;
    const bool longest = generation.beam_stop == BeamStop::impossible && generation.length_penalty > 0;
    const double best =
        running[0].sum / std::pow(static_cast<double>(longest ? generation.tokens : n), generation.length_penalty);
    if (best <= finished.back().score(generation.length_penalty)) break;
  }
  return finished;
}

void expect_same(const Generated& generated, const std::vector<Found>& expected, const Generation& generation) {
  ASSERT_EQ(generated.continuations.size(), static_cast<std::size_t>(generation.best));
  ASSERT_GE(expected.size(), generated.continuations.size());
  for (std::size_t i = 0; i < generated.continuations.size(); ++i) {
    const Continuation& found = generated.continuations[i];
    Ids ids = expected[i].ids;
    if (expected[i].ended) ids.pop_back();
    EXPECT_EQ(found.ids, ids) << "hypothesis " << i;
    EXPECT_EQ(found.ending, expected[i].ended ? Ending::end_of_text : Ending::length);
    EXPECT_NEAR(found.log_probability, expected[i].sum, 1e-4);
    EXPECT_NEAR(found.score, expected[i].score(generation.length_penalty), 1e-4);
  }
}

TEST(BeamSearch, FindsTheBestSequencesWhenItsBeamsHoldEveryPrefix) {
  const Ids prompt = tiny_io("llama-bias").at("greedy_prompt").get<Ids>();  // 131 tokens in the vocabulary
  Engine one = tiny_engine("llama-bias", {.threads = 1});
  Engine wide = tiny_engine("llama-bias", {.threads = 1, .sessions = 131, .capacity = 16});
  // Two likely first tokens are ends: some of the best sequences have one token, some two.
  const std::vector<Found> likely = exhaustive(one, prompt, {.tokens = 1});
  for (const double penalty : {-1.0, 0.0, 1.0, 3.0}) {
    const Generation generation{.tokens = 2,
                                .stop_ids = {likely[1].ids[0], likely[8].ids[0]},
                                .beams = 131,
                                .length_penalty = penalty,
                                .beam_stop = BeamStop::impossible,
                                .best = 20};
    expect_same(beam_search(wide, prompt, generation), exhaustive(one, prompt, generation), generation);
  }
}

TEST(BeamSearch, RunsBeamsAnewThatOutgrowTheOriginalContextOfLongRope) {
  Engine one = tiny_engine("phi3-longrope-long", {.threads = 1});  // 16 at first
  Engine wide = tiny_engine("phi3-longrope-long", {.threads = 1, .sessions = 4, .capacity = 24});
  const Generation generation{.tokens = 8, .beams = 4, .best = 4};
  const Ids prompt(12, 5);
  expect_same(beam_search(wide, prompt, generation), plain_search(one, prompt, generation), generation);
}

TEST(BeamSearch, EndsABeamWithTheTokenThatIsSaidToEndIt) {
  const Ids prompt = tiny_io("llama-bias").at("greedy_prompt").get<Ids>();
  Engine one = tiny_engine("llama-bias", {.threads = 1});
  Engine wide = tiny_engine("llama-bias", {.threads = 1, .sessions = 4, .capacity = 16});
  // As an end of text would, but the token stays.
  const std::int32_t stop = exhaustive(one, prompt, {.tokens = 1})[1].ids[0];
  const Generation with_id{.tokens = 4, .stop_ids = {stop}, .beams = 4, .length_penalty = 0, .best = 4};
  Generation with_call{.tokens = 4, .beams = 4, .length_penalty = 0, .best = 4};
  with_call.ends_beam = [&](std::span<const std::int32_t> ids) { return ids.back() == stop; };
  const Generated expected = beam_search(wide, prompt, with_id), found = beam_search(wide, prompt, with_call);
  ASSERT_EQ(found.continuations.size(), 4u);
  int stopped = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    Continuation same = expected.continuations[i];
    if (same.ending == Ending::end_of_text) {
      ++stopped;
      same.ids.push_back(stop);
      same.ending = Ending::stopped;
    }
    EXPECT_EQ(found.continuations[i].ids, same.ids);
    EXPECT_EQ(found.continuations[i].ending, same.ending);
    EXPECT_EQ(found.continuations[i].score, same.score);
  }
  EXPECT_GT(stopped, 0);
}

TEST(BeamSearch, FindsTheBestOfThreeTokensOfASmallVocabulary) {
  const Model model = testing_models::small_llama();  // 11 tokens, a context of 5
  Engine one(model, Weights::random(model, 5, DType::float32), {.threads = 1});
  Engine wide(model, Weights::random(model, 5, DType::float32), {.threads = 1, .sessions = 121});
  for (const double penalty : {-1.0, 0.5, 1.0, 2.0}) {
    const Generation generation{.tokens = 3,
                                .stop_ids = {4},
                                .beams = 121,
                                .length_penalty = penalty,
                                .beam_stop = BeamStop::impossible,
                                .best = 3};
    expect_same(beam_search(wide, Ids{1, 7}, generation), exhaustive(one, Ids{1, 7}, generation), generation);
  }
}

TEST(BeamSearch, EqualsASearchWithoutACache) {
  // A plain cache, rings of a sliding window, latents, and a mixture.
  for (const char* name : {"gpt2", "mistral", "deepseek_v3", "gemma3_text", "mixtral"}) {
    const Ids prompt = tiny_io(name).at("greedy_prompt").get<Ids>();
    Engine one = tiny_engine(name, {.threads = 1, .capacity = 24});
    Engine batch = tiny_engine(name, {.threads = 1, .sessions = 3, .capacity = 24});
    Generation generation{.tokens = 9, .beams = 3, .best = 3};
    expect_same(beam_search(batch, prompt, generation), plain_search(one, prompt, generation), generation);
    // Ends that the search meets: the first tokens of what it has just found.
    generation.stop_ids = {plain_search(one, prompt, generation)[0].ids[3],
                           plain_search(one, prompt, generation)[1].ids[5]};
    for (const BeamStop stop : {BeamStop::full, BeamStop::unlikely, BeamStop::impossible}) {
      for (const double penalty : {-0.5, 0.0, 1.0, 2.0}) {
        generation.beam_stop = stop;
        generation.length_penalty = penalty;
        SCOPED_TRACE(std::string(name) + ", penalty " + std::to_string(penalty));
        expect_same(beam_search(batch, prompt, generation), plain_search(one, prompt, generation), generation);
      }
    }
  }
}

TEST(BeamSearch, IsGreedyWithOneBeam) {
  const nlohmann::json io = tiny_io("qwen3");
  Engine engine = tiny_engine("qwen3", {.threads = 1});
  const Ids prompt = io.at("greedy_prompt").get<Ids>(), whole = io.at("greedy").get<Ids>();
  const Generated found =
      beam_search(engine, prompt, {.tokens = static_cast<std::int64_t>(whole.size() - prompt.size())});
  EXPECT_EQ(found.continuations.at(0).ids,
            Ids(whole.begin() + static_cast<std::ptrdiff_t>(prompt.size()), whole.end()));
}

TEST(BeamSearch, EndsWhereTheContextIsFull) {
  Engine engine = tiny_engine("qwen3", {.threads = 1, .sessions = 4, .capacity = 12});
  const Ids prompt = tiny_io("qwen3").at("greedy_prompt").get<Ids>();  // 8
  const Generated found = beam_search(engine, prompt, {.tokens = 100, .beams = 4});
  EXPECT_EQ(found.continuations.at(0).ids.size(), 5u);
  EXPECT_EQ(found.continuations.at(0).ending, Ending::context);
}

TEST(BeamSearch, EndsWithTheBestSoFarWhereTheEngineIsCancelled) {
  std::atomic<bool> cancel = false;
  Engine engine = tiny_engine("qwen3", {.threads = 1, .sessions = 4, .cancel = &cancel});
  const Ids prompt = tiny_io("qwen3").at("greedy_prompt").get<Ids>();
  Generation generation{.tokens = 20, .beams = 4, .best = 2};
  generation.ends_beam = [&](std::span<const std::int32_t> ids) {
    cancel = cancel || ids.size() == 3;
    return false;
  };
  const Generated found = beam_search(engine, prompt, generation);
  ASSERT_EQ(found.continuations.size(), 2u);
  EXPECT_EQ(found.continuations[0].ids.size(), 3u);
  EXPECT_EQ(found.continuations[0].ending, Ending::stopped);
  EXPECT_GE(found.continuations[0].score, found.continuations[1].score);
  EXPECT_EQ(found.pace.decode_tokens, 2);

  const Generated none = beam_search(engine, prompt, generation);  // within the prompt
  ASSERT_EQ(none.continuations.size(), 1u);
  EXPECT_TRUE(none.continuations[0].ids.empty());
  EXPECT_EQ(none.continuations[0].score, 0);
  EXPECT_EQ(none.pace.prefill_tokens, 0);
}

}  // namespace
}  // namespace reckon

// The loop: greedy continuations of the tiny references, endings, the sliding window, what is refused.
#include <reckon/generate.h>

#include <gtest/gtest.h>
#include <reckon/error.h>

#include "tiny_models.h"

namespace reckon {
namespace {

using Ids = std::vector<std::int32_t>;
using testing_models::tiny_engine;
using testing_models::tiny_io;

const Sampling greedy{.temperature = 0};

Ids prompt_of(const std::string& name) { return tiny_io(name).at("greedy_prompt").get<Ids>(); }

// The next token by a fresh pass over `text`.
std::int32_t greedy_after(Engine& engine, std::span<const std::int32_t> text) {
  Session session = engine.session();
  const std::span<const float> logits = session.run(text, Logits::last);
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::string refusal(Engine& engine, const Ids& prompt, const Generation& generation) {
  try {
    generate(engine, prompt, generation);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Generate, ContinuesEveryTinyReferenceGreedily) {
  for (const std::string& name : testing_models::tiny_names()) {
    const nlohmann::json io = tiny_io(name);
    const Ids prompt = io.at("greedy_prompt").get<Ids>(), whole = io.at("greedy").get<Ids>();
    Engine engine = tiny_engine(name, {.threads = 1, .capacity = static_cast<std::int64_t>(whole.size())});
    const auto tokens = static_cast<std::int64_t>(whole.size() - prompt.size());
    const Generated found = generate(engine, prompt, {.sampling = greedy, .tokens = tokens});
    ASSERT_EQ(found.continuations.size(), 1u);
    EXPECT_EQ(found.continuations[0].ids, Ids(whole.begin() + static_cast<std::ptrdiff_t>(prompt.size()), whole.end()))
        << name;
    EXPECT_EQ(found.continuations[0].ending, Ending::length);
    EXPECT_EQ(found.pace.prefill_tokens, static_cast<std::int64_t>(prompt.size()));
    EXPECT_EQ(found.pace.decode_tokens, tokens - 1);  // the last token is not run
    EXPECT_GT(found.pace.prefill_seconds, 0);
    EXPECT_GT(found.pace.decode_seconds, 0);
  }
}

TEST(Generate, RunsATextAnewThatOutgrowsTheOriginalContextOfLongRope) {
  Engine engine = tiny_engine("phi3-longrope-long", {.threads = 1, .capacity = 40});  // 16 at first
  const Ids prompt(12, 5);
  const Generated found = generate(engine, prompt, {.sampling = greedy, .tokens = 12});
  Ids text = prompt;
  for (int i = 0; i < 12; ++i) text.push_back(greedy_after(engine, text));
  EXPECT_EQ(found.continuations[0].ids, Ids(text.begin() + 12, text.end()));
  EXPECT_EQ(found.pace.prefill_tokens, 12 + 17);
}

TEST(Generate, RepeatsItselfForTheSameSeedAndNotForAnother) {
  Engine engine = tiny_engine("llama-gqa", {.threads = 1});
  const auto ids = [&](std::uint64_t seed) {
    return generate(engine, prompt_of("llama-gqa"), {.sampling = {.top_k = 50, .seed = seed}, .tokens = 20})
        .continuations[0]
        .ids;
  };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
}

TEST(Generate, EndsAtTheEndOfTextWithoutItsToken) {
  const Ids whole = tiny_io("llama-gqa").at("greedy").get<Ids>();
  Engine engine = tiny_engine("llama-gqa", {.threads = 1});
  int calls = 0;
  const Generated found = generate(engine, prompt_of("llama-gqa"), {.sampling = greedy, .stop_ids = {whole[11], 0}},
                                   [&](const Token&) { return ++calls > 0; });
  const auto end = std::find(whole.begin() + 8, whole.end(), whole[11]);  // its first time after the prompt
  EXPECT_EQ(found.continuations[0].ids, Ids(whole.begin() + 8, end));
  EXPECT_EQ(found.continuations[0].ending, Ending::end_of_text);
  EXPECT_EQ(calls, end - whole.begin() - 8);
}

TEST(Generate, StopsAfterTheTokenForWhichTheCallbackSaysSo) {
  const Ids whole = tiny_io("llama-gqa").at("greedy").get<Ids>();
  Engine engine = tiny_engine("llama-gqa", {.threads = 1});
  Ids seen;
  const Generated found = generate(engine, prompt_of("llama-gqa"), {.sampling = greedy}, [&](const Token& token) {
    seen.push_back(token.id);
    return seen.size() < 5;
  });
  EXPECT_EQ(seen, Ids(whole.begin() + 8, whole.begin() + 13));
  EXPECT_EQ(found.continuations[0].ids, seen);
  EXPECT_EQ(found.continuations[0].ending, Ending::stopped);
}

TEST(Generate, EndsWhereTheContextIsFull) {
  const Ids whole = tiny_io("llama-gqa").at("greedy").get<Ids>();
  Engine engine = tiny_engine("llama-gqa", {.threads = 1, .capacity = 10});
  const Generated found = generate(engine, prompt_of("llama-gqa"), {.sampling = greedy, .tokens = 100});
  // 8 of the prompt, 2 more are run, and the logits of the last give a third.
  EXPECT_EQ(found.continuations[0].ids, Ids(whole.begin() + 8, whole.begin() + 11));
  EXPECT_EQ(found.continuations[0].ending, Ending::context);
}

TEST(Generate, SlidesToTheLastHalfOfTheText) {
  Engine engine = tiny_engine("llama-gqa", {.threads = 1, .capacity = 10});
  const Ids prompt = prompt_of("llama-gqa");
  const Generated found = generate(engine, prompt, {.sampling = greedy, .tokens = 18, .window = true});
  EXPECT_EQ(found.continuations[0].ending, Ending::length);
  Ids text = prompt;
  // The cache begins at 0. Whenever a token more than 10 is to be run, it begins again 5 from the end; but the third
  // time, with 3 tokens still wanted, of which 2 are to be run, it has room for 8.
  std::vector<std::size_t> windows;
  std::size_t first = 0;
  for (int i = 0; i < 18; ++i) {
    if (text.size() - first > 10) {
      windows.push_back(windows.size() < 2 ? 5 : 8);
      first = text.size() - windows.back();
    }
    text.push_back(greedy_after(engine, std::span(text).subspan(first)));
  }
  EXPECT_EQ(windows, (std::vector<std::size_t>{5, 5, 8}));
  EXPECT_EQ(found.continuations[0].ids, Ids(text.begin() + 8, text.end()));
  EXPECT_EQ(found.pace.prefill_tokens, 8 + 5 + 5 + 8);
}

TEST(Generate, CutsAPromptThatDoesNotFitWhenSliding) {
  const Ids whole = tiny_io("llama-gqa").at("greedy").get<Ids>();  // 32
  Engine engine = tiny_engine("llama-gqa", {.threads = 1, .capacity = 10});
  const auto generated = [&](std::int64_t tokens) {
    return generate(engine, whole, {.sampling = greedy, .tokens = tokens, .window = true});
  };
  // One token: room for 10 of the prompt. Three: for 8. Many: half of it, 5.
  for (const auto& [tokens, kept] : {std::pair{1, 10}, {3, 8}, {6, 5}}) {
    const Generated found = generated(tokens);
    EXPECT_EQ(found.pace.prefill_tokens, kept);
    EXPECT_EQ(found.continuations[0].ids[0],
              greedy_after(engine, std::span(whole).last(static_cast<std::size_t>(kept))));
  }
}

TEST(Generate, ReportsLogProbabilitiesOfTheModelsOwnDistribution) {
  Engine engine = tiny_engine("llama-gqa", {.threads = 1});
  const nlohmann::json io = tiny_io("llama-gqa");
  const Ids prompt = io.at("ids").get<std::vector<Ids>>()[0];
  // The last row of the reference's logits for these ids.
  const auto row = io.at("logits").get<std::vector<std::vector<std::vector<float>>>>()[0].back();
  double sum = 0;
  for (const float x : row) sum += std::exp(static_cast<double>(x));
  std::vector<float> sorted = row;
  std::sort(sorted.rbegin(), sorted.rend());

  const Generated found =
      generate(engine, prompt, {.sampling = {.temperature = 5, .top_k = 9, .seed = 3}, .tokens = 1, .logprobs = 4});
  const Continuation& continuation = found.continuations[0];
  ASSERT_EQ(continuation.tokens.size(), 1u);
  const Token& token = continuation.tokens[0];
  EXPECT_EQ(token.id, continuation.ids[0]);
  EXPECT_NEAR(token.log_probability, static_cast<double>(row[static_cast<std::size_t>(token.id)]) - std::log(sum),
              1e-4);
  ASSERT_EQ(token.alternatives.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(token.alternatives[i].log_probability, static_cast<double>(sorted[i]) - std::log(sum), 1e-4);
  }
}

TEST(Generate, PenalizesWhatTheTextHasHad) {
  Engine engine = tiny_engine("gpt2", {.threads = 1});
  const Ids prompt = prompt_of("gpt2");
  // Greedy, gpt2's continuation is one token over and over; under a heavy penalty none comes twice.
  const Ids ids = generate(engine, prompt, {.sampling = {.repetition_penalty = 1e6, .temperature = 0}, .tokens = 12})
                      .continuations[0]
                      .ids;
  Ids all = prompt;
  all.insert(all.end(), ids.begin(), ids.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(Generate, PassesOnTheBestHypothesisOfABeamSearch) {
  Engine engine = tiny_engine("llama-gqa", {.threads = 1, .sessions = 3});
  const Generation generation{.tokens = 6, .beams = 3, .best = 2};
  const Ids prompt = prompt_of("llama-gqa");
  Ids seen;
  const Generated all = generate(engine, prompt, generation, [&](const Token& token) {
    seen.push_back(token.id);
    return true;
  });
  EXPECT_EQ(all.continuations.size(), 2u);
  EXPECT_EQ(seen, all.continuations[0].ids);
  EXPECT_EQ(all.pace.prefill_tokens, 8);
  EXPECT_EQ(all.pace.decode_tokens, 5);

  int calls = 0;
  const Generated cut = generate(engine, prompt, generation, [&](const Token&) { return ++calls < 2; });
  EXPECT_EQ(cut.continuations[0].ids, Ids(seen.begin(), seen.begin() + 2));
  EXPECT_EQ(cut.continuations[0].ending, Ending::stopped);
}

TEST(Generate, EndsWithWhatThereIsWhereTheEngineIsCancelled) {
  const Ids prompt = prompt_of("llama-gqa");
  std::atomic<bool> cancel = false;
  Engine engine = tiny_engine("llama-gqa", {.threads = 1, .chunk = 3, .cancel = &cancel});
  const auto whole = generate(engine, prompt, {.sampling = greedy, .tokens = 6}).continuations.at(0).ids;
  Ids seen;
  const Generated cut = generate(engine, prompt, {.sampling = greedy, .tokens = 6}, [&](const Token& token) {
    seen.push_back(token.id);
    cancel = seen.size() == 2;
    return true;
  });
  EXPECT_EQ(cut.continuations.at(0).ids, Ids(whole.begin(), whole.begin() + 2));
  EXPECT_EQ(cut.continuations.at(0).ending, Ending::stopped);
  EXPECT_EQ(cut.pace.decode_tokens, 1);

  // Within the prompt.
  const Generated none = generate(engine, prompt, {.sampling = greedy, .tokens = 6});
  EXPECT_TRUE(none.continuations.at(0).ids.empty());
  EXPECT_EQ(none.pace.prefill_tokens, 0);
  EXPECT_EQ(none.continuations.at(0).ran, 0);
  cancel = false;
  EXPECT_EQ(generate(engine, prompt, {.sampling = greedy, .tokens = 6}).continuations.at(0).ids, whole);
}

TEST(Generate, RefusesWhatMakesNoSense) {
  Engine engine = tiny_engine("llama-gqa", {.threads = 1, .capacity = 6});
  EXPECT_EQ(refusal(engine, {}, {}), "the prompt is empty; expected at least one token");
  EXPECT_EQ(refusal(engine, Ids(9, 1), {}),
            "the prompt has 9 tokens and the context 6; shorten it, or let the window slide");
  EXPECT_EQ(refusal(engine, {1}, {.tokens = 0}), "`tokens` is 0; expected at least 1");
  EXPECT_EQ(refusal(engine, {1}, {.beams = 0}), "`beams` is 0; expected at least 1");
  EXPECT_EQ(refusal(engine, {1}, {.best = 2}), "`best` is 2; expected at most the number of beams, 1");
  EXPECT_EQ(refusal(engine, {1}, {.logprobs = -1}), "`logprobs` is -1; expected at least 0");
  EXPECT_NE(refusal(engine, {1}, {.length_penalty = std::nan("")}).find("`length_penalty` is nan"), std::string::npos);
  EXPECT_NE(refusal(engine, {1}, {.sampling = {.top_p = 2}}).find("`top_p` is 2"), std::string::npos);
  EXPECT_NE(refusal(engine, {263}, {}).find("id 263 is outside the vocabulary of 263 tokens"), std::string::npos);
  EXPECT_NE(refusal(engine, {1}, {.beams = 3}).find("room for 1 sessions cannot follow 3 beams"), std::string::npos);
  EXPECT_NE(refusal(engine, {1}, {.sampling = {.top_k = 3}, .beams = 3}).find("a beam search draws nothing"),
            std::string::npos);
  EXPECT_NE(refusal(engine, {1}, {.beams = 3, .window = true}).find("cannot slide"), std::string::npos);
}

}  // namespace
}  // namespace reckon

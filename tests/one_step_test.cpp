// The step of a layout is the same whoever asks: `reckon time` with the layout that `reckon plan` prints.
#include <sstream>

#include "program_fixture.h"

namespace reckon {
namespace {

using Words = std::vector<std::string>;

class OneStep : public ProgramTest {
 protected:
  Json plan(const std::string& model, const std::string& on, const Words& more) const {
    Words words{"plan", model, "--on", on, "--context", "1k", "--count", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return json(words).at("plans").at(0);
  }

  Json time_of(const std::string& model, const std::string& on, const Json& plan) const {
    const auto number = [](const Json& value) { return std::to_string(value.get<std::int64_t>()); };
    const Json& layout = plan.at("layout");
    Words words{"time", model, "--on", on, "--phase", "train", "--tokens", "1k"};
    words.insert(words.end(), {"--batch", number(plan.at("micro_batch")), "--recompute", plan.at("recompute"),
                               "--micro-batches", number(plan.at("micro_batches"))});
    const std::pair<const char*, const char*> options[] = {
        {"--tensor", "tensor"},     {"--context-ranks", "context"},
        {"--pipeline", "pipeline"}, {"--expert", "expert"},
        {"--data", "data"},         {"--virtual-stages", "virtual_stages"},
        {"--zero", "zero"}};
    for (const auto& [flag, key] : options) words.insert(words.end(), {flag, number(layout.at(key))});
    if (layout.at("sequence")) words.push_back("--sequence");
    return json(words);
  }
};

TEST_F(OneStep, plan_and_time_agree_to_the_last_digit) {
  const struct {
    const char *model, *on;
    Words more;
  } cases[] = {{"gpt2", "h200", {"--batch-tokens", "16k"}},
               {"llama-3-8b", "h100:8", {"--batch-tokens", "128k", "--tensor", "8", "--pipeline", "1"}},
               {"llama-3-8b", "h100:64", {"--batch-tokens", "512k", "--zero", "1", "--tensor", "2", "--pipeline", "1"}},
               {"llama-3-8b", "h100:64", {"--batch-tokens", "512k", "--zero", "3"}},
               {"llama-3-8b", "h100:64", {"--batch-tokens", "512k", "--zero", "0", "--pipeline", "2"}},
               {"llama-3-8b", "h100:64", {"--batch-tokens", "512k", "--pipeline", "4", "--virtual-stages", "2"}},
               {"llama-3-8b", "h100:64", {"--batch-tokens", "512k", "--pipeline", "4", "--zero", "3"}},
               {"mixtral-8x7b", "h100:64", {"--batch-tokens", "512k", "--expert", "8"}}};
  for (const auto& [model, on, more] : cases) {
    SCOPED_TRACE(std::string(model) + " " + on + " " + more.back());
    const Json planned = plan(model, on, more), timed = time_of(model, on, planned);
    EXPECT_EQ(timed.at("seconds"), planned.at("step_seconds"));
    EXPECT_EQ(timed.at("bubble"), planned.at("seconds").at("bubble"));
    EXPECT_EQ(timed.at("mfu"), planned.at("mfu"));
    EXPECT_EQ(timed.at("tokens_per_second"), planned.at("tokens_per_second"));
    EXPECT_EQ(timed.at("sent"), planned.at("sent"));
    EXPECT_EQ(timed.at("hidden_seconds"), planned.at("hidden_seconds"));
    EXPECT_EQ(timed.at("slowest_stage"), planned.at("slowest_stage"));
    // What is printed adds up, and the bubble is a part of its own.
    const auto value = [](const Json& json, const char* key) { return json.at(key).get<double>(); };
    const double seconds = value(timed, "seconds");
    EXPECT_NEAR(value(timed, "forward") + value(timed, "backward") + value(timed, "optimizer") + value(timed, "bubble"),
                seconds, 1e-12 * seconds);
    double forward = 0, backward = 0, all = 0, bound = 0;
    for (const Json& part : timed.at("parts")) {
      forward += value(part, "forward");
      backward += value(part, "backward");
      all += value(part, "seconds");
      for (const auto& [name, share] : part.at("bound_by").items()) bound += share.get<double>();
    }
    EXPECT_NEAR(forward, value(timed, "forward"), 1e-9 * seconds);
    EXPECT_NEAR(backward, value(timed, "backward"), 1e-9 * seconds);
    EXPECT_NEAR(all, seconds, 1e-9 * seconds);
    EXPECT_NEAR(bound, seconds, 1e-9 * seconds);
    const Json& last = timed.at("parts").back();
    EXPECT_EQ(last.at("name") == "waiting for the pipeline", value(timed, "bubble") > 0);
    if (value(timed, "bubble") > 0) {
      EXPECT_EQ(last.at("seconds"), timed.at("bubble"));
      EXPECT_EQ(last.at("bound"), "bubble");
    }
  }
}

// 64 sequences of 128 tokens are no more than a few of 8,192 are: they may be one micro-batch.
TEST_F(OneStep, micro_batches_may_have_as_many_sequences_as_divide_the_batch) {
  const Json plan =
      json({"plan", "gpt2", "--on", "h100", "--context", "128", "--batch-tokens", "8k"}).at("plans").at(0);
  EXPECT_EQ(plan.at("micro_batch"), 64);
  EXPECT_EQ(plan.at("micro_batches"), 1);
}

TEST_F(OneStep, time_names_what_a_step_is_made_of) {
  std::istringstream out(run({"time", "llama-3-8b", "--on", "a100", "--phase", "train", "--tokens", "2k", "--lora",
                              "16", "--precision", "nf4", "--recompute", "block", "--optimizer", "sgd"})
                             .out);
  std::string text;  // whatever the lines
  for (std::string word; out >> word;) text += word + " ";
  for (const char* words : {"adapters of rank 16", "nf4 matrices", "sgd", "block recomputation",
                            "weights in nf4 are multiplied in bfloat16"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " is not in " << text;
  const Json mixture = json({"time", "mixtral-8x7b", "--on", "h100:8", "--tensor", "8", "--precision", "float8_e4m3"});
  const std::string assumed = mixture.at("assumptions").dump();
  EXPECT_NE(assumed.find("tokens choose experts evenly"), std::string::npos) << assumed;
  EXPECT_NE(assumed.find("weights in float8_e4m3 are multiplied in bfloat16"), std::string::npos) << assumed;
}

TEST_F(OneStep, time_and_plan_say_whose_scales_are_not_counted) {
  const auto assumed = [&](Words asked, const char* cache) {
    asked.insert(asked.end(), {"--precision", "int4", "--cache", cache});
    return json(asked).at("assumptions").dump();
  };
  for (const Words& asked : {Words{"time", "llama-3-8b", "--on", "h100"},
                             Words{"plan", "llama-3-8b", "--on", "h100", "--phase", "serve", "--context", "8k"}}) {
    const std::string both = assumed(asked, "int8"), one = assumed(asked, "bfloat16");
    EXPECT_NE(both.find("scales of weights in int4 and of the cache in int8 are not counted"), std::string::npos)
        << both;
    EXPECT_NE(one.find("scales of weights in int4 are not counted"), std::string::npos) << one;
  }
}

TEST_F(OneStep, plan_names_the_type_of_quantised_matrices) {
  const Words asked{"plan", "llama-3-8b", "--on", "h100", "--phase", "serve", "--precision", "int4", "--context", "8k"};
  EXPECT_EQ(json(asked).at("types").at("weights"), "int4");
  EXPECT_NE(run(asked).out.find("llama-3-8b with matrices in int4 served on"), std::string::npos);
}

// Stage 1 of 4 with two pieces each has layers 4 to 7 and 20 to 23 of 32.
TEST_F(OneStep, layers_of_interleaved_stages_have_their_numbers_in_the_model) {
  const Json report = json({"memory", "llama-3-8b", "--phase", "train", "--tokens", "2k", "--pipeline", "4",
                            "--virtual-stages", "2", "--micro-batches", "8", "--stage", "1"});
  const std::int64_t layer = report.at("peak").at("layer");
  EXPECT_TRUE((layer >= 4 && layer < 8) || (layer >= 20 && layer < 24)) << layer;
}

}  // namespace
}  // namespace reckon

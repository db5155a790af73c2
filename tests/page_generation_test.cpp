// Generating as the page asks for it: what is shown is what is drawn, and what `reckon generate` writes.
#include <reckon/generate.h>

#include <cmath>
#include <numeric>

#include "page_fixture.h"
#include "tiny_models.h"

namespace reckon {
namespace {

class PageGeneration : public PageTest {
 protected:
  std::string tiny(const std::string& name) const { return (testing_models::tiny_folder() / name).string(); }

  std::vector<std::int32_t> generated(const std::string& name, const Generation& generation) const {
    Engine engine(LoadedModel::open(tiny(name)));
    return generate(engine, std::vector<std::int32_t>{1, 2, 3}, generation).continuations[0].ids;
  }
};

TEST_F(PageGeneration, DrawsTheTokensThatGenerateDraws) {
  for (const std::string name : {"gpt2", "llama-gqa", "mixtral", "gemma2"}) {
    Generation generation;
    generation.tokens = 4;
    generation.sampling = {.repetition_penalty = 1.2, .temperature = 1.5, .top_k = 20, .top_p = 0.9, .seed = 7};
    const Json sampling = {
        {"repetition_penalty", 1.2}, {"temperature", 1.5}, {"top_k", 20}, {"top_p", 0.9}, {"seed", 7}};
    const Json opened = ask("model", {{"path", tiny(name)}}, "ModelReply");
    const Json model = opened["model"];
    EXPECT_EQ(opened["tokenizer"], nullptr);
    ask("prefill", {{"model", model}, {"ids", {1, 2, 3}}}, "StepReply");
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 4; ++i) {
      const Json shown = ask("distribution", {{"model", model}, {"sampling", sampling}}, "DistributionReply");
      ids.push_back(shown["draw"]["id"].get<std::int32_t>());
      ask("append", {{"model", model}, {"id", ids.back()}}, "StepReply");
    }
    EXPECT_EQ(ids, generated(name, generation)) << name;
  }
}

TEST_F(PageGeneration, ChancesAddUpAndTheDrawLiesWhereItsNumberDoes) {
  const Json model = ask("model", {{"path", tiny("gpt2")}})["model"];
  ask("prefill", {{"model", model}, {"ids", {1, 2, 3}}});
  const Json sampling = {{"temperature", 0.7}, {"top_k", 9}, {"min_p", 0.05}};
  for (const double u : {0.0, 0.3, 0.9, 0.999999}) {
    const page::Reply reply = whole_reply(
        "distribution", {{"model", model}, {"sampling", sampling}, {"count", 5}, {"u", u}, {"array", true}});
    const Json shown = reply.json;
    types_.expect("DistributionReply", shown);
    types_.expect("ShownToken", shown["tokens"][0]);
    ASSERT_EQ(shown["tokens"].size(), 5u);
    double probability = shown["rest"]["probability"].get<double>(),
           own = shown["rest"]["model_probability"].get<double>();
    for (const Json& token : shown["tokens"]) {
      probability += token["probability"].get<double>();
      own += token["model_probability"].get<double>();
      EXPECT_NEAR(token["to"].get<double>() - token["from"].get<double>(), token["probability"].get<double>(), 1e-12);
      EXPECT_FLOAT_EQ(token["scaled"].get<float>(), token["logit"].get<float>() / 0.7F);
      EXPECT_EQ(token["logit"].get<float>(), reply.array[token["id"].get<std::size_t>()]);
    }
    EXPECT_NEAR(probability, 1, 1e-9);
    EXPECT_NEAR(own, 1, 1e-6);  // e^x is one of float32
    EXPECT_EQ(shown["rest"]["count"].get<std::size_t>() + 5, reply.array.size());
    EXPECT_LE(shown["kept"], 9);
    EXPECT_EQ(shown["draw"]["removed"], nullptr);
    EXPECT_LE(shown["draw"]["from"], u);
    EXPECT_GT(shown["draw"]["to"], u);
  }
  const Json greedy = ask("distribution", {{"model", model}, {"sampling", {{"temperature", 0}}}, {"u", 0.99}});
  EXPECT_EQ(greedy["draw"]["id"], greedy["tokens"][0]["id"]);
  EXPECT_EQ(greedy["kept"], 1);
  EXPECT_EQ(greedy["tokens"][1]["removed"], "greedy");
}

TEST_F(PageGeneration, TheCacheGrowsByTheTokenAndCanBeRewound) {
  const Json opened = ask("model", {{"path", tiny("gpt2")}});
  const Json model = opened["model"];
  const Json first = ask("prefill", {{"model", model}, {"ids", {1, 2, 3}}});
  const Json before = ask("distribution", {{"model", model}});
  const Json second = ask("append", {{"model", model}, {"id", 5}});
  EXPECT_EQ(first["length"], 3);
  EXPECT_EQ(second["length"], 4);
  EXPECT_EQ(second["cache_bytes"].get<std::int64_t>() * 3, first["cache_bytes"].get<std::int64_t>() * 4);
  EXPECT_EQ(first["cache_bytes"].get<std::int64_t>() * opened["capacity"].get<std::int64_t>(),
            opened["cache_bytes"].get<std::int64_t>() * 3);
  EXPECT_GT(second["flops"], 0);
  const Json back = ask("rewind", {{"model", model}, {"length", 3}}, "StepReply");
  EXPECT_EQ(back["length"], 3);
  EXPECT_EQ(ask("distribution", {{"model", model}}), before);
}

TEST_F(PageGeneration, BeamsAreATreeWhoseBestLeavesAreTheSearchs) {
  const Json model = ask("model", {{"path", tiny("llama-gqa")}})["model"];
  ask("prefill", {{"model", model}, {"ids", {1, 2, 3}}});
  const Json reply = ask("beams", {{"model", model}, {"beams", 3}, {"tokens", 4}}, "BeamsReply");
  types_.expect("BeamNode", reply["nodes"][0]);
  EngineOptions options;
  options.sessions = 3;
  Engine engine(LoadedModel::open(tiny("llama-gqa")), options);
  Generation generation;
  generation.beams = generation.best = 3;
  generation.tokens = 4;
  const Generated expected = generate(engine, std::vector<std::int32_t>{1, 2, 3}, generation);
  ASSERT_EQ(reply["best"].size(), expected.continuations.size());
  for (std::size_t i = 0; i < expected.continuations.size(); ++i) {
    const Json& best = reply["best"][i];
    EXPECT_EQ(best["ids"], Json(expected.continuations[i].ids));
    EXPECT_EQ(best["ending"], "length");
    // The tokens on the way from the prompt to its node, and their ln p, are the continuation's.
    std::vector<std::int32_t> ids;
    double sum = 0;
    for (std::int64_t at = best["node"].get<std::int64_t>(); at >= 0;) {
      const Json& node = reply["nodes"][static_cast<std::size_t>(at)];
      ids.insert(ids.begin(), node["piece"]["id"].get<std::int32_t>());
      sum += node["log_probability"].get<double>();
      EXPECT_EQ(node["state"], at == best["node"] ? "finished" : "running");
      at = node["parent"].get<std::int64_t>();
    }
    EXPECT_EQ(ids, expected.continuations[i].ids);
    EXPECT_NEAR(sum, expected.continuations[i].log_probability, 1e-9);
  }
  // Three beams for three tokens, and of the last as many hypotheses.
  EXPECT_EQ(reply["nodes"].size(), 12u);
  EXPECT_EQ(ask("append", {{"model", model}, {"id", 1}})["length"], 4);  // the text is where it was
}

TEST_F(PageGeneration, TheModelOfARunIsACopyOfItsMoment) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "Once there were " + std::to_string(i * i) + " birds in a tree.\n";
  put("birds.txt", text);
  const Json settings = {{"model", "mini-gpt"},
                         {"tokenizer", "bytes"},
                         {"text", {path("birds.txt")}},
                         {"steps", 9},
                         {"batch", 2},
                         {"sample", "Once"},
                         {"keep", 9}};
  const Json run = ask("train", {{"out", path("run")}, {"settings", settings}})["run"];
  ask("advance", {{"run", run}, {"milliseconds", 0}});
  const Json made = ask("model", {{"run", run}}, "ModelReply");
  const Json model = made["model"];
  ask("prefill", {{"model", model}, {"text", "Once"}});
  const Json before = ask("distribution", {{"model", model}});
  const std::string folder = ask("save", {{"run", run}})["path"].get<std::string>();
  ask("advance", {{"run", run}, {"milliseconds", 60'000}});
  ask("forget", {{"handle", run}});
  ask("prefill", {{"model", model}, {"text", "Once"}});
  EXPECT_EQ(ask("distribution", {{"model", model}}), before);
  // The checkpoint of that moment is the same model.
  const Json saved = ask("model", {{"path", folder}});
  ASSERT_NE(saved["tokenizer"], nullptr);
  ask("prefill", {{"model", saved["model"]}, {"text", "Once"}});
  EXPECT_EQ(ask("distribution", {{"model", saved["model"]}}), before);
}

TEST_F(PageGeneration, AttentionIsThatOfEveryHeadAndSeesNothingBehindItself) {
  const Json model = ask("model", {{"path", tiny("gpt2")}})["model"];
  const page::Reply reply = whole_reply("attention", {{"of", model}, {"ids", {1, 2, 3, 4, 5}}});
  types_.expect("AttentionReply", reply.json);
  EXPECT_EQ(reply.json["tokens"], 5);
  std::size_t maps = 0;
  for (const Json& layer : reply.json["layers"]) {
    EXPECT_EQ(layer["from"], maps * 25);
    maps += layer["heads"].get<std::size_t>();
  }
  ASSERT_EQ(reply.array.size(), maps * 25);
  for (std::size_t row = 0; row < maps * 5; ++row) {
    double sum = 0;
    for (std::size_t key = 0; key < 5; ++key) {
      const float weight = reply.array[row * 5 + key];
      sum += static_cast<double>(weight);
      if (key > row % 5) {
        EXPECT_EQ(weight, 0);
      } else {
        EXPECT_GT(weight, 0);
      }
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST_F(PageGeneration, AModelThatIsWrittenIsTheSameElsewhere) {
  const Json model = ask("model", {{"path", tiny("gpt2")}})["model"];
  const Json request = {{"of", model}, {"ids", {1, 2, 3, 4, 5}}};
  EXPECT_EQ(ask("write_model", {{"of", model}, {"path", path("written")}})["path"], path("written"));
  Json again = request;
  again["of"] = ask("model", {{"path", path("written")}}, "ModelReply")["model"];
  EXPECT_EQ(whole_reply("attention", again).array, whole_reply("attention", request).array);
  EXPECT_NE(error("write_model", {{"of", 999}, {"path", path("written")}}), "");
}

TEST_F(PageGeneration, NeighboursAreOfARunOrAModel) {
  const Json model = ask("model", {{"path", tiny("gpt2")}})["model"];
  const Json reply = ask("neighbours", {{"of", model}, {"token", 3}, {"count", 4}}, "NeighboursReply");
  ASSERT_EQ(reply["neighbours"].size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NE(reply["neighbours"][i]["id"], 3);
    if (i > 0) {
      EXPECT_LE(reply["neighbours"][i]["cosine"], reply["neighbours"][i - 1]["cosine"]);
    }
  }
}

TEST_F(PageGeneration, RefusesWithASentence) {
  const Json model = ask("model", {{"path", tiny("gpt2")}})["model"];
  EXPECT_EQ(error("distribution", {{"model", model}}), "the model has no text yet; ask for `prefill` first");
  EXPECT_EQ(error("prefill", {{"model", model}, {"ids", Json::array()}}),
            "the text is empty; expected at least one token");
  EXPECT_EQ(error("prefill", {{"model", model}, {"text", "a"}}),
            "no tokenizer lies beside the model; give `ids` instead of `text`");
  EXPECT_NE(error("prefill", {{"model", model}, {"ids", {1, 1'000'000}}}).find("1000000"), std::string::npos);
  EXPECT_NE(error("prefill", {{"model", model}, {"ids", std::vector<int>(100'000, 1)}}).find("there is room for"),
            std::string::npos);
  ask("prefill", {{"model", model}, {"ids", {1, 2}}});
  EXPECT_NE(error("append", {{"model", model}, {"id", 1'000'000}}).find("expected a whole number"), std::string::npos);
  EXPECT_EQ(error("distribution", {{"model", model}, {"u", 1}}), "`u` is 1; expected 0 or more, below 1");
  EXPECT_NE(error("distribution", {{"model", model}, {"sampling", {{"top_p", 2}}}}).find("`top_p` is 2"),
            std::string::npos);
  EXPECT_NE(error("rewind", {{"model", model}, {"length", 3}}).find("from 1 to 2"), std::string::npos);
  EXPECT_NE(error("attention", {{"of", model}, {"ids", std::vector<int>(100'000, 1)}}).find("more than the context"),
            std::string::npos);
  EXPECT_EQ(ask("append", {{"model", model}, {"id", 1}})["length"], 3);  // none of it did any harm
  EXPECT_NE(error("model", {{"path", "gpt2"}}), "");
  EXPECT_NE(error("model", {{"path", path("nothing")}}), "");
  put("config.json", "{");
  put("model.safetensors", std::string(8, '\xff'));
  EXPECT_NE(error("model", {{"path", folder_.string()}}), "");
  const Json tokenizer = ask("tokenizer", {{"name", "bytes"}})["tokenizer"];
  EXPECT_EQ(error("prefill", {{"model", tokenizer}, {"ids", {1}}}), "`model` is 2, which is no model");
}

}  // namespace
}  // namespace reckon

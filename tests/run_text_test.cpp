// Models that speak text: scores of a text, and generation up to its end, beside direct computations.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <reckon/error.h>

#include <cmath>
#include <numbers>

#include "model/boundary_ids.h"
#include "paths.h"
#include "program_fixture.h"
#include "text/continuation.h"
#include "text/load.h"

namespace reckon {
namespace {

const std::string small_models = project_folder() + "/tests/data/tiny/";
const fs::path stories = fs::path(project_folder()) / "../shared/data/stories260K";

class RunText : public ProgramTest {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

  // Σ −ln p of ids 1, 2, …, each from all before it, out of the logits that the program prints.
  double by_hand(const std::string& model, const std::vector<int>& ids) const {
    std::string list;
    for (int id : ids) list += (list.empty() ? "" : ",") + std::to_string(id);
    const Json logits = json({"logits", model, "--ids", list})["logits"];
    double nll = 0;
    for (std::size_t t = 1; t < ids.size(); ++t) {
      double sum = 0;
      for (const Json& logit : logits[t - 1]) sum += std::exp(logit.get<double>());
      nll += std::log(sum) - logits[t - 1][static_cast<std::size_t>(ids[t])].get<double>();
    }
    return nll;
  }

  // The tiny gpt2 with another eos_token_id in its config.
  std::string with_end(const Json& end) const {
    const fs::path folder = folder_ / "model";
    fs::remove_all(folder);
    fs::copy(small_models + "gpt2", folder);
    Json config = Json::parse(text_of(folder / "config.json"));
    config["eos_token_id"] = end;
    std::ofstream(folder / "config.json") << config;
    return folder.string();
  }

  std::vector<std::string> greedy(const std::string& model, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"generate",      model, "Once upon", "--tokenizer", "bytes",
                                    "--temperature", "0",   "--tokens",  "12"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(RunText, AScoreIsThatOfADirectComputation) {
  const std::string text = "A line,\nand Grüße of 40 bytes or more.";
  const Json scored = json({"score", small_models + "gpt2", file("text", text), "--tokenizer", "bytes"});
  std::vector<int> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  const double nll = by_hand(small_models + "gpt2", ids);
  const auto n = static_cast<double>(text.size() - 1);  // nothing predicts the first byte
  EXPECT_EQ(scored["tokens"], text.size() - 1);
  EXPECT_EQ(scored["bytes"], text.size() - 1);
  EXPECT_NEAR(scored["nll"].get<double>(), nll, 1e-4);
  EXPECT_NEAR(scored["loss"].get<double>(), nll / n, 1e-5);
  EXPECT_NEAR(scored["perplexity"].get<double>(), std::exp(nll / n), 1e-2);
  EXPECT_NEAR(scored["bits_per_byte"].get<double>(), nll / n / std::numbers::ln2, 1e-5);
}

TEST_F(RunText, ShowsTheSpacesOfTokensWhereModelsAreFarthestApart) {
  if (!fs::exists(stories)) GTEST_SKIP() << "no model with a tokenizer of SentencePiece";
  const std::string text = file("text", "Once upon a time");
  const std::string shown = run({"score", stories.string(), text, "--against", stories.string()}).out;
  for (const char* token :
       {" 403 ' Once' ", " 407 ' upon' ", " 261 ' a' ", " 378 ' time' "})  // as its tokenizer.json has them
    EXPECT_NE(shown.find(token), std::string::npos) << shown;
}

TEST_F(RunText, OpensWhatItScoresAgainstBeforeTheModelIsLoaded) {
  fs::copy(small_models + "gpt2", folder_ / "broken");
  fs::resize_file(folder_ / "broken" / "model.safetensors", 100);
  const std::string text = file("text", "some text");
  const auto score = [&](const std::string& other) {
    return run({"score", (folder_ / "broken").string(), text, "--tokenizer", "bytes", "--against", other}).err;
  };
  EXPECT_NE(score("no-such-model").find("no-such-model"), std::string::npos) << score("no-such-model");
  EXPECT_NE(score(small_models + "gpt2").find("model.safetensors"), std::string::npos) << score(small_models + "gpt2");
}

TEST_F(RunText, ALongTextIsScoredThroughASlidingWindow) {
  std::string text, ids;
  for (int i = 0; i < 150; ++i) {
    text += static_cast<char>('a' + i * i % 26);
    ids += (i == 0 ? "" : ",") + std::to_string('a' + i * i % 26);
  }
  const std::vector<std::string> window = {"--context", "20", "--stride", "5"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), window.begin(), window.end());
    return arguments;
  };
  const Json scored = json(with({"score", small_models + "gpt2", file("text", text), "--tokenizer", "bytes"}));
  EXPECT_EQ(scored["tokens"], 149);
  EXPECT_EQ(scored["nll"], json(with({"score", small_models + "gpt2", "--ids", ids}))["nll"]);
  EXPECT_NE(scored["nll"], json({"score", small_models + "gpt2", file("text", text), "--tokenizer", "bytes"})["nll"]);
}

TEST_F(RunText, ATextMayComeFromStandardInput) {
  const std::string text = file("text", "from a pipe");
  const Result piped = run({"score", small_models + "gpt2", "-", "--tokenizer", "bytes"}, text);
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.out, run({"score", small_models + "gpt2", text, "--tokenizer", "bytes"}).out);
  EXPECT_NE(piped.out.find("perplexity"), std::string::npos);
  EXPECT_EQ(piped.err, "");
}

TEST_F(RunText, AStoryIsScoredWithItsOwnTokenizerFromItsFirstByte) {
  if (!fs::exists(stories)) GTEST_SKIP() << "there is no ../shared/data/stories260K";
  const std::string text = "Once upon a time, there was a little girl named Lily.";
  const Json scored = json({"score", stories.string(), file("text", text)});
  const auto ids = load_tokenizer(stories.string()).encode(text);
  EXPECT_EQ(scored["tokens"], ids.size() - 1);
  EXPECT_EQ(scored["bytes"], text.size());
  const double nll = by_hand(stories.string(), {ids.begin(), ids.end()});
  EXPECT_NEAR(scored["nll"].get<double>(), nll, 1e-3);
  EXPECT_NEAR(scored["bits_per_byte"].get<double>(), nll / std::numbers::ln2 / static_cast<double>(text.size()), 1e-5);
  EXPECT_LT(scored["perplexity"].get<double>(), 4);  // it was trained on such stories
}

TEST_F(RunText, TextEndsAtTheEndOfTextOfTheModel) {
  const Json all = json(greedy(small_models + "gpt2"))["ids"];
  ASSERT_EQ(all.size(), 12u);
  const Json last = all[4];
  Json before = Json::array();
  for (const Json& id : all) {
    if (id == last) break;
    before.push_back(id);
  }
  for (const Json& end : {last, Json::array({300, last})}) {
    const Json ended = json(greedy(with_end(end)));
    EXPECT_EQ(ended["ids"], before);
    EXPECT_EQ(ended["continuations"][0]["ending"], "end of text");
  }
  const std::string model = with_end(last);
  EXPECT_EQ(json(greedy(model, {"--ignore-eos"}))["ids"], all);
  EXPECT_EQ(json({"generate", model, "--ids", "79,110,99,101,32,117,112,111,110", "--temperature", "0", "--tokens",
                  "12"})["ids"],
            all);
  // What the generation's own config says goes before the model's.
  std::ofstream(model + "/generation_config.json") << R"({"eos_token_id": 300})";
  EXPECT_EQ(json(greedy(model))["ids"], all);
  std::ofstream(model + "/generation_config.json") << R"({"eos_token_id": ["</s>"]})";
  expect_complaint(greedy(model), 1, "eos_token_id holds \"</s>\"; expected ids of tokens");
}

TEST_F(RunText, EndOfTextIsOneIdSeveralOrNone) {
  using Ids = std::vector<std::int32_t>;
  EXPECT_EQ(end_of_text_ids(with_end(7)), (Ids{7}));
  EXPECT_EQ(end_of_text_ids(with_end({7, 8})), (Ids{7, 8}));
  EXPECT_EQ(end_of_text_ids(with_end(nullptr)), Ids{});
  EXPECT_EQ(end_of_text_ids(with_end(-1)), Ids{});
  EXPECT_EQ(end_of_text_ids((folder_ / "model/model.safetensors").string()), Ids{});
  EXPECT_EQ(end_of_text_ids("gpt2"), Ids{});
  EXPECT_THROW(end_of_text_ids(with_end(-2)), Error);
  EXPECT_THROW(end_of_text_ids(with_end(1.5)), Error);
}

TEST_F(RunText, FirstAndLastIdsAreThoseOfTheConfigThatIsNamed) {
  using Ids = std::vector<std::int32_t>;
  Json config = Json::parse(text_of(small_models + "gpt2/config.json"));
  const auto with = [&](const std::string& name, int bos, int eos) {
    config["bos_token_id"] = bos;
    config["eos_token_id"] = eos;
    return file(name, config.dump());
  };
  const std::string usual = with("config.json", 3, 4), other = with("other.json", 5, 6);
  EXPECT_EQ(begin_of_text_id(folder_.string()), 3);
  EXPECT_EQ(begin_of_text_id(usual), 3);
  EXPECT_EQ(begin_of_text_id(other), 5);
  EXPECT_EQ(end_of_text_ids(other), Ids{6});
  const auto prompt = [&](const std::string& model) {
    return json({"generate", model, "", "--random", "1", "--tokenizer", "bytes", "--tokens", "1"})["prompt_ids"];
  };
  EXPECT_EQ(prompt(other), Json::array({5}));
  file("generation_config.json", R"({"bos_token_id": 9})");  // which goes with config.json
  EXPECT_EQ(begin_of_text_id(usual), 9);
  EXPECT_EQ(begin_of_text_id(other), 5);
  fs::create_directory(folder_ / "lone");
  EXPECT_EQ(prompt(with("lone/small.json", 7, 8)), Json::array({7}));
}

TEST_F(RunText, FirstAndLastIdsMayBeNestedWithTheLanguageModel) {
  using Ids = std::vector<std::int32_t>;
  const std::string both = R"("text_config": {"model_type": "llama", "bos_token_id": 4, "eos_token_id": [6, 7]})";
  const std::string nested = file("a.json", R"({"model_type": "llava", )" + both + "}");
  EXPECT_EQ(begin_of_text_id(nested), 4);
  EXPECT_EQ(end_of_text_ids(nested), (Ids{6, 7}));
  EXPECT_EQ(begin_of_text_id(file("b.json", R"({"model_type": "llava", "bos_token_id": 1, )" + both + "}")), 1);
}

TEST_F(RunText, AStrideMayReachPastAShortTextButNotPastTheContext) {
  const std::vector<std::string> words = {"score", small_models + "gpt2", "--ids", "1,2,3", "--context", "64"};
  const auto with = [&](const char* stride) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--stride", stride});
    return all;
  };
  EXPECT_EQ(json(with("63"))["nll"], json(words)["nll"]);  // one window: nothing slides
  expect_complaint(with("64"), 2, "--stride is 64; expected 1 to 63, one less than the context");
  expect_complaint({"score", "mini-gpt", "--random", "1", "--ids", "1,2,3", "--context", "1k", "--stride", "1k"}, 2,
                   "--stride is 1,024; expected 1 to 1,023, one less than the context");
}

TEST_F(RunText, BeamsAreShownAsTextTheBestFirst) {
  std::vector<std::string> arguments = {
      "generate", small_models + "gpt2", "Once", "--tokenizer", "bytes", "--beams", "3", "--best", "2", "--tokens",
      "5"};
  const Json found = json(arguments)["continuations"];
  ASSERT_EQ(found.size(), 2u);
  const Tokenizer tokenizer = load_tokenizer("bytes");
  const auto heading = [&](std::size_t i) {
    return fmt::format("── {} of 2 · score {:.4f} · length ──\n", i + 1, found[i]["score"].get<double>());
  };
  const auto text = [&](std::size_t i) { return tokenizer.decode(found[i]["ids"].get<std::vector<TokenId>>()) + "\n"; };
  EXPECT_GE(found[0]["score"], found[1]["score"]);
  EXPECT_EQ(run(arguments).out, heading(0) + text(0) + "\n" + heading(1) + text(1));
  arguments[8] = "1";
  EXPECT_EQ(run(arguments).out, text(0));  // nothing but the text where there is one
}

TEST_F(RunText, ABeamEndsAtTheStopString) {
  const Json found = json({"generate", small_models + "gpt2", "Once", "--tokenizer", "bytes", "--beams", "3", "--best",
                           "3", "--length-penalty", "0", "--tokens", "5", "--stop", "<"})["continuations"];
  ASSERT_EQ(found.size(), 3u);
  int stopped = 0;
  for (const Json& one : found) {
    const auto ids = one["ids"].get<std::vector<TokenId>>();
    const auto stop = std::find(ids.begin(), ids.end(), '<');
    EXPECT_TRUE(stop == ids.end() || stop + 1 == ids.end()) << one.dump();
    EXPECT_EQ(one["ending"], stop == ids.end() ? "length" : "stopped");
    stopped += stop == ids.end() ? 0 : 1;
  }
  EXPECT_GT(stopped, 1);
}

TEST_F(RunText, LogprobsNameTheirTokens) {
  const Json found = json(greedy(small_models + "gpt2", {"--logprobs", "3"}))["continuations"][0];
  ASSERT_EQ(found["logprobs"].size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    const Json& token = found["logprobs"][i];
    EXPECT_EQ(token["id"], found["ids"][i]);
    ASSERT_EQ(token["top"].size(), 3u);
    EXPECT_EQ(token["top"][0]["id"], token["id"]);  // greedy
    EXPECT_EQ(token["top"][0]["log_probability"], token["log_probability"]);
    EXPECT_TRUE(token["text"].is_string() && token["top"][2]["text"].is_string());
  }
  expect_complaint(greedy(small_models + "gpt2", {"--logprobs", "3"}), 2, "--logprobs are reported in JSON");
}

TEST_F(RunText, TheContextIsLeftOnlyWithAWindow) {
  const std::string fifty(50, 'a'), seventy(70, 'a');  // the context is 64
  const auto asked = [&](const std::string& prompt, const std::vector<std::string>& more) {
    std::vector<std::string> all = {"generate", small_models + "gpt2", prompt, "--tokenizer",
                                    "bytes",    "--temperature",       "0"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  expect_complaint(asked(seventy, {}), 2, "the prompt has 70 tokens and ");
  expect_complaint(asked(fifty, {"--tokens", "16"}), 2, "ask for at most 15, or give --window");
  EXPECT_EQ(json(asked(fifty, {"--tokens", "15"}))["ids"].size(), 15u);
  EXPECT_EQ(json(asked(fifty, {}))["ids"].size(), 15u);
  EXPECT_EQ(json(asked(fifty, {"--tokens", "80", "--window"}))["ids"].size(), 80u);
  EXPECT_EQ(json(asked(seventy, {"--tokens", "3", "--window"}))["ids"].size(), 3u);
}

class RunPrompts : public RunText {
 protected:
  static std::vector<std::string> asked(const std::vector<std::string>& more) {
    std::vector<std::string> all = {
        "generate", small_models + "gpt2", "--tokenizer", "bytes", "--temperature", "0.9", "--seed", "3"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(RunPrompts, EachLineGetsTheTextThatItGetsAlone) {
  const std::vector<std::string> texts = {"Once upon a time there was", "To", "A line, and Grüße"};
  const std::string prompts = file("prompts", texts[0] + "\n" + texts[1] + "\r\n" + texts[2]);
  const std::vector<std::string> arguments = asked({"--prompts", prompts, "--tokens", "12", "--stop", "e"});
  const Json found = json(arguments)["prompts"];
  ASSERT_EQ(found.size(), 3u);
  std::string table, csv = "line,prompt,ending,text\r\n";
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<std::string> one = asked({texts[i], "--tokens", "12", "--stop", "e"});
    const Json alone = json(one);
    const std::string ending = alone["continuations"][0]["ending"];
    EXPECT_EQ(found[i]["prompt"], texts[i]);
    EXPECT_EQ(found[i]["prompt_ids"], alone["prompt_ids"]);
    EXPECT_EQ(found[i]["ids"], alone["ids"]) << texts[i];
    EXPECT_EQ(found[i]["text"], alone["text"]);
    EXPECT_EQ(found[i]["ending"], ending);
    table += fmt::format("{}── {} of 3 · {} ──\n", i == 0 ? "" : "\n", i + 1, ending) + run(one).out;
  }
  EXPECT_EQ(run(arguments).out, table);
  EXPECT_EQ(run(asked({"--prompts", "-", "--tokens", "12", "--stop", "e"}), prompts).out, table);
  const std::string written = (folder_ / "texts").string();
  EXPECT_EQ(run(asked({"--prompts", prompts, "--tokens", "12", "--stop", "e", "--output", written})).out, "");
  EXPECT_EQ(text_of(written), table);
  EXPECT_TRUE(run(asked({"--prompts", prompts, "--tokens", "1", "--format", "csv"})).out.starts_with(csv));
}

TEST_F(RunPrompts, EachLineHasTheRoomThatItHasAlone) {
  const std::string fifty(50, 'a'), many = [] {
    std::string lines;
    for (int i = 0; i < 70; ++i) lines += std::string(static_cast<std::size_t>(1 + i % 5), 'b') + "\n";
    return lines;  // more than run at a time
  }();
  const Json found = json(asked({"--prompts", file("prompts", fifty + "\nb\n")}))["prompts"];
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]["ids"], json(asked({fifty}))["ids"]);
  EXPECT_EQ(found[1]["ids"], json(asked({"b"}))["ids"]);
  const Json all = json(asked({"--prompts", file("many", many), "--tokens", "4"}))["prompts"];
  ASSERT_EQ(all.size(), 70u);
  for (std::size_t i = 5; i < 70; ++i) EXPECT_EQ(all[i]["ids"], all[i % 5]["ids"]) << i;
  EXPECT_EQ(all[4]["ids"], json(asked({"bbbbb", "--tokens", "4"}))["ids"]);
}

TEST_F(RunPrompts, AnEmptyLineIsAnEmptyText) {
  const std::string model = with_end(nullptr), prompts = file("prompts", "Once\n\n");
  Json config = Json::parse(text_of(model + "/config.json"));
  const std::vector<std::string> arguments = {"generate",  model,   "--tokenizer", "bytes",
                                              "--prompts", prompts, "--tokens",    "3"};
  config["bos_token_id"] = nullptr;
  std::ofstream(model + "/config.json") << config;
  expect_complaint(arguments, 2, prompts + ": line 2: the prompt is empty, and neither the tokenizer nor ");
  config["bos_token_id"] = 7;
  std::ofstream(model + "/config.json") << config;
  const Json found = json(arguments)["prompts"];
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1]["prompt"], "");
  EXPECT_EQ(found[1]["prompt_ids"], Json({7}));
}

TEST_F(RunPrompts, WhatCannotBeContinuedIsRefusedWithItsLine) {
  const std::string prompts = file("prompts", "a\n" + std::string(70, 'a') + "\n"), good = file("good", "a\n");
  expect_complaint(asked({"--prompts", prompts}), 2, prompts + ": line 2: the prompt has 70 tokens and ");
  expect_complaint(asked({"--prompts", good, "--tokens", "65"}), 2, ": line 1: 65 tokens after a prompt of 1 ");
  expect_complaint(asked({"--prompts", file("none", "")}), 2, "is empty; expected a prompt a line");
  expect_complaint(asked({"--prompts", prompts + "2"}), 1, "cannot be opened");
  expect_complaint(asked({"a", "--prompts", good}), 2, "give no other beside it");
  expect_complaint(asked({"--ids", "1", "--prompts", good}), 2, "give no other beside it");
  expect_complaint({"generate", small_models + "gpt2", "--tokenizer", "bytes", "--prompts", good, "--beams", "2"}, 2,
                   "--beams and --best search for one prompt");
}

TEST_F(RunPrompts, AnInterruptShowsWhatThereIs) {
  const std::string prompts = file("prompts", "a\nOnce upon\n");
  const pid_t child = start(asked({"--prompts", prompts, "--window", "--tokens", "10000000"}));
  wait_until_it_catches_signals(child);
  ::kill(child, SIGINT);
  const Result result = end(child);
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.out.starts_with("── 1 of 2 · stopped ──\n")) << result.out;
  EXPECT_NE(result.out.find("── 2 of 2 · stopped ──\n"), std::string::npos);
  EXPECT_NE(result.err.find("reckon: interrupted after "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(" of 2 prompts\n"), std::string::npos) << result.err;
}

TEST_F(RunText, ATokenizerOfAnotherModelIsRefused) {
  const std::string tokenizer = project_folder() + "/tests/data/tokenizer/shakespeare8k.tokenizer.json";
  const std::string sentence = "the tokenizer has 8,192 tokens, more than the vocabulary";
  Json special = Json::parse(text_of(tokenizer));
  special["added_tokens"].push_back({{"id", 8192}, {"content", "<|last|>"}, {"special", true}});
  expect_complaint({"generate", small_models + "gpt2", "Shall I", "--tokenizer", file("special.json", special.dump())},
                   1, "the tokenizer has 8,193 tokens, more than the vocabulary");
  expect_complaint({"generate", small_models + "gpt2", "Shall I compare thee", "--tokenizer", tokenizer}, 1, sentence);
  expect_complaint({"score", small_models + "gpt2", file("text", "Shall I compare thee"), "--tokenizer", tokenizer}, 1,
                   sentence);
  expect_complaint({"generate", "mini-gpt", "--random", "1", "text"}, 2, "comes without a tokenizer");
  expect_complaint({"generate", small_models + "gpt2", "text"}, 1, "neither tokenizer.json nor vocab.json");
}

TEST_F(RunText, ATextOfWhichTheTokenizerHasNothingIsRefused) {
  const std::string letters =
      file("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})");
  const std::string model = small_models + "llama3-rope", other = file("other", "xyz"),
                    nothing = "the tokenizer has no token for anything in ";
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--tokenizer", letters});
    return arguments;
  };
  EXPECT_EQ(json(with({"generate", model, "xbay", "--tokens", "1"}))["prompt_ids"], Json({1, 0}));
  expect_complaint(with({"generate", model, "xyz"}), 2, nothing + "the prompt");
  expect_complaint(with({"generate", model, "--prompts", other}), 2, other + ": line 1: " + nothing + "the prompt");
  expect_complaint(with({"score", model, other}), 2, nothing + "'" + other + "'");
  expect_complaint(with({"quantize", model, "--to", "q8_0", "--calibrate", other, "--out", file("t.gguf", "")}), 2,
                   nothing + "'" + other + "'");
}

TEST_F(RunText, AnEmptyPromptStartsFromTheModelsFirstToken) {
  const auto empty = [](const std::string& model) {
    return std::vector<std::string>{"generate", model,      "", "--tokenizer", "bytes", "--temperature",
                                    "0",        "--tokens", "3"};
  };
  const std::string model = with_end(nullptr);
  const auto set_first = [&](const Json& id) {
    Json config = Json::parse(text_of(model + "/config.json"));
    config["bos_token_id"] = id;
    std::ofstream(model + "/config.json") << config;
  };
  set_first(nullptr);
  expect_complaint(empty(model), 2,
                   "the prompt is empty, and neither the tokenizer nor '" + model +
                       "' has a token that begins a text; expected some text");
  expect_complaint({"generate", "mini-gpt", "--random", "1", "", "--tokenizer", "bytes"}, 2, "the prompt is empty");
  set_first(7);
  const Json started = json(empty(model));
  EXPECT_EQ(started["prompt_ids"], Json({7}));
  EXPECT_EQ(started["ids"], json({"generate", model, "--ids", "7", "--temperature", "0", "--tokens", "3"})["ids"]);
  set_first(10'000);
  expect_complaint(empty(model), 2, "id 10000 is outside the vocabulary of");
  expect_complaint({"generate", model}, 2, "give the prompt either as text or with --ids");
  expect_complaint({"generate", model, "", "--ids", "7"}, 2, "give the prompt either as text or with --ids");
}

TEST_F(RunText, AnEmptyPromptIsTheTokenizersOwnFirstTokenWhereItHasOne) {
  if (!fs::exists(stories)) GTEST_SKIP() << "there is no ../shared/data/stories260K";
  const Result told = run({"generate", stories.string(), "", "--temperature", "0", "--tokens", "4"});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_TRUE(told.out.starts_with("Once upon a")) << told.out;  // as nearly all stories of its training do
}

TEST_F(RunText, ExplainsThePromptWithATokenizerThatFits) {
  const std::string tokenizer = project_folder() + "/tests/data/tokenizer/shakespeare8k.tokenizer.json";
  expect_complaint({"explain", "mini-gpt", "--prompt", "Once upon a time", "--tokenizer", tokenizer}, 1,
                   "the tokenizer has 8,192 tokens, more than the vocabulary of mini-gpt, 512");
  expect_complaint({"explain", "mini-gpt", "--prompt", "Once"}, 2,
                   "the preset 'mini-gpt' comes without a tokenizer; give one with --tokenizer (bytes, gpt2, "
                   "cl100k_base, o200k_base, a tokenizer.json or a folder), or --tokens N");
  expect_complaint({"explain", "mini-gpt", "--prompt", "", "--tokenizer", "bytes"}, 2, "the prompt is empty");
  expect_complaint({"explain", "mini-gpt", "--prompt", "a", "--tokens", "3", "--tokenizer", "bytes"}, 2,
                   "give either --prompt or --tokens");
  expect_complaint({"explain", "mini-gpt", "--tokenizer", "bytes"}, 2, "--tokenizer is for a text; give --prompt too");
  const std::vector<std::string> asked = {"explain",  "mini-gpt",         "--vocab",     "8192",
                                          "--prompt", "Once upon a time", "--tokenizer", tokenizer};
  const Result explained = run(asked);
  EXPECT_EQ(explained.code, 0) << explained.err;
  EXPECT_EQ(explained.out.substr(0, explained.out.find('\n')),
            "The prompt 'Once upon a time' is 4 tokens (piece=id): Once=3527 · ␣upon=597 · ␣a=258 · ␣time=673");
  const Json facts = json(asked);
  EXPECT_EQ(facts["workload"]["tokens"], 4);
  EXPECT_EQ(facts["prompt"]["ids"], Json({3527, 597, 258, 673}));
  EXPECT_EQ(facts["prompt"]["pieces"], Json({"Once", " upon", " a", " time"}));
}

TEST_F(RunText, WhatCannotBeScoredIsRefused) {
  const std::string one = file("one", "x"), none = file("none", "");
  expect_complaint({"score", small_models + "gpt2", one, "--tokenizer", "bytes"}, 2, "nothing to predict");
  expect_complaint({"score", small_models + "gpt2", none, "--tokenizer", "bytes"}, 2, "is empty");
  expect_complaint({"score", small_models + "gpt2", one, "--ids", "1,2"}, 2, "give one of FILE");
  expect_complaint({"score", small_models + "gpt2"}, 2, "give one of FILE");
  expect_complaint({"score", small_models + "gpt2", one + "2", "--tokenizer", "bytes"}, 1, "cannot be opened");
}

TEST(Continuation, AStopStringIsHeldBackOnlyAsFarAsItMayCome) {
  const Tokenizer bytes = load_tokenizer("bytes");
  ContinuationText text(bytes, {}, {"abac"});
  const auto add = [&](const std::string& letters) {
    std::string shown;
    for (const char c : letters) shown += text.add(c) + "|";
    return shown;
  };
  EXPECT_EQ(add("xabab"), "x||||ab|");  // "ab" may still become the stop string
  EXPECT_FALSE(text.stopped());
  EXPECT_EQ(add("ac!"), "|||");
  EXPECT_TRUE(text.stopped());
  EXPECT_EQ(text.finish(), "");
}

TEST(Continuation, WhatWasHeldBackIsShownAtTheEnd) {
  const Tokenizer bytes = load_tokenizer("bytes");
  const std::vector<TokenId> prompt = {'a', 'b'}, ids = {'a', 'c', 'a', 'b'};
  EXPECT_EQ(continuation_text(bytes, prompt, ids, {"abac"}), "acab");  // the prompt is no part of the stop string
  EXPECT_EQ(continuation_text(bytes, prompt, ids, {"ca"}), "a");
  EXPECT_EQ(continuation_text(bytes, prompt, ids, {"b", "abac", "ca"}), "a");  // the first to come
  EXPECT_EQ(continuation_text(bytes, prompt, ids, {"bx", "cx", "abx"}), "acab");
  EXPECT_THROW(continuation_text(bytes, prompt, ids, {"ca", ""}), UsageError);
  EXPECT_EQ(continuation_text(bytes, prompt, ids), "acab");
  const std::vector<TokenId> half = {0xc3}, other = {0xbc};
  EXPECT_EQ(continuation_text(bytes, half, other), "ü");
}

}  // namespace
}  // namespace reckon

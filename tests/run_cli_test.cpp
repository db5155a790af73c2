// The commands that run a model, as a person or a script uses them: what they print, and what they refuse.
#include <gtest/gtest.h>

#include "gguf_of_folder.h"
#include "paths.h"
#include "program_fixture.h"
#include "report/text.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <regex>
#include <thread>

namespace reckon {
namespace {

const std::string tiny = project_folder() + "/tests/data/tiny/";

class RunProgram : public ProgramTest {
 protected:
  static Json reference(const std::string& folder) { return Json::parse(text_of(tiny + folder + "/io.json")); }
  static std::string joined(const Json& ids) {
    std::string text;
    for (const Json& id : ids) text += (text.empty() ? "" : ",") + id.dump();
    return text;
  }
};

TEST_F(RunProgram, LogitsAreARowPerPositionAndEqualTheReference) {
  const Json io = reference("qwen2");
  const Json logits = json({"logits", tiny + "qwen2", "--ids", joined(io["ids"][0])})["logits"];
  ASSERT_EQ(logits.size(), io["ids"][0].size());
  for (std::size_t t = 0; t < logits.size(); ++t) {
    ASSERT_EQ(logits[t].size(), io["logits"][0][t].size());
    for (std::size_t v = 0; v < logits[t].size(); ++v) {
      ASSERT_NEAR(logits[t][v].get<double>(), io["logits"][0][t][v].get<double>(), 2e-4);
    }
  }
}

// Temperature 0.5 doubles the logits; of the three highest, the probabilities are e^x over their sum, and u = 0.5 draws
// the one that it falls on where they lie side by side by their ids.
TEST_F(RunProgram, TheNextTokenIsFollowedFromItsLogitToItsDraw) {
  const std::vector<std::string> model = {"logits", tiny + "gpt2", "--ids", "3,1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), model.begin(), model.end());
    return more;
  };
  const Json logits = json(model)["logits"][1];
  std::vector<std::size_t> order(logits.size());
  double whole = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    whole += std::exp(logits[i].get<double>());
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  double kept = 0;
  for (std::size_t i = 0; i < 3; ++i) kept += std::exp(2 * logits[order[i]].get<double>());
  const Json next = json(with({"--next", "5", "--temperature", "0.5", "--top-k", "3", "--u", "0.5"}));
  ASSERT_EQ(next["tokens"].size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const Json& token = next["tokens"][i];
    const double logit = logits[order[i]].get<double>();
    EXPECT_EQ(token["id"], order[i]);
    EXPECT_NEAR(token["logit"].get<double>(), logit, 1e-6);
    EXPECT_NEAR(token["scaled"].get<double>(), 2 * logit, 1e-5);
    EXPECT_EQ(token["removed"], i < 3 ? Json() : Json("top_k"));
    EXPECT_NEAR(token["probability"].get<double>(), i < 3 ? std::exp(2 * logit) / kept : 0, 1e-5);
    EXPECT_NEAR(token["model_probability"].get<double>(), std::exp(logit) / whole, 1e-5);
  }
  EXPECT_EQ(next["rest"]["count"], logits.size() - 5);
  EXPECT_EQ(next["kept"], 3);
  std::sort(order.begin(), order.begin() + 3);
  std::size_t drawn = 0;
  for (double left = 0.5 * kept; (left -= std::exp(2 * logits[order[drawn]].get<double>())) >= 0;) ++drawn;
  EXPECT_EQ(next["draw"]["id"], order[drawn]);
  EXPECT_EQ(json(with({"--next", "5"})).count("draw"), 0u);

  const std::string text = run(with({"--next", "5", "--top-k", "3", "--u", "0.5"})).out;
  EXPECT_NE(text.find("top-k"), std::string::npos) << text;
  EXPECT_NE(text.find("252 others"), std::string::npos) << text;  // of 257
  const std::string csv = run(with({"--next", "5", "--format", "csv"})).out;
  EXPECT_EQ(csv.substr(0, csv.find('\r')), "next id,logit,scaled,filtered,probability,by the model,from,to");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);
}

TEST_F(RunProgram, AttentionIsAMapForEachHead) {
  const std::vector<std::string> asked = {"logits", tiny + "qwen2", "--ids", "3,1,4", "--attention"};
  const Json layers = json(asked)["layers"];
  const Json config = Json::parse(text_of(tiny + "qwen2/config.json"));
  ASSERT_EQ(layers.size(), config["num_hidden_layers"].get<std::size_t>());
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    EXPECT_EQ(layers[layer]["layer"], layer);
    ASSERT_EQ(layers[layer]["heads"].size(), config["num_attention_heads"].get<std::size_t>());
    for (const Json& head : layers[layer]["heads"]) {
      const Json& weights = head["weights"];
      EXPECT_EQ(weights[0], Json({1.0, 0.0, 0.0}));
      EXPECT_EQ(weights[1][2], 0.0);
      const auto at = [&](int query, int key) { return weights[query][key].get<double>(); };
      EXPECT_NEAR(at(2, 0) + at(2, 1) + at(2, 2), 1, 1e-6);
      EXPECT_NEAR(head["itself"].get<double>(), (at(1, 1) + at(2, 2)) / 2, 1e-6);
    }
  }
  std::vector<std::string> lines = asked;
  lines.insert(lines.end(), {"--format", "csv"});
  const std::string csv = run(lines).out;
  EXPECT_EQ(csv.substr(0, csv.find('\r')), "layer,head,position,looks at,weight");
  const std::size_t heads = layers.size() * config["num_attention_heads"].get<std::size_t>();
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), 1 + heads * 6);  // 1 + 2 + 3 places
  expect_complaint({"logits", project_folder() + "/tests/data/families/tiny/mamba2", "--ids", "1,2", "--attention"}, 1,
                   "has no layer of attention");
  for (const char* name : {"deepseek_v4", "deepseek_v32", "glm_moe_dsa", "axk2"}) {
    const std::string folder = project_folder() + "/tests/data/families/tiny/" + name;
    const Result result = run({"logits", folder, "--ids", "1,2,3", "--attention"});
    EXPECT_EQ(result.code, 1) << name;
    EXPECT_NE(result.err.find("weights over such keys cannot be shown"), std::string::npos) << result.err;
  }
}

TEST_F(RunProgram, NeighboursOfATokenAreListedTheNearestFirst) {
  const Json eight = json({"logits", tiny + "gpt2", "--nearest", "3"});
  ASSERT_EQ(eight["nearest"].size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NE(eight["nearest"][i]["id"], 3);
    EXPECT_LE(eight["nearest"][i]["cosine"], eight["nearest"][i == 0 ? 0 : i - 1]["cosine"]);
  }
  const Json two = json({"logits", tiny + "gpt2", "--nearest", "3", "--count", "2"});
  ASSERT_EQ(two["nearest"].size(), 2u);
  EXPECT_EQ(two["nearest"][1], eight["nearest"][1]);
}

TEST_F(RunProgram, LogitsAreALineForEachOfTheMostLikelyTokensInCsv) {
  const std::vector<std::string> asked = {"logits", tiny + "gpt2", "--ids", "3,1"};
  const Json logits = json(asked)["logits"];
  std::vector<std::string> arguments = asked;
  arguments.insert(arguments.end(), {"--format", "csv"});
  std::istringstream lines(run(arguments).out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "position,id,rank,next id,logit\r");
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(std::getline(lines, line)) << i;
    int position = -1, id = -1, rank = -1, next = -1;
    double logit = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%d,%d,%d,%d,%lf", &position, &id, &rank, &next, &logit), 5) << line;
    EXPECT_EQ(position, i / 5);
    EXPECT_EQ(id, position == 0 ? 3 : 1);
    EXPECT_EQ(rank, i % 5 + 1);
    EXPECT_NEAR(logits[static_cast<std::size_t>(position)][static_cast<std::size_t>(next)].get<double>(), logit, 1e-6);
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST_F(RunProgram, RunsOnTheReferenceAndSaysWhichDevicesThereAre) {
  const Json io = reference("gemma2");
  for (const std::string device : {"reference", "reference64"}) {
    const Json generated = json({"generate", tiny + "gemma2", "--ids", joined(io["greedy_prompt"]), "--temperature",
                                 "0", "--tokens", "3", "--device", device});
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(generated["ids"][i], io["greedy"][io["greedy_prompt"].size() + i]) << device;
    const Json logits = json({"logits", tiny + "gemma2", "--ids", "1,2", "--device", device})["logits"];
    EXPECT_NEAR(logits[1][0].get<double>(),
                json({"logits", tiny + "gemma2", "--ids", "1,2"})["logits"][1][0].get<double>(), 1e-4);
    const auto loss = [&](const std::string& on) {
      return json({"score", tiny + "gemma2", "--ids", "1,2,3,4", "--device", on})["loss"].get<double>();
    };
    EXPECT_NEAR(loss(device), loss("cpu"), 1e-5);
  }
  expect_complaint({"logits", tiny + "gpt2", "--ids", "1", "--device", "cuda"}, 2,
                   "--device is 'cuda'; expected one of: cpu reference reference64");
}

TEST_F(RunProgram, VerifyMeasuresTheReferenceToo) {
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--train"}}) {
    std::vector<std::string> arguments = {"verify", tiny + "gpt2", "--device", "reference", "--tokens", "6"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(json(arguments)["holds"], true);
  }
}

TEST_F(RunProgram, VerifyComparesEachOpWithTheReference) {
  const Json found = json({"verify", tiny + "gpt2", "--against", "reference", "--tokens", "4"});
  EXPECT_EQ(found["schema"], "reckon.verify-against/1");
  EXPECT_EQ(found["tokens"], 4);
  EXPECT_EQ(found["holds"], true);
  EXPECT_TRUE(found["first"].is_null());
  EXPECT_GT(found["ops"], 10);
  EXPECT_LT(found["largest"]["difference"].get<double>(), found["tolerance"].get<double>());
  expect_complaint({"verify", tiny + "gpt2", "--against", "cuda"}, 2, "--against is 'cuda'; expected reference");
  expect_complaint({"verify", tiny + "gpt2", "--against", "reference", "--train"}, 2,
                   "leave out --train, --batch and --device");
  expect_complaint({"verify", tiny + "gpt2", "--against", "reference", "--tokens", "100k"}, 2, "context");
}

// Few rows and many, of a mixture's experts, too.
TEST_F(RunProgram, VerifyComparesProductsWithBlocksThatQuantizeWrote) {
  for (const auto& [type, experts] : {std::pair<std::string, std::string>{"llama", ""},
                                      {"mixtral", R"(, "num_local_experts": 3, "num_experts_per_tok": 2)"}}) {
    std::ofstream(folder_ / "wide.json") << R"({"model_type": ")" << type << R"(", "vocab_size": 256,
      "hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
      "max_position_embeddings": 64)" << experts
                                         << "}";
    for (const char* encoding : {"q8_0", "q4_k", "q6_k"}) {
      const std::string config = (folder_ / "wide.json").string(), file = (folder_ / "t.gguf").string();
      json({"quantize", config, "--random", "1", "--to", encoding, "--out", file});
      for (const char* tokens : {"2", "60"}) {
        const Json found = json({"verify", file, "--against", "reference", "--tokens", tokens});
        EXPECT_EQ(found["holds"], true) << type << ", " << encoding << ", " << tokens << ": " << found["first"];
      }
    }
  }
}

TEST_F(RunProgram, GenerateWritesOnlyTheNewIdsToStandardOutputAndItsPaceToStandardError) {
  const Json io = reference("gemma2");
  const std::size_t prompt = io["greedy_prompt"].size(), all = io["greedy"].size();
  const Result result = run({"generate", tiny + "gemma2", "--ids", joined(io["greedy_prompt"]), "--temperature", "0",
                             "--tokens", std::to_string(all - prompt)});
  ASSERT_EQ(result.code, 0) << result.err;
  std::string expected;
  for (std::size_t i = prompt; i < all; ++i) expected += (i == prompt ? "" : " ") + io["greedy"][i].dump();
  EXPECT_EQ(result.out, expected + "\n");
  EXPECT_NE(result.err.find("tokens/s"), std::string::npos);
}

TEST_F(RunProgram, GeneratesFromAGgufFileWhatTheFolderThatItWasMadeOfGenerates) {
  const fs::path path = folder_ / "model.gguf";
  std::ofstream(path, std::ios::binary) << GgufOfFolder(tiny + "llama-gqa").file();
  const Json io = reference("llama-gqa");
  const std::size_t prompt = io["greedy_prompt"].size();
  const Json generated = json({"generate", path.string(), "--ids", joined(io["greedy_prompt"]), "--temperature", "0",
                               "--tokens", std::to_string(io["greedy"].size() - prompt)});
  ASSERT_EQ(generated["ids"].size(), io["greedy"].size() - prompt);
  for (std::size_t i = prompt; i < io["greedy"].size(); ++i) EXPECT_EQ(generated["ids"][i - prompt], io["greedy"][i]);
}

TEST_F(RunProgram, TheSameSeedGeneratesTheSameTokensForAnyNumberOfThreads) {
  const auto ids = [&](const std::string& seed, const std::string& threads) {
    return json({"generate", "mini-gpt", "--random", "3", "--ids", "1,2", "--tokens", "20", "--seed", seed, "--threads",
                 threads})["ids"];
  };
  EXPECT_EQ(ids("5", "1"), ids("5", "2"));
  EXPECT_NE(ids("5", "1"), ids("6", "1"));
}

TEST_F(RunProgram, WhatIsGeneratedGoesToTheOutputFileAsItWouldToStandardOutput) {
  const std::string file = (folder_ / "text").string();
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--tokenizer", "bytes", "Once"},
                                               {"--ids", "1,2", "--beams", "3", "--best", "2"},
                                               {"--ids", "1,2", "--format", "csv"}}) {
    std::vector<std::string> words = {"generate", "mini-gpt", "--random", "3", "--tokens", "20"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string shown = run(words).out;
    words.insert(words.end(), {"--output", file});
    const Result result = run(words);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(text_of(file), shown);
    EXPECT_GT(shown.size(), 20u);
  }
  ASSERT_EQ(run({"generate", "mini-gpt", "--random", "3", "--ids", "1", "--format", "json", "--output", file}).code, 0);
  EXPECT_EQ(Json::parse(text_of(file))["schema"], "reckon.generate/1");
  const std::string nowhere = (folder_ / "none/text").string();
  expect_complaint({"generate", "mini-gpt", "--random", "3", "--ids", "1", "--output", nowhere}, 1,
                   "cannot be written");
}

TEST_F(RunProgram, GeneratedTextCannotControlATerminal) {
  const std::vector<std::string> words = {"generate", "mini-gpt", "--random", "3",   "--tokenizer",
                                          "bytes",    "Once",     "--tokens", "200", "--window"};
  const std::string exact = run(words).out;
  EXPECT_NE(exact.find_first_of("\x01\x02\x03\x04\x05\x07\b\x0e\x0f\x1b\x7f"), std::string::npos);
  std::string expected = std::regex_replace(printable_text(exact), std::regex("\n"), "\r\n");
  EXPECT_EQ(run_on_terminal(words, "xterm").out, expected);
  const std::vector<std::string> decode = {"tokenize", "--tokenizer", "bytes", "--decode", "65,27,91,66"};
  EXPECT_EQ(run(decode).out, "A\033[B\n");
  EXPECT_EQ(run_on_terminal(decode, "xterm").out, "A\uFFFD[B\r\n");
}

TEST_F(RunProgram, AProfileIsATraceThatChromeReads) {
  const std::string trace = (folder_ / "trace.json").string();
  for (const std::string device : {"cpu", "reference"}) {
    const Result result = run({"generate", "mini-gpt", "--random", "1", "--ids", "1", "--tokens", "3", "--device",
                               device, "--profile", trace});
    ASSERT_EQ(result.code, 0) << result.err;
    const Json events = Json::parse(text_of(trace))["traceEvents"];
    ASSERT_FALSE(events.empty()) << device;
    for (const Json& event : events) {
      EXPECT_EQ(event["ph"], "X");
      EXPECT_GE(event["dur"].get<double>(), 0);
    }
  }
}

TEST_F(RunProgram, VerifyHoldsAndSaysSoInJson) {
  for (const std::string& model : {std::string("mini-gpt"), std::string("gpt2")}) {
    const Json verified = json({"verify", model, "--random", "1", "--tokens", "16"});
    EXPECT_TRUE(verified["holds"].get<bool>());
    for (const Json& check : verified["checks"]) {
      EXPECT_TRUE(check["lowered"].is_number_integer());
      EXPECT_EQ(check["lowered"], check["measured"]) << check["name"];
    }
  }
  EXPECT_TRUE(json({"verify", tiny + "mixtral", "--batch", "2"})["holds"].get<bool>());
  const Json step = json({"verify", "mini-gpt", "--train", "--batch", "2", "--tokens", "8"});
  EXPECT_TRUE(step["holds"].get<bool>());
  EXPECT_EQ(step["checks"][2]["name"], "gradients");
  EXPECT_EQ(step["checks"][2]["measured"], 525'568);
  EXPECT_EQ(step["checks"][2]["by"], "touched");
  EXPECT_EQ(step["train"]["tokens"], 8);
  const std::string table = run({"verify", "mini-gpt", "--random", "1", "--format", "csv"}).out;
  EXPECT_NE(table.find(",weight bytes,525568,525568,525568,0,"), std::string::npos) << table;
}

TEST_F(RunProgram, ScoreGivesTheReferenceLoss) {
  const Json io = reference("llama-gqa");
  double nll = 0;
  for (const Json& row : io["ids"]) {
    const Json scored = json({"score", tiny + "llama-gqa", "--ids", joined(row)});
    nll += scored["loss"].get<double>() / static_cast<double>(io["ids"].size());
  }
  EXPECT_NEAR(nll, io["loss"].get<double>(), 1e-5);
}

TEST_F(RunProgram, IdsMayStandInAFileOfLines) {
  std::ofstream(folder_ / "ids") << "1, 2\n3 4\n";
  const Json lines = json({"score", tiny + "gpt2", "--ids-file", (folder_ / "ids").string()});
  EXPECT_EQ(lines["nll"], json({"score", tiny + "gpt2", "--ids", "1,2,3,4"})["nll"]);
}

TEST_F(RunProgram, StoriesAreToldWordForWord) {
  const fs::path folder = fs::path(project_folder()) / "../shared/data/stories260K";
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no ../shared/data/stories260K";
  const Json io = Json::parse(text_of(folder / "io.json"));
  const std::string prompt = "Once upon a time", tokens = std::to_string(io["greedy"].size() - io["logits_ids"].size());
  const Result told = run({"generate", folder.string(), prompt, "--temperature", "0", "--tokens", tokens});
  ASSERT_EQ(told.code, 0) << told.err;
  EXPECT_EQ(prompt + told.out, io["text"].get<std::string>() + "\n");

  const Json logits = json({"logits", folder.string(), "--ids", joined(io["logits_ids"])})["logits"];
  for (std::size_t t = 0; t < io["logits"].size(); ++t) {
    for (std::size_t v = 0; v < io["logits"][t].size(); ++v) {
      ASSERT_NEAR(logits[t][v].get<double>(), io["logits"][t][v].get<double>(), 2e-4);
    }
  }
  const Result stopped = run({"generate", folder.string(), prompt, "--temperature", "0", "--stop", " girl"});
  EXPECT_EQ(stopped.out, ", there was a little\n");
}

// Dynamic NTK is made for texts beyond the model's own context.
TEST_F(RunProgram, ComputedPositionsReachAsFarAsIsAskedFor) {
  const Json io = reference("llama-dynamic");
  const std::string ids = joined(io["ids"][0]);
  expect_complaint({"logits", tiny + "llama-dynamic", "--ids", ids}, 2, "16; --context N makes room for more");
  const Json logits = json({"logits", tiny + "llama-dynamic", "--ids", ids, "--context", "24"})["logits"];
  ASSERT_EQ(logits.size(), 24u);
  for (std::size_t v = 0; v < logits[23].size(); ++v) {
    ASSERT_NEAR(logits[23][v].get<double>(), io["logits"][0][23][v].get<double>(), 2e-4);
  }
  const auto generated = [&](const std::string& context) {
    return run({"generate", tiny + "llama-dynamic", "--ids", "1,2", "--tokens", "40", "--context", context});
  };
  EXPECT_EQ(generated("41").code, 0);
  EXPECT_EQ(generated("40").code, 2);
  expect_complaint({"generate", tiny + "gpt2", "--ids", "1", "--context", "65"}, 2, "learned positions");
}

TEST_F(RunProgram, AnInterruptedGenerationEndsWithWhatThereIs) {
  const pid_t child = start({"generate", tiny + "gpt2", "--ids", "1", "--window", "--tokens", "100000000"});
  ASSERT_GT(child, 0);
  while (text_of(folder_ / "stdout").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(child, SIGINT);
  const Result result = end(child);
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.out.ends_with("\n"));
  EXPECT_NE(result.err.find("reckon: interrupted after "), std::string::npos) << result.err;
}

// Each of these would go on for many times as long.
TEST_F(RunProgram, AnInterruptEndsALongPromptAtOnce) {
  if (!fs::exists("/proc/self/status")) GTEST_SKIP() << "there is no /proc";
  std::string ids = "1";
  for (int i = 0; i < 50000; ++i) ids += " 1";
  std::ofstream(folder_ / "ids") << ids;
  const std::vector<std::string> changes = {"--random", "1", "--context", "50001"};
  const struct {
    std::vector<std::string> words;
    std::string sentence;
  } cases[] = {
      {{"generate", "--ids", ids, "--tokens", "1"},
       "reckon: interrupted after [0-9,]+ of 50,001 tokens of the prompt\n"},
      {{"logits", "--ids", ids}, "reckon: interrupted before it was done\n"},
      {{"score", "--ids-file", (folder_ / "ids").string(), "--stride", "25000"},
       "reckon: interrupted after [0-9,]+ of 50,000 tokens\n"},
      {{"verify", "--tokens", "50000", "--layers", "8"}, "reckon: interrupted before it was done\n"},
  };
  for (const auto& [words, sentence] : cases) {
    std::vector<std::string> arguments = words;
    arguments.insert(arguments.begin() + 1, "mini-gpt");
    arguments.insert(arguments.end(), changes.begin(), changes.end());
    const pid_t child = start(arguments);
    ASSERT_GT(child, 0);
    wait_until_it_catches_signals(child);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto begin = std::chrono::steady_clock::now();
    ::kill(child, SIGINT);
    const Result result = end(child);
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 10);
    EXPECT_EQ(result.code, 1) << words[0];
    EXPECT_TRUE(std::regex_match(result.err, std::regex(sentence))) << words[0] << ": " << result.err;
  }
}

TEST_F(RunProgram, AnInterruptEndsTheMakingOfRandomWeights) {
  if (!fs::exists("/proc/self/status")) GTEST_SKIP() << "there is no /proc";
  const pid_t child = start({"score", "gpt2-large", "--random", "1", "--dtype", "bfloat16", "--ids", "1,2,3"});
  ASSERT_GT(child, 0);
  wait_until_it_catches_signals(child);
  ::kill(child, SIGINT);
  const Result result = end(child);
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "reckon: interrupted while random weights were being made\n");
}

TEST_F(RunProgram, AnInterruptedScoreIsThatOfWhatWasRead) {
  if (!fs::exists("/proc/self/status")) GTEST_SKIP() << "there is no /proc";
  std::ofstream(folder_ / "text") << std::string(3'000'000, 'a');
  Result result;
  for (int wait = 100; result.out.empty() && wait < 10000; wait *= 4) {  // milliseconds: the first window must be done
    const pid_t child = start({"score", "mini-gpt", "--random", "1", "--tokenizer", "bytes",
                               (folder_ / "text").string(), "--stride", "1", "--format", "json"});
    ASSERT_GT(child, 0);
    wait_until_it_catches_signals(child);
    std::this_thread::sleep_for(std::chrono::milliseconds(wait));
    ::kill(child, SIGTERM);
    result = end(child);
  }
  EXPECT_EQ(result.code, 1);
  const Json scored = Json::parse(result.out);
  EXPECT_GT(scored["tokens"], 0);
  EXPECT_LT(scored["tokens"], 2'999'999);
  EXPECT_EQ(scored["of_tokens"], 2'999'999);
  EXPECT_EQ(scored["bytes"], scored["tokens"]);  // a token is a byte
}

// Nobody reads the pipe, so the program is stuck where it writes and cannot end on the first signal.
TEST_F(RunProgram, ASecondInterruptEndsTheProgramAtOnce) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const pid_t child = start({"generate", tiny + "gpt2", "--ids", "1", "--window", "--tokens", "100000000"}, {}, pipe);
  ASSERT_GT(child, 0);
  for (int before = -1, filled = 0; filled == 0 || filled != before;) {
    before = filled;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ASSERT_EQ(::ioctl(reader, FIONREAD, &filled), 0);
  }
  ::kill(child, SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
  ::kill(child, SIGINT);
  EXPECT_EQ(end(child).code, -SIGINT);
  ::close(reader);
}

TEST_F(RunProgram, AGenerationEndsWhenNobodyReadsIt) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const pid_t child = start({"generate", tiny + "gpt2", "--ids", "1", "--window", "--tokens", "100000000"}, {}, pipe);
  ASSERT_GT(child, 0);
  char letter = 0;
  while (::read(reader, &letter, 1) < 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::close(reader);
  EXPECT_EQ(end(child).code, 0);
}

TEST_F(RunProgram, WhatCannotRunIsRefusedInOneSentence) {
  const fs::path damaged = folder_ / "damaged";
  fs::copy(tiny + "gpt2", damaged);
  std::string numbers = text_of(damaged / "model.safetensors");
  const auto header = static_cast<std::size_t>(static_cast<unsigned char>(numbers[0])) +
                      256 * static_cast<std::size_t>(static_cast<unsigned char>(numbers[1])) + 8;
  std::fill(numbers.begin() + static_cast<std::ptrdiff_t>(header), numbers.end(), '\xff');  // not a number, each
  std::ofstream(damaged / "model.safetensors", std::ios::binary) << numbers;
  const std::string trace = (folder_ / "trace").string();
  const fs::path broken = folder_ / "broken";
  fs::copy(tiny + "llama-gqa", broken);
  const std::string weights = text_of(broken / "model.safetensors");
  std::ofstream(broken / "model.safetensors", std::ios::binary) << weights.substr(0, weights.size() / 2);
  const fs::path other = folder_ / "other";
  fs::copy(tiny + "llama-gqa", other);
  fs::copy_file(tiny + "gemma2/config.json", other / "config.json", fs::copy_options::overwrite_existing);
  const fs::path pickle = folder_ / "model.bin";
  std::ofstream(pickle) << "\x80\x02}q";
  const struct {
    std::vector<std::string> arguments;
    int code;
    std::string word;
  } cases[] = {
      {{"generate", "gpt2", "--ids", "1"}, 2, "--random"},
      {{"generate", tiny + "gpt2"}, 2, "--ids"},
      {{"logits", tiny + "gpt2", "--ids", "1,257"}, 2, "257"},
      {{"logits", tiny + "gpt2", "--ids", "1,-1"}, 2, "-1"},
      {{"logits", tiny + "gpt2", "--ids", "1,x"}, 2, "x"},
      {{"logits", tiny + "gpt2"}, 2, "--ids is required"},
      {{"logits", tiny + "gpt2", "--ids", "1", "--top-k", "3"}, 2, "--top-k says how the next token is drawn"},
      {{"logits", tiny + "gpt2", "--ids", "1", "--next", "3", "--u", "1"}, 2, "--u is 1; expected 0 or more, below 1"},
      {{"logits", tiny + "gpt2", "--ids", "1", "--next", "3", "--top-p", "2"}, 2, "--top-p is 2"},
      {{"logits", tiny + "gpt2", "--ids", "1", "--next", "3", "--attention"}, 2, "give one of them"},
      {{"logits", tiny + "gpt2", "--ids", "1", "--nearest", "3"}, 2, "--nearest asks of one token"},
      {{"logits", tiny + "gpt2", "--ids", "1", "--count", "3"}, 2, "--count says how many --nearest lists"},
      {{"logits", tiny + "gpt2", "--nearest", "257"}, 2, "257"},
      {{"logits", tiny + "gpt2", "--ids", ","}, 2, "--ids"},
      {{"logits", tiny + "gpt2", "--ids", "1,,2"}, 2, "id 2 of --ids is empty"},
      {{"logits", tiny + "gpt2", "--ids", "1,2,"}, 2, "id 3 of --ids is empty"},
      {{"logits", tiny + "gpt2", "--ids", "1", "--threads", "0"}, 2, "--threads is 0; expected 1 to 1024"},
      {{"verify", "mini-gpt", "--random", "1", "--cross-attention"},
       2,
       "mini-gpt attends to an encoder's output; only models without an encoder run"},
      {{"generate", "mini-gpt", "--random", "1", "--ids", "1", "--beams", "x"},
       2,
       "--beams is 'x'; expected a whole number from 1 to 1,024, such as 12"},
      // 90,000 of its 126 layers: about 1 PiB
      {{"verify", "llama-3.1-405b", "--random", "1", "--layers", "90000"}, 1, "of memory"},
      // 2 layers with keys and values of 64 float32 each: 1,024 bytes a token, of 16 and 8 that are decoded. 2⁴⁰ bytes
      // are a TiB.
      {{"verify", "mini-gpt", "--random", "1", "--batch", "1000000000"},
       1,
       "the caches of 1,000,000,000 × 24 tokens take 22.35 TiB, but this machine has "},
      {{"verify", "mini-gpt", "--time", "--batch", "1000000000"},
       1,
       "the caches of 1,000,000,000 × 16 tokens take 14.90 TiB, but this machine has "},
      {{"generate", tiny + "gpt2", "--ids", "1", "--temperature", "nan"}, 2, "temperature"},
      {{"generate", tiny + "gpt2", "--ids", "1", "--top-p", "1.5"}, 2, "--top-p is 1.5"},
      {{"generate", tiny + "gpt2", "--ids", "1", "--tokens", "0"}, 2, "--tokens"},
      {{"verify", tiny + "gpt2", "--tokens", "65"}, 2, "64"},
      {{"verify", "mini-gpt", "--random", "x"}, 2, "--random"},
      {{"verify", "mini-gpt", "--random", "1", "--dtype", "int8"}, 2, "int8"},
      {{"verify", tiny + "gpt2", "--dtype", "bfloat16"}, 2, "--random"},
      {{"generate", broken.string(), "--ids", "1"}, 1, "model.safetensors"},
      {{"generate", other.string(), "--ids", "1"}, 1, "tensor"},
      {{"generate", pickle.string(), "--ids", "1"}, 1, "pickle"},
      {{"score", tiny + "gpt2", "--ids", "1"}, 2, "two"},
      {{"logits", damaged.string(), "--ids", "1"}, 1, "are the weights damaged?"},
      {{"generate", damaged.string(), "--ids", "1"}, 1, "are the weights damaged?"},
      {{"generate", tiny + "gpt2", "--ids", "1", "--stop-ids", "257"}, 2, "257"},
      {{"generate", tiny + "gpt2", "--ids", "1", "--profile", "-"}, 2, "--profile is -"},
      {{"generate", tiny + "gpt2", "--ids", "1", "--profile", trace, "--output", trace}, 2, "same file"},
  };
  for (const auto& [arguments, code, word] : cases) expect_complaint(arguments, code, word);
}

}  // namespace
}  // namespace reckon

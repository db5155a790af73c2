// What `reckon models --types` and docs/families.md say of each type, against the references that tests read.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <reckon/error.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "family_references.h"
#include "model/families.h"
#include "model/load.h"
#include "model/read.h"
#include "model/types.h"
#include "report/models.h"

namespace reckon {
namespace {

using family_references::read_json;
using nlohmann::json;

TEST(Types, EachSaysWhatItAdds) {
  for (const std::string& type : model_types()) EXPECT_FALSE(what_it_adds(type).empty()) << type;
}

// docs/families.md has the table that the program prints.
TEST(Types, EachHasItsRowInTheDocument) {
  std::ifstream file(project_folder() + "/docs/families.md");
  std::map<std::string, std::string> rows;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| ")) rows[line.substr(2, line.find(" |") - 2)] = line;
  for (const std::string& type : model_types()) {
    const TypeReference reference = type_reference(type);
    const auto held = [](int number, const std::string& what) {
      return number == 0 ? std::string("yes")
                         : "yes, " + std::to_string(number) + " " + what + (number == 1 ? "" : "s");
    };
    const std::string expected = "| " + type + " | " + std::string(what_it_adds(type)) + " | " +
                                 held(reference.configs, "config") + " | " + held(reference.models, "model") + " | " +
                                 (!is_trainable(type)   ? "no"
                                  : reference.gradients ? "yes, gradients"
                                                        : "yes") +
                                 " | ";
    EXPECT_TRUE(rows[type].starts_with(expected)) << rows[type] << "\n" << expected;
  }
}

TEST(Types, TheTableSaysOfTrainingWhatTheJsonSays) {
  const Document document = types_document(model_types(), {});
  const auto* table = std::get_if<Table>(&document.parts.front());
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->columns[4].title, "trained");
  const OrderedJson& types = document.json["types"];
  ASSERT_EQ(types.size(), table->rows.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    const OrderedJson& type = types[i];
    const bool trained = type["trained"].get<bool>();
    EXPECT_EQ(table->rows[i][4].text, !trained ? "no" : type["gradients"] == true ? "yes, gradients" : "yes") << type;
    EXPECT_EQ(type["why_not_trained"].is_null(), trained) << type;
    EXPECT_EQ(type["gradients"], type_reference(type["type"].get<std::string>()).gradients) << type;
  }
}

// What is said of a type is what is said of its networks.
TEST(Types, ThoseThatAreNotTrainedSayWhyOfTheirModels) {
  for (const auto& entry : std::filesystem::directory_iterator(family_references::folder() / "tiny")) {
    if (!entry.is_directory()) continue;
    const Model model = read_config(read_json(entry.path() / "config.json"), "config.json");
    EXPECT_EQ(why_not_trained(model.family), why_not_trained(model)) << entry.path();
  }
}

// scripts/type-references counts them.
TEST(Types, TheirReferencesAreThoseThatAreThere) {
  const std::filesystem::path data = std::filesystem::path(project_folder()) / "tests/data";
  std::map<std::string, TypeReference> found;
  const auto types_of = [](const json& config, const std::string& name) {  // of a wrapper, its language model's too
    const json none = json::object();
    return std::set{name, config.value("text_config", none).value("model_type", name)};
  };
  for (const auto& entry : std::filesystem::directory_iterator(data / "families/configs")) {
    const json configs = read_json(entry.path())["configs"];
    for (const std::string& type : types_of(configs[0]["config"], entry.path().stem().string()))
      found[type].configs += static_cast<int>(configs.size());
  }
  for (const json& entry : read_json(data / "parameters.json")) ++found[entry["config"]["model_type"]].configs;
  for (const char* folder : {"families/tiny", "tiny"})
    for (const auto& entry : std::filesystem::directory_iterator(data / folder)) {
      if (!entry.is_directory()) continue;
      const std::string name = entry.path().filename().string();
      const bool own = std::filesystem::exists(data / "families/configs" / (name + ".json"));
      const json config = read_json(entry.path() / "config.json");
      for (const std::string& type : types_of(config, own ? name : config["model_type"].get<std::string>())) {
        ++found[type].models;
        found[type].gradients = found[type].gradients || std::filesystem::exists(entry.path() / "grads.safetensors");
      }
    }
  EXPECT_EQ(found.size(), type_references().size());
  for (const auto& [type, expected] : found) {
    const TypeReference said = type_reference(type);
    EXPECT_EQ(said.configs, expected.configs) << type;
    EXPECT_EQ(said.models, expected.models) << type;
    EXPECT_EQ(said.gradients, expected.gradients) << type;
  }
}

std::string complaint(const json& config) {
  try {
    read_config(config, "config.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Types, AnUnknownOneIsToldWhichItsFieldsResemble) {
  json config = {{"model_type", "newcomer"}, {"hidden_size", 64},        {"num_hidden_layers", 4},
                 {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"intermediate_size", 128},
                 {"vocab_size", 100}};
  EXPECT_EQ(complaint(config),
            fmt::format(
                "config.json: model_type is \"newcomer\"; expected one of the {} that are known; read as llama, all of "
                "its fields are understood",
                model_types().size()));
  json deep = config;
  deep["num_hidden_layers"] = 100000;  // found by fuzzing: each type wrote all of them out, for half a minute
  EXPECT_EQ(complaint(deep), complaint(config));
  config["no_rope_layer_interval"] = 4;
  EXPECT_NE(complaint(config).find("read as llama4_text, all of its fields are understood"), std::string::npos)
      << complaint(config);
  config["warp_factor"] = 9;
  EXPECT_NE(complaint(config).find("read as llama4_text, all of its fields are understood but warp_factor"),
            std::string::npos)
      << complaint(config);
  config["model_type"] = "lama";
  EXPECT_NE(complaint(config).find("(did you mean llama?)"), std::string::npos) << complaint(config);
  config["intermediate_size"] = json::array({128, 128});
  EXPECT_NE(complaint(config).find("; read as llama: intermediate_size is an array of 2; expected a whole number"),
            std::string::npos)
      << complaint(config);
}

// MiniCPM's first files: a type of a similar name has another attention, and LLaMA's is theirs but for the factors.
TEST(Types, AnUnknownOneIsToldWhatANearOneSaysAndWhatItResembles) {
  const std::string said = complaint({{"model_type", "minicpm"},
                                      {"hidden_size", 64},
                                      {"num_hidden_layers", 4},
                                      {"num_attention_heads", 4},
                                      {"num_key_value_heads", 2},
                                      {"intermediate_size", 128},
                                      {"vocab_size", 100},
                                      {"scale_emb", 12},
                                      {"scale_depth", 1.4},
                                      {"dim_model_base", 32}});
  for (const char* part : {"(did you mean minicpm3?)", "; read as minicpm3: num_key_value_heads is 2; expected ",
                           "; read as llama, all of its fields are understood but dim_model_base, scale_depth, "
                           "scale_emb"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
}

// The commonest network before others that would do, and of Qwen's the version whose files have a head_dim.
TEST(Types, APublishedFileOfAnUnknownTypeResemblesItsOwn) {
  for (const char* name : {"llama", "qwen2", "qwen3", "qwen3_moe", "mixtral", "deepseek_v3", "gpt2"}) {
    json config = read_json(family_references::folder() / "published" / (std::string(name) + ".json"));
    config["model_type"] = "newcomer";
    EXPECT_NE(complaint(config).find(fmt::format("read as {}, all of its fields are understood", name)),
              std::string::npos)
        << complaint(config);
    EXPECT_EQ(complaint(config).find("understood but"), std::string::npos) << complaint(config);
  }
}

// Every wrapper of the published files is listed, with the type that its language model has there.
TEST(Types, WrappersReadKnownTypes) {
  for (const Wrapper& wrapper : wrappers()) {
    EXPECT_FALSE(wrapper.reads.empty()) << wrapper.type;
    EXPECT_EQ(find_family(wrapper.type), nullptr) << wrapper.type;
    EXPECT_EQ(why_not_read(wrapper.type), "") << wrapper.type;
    for (const std::string_view type : wrapper.reads) EXPECT_NE(find_family(type), nullptr) << type;
  }
  const std::filesystem::path folder = family_references::folder() / "published";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().stem() == "sources" || entry.path().stem() == "totals") continue;
    const json config = load_described(entry.path().string()).config;
    if (!config.contains("text_config") || find_family(config["model_type"].get<std::string>()) != nullptr) continue;
    const std::string outer = config["model_type"];
    const std::string type = config["text_config"].value("model_type", outer + "_text");
    const Wrapper* wrapper = find_wrapper(outer);
    ASSERT_NE(wrapper, nullptr) << outer;
    const auto has = [&](std::string_view name) {
      return std::find(wrapper->reads.begin(), wrapper->reads.end(), name) != wrapper->reads.end();
    };
    EXPECT_TRUE(has(type) || has(find_family(type)->type)) << outer << ", " << type;
  }
}

TEST(Types, FurtherNamesHaveRowsInTheDocument) {
  std::ifstream file(project_folder() + "/docs/families.md");
  std::set<std::string> rows;
  for (std::string line; std::getline(file, line);) rows.insert(line);
  const Document document = types_document({}, further_names());
  const auto* table = std::get_if<Table>(&document.parts.front());
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows.size(), wrappers().size() + other_names().size());
  for (const Cells& cells : table->rows) {
    std::string row = "|";
    for (const Cell& cell : cells) row += " " + cell.text + " |";
    EXPECT_TRUE(rows.contains(row)) << row;
  }
  const OrderedJson& further = document.json["further"];
  const auto find = [&](const char* name) {
    return *std::find_if(further.begin(), further.end(), [&](const OrderedJson& one) { return one["name"] == name; });
  };
  EXPECT_EQ(find("gemma3"), OrderedJson({{"name", "gemma3"}, {"wraps", true}, {"reads", {"gemma3_text"}}}));
  EXPECT_EQ(find("minimax_m1"), OrderedJson({{"name", "minimax_m1"}, {"wraps", false}, {"reads", {"minimax"}}}));
}

TEST(Types, ThoseThatAreNotReadSayWhy) {
  const std::pair<const char*, const char*> all[] = {
      {"rwkv", "a recurrence of their own form"},
      {"xlstm", "matrix memories"},
      {"blt", "it reads bytes"},
      {"hrm_text", "run in cycles"},
      {"bitnet", "three values"},
      {"cpmant", "in both directions"},
      {"ctrl", "sines beside cosines"},
      {"modernbert-decoder", "between its last layer and the vocabulary"},
      {"gemma4_assistant", "it drafts tokens"},
      {"eagle3", "it drafts tokens"},
      {"bert", "it is an encoder"},
      {"t5", "what an encoder made of something else"},
      {"encoder-decoder", "what an encoder made of something else"},
      {"switch_transformers", "what an encoder made of something else"},
      {"fsmt", "what an encoder made of something else"},
      {"rwkv5", "a recurrence of their own form"},
      {"rwkv7", "a recurrence of their own form"},
      {"chatglm", "files that transformers has converted are read, as glm"},
      {"visual_bert", "it is an encoder"},
      {"squeezebert", "it is an encoder"},
      {"canine", "it is an encoder"},
      {"fnet", "it is an encoder"},
      {"vit", "it makes codes of pictures"},
      {"mllama", "attend to what its vision model made"},
      {"mllama_text_model", "attend to what a vision model made"},
      {"moshi", "text and sound at once"},
      {"qwen2_5_omni", "thinker_config.text_config"},
      {"qwen3_omni_moe", "thinker_config.text_config"},
      {"reformer", "tokens of the same hash"},
      {"xlnet", "in permuted orders"},
  };
  for (const auto& [type, why] : all) {
    const std::string said = complaint({{"model_type", type}, {"hidden_size", 64}});
    EXPECT_NE(said.find(fmt::format("model_type is \"{}\"; expected one of the ", type)), std::string::npos) << said;
    EXPECT_NE(said.find(why), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
  for (const std::string& type : model_types()) EXPECT_EQ(why_not_read(type), "") << type;
}

}  // namespace
}  // namespace reckon

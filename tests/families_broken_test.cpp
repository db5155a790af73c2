// Configs of every model type with one field or two changed, lost, swapped or of another kind: each gives a model, or
// a sentence, which names a field of another kind.
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <random>

#include "family_references.h"
#include "model/read.h"

namespace reckon {
namespace {

using nlohmann::json;

// The objects of a config that hold fields: itself, and those inside.
void collect(json& config, std::vector<json*>& objects) {
  objects.push_back(&config);
  for (auto& [name, value] : config.items())
    if (value.is_object()) collect(value, objects);
}

json other_value(std::mt19937& random) {
  static const json values[] = {nullptr,
                                true,
                                false,
                                0,
                                1,
                                -1,
                                2,
                                3,
                                7,
                                1.5,
                                -0.25,
                                1e30,
                                "",
                                "silu",
                                "full",
                                json::array(),
                                {1, 2, 3},
                                json::object(),
                                {"full_attention", "sliding_attention"},
                                1LL << 62,
                                {{"rope_type", "yarn"}},
                                4096};
  return values[random() % std::size(values)];
}

// Found by tests/fuzz/config_fuzz.cpp.
TEST(BrokenFamilies, ALimitThatIsNoInfinityIsASentence) {
  const json config = {{"model_type", "falcon_h1"}, {"hidden_size", 24},
                       {"intermediate_size", 16},   {"num_hidden_layers", 2},
                       {"num_attention_heads", 4},  {"num_key_value_heads", 2},
                       {"vocab_size", 43},          {"time_step_limit", {0.0, {{"__float__", 2}}}}};
  try {
    read_config(config, "config.json");
    FAIL() << "it is read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("two numbers, or a number and Infinity"), std::string::npos)
        << error.what();
  }
}

class BrokenFamily : public testing::TestWithParam<std::string> {};

TEST_P(BrokenFamily, GivesAModelOrASentence) {
  const json all = family_references::read_json(family_references::folder() / "configs" / (GetParam() + ".json"));
  std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(GetParam())));
  int read = 0, refused = 0;
  for (int round = 0; round < 60; ++round) {
    json config = all["configs"][random() % all["configs"].size()]["config"];
    for (unsigned changes = 1 + random() % 2; changes > 0; --changes) {
      std::vector<json*> objects;
      collect(config, objects);
      json& object = *objects[random() % objects.size()];
      if (object.empty()) continue;
      auto field = object.begin();
      std::advance(field, random() % object.size());
      if (random() % 3 == 0) {
        object.erase(field);
      } else if (random() % 4 == 0 && object.size() > 1) {  // with its neighbour's value
        auto neighbour = std::next(field) == object.end() ? object.begin() : std::next(field);
        std::swap(*field, *neighbour);
      } else if (field->is_array() && !field->empty() && random() % 2 == 0) {
        random() % 2 == 0 ? field->erase(field->size() - 1) : field->push_back(other_value(random));
      } else {
        *field = other_value(random);
      }
    }
    try {
      const Model model = read_config(config, "config.json");
      // What is read can be counted, or is too large for that.
      Workload workload;
      workload.phase = Phase::forward;
      workload.tokens = 4;
      count(model, workload);
      ++read;
    } catch (const Error& error) {
      ++refused;
      EXPECT_FALSE(std::string(error.what()).empty());
      EXPECT_LT(std::string(error.what()).size(), 1000u) << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\n" << config.dump();
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

// A value of another kind than this: no number, flag, array or object is a word, and no word is an object.
json of_another_kind(const json& value) {
  return value.is_string() ? json{{"a", 1}} : value.is_number() ? json::array({"a"}) : json("a");
}

TEST_P(BrokenFamily, ASentenceNamesTheFieldThatIsOfAnotherKind) {
  const json all = family_references::read_json(family_references::folder() / "configs" / (GetParam() + ".json"));
  const json& config = all["configs"][0]["config"];
  int read = 0, refused = 0;
  const auto try_field = [&](const json& broken, const std::string& field) {
    try {
      read_config(broken, "config.json");
      ++read;
    } catch (const Error& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find(field), std::string::npos) << field << ": " << error.what();
    }
  };
  for (const auto& [field, value] : config.items()) {
    json broken = config;
    broken[field] = of_another_kind(value);
    try_field(broken, field);
    if (!value.is_object()) continue;
    for (const auto& [inner, held] : value.items()) {
      broken[field] = value;
      broken[field][inner] = of_another_kind(held);
      try_field(broken, inner);
    }
  }
  EXPECT_GT(refused, read / 4) << read << " are read all the same";
}

INSTANTIATE_TEST_SUITE_P(Families, BrokenFamily, testing::ValuesIn(family_references::found("configs")),
                         [](const auto& type) { return family_references::test_name(type.param); });

}  // namespace
}  // namespace reckon

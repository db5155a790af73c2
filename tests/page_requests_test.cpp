// Requests that make no sense get a sentence, whatever they hold.
#include "page_fixture.h"

namespace reckon {
namespace {

class PageRequests : public PageTest {};

TEST_F(PageRequests, WhatIsNoRequestIsAnError) {
  const auto error_of = [&](const Json& request) { return page_.ask(request).json.value("error", ""); };
  EXPECT_EQ(error_of(3), "the request is no object; expected its fields by their names");
  EXPECT_EQ(error_of(Json::array()), "the request is no object; expected its fields by their names");
  EXPECT_EQ(error_of(Json::object()), "the request needs `ask`: a text");
  EXPECT_EQ(error_of({{"ask", 3}}), "`ask` of the request is '3'; expected a text");
  EXPECT_EQ(error_of({{"ask", "encoed"}}), "there is no request 'encoed'; did you mean encode?");
  EXPECT_EQ(error_of({{"ask", "encode"}, {"txet", "a"}}), "encode has no field 'txet'; did you mean `text`?");
  EXPECT_EQ(error_of({{"ask", "encode"}, {"text", "a"}}),
            "encode needs `tokenizer`: a whole number from 0 to 9007199254740991");
}

// Every request, with every kind of value in every field at once, ends in a sentence and keeps nothing.
TEST_F(PageRequests, AbsurdFieldsOfEveryRequestAreErrors) {
  const std::vector<Json> values = {nullptr,
                                    true,
                                    -1,
                                    1e300,
                                    18446744073709551615u,
                                    "",
                                    "\x01",
                                    Json::array(),
                                    Json::object(),
                                    Json::array({nullptr}),
                                    77};
  const std::set<std::string> without_fields = {"limit", "memory"};
  const std::vector<std::string> fields = {"name",
                                           "text",
                                           "vocab",
                                           "tokenizer",
                                           "path",
                                           "first",
                                           "count",
                                           "ids",
                                           "out",
                                           "settings",
                                           "changes",
                                           "run",
                                           "milliseconds",
                                           "lr",
                                           "prompt",
                                           "tokens",
                                           "sampling",
                                           "of",
                                           "token",
                                           "model",
                                           "id",
                                           "length",
                                           "u",
                                           "array",
                                           "beams",
                                           "length_penalty",
                                           "stop",
                                           "handle",
                                           "most",
                                           "special"};
  for (const std::string& name : types_.requests()) {
    for (const Json& value : values) {
      for (const std::string& field : fields) {
        const Json reply = page_.ask({{"ask", name}, {field, value}}).json;
        EXPECT_TRUE(reply.contains("error") && !reply["error"].get<std::string>().empty())
            << name << " " << field << " " << value.dump() << ": " << reply.dump();
      }
      if (without_fields.contains(name)) continue;
      Json request = {{"ask", name}};
      for (const std::string& field : fields) {
        Json tried = request;
        tried[field] = value;
        const std::string said = page_.ask(tried).json.value("error", "");
        if (said.find("has no field") == std::string::npos) request = tried;
      }
      const Json reply = page_.ask(request).json;
      EXPECT_TRUE(reply.contains("error")) << request.dump() << ": " << reply.dump();
    }
  }
  EXPECT_EQ(page_.size(), 0u);
}

TEST_F(PageRequests, EveryRequestOfTheTypesIsAnswered) {
  for (const std::string& name : types_.requests()) {
    const std::string said = page_.ask({{"ask", name}}).json.value("error", "");
    EXPECT_EQ(said.find("there is no request"), std::string::npos) << said;
  }
}

TEST_F(PageRequests, SaysHowMuchMemoryThereIs) {
  const Json memory = ask("memory", Json::object());
  EXPECT_GT(memory["bytes"], 0);
  EXPECT_LE(memory["used"], memory["bytes"]);
}

}  // namespace
}  // namespace reckon

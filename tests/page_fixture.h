// A test that asks the page's engine, and holds every reply against the types that the page is written with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "page/page.h"
#include "program_fixture.h"

namespace reckon {

// The interfaces of web/src/engine/run.ts: the keys of each, and which may be missing.
class PageTypes {
 public:
  PageTypes() {
    const std::string source = text_of(fs::path(project_folder()) / "web/src/engine/run.ts");
    std::istringstream lines(source);
    const std::regex head(R"(export interface (\w+)(?: extends (\w+))? \{)"), field(R"(  (\w+)(\??): .*)");
    std::string interface;
    for (std::string line; std::getline(lines, line);) {
      std::smatch found;
      if (std::regex_match(line, found, head)) {
        interface = found[1];
        if (found[2].matched) keys_[interface] = keys_[found[2]];
      } else if (line == "}") {
        interface.clear();
      } else if (!interface.empty() && std::regex_match(line, found, field)) {
        keys_[interface][found[1]] = found[2] == "?";
      }
    }
  }

  // Every key that the interface wants, and none that it does not have.
  void expect(const std::string& interface, const page::Json& json) const {
    const auto found = keys_.find(interface);
    ASSERT_NE(found, keys_.end()) << interface;
    for (const auto& [key, value] : json.items())
      EXPECT_TRUE(found->second.contains(key)) << interface << " has no " << key;
    for (const auto& [key, optional] : found->second)
      EXPECT_TRUE(optional || json.contains(key)) << interface << " lacks " << key;
  }

  std::set<std::string> requests() const {
    std::set<std::string> names;
    for (const auto& [key, optional] : keys_.at("Run")) names.insert(key);
    return names;
  }

 private:
  std::map<std::string, std::map<std::string, bool>> keys_;
};

class PageTest : public ProgramTest {
 protected:
  using Json = page::Json;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  page::Reply whole_reply(const std::string& name, Json request) {
    request["ask"] = name;
    return page_.ask(request);
  }
  // A reply that is no error, with the keys of this interface.
  Json ask(const std::string& name, const Json& request, const std::string& interface = "") {
    Json reply = whole_reply(name, request).json;
    EXPECT_FALSE(reply.contains("error")) << name << ": " << reply.dump();
    if (!interface.empty()) types_.expect(interface, reply);
    return reply;
  }
  std::string error(const std::string& name, const Json& request) {
    const Json reply = whole_reply(name, request).json;
    EXPECT_TRUE(reply.contains("error")) << name << ": " << reply.dump();
    return reply.value("error", "");
  }

  PageTypes types_;
  page::Page page_;
};

}  // namespace reckon

// A folder as a web site: its files, held in memory under the paths that a browser asks for. What is not in the table
// is not served, so no path leads out of the folder.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace reckon {

struct Page {
  std::string type;  // "text/html; charset=utf-8"
  std::string body;
  bool lasting = false;  // its name has a hash of its contents, so that a browser may keep it for good
};

class Site {
 public:
  // An Error where it is no folder, has no index.html, or is larger than a page can be.
  explicit Site(const std::filesystem::path& folder);

  // The whole response to a request's head (all up to the empty line): status, headers, body.
  std::string respond(std::string_view head) const;

 private:
  std::map<std::string, Page, std::less<>> pages_;  // by path: "/", "/assets/index-3f2a.js"
};

// A request's head ends with an empty line; npos: it has not come yet.
std::size_t end_of_head(std::string_view received);
// Whether the connection stays open behind this request.
bool stays_open(std::string_view head);

}  // namespace reckon

#include "serve/site.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "files/numbers.h"
#include "files/quote.h"
#include "files/read_text.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_site = std::uint64_t{1} << 30;  // bytes; ours, with vocabularies, has about 10 MB

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> types{{
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".webmanifest", "application/manifest+json"},
    {".wasm", "application/wasm"},  // anything else is not compiled while it arrives
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".txt", "text/plain; charset=utf-8"},
    {".md", "text/plain; charset=utf-8"},
    {".map", "application/json"},
}};

std::string type_of(const fs::path& path) {
  const std::string ending = path.extension().string();
  for (const auto& [known, type] : types)
    if (ending == known) return std::string(type);
  return "application/octet-stream";
}

// "%20" is a space. Nothing where a percent sign has no two digits behind it.
std::optional<std::string> decoded(std::string_view path) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      out += path[i];
      continue;
    }
    if (i + 2 >= path.size() || !std::isxdigit(static_cast<unsigned char>(path[i + 1])) ||
        !std::isxdigit(static_cast<unsigned char>(path[i + 2])))
      return std::nullopt;
    out += static_cast<char>(std::stoi(std::string(path.substr(i + 1, 2)), nullptr, 16));
    i += 2;
  }
  return out;
}

std::string_view first_line(std::string_view head) { return head.substr(0, head.find_first_of("\r\n")); }

// The value of a header, in lower case; empty where it is not there.
std::string header(std::string_view head, std::string_view name) {
  std::string lower(head);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::size_t at = lower.find(fmt::format("\n{}:", name));
  if (at == std::string::npos) return "";
  const std::size_t from = std::min(lower.find_first_not_of(" \t", at + name.size() + 2), lower.size());
  return lower.substr(from, lower.find_first_of("\r\n", from) - from);
}

// Cross-origin isolation (the two policies) is what a browser asks of a page that shares memory between threads.
std::string response(std::string_view status, const Page& page, bool with_body, bool open) {
  return fmt::format(
      "HTTP/1.1 {}\r\n"
      "Content-Type: {}\r\n"
      "Content-Length: {}\r\n"
      "Cache-Control: {}\r\n"
      "Cross-Origin-Opener-Policy: same-origin\r\n"
      "Cross-Origin-Embedder-Policy: require-corp\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "Connection: {}\r\n\r\n{}",
      status, page.type, page.body.size(), page.lasting ? "public, max-age=31536000, immutable" : "no-cache",
      open ? "keep-alive" : "close", with_body ? page.body : "");
}

Page sentence(std::string text) { return {"text/plain; charset=utf-8", std::move(text) + "\n"}; }

}  // namespace

Site::Site(const fs::path& folder) {
  std::error_code problem;
  if (!fs::is_directory(folder, problem)) throw Error(fmt::format("{}: there is no such folder", folder.string()));
  if (!fs::is_regular_file(folder / "index.html", problem))
    throw Error(fmt::format("{}: there is no index.html in it; expected the folder of a built page", folder.string()));
  std::uint64_t left = largest_site;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    if (entry.file_size() > left)
      throw Error(fmt::format("{}: it holds more than {}; expected the folder of a built page", folder.string(),
                              binary_bytes(static_cast<std::int64_t>(largest_site))));
    std::string body = read_text(entry.path(), left);
    left -= std::min<std::uint64_t>(left, body.size());
    const std::string path = "/" + fs::relative(entry.path(), folder).generic_string();
    pages_[path] = {type_of(entry.path()), std::move(body), path.starts_with("/assets/")};
  }
  pages_["/"] = pages_.at("/index.html");
}

std::string Site::respond(std::string_view head) const {
  const std::string_view line = first_line(head);
  const std::size_t space = line.find(' '), last = line.rfind(' ');
  const bool open = stays_open(head);
  if (space == std::string_view::npos || last == space || !line.substr(last + 1).starts_with("HTTP/1."))
    return response("400 Bad Request", sentence("This is no request of HTTP/1.1."), true, false);
  const std::string_view method = line.substr(0, space);
  if (method != "GET" && method != "HEAD")
    return response("405 Method Not Allowed", sentence("This page takes nothing: GET and HEAD are all there is."), true,
                    false);
  std::string_view target = line.substr(space + 1, last - space - 1);
  target = target.substr(0, target.find_first_of("?#"));
  const std::optional<std::string> path = decoded(target);
  const auto found = path ? pages_.find(*path) : pages_.end();
  if (found == pages_.end())
    return response("404 Not Found", sentence(fmt::format("There is no {} here.", quote(std::string(target)))),
                    method == "GET", open);
  return response("200 OK", found->second, method == "GET", open);
}

std::size_t end_of_head(std::string_view received) {
  const std::size_t at = received.find("\r\n\r\n");
  return at == std::string_view::npos ? at : at + 4;
}

bool stays_open(std::string_view head) {
  const std::string connection = header(head, "connection");
  return first_line(head).ends_with("HTTP/1.1") ? connection != "close" : connection == "keep-alive";
}

}  // namespace reckon

#include "train/metrics.h"

#include <fmt/format.h>

#include <string>

#include "files/atomic_write.h"
#include "files/descriptor.h"

namespace reckon {
namespace {

using Json = nlohmann::ordered_json;

template <class Visit>
void for_lines(const std::filesystem::path& path, const Visit& visit) {
  std::ifstream file(path, std::ios::binary);
  for (std::string text; std::getline(file, text);) {
    Json line = Json::parse(text, nullptr, false);
    if (line.is_object() && !file.eof()) visit(text, std::move(line));  // the end of the file cuts off its last line
  }
}

}  // namespace

MetricsFile::MetricsFile(std::filesystem::path path, std::int64_t step, Listener listener)
    : path_(std::move(path)), listener_(std::move(listener)) {
  std::string kept;
  for_lines(path_, [&](const std::string& text, const Json& line) {
    const auto at = line.find("step");
    if (line.value("kind", Json()) == "end") return;  // it goes on
    if (at != line.end() && at->is_number_integer() && at->get<std::int64_t>() <= step) kept += text + "\n";
  });
  atomic_write(path_, kept);
  file_.open(path_, std::ios::binary | std::ios::app);
  check();
}

void MetricsFile::add(const Json& line) {
  file_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  check();
  if (listener_) listener_(line);
}

void MetricsFile::flush() {
  file_.flush();
  check();
}

void MetricsFile::check() const {
  if (!file_) throw file_error(path_, "cannot be written");
}

std::vector<Json> read_metrics(const std::filesystem::path& path) {
  if (!std::ifstream(path)) throw file_error(path, "cannot be opened");
  std::vector<Json> lines;
  for_lines(path, [&](const std::string&, Json line) { lines.push_back(std::move(line)); });
  return lines;
}

}  // namespace reckon

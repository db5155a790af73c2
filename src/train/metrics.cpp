#include "train/metrics.h"

#include <fcntl.h>

#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "files/atomic_write.h"
#include "files/json_document.h"
#include "files/read_text.h"

namespace reckon {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t at_once = 1 << 16;  // bytes that wait until they are written

// The whole lines that are JSON: the end of the file may cut off its last one.
template <class Visit>
void for_lines(const std::filesystem::path& path, const Visit& visit) {
  const std::string text = read_text(path, std::numeric_limits<std::uint64_t>::max());
  std::string_view rest = text;
  for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
    Json line;
    try {
      line = parse_json(rest.substr(0, end), path.string());
    } catch (const Error&) {
      continue;
    }
    if (line.is_object()) visit(rest.substr(0, end + 1), std::move(line));
  }
}

}  // namespace

MetricsFile::MetricsFile(std::filesystem::path path, std::int64_t step, Listener listener)
    : path_(std::move(path)), listener_(std::move(listener)) {
  std::string kept;
  if (std::filesystem::exists(path_)) {
    for_lines(path_, [&](std::string_view text, const Json& line) {
      const auto at = line.find("step");
      if (line.value("kind", Json()) == "end") return;  // it goes on
      if (at != line.end() && at->is_number_integer() && at->get<std::int64_t>() <= step) kept += text;
    });
  }
  atomic_write(path_, kept);
  file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file_) throw file_error(path_, "cannot be written");
}

MetricsFile::~MetricsFile() {
  if (file_ && !waiting_.empty()) static_cast<void>(write_all(file_.number(), std::as_bytes(std::span(waiting_))));
}

void MetricsFile::add(const Json& line) {
  waiting_ += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (waiting_.size() >= at_once) flush();
  if (listener_) listener_(line);
}

void MetricsFile::flush() {
  const std::string bytes = std::exchange(waiting_, {});
  if (!write_all(file_.number(), std::as_bytes(std::span(bytes)))) throw file_error(path_, "cannot be written");
}

std::vector<Json> read_metrics(const std::filesystem::path& path) {
  std::vector<Json> lines;
  for_lines(path, [&](std::string_view, Json line) { lines.push_back(std::move(line)); });
  return lines;
}

}  // namespace reckon

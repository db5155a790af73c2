#include "report/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "report/ascii.h"
#include "report/text.h"

namespace reckon {
namespace {

constexpr int longest_bar = 30, shortest_bar = 5, usual_width = 80;
constexpr std::chrono::milliseconds redraw_interval{100};
constexpr int reserved_columns = 3;   // the last, and a "^C" that the terminal writes behind the cursor
constexpr double least_share = 0.02;  // to say how much time is left

int terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual_width;
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

void put(const std::string& words) {
  static const bool ascii = !utf8_locale();
  const std::string text = ascii ? to_ascii(words) : words;
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string progress_text(std::string_view task, double share, double left_s, int width) {
  share = std::clamp(share, 0.0, 1.0);
  std::string percent = fmt::format("{}%", static_cast<int>(share * 100));
  const std::string time = left_s >= 0 ? fmt::format(" · {} left", duration(left_s)) : "";
  const std::string end = " " + percent + time;
  const int room = width - display_width(task) - 1 - display_width(end);
  if (room < shortest_bar) {
    for (const std::string& text : {fmt::format("{}{}", task, end), fmt::format("{} {}", task, percent)}) {
      if (display_width(text) <= width) return text;
    }
    return percent;
  }
  const int columns = std::min(room, longest_bar), full = static_cast<int>(share * columns);
  return fmt::format("{} {}{}{}", task, repeated("━", full), repeated("╌", columns - full), end);
}

ProgressLine::ProgressLine() {
  const char* term = std::getenv("TERM");
  terminal_ = ::isatty(STDERR_FILENO) && term != nullptr && std::string_view(term) != "dumb";
}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(std::string_view task, std::int64_t done, std::int64_t total) {
  if (!terminal_ || total <= 0) return;
  const Clock::time_point now = Clock::now();
  if (task != task_) {
    task_ = task;
    began_ = now;
    next_ = now + redraw_interval;
  }
  if (now < next_) return;
  next_ = now + redraw_interval;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double elapsed = std::chrono::duration<double>(now - began_).count();
  const double left = share < least_share ? -1 : elapsed / share * (1 - share);
  put("\r" + progress_text(task, share, left, terminal_width() - reserved_columns) + "\x1b[K");
  drawn_ = true;
}

void ProgressLine::clear() {
  if (drawn_) put("\r\x1b[K");
  drawn_ = false;
}

}  // namespace reckon

// The progress of a long task, on one line of the terminal that is redrawn in place and erased at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace reckon {

// "counting words ━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌ 50% · 3 s left", at most `width` columns; without a time where `left_s` < 0.
// What does not fit is left out: the bar, then the time, then the task.
std::string progress_text(std::string_view task, double share, double left_s, int width);

// Draws on stderr, where that is a terminal; elsewhere it does nothing.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Cheap enough for every step: it draws ten times a second, and what is done at once is never drawn.
  void show(std::string_view task, std::int64_t done, std::int64_t total);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_, drawn_ = false;
  std::string task_;
  Clock::time_point began_{}, next_{};
};

}  // namespace reckon

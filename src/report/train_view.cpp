#include "report/train_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files/numbers.h"
#include "report/progress.h"
#include "report/text.h"

namespace reckon {
namespace {

constexpr std::chrono::milliseconds between_drawings{200};
constexpr double between_lines = 10;  // seconds
constexpr int curve_height = 8;
constexpr double memory_of_rates = 0.9;  // how much of the last average stays
constexpr std::string_view begin_drawing = "\x1b[?25l\x1b[?7l", end_drawing = "\x1b[?25h\x1b[?7h";
constexpr std::string_view bold = "\033[1m", faint = "\033[2m", plain = "\033[0m";

class Paint {
 public:
  explicit Paint(bool color) : color_(color) {}
  std::string operator()(std::string_view style, const std::string& text) const {
    return color_ ? std::string(style) + text + std::string(plain) : text;
  }

 private:
  bool color_;
};

// Beside what one large product reaches in between.
std::string limit_share(const RunState& state) {
  if (!state.limit) return "";
  return fmt::format(", {} of {:.0f} to {:.0f}", percent(state.flops_rate / state.limit->median, 0),
                     state.limit->least / 1e9, state.limit->most / 1e9);
}

}  // namespace

std::vector<std::string> train_panel(const RunFacts& facts, const RunState& state, const Terminal& terminal) {
  const Paint paint(terminal.color);
  const StepReport& now = state.now;
  const int width = terminal.width, half = width / 2;
  const auto pair = [&](const std::string& left_name, const std::string& left, const std::string& right_name,
                        const std::string& right) {
    const std::string first = padded(left_name, 12), second = padded(right_name, 12);
    const int used = 12 + display_width(left);
    return paint(faint, first) + paint(bold, left) +
           std::string(static_cast<std::size_t>(std::max(1, half - used)), ' ') + paint(faint, second) +
           paint(bold, right);
  };
  std::vector<std::string> lines;
  const std::string accumulated = facts.accumulate > 1 ? fmt::format("{} × ", facts.accumulate) : "";
  lines.push_back(paint(bold, printable(facts.name)) +
                  paint(faint, fmt::format(" · {} parameters · {}{} × {} tokens a step",
                                           compact(static_cast<double>(facts.parameters)), accumulated, facts.batch,
                                           facts.context)));
  const std::string task = fmt::format("step {} of {}", grouped(now.step), grouped(now.steps));
  lines.push_back(
      progress_text(task, static_cast<double>(now.step) / static_cast<double>(std::max<std::int64_t>(1, now.steps)),
                    state.left_seconds.value_or(-1), width));
  lines.push_back("");
  const std::string validation =
      state.evaluation ? fmt::format("{:.4f} at step {}{}", state.evaluation->loss, grouped(state.evaluation->step),
                                     state.evaluation->best ? ", the best" : "")
                       : "–";
  lines.push_back(pair("loss", fmt::format("{:.4f}", now.loss), "validation", validation));
  lines.push_back(
      pair("rate", fmt::format("{:.2e}", now.learning_rate), "gradient", fmt::format("{:.3f}", now.gradient_norm)));
  lines.push_back(pair("tokens/s", grouped(static_cast<std::int64_t>(state.rate)), "GFLOP/s",
                       fmt::format("{:.1f}{}", state.flops_rate / 1e9, limit_share(state))));
  const std::int64_t total = facts.weight_bytes + facts.gradient_bytes + facts.moment_bytes + facts.arena_bytes;
  lines.push_back(paint(faint, padded("memory", 12)) + paint(bold, binary_bytes(total)) +
                  paint(faint, fmt::format(": weights {}, gradients {}, moments {}, activations {}",
                                           binary_bytes(facts.weight_bytes), binary_bytes(facts.gradient_bytes),
                                           binary_bytes(facts.moment_bytes), binary_bytes(facts.arena_bytes))));
  lines.push_back("");
  for (std::string& line : curve_lines(state.curve, width, curve_height, terminal.color))
    lines.push_back(std::move(line));
  return lines;
}

std::string train_line(const RunState& state) {
  const StepReport& now = state.now;
  return fmt::format("step {:>7}/{}  loss {:.4f}  lr {:.2e}  gradient {:.3f}  {} tokens/s  {:.1f} GFLOP/s",
                     grouped(now.step), grouped(now.steps), now.loss, now.learning_rate, now.gradient_norm,
                     grouped(static_cast<std::int64_t>(state.rate)), state.flops_rate / 1e9);
}

TrainView::TrainView(RunFacts facts, Terminal terminal, bool live, Write write)
    : facts_(std::move(facts)), terminal_(terminal), live_(live), write_(std::move(write)), began_(Clock::now()) {}

TrainView::~TrainView() {
  if (drawn_ > 0) write_(std::string(end_drawing));
}

void TrainView::recall(const std::vector<nlohmann::ordered_json>& metrics) {
  for (const auto& line : metrics) {
    const std::string kind = line.value("kind", "");
    if (!line.contains("loss") || !line["loss"].is_number()) continue;
    const std::pair point(line.value("step", 0.0), line["loss"].get<double>());
    if (kind == "step") state_.curve.points.push_back(point);
    if (kind == "evaluation") state_.curve.marks.push_back(point);
  }
}

void TrainView::step(const StepReport& report) {
  if (first_step_ < 0) first_step_ = report.step - 1;
  const auto blend = [&](double& average, double value) {
    average = average == 0 ? value : memory_of_rates * average + (1 - memory_of_rates) * value;
  };
  blend(state_.rate, report.tokens_per_second);
  blend(state_.flops_rate, report.flops_per_second);
  state_.now = report;
  state_.curve.points.emplace_back(static_cast<double>(report.step), report.loss);
  state_.curve.x_end = static_cast<double>(report.steps);
  const Clock::time_point now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - began_).count();
  const auto done = static_cast<double>(report.step - first_step_);
  state_.left_seconds = elapsed / done * static_cast<double>(report.steps - report.step);
  if (live_) {
    if (now >= next_) draw(false);
    return;
  }
  if (!said_ || report.step == report.steps || report.seconds - said_->seconds >= between_lines) say();
}

void TrainView::say() {
  said_ = state_.now;
  write_(train_line(state_) + "\n");
}

void TrainView::evaluation(const EvaluationReport& report) {
  state_.evaluation = report;
  state_.curve.marks.emplace_back(static_cast<double>(report.step), report.loss);
  if (live_) return draw(false);
  write_(fmt::format("step {:>7}/{}  validation {:.4f}{}\n", grouped(report.step), grouped(state_.now.steps),
                     report.loss, report.best ? ", the best so far" : ""));
}

void TrainView::draw(bool last) {
  next_ = Clock::now() + between_drawings;
  // Without a cursor; and long lines are cut, for a wrapped one would be drawn over wrongly.
  std::string out = drawn_ == 0 ? std::string(begin_drawing) : fmt::format("\x1b[{}A", drawn_);
  const std::vector<std::string> lines = train_panel(facts_, state_, terminal_);
  for (const std::string& line : lines) out += "\r" + line + "\x1b[K\n";
  if (last) out += end_drawing;
  drawn_ = last ? 0 : lines.size();
  write_(out);
}

void TrainView::finish() {
  if (state_.now.step == 0) return;
  if (live_) return draw(true);
  if (said_->step != state_.now.step) say();  // it was interrupted
}

}  // namespace reckon

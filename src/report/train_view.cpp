#include "report/train_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>

#include "files/numbers.h"
#include "report/progress.h"
#include "report/text.h"

namespace reckon {
namespace {

constexpr std::chrono::milliseconds redraw_interval{200};
constexpr double line_interval = 10;                                  // seconds
constexpr int tallest_curve = 8, shortest_curve = 2, curve_axis = 2;  // lines
constexpr int roomy = 72;                                             // columns; narrower, names stand closer
constexpr double smoothing = 0.9;                                     // how much of the last average stays
constexpr std::string_view begin_drawing = "\x1b[?25l\x1b[?7l", end_drawing = "\x1b[?25h\x1b[?7h";
constexpr std::string_view plain, bold = Painter::bold, faint = Painter::faint;

// A line in pieces, each with a style, that is never wider than the terminal.
class Line {
 public:
  explicit Line(const Terminal& terminal) : paint_(terminal.color), room_(terminal.width) {}

  // Cut where it does not fit.
  Line& add(std::string_view style, const std::string& text) {
    const std::string piece(first_columns(text, room_));
    room_ -= display_width(piece);
    text_ += style == plain ? piece : paint_(style, piece);
    return *this;
  }
  // Left out where it does not fit.
  Line& add_whole(std::string_view style, const std::string& text) {
    return display_width(text) <= room_ ? add(style, text) : *this;
  }
  const std::string& text() const { return text_; }

 private:
  Painter paint_;
  int room_;
  std::string text_;
};

// Compared with what one large product reaches between the steps.
std::string limit_share(const RunState& state) {
  if (!state.limit) return "";
  return fmt::format(", {} of {:.0f} to {:.0f}", percent(state.flops_rate / state.limit->median, 0),
                     state.limit->least / 1e9, state.limit->most / 1e9);
}

}  // namespace

std::vector<std::string> train_panel(const RunFacts& facts, const RunState& state, const Terminal& terminal) {
  const StepReport& now = state.now;
  const int width = terminal.width, half = width / 2;
  const int name_width = width >= roomy ? 12 : 11;
  const auto fact = [&](Line& line, const std::string& name, const std::string& value, int columns) -> Line& {
    return line.add(faint, justified(name, name_width)).add(bold, justified(value, columns - name_width));
  };
  const auto pair = [&](const std::string& left_name, const std::string& left, const std::string& right_name,
                        const std::string& right) {
    Line line(terminal);
    fact(line, left_name, left, half).add(plain, name_width + display_width(left) < half ? "" : " ");
    return fact(line, right_name, right, 0).text();
  };

  std::vector<std::string> lines;
  const std::string accumulated = facts.accumulate > 1 ? fmt::format("{} × ", facts.accumulate) : "";
  lines.push_back(
      Line(terminal)
          .add(bold, printable(facts.name))
          .add_whole(faint, fmt::format(" · {} parameters", compact(static_cast<double>(facts.parameters))))
          .add_whole(faint, fmt::format(" · {}{} × {} tokens a step", accumulated, facts.batch, facts.context))
          .text());
  const std::string task = fmt::format("step {} of {}", grouped(now.step), grouped(now.steps));
  lines.push_back(
      progress_text(task, static_cast<double>(now.step) / static_cast<double>(std::max<std::int64_t>(1, now.steps)),
                    state.left_seconds.value_or(-1), width));
  // A figure at the right with the first of these additions that it has room for.
  const auto with = [&](const std::string& figure, const std::vector<std::string>& additions) {
    for (const std::string& addition : additions) {
      if (display_width(figure + addition) <= width - half - name_width) return figure + addition;
    }
    return figure;
  };
  std::string validation = "–";
  if (state.evaluation) {
    const std::string at = fmt::format(" at step {}", grouped(state.evaluation->step));
    validation = with(fmt::format("{:.4f}", state.evaluation->loss),
                      state.evaluation->best ? std::vector<std::string>{at + ", the best", at + ", best", ", best"}
                                             : std::vector{at});
  }
  lines.push_back(pair("loss", fmt::format("{:.4f}", now.loss), "validation", validation));
  lines.push_back(
      pair("rate", fmt::format("{:.2e}", now.learning_rate), "gradient", fmt::format("{:.3f}", now.gradient_norm)));
  lines.push_back(pair("tokens/s", grouped(static_cast<std::int64_t>(state.rate)), "GFLOP/s",
                       with(fmt::format("{:.1f}", state.flops_rate / 1e9), {limit_share(state)})));
  const std::int64_t total = facts.weight_bytes + facts.gradient_bytes + facts.moment_bytes + facts.arena_bytes;
  Line memory(terminal);
  lines.push_back(fact(memory, "memory", binary_bytes(total), 0).text());

  // What follows fills the lines that are left; the cursor stands below the last.
  const int least = static_cast<int>(lines.size());
  const int room = terminal.height > 0 ? std::max(1, terminal.height - 1) : INT_MAX;
  if (room < least) lines.resize(static_cast<std::size_t>(room));
  const int curve = std::min(tallest_curve, room - least - curve_axis);
  if (curve < shortest_curve) return lines;
  int spare = room - least - curve - curve_axis;
  std::vector<std::string> details;  // as many as fit on each line
  for (const auto& [name, bytes] : {std::pair("weights", facts.weight_bytes),
                                    {"gradients", facts.gradient_bytes},
                                    {"moments", facts.moment_bytes},
                                    {"activations", facts.arena_bytes}}) {
    const std::string item = fmt::format("{} {}", name, binary_bytes(bytes));
    if (!details.empty() && name_width + display_width(details.back() + ", " + item) <= width) {
      details.back() += ", " + item;
    } else {
      details.push_back(item);
    }
  }
  if (std::ssize(details) + 2 <= spare) {
    spare -= static_cast<int>(details.size());
    for (const std::string& text : details) {
      lines.push_back(
          Line(terminal).add(plain, std::string(static_cast<std::size_t>(name_width), ' ')).add(faint, text).text());
    }
  }
  if (spare >= 2) lines.insert(lines.begin() + 2, "");
  if (spare >= 1) lines.emplace_back();
  for (std::string& line : curve_lines(state.curve, width, curve, terminal.color)) lines.push_back(std::move(line));
  return lines;
}

std::string train_line(const RunState& state) {
  const StepReport& now = state.now;
  return fmt::format("step {:>7}/{}  loss {:.4f}  lr {:.2e}  gradient {:.3f}  {} tokens/s  {:.1f} GFLOP/s",
                     grouped(now.step), grouped(now.steps), now.loss, now.learning_rate, now.gradient_norm,
                     grouped(static_cast<std::int64_t>(state.rate)), state.flops_rate / 1e9);
}

TrainView::TrainView(RunFacts facts, QueryTerminal query_terminal, bool live, Write write)
    : facts_(std::move(facts)),
      query_terminal_(std::move(query_terminal)),
      live_(live),
      write_(std::move(write)),
      began_(Clock::now()) {}

TrainView::~TrainView() {
  if (!drawn_.empty()) write_(std::string(end_drawing));
}

void TrainView::recall(const std::vector<OrderedJson>& metrics) {
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
    average = average == 0 ? value : smoothing * average + (1 - smoothing) * value;
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
  if (!last_line_ || report.step == report.steps || report.seconds - last_line_->seconds >= line_interval) write_line();
}

void TrainView::write_line() {
  last_line_ = state_.now;
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
  next_ = Clock::now() + redraw_interval;
  const Terminal terminal = query_terminal_();
  // Without a cursor; and long lines are cut, for a wrapped one would be drawn over wrongly.
  std::string out(drawn_.empty() ? begin_drawing : "");
  if (!drawn_.empty()) {
    int up = 0;  // a line that is wider than a terminal has become takes several there
    for (const int width : drawn_) up += std::max(1, (width + terminal.width - 1) / terminal.width);
    out += fmt::format("\x1b[{}A", up);
  }
  drawn_.clear();
  for (const std::string& line : train_panel(facts_, state_, terminal)) {
    out += "\r\x1b[K" + line + "\n";  // erased first: after the last column, the cursor still stands on it
    drawn_.push_back(display_width(line));
  }
  out += "\x1b[J";  // of a panel that was higher
  if (last) {
    out += end_drawing;
    drawn_.clear();
  }
  write_(out);
}

void TrainView::finish() {
  if (state_.now.step == 0) return;
  if (live_) return draw(true);
  if (last_line_->step != state_.now.step) write_line();  // it was interrupted
}

}  // namespace reckon

// A training run as a person watches it: on a terminal a panel that is redrawn in place, elsewhere a line for the first
// step and the last, for one every ten seconds between them, and for each evaluation.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/curve.h"
#include "report/document.h"
#include "run/limits.h"
#include "train/run.h"

namespace reckon {

// What the panel shows.
struct RunState {
  StepReport now;
  double rate = 0, flops_rate = 0;  // tokens and FLOPs a second, over the last steps
  std::optional<Spread> limit;      // FLOPs a second of one large product, measured between the steps
  std::optional<double> left_seconds;
  std::optional<EvaluationReport> evaluation;
  Curve curve;
};

// Lines of at most terminal.width columns, and fewer than terminal.height of them, where that is known: what a small
// terminal has no room for is left out, the details of the memory first, then the curve.
std::vector<std::string> train_panel(const RunFacts& facts, const RunState& state, const Terminal& terminal);
std::string train_line(const RunState& state);

class TrainView {
 public:
  using Write = std::function<void(const std::string&)>;
  using QueryTerminal = std::function<Terminal()>;  // asked before each drawing, since a terminal may be resized

  // `live`: where `write` goes to is a terminal that can be drawn on.
  TrainView(RunFacts facts, QueryTerminal query_terminal, bool live, Write write);
  ~TrainView();
  TrainView(const TrainView&) = delete;
  TrainView& operator=(const TrainView&) = delete;

  void recall(const std::vector<OrderedJson>& metrics);  // of a run that is resumed
  void step(const StepReport& report);
  void evaluation(const EvaluationReport& report);
  void limit(const std::optional<Spread>& flops_per_second) { state_.limit = flops_per_second; }
  void finish();  // shows the last state and leaves it

 private:
  using Clock = std::chrono::steady_clock;
  void draw(bool last);
  void write_line();

  RunFacts facts_;
  QueryTerminal query_terminal_;
  bool live_;
  Write write_;
  RunState state_;
  Clock::time_point began_, next_{};
  std::int64_t first_step_ = -1;
  std::optional<StepReport> last_line_;  // the step that it showed
  std::vector<int> drawn_;               // the widths of the panel's lines on the screen
};

}  // namespace reckon

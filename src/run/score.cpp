// Only the rows of logits that are scored are computed, a piece at a time.
#include "run/score.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "files/numbers.h"
#include "run/inputs.h"
#include "run/logits.h"

namespace reckon {
namespace {

// Tokens [begin, end) of the text, of which [scored, end) are scored.
struct Window {
  std::int64_t begin, scored, end;
  std::int64_t length() const { return end - begin; }
};

std::vector<Window> windows_of(std::int64_t tokens, std::int64_t context, std::int64_t stride) {
  std::vector<Window> windows = {{0, 1, std::min(context, tokens)}};
  while (windows.back().end < tokens) {
    const Window& before = windows.back();
    const std::int64_t begin = before.begin + stride;
    windows.push_back({begin, before.end, std::min(begin + context, tokens)});
  }
  return windows;
}

// Reads one window with every engine, and shows each scored token with the logits that predict it, an engine after the
// other: visit(position, token, rows).
template <class Visit>
void read(std::span<Engine* const> engines, std::span<const std::int32_t> ids, const Window& window, Visit visit) {
  const auto vocab_size = static_cast<std::size_t>(engines[0]->model().vocab_size);
  const auto text = ids.subspan(static_cast<std::size_t>(window.begin), static_cast<std::size_t>(window.length()));
  // Token t is predicted by the logits of token t − 1.
  const auto from = static_cast<std::size_t>(window.scored - 1 - window.begin);
  // As many rows of logits at a time as stay below 128 MiB.
  const std::size_t rows = std::max<std::size_t>(1, (std::size_t{1} << 25) / vocab_size);
  std::size_t piece = rows;
  std::vector<Session> sessions;
  for (Engine* engine : engines) {
    piece = std::min(piece, static_cast<std::size_t>(engine->options().chunk));
    sessions.push_back(engine->session());
    sessions.back().reset(window.length());
    if (from > 0) sessions.back().run(text.first(from), Logits::none);
  }
  const std::size_t predicting = text.size() - 1;  // what the last token predicts is not in the window
  std::vector<std::span<const float>> logits(engines.size()), here(engines.size());
  for (std::size_t begin = from; begin < predicting; begin += piece) {
    const std::size_t end = std::min(begin + piece, predicting);
    for (std::size_t i = 0; i < engines.size(); ++i)
      logits[i] = sessions[i].run(text.subspan(begin, end - begin), Logits::all);
    for (std::size_t t = begin; t < end; ++t) {
      for (std::size_t i = 0; i < engines.size(); ++i)
        here[i] = logits[i].subspan((t - begin) * vocab_size, vocab_size);
      visit(window.begin + static_cast<std::int64_t>(t) + 1, text[t + 1],
            std::span<const std::span<const float>>(here));
    }
  }
}

// All windows of the text, until one is cancelled.
template <class Visit>
void read_all(std::span<Engine* const> engines, std::span<const std::int32_t> ids, const Scoring& scoring, Visit visit,
              const std::function<void()>& after_window) {
  const Engine& engine = *engines[0];
  const std::int64_t context = engine.options().capacity;
  if (context < 2) throw UsageError("a context of 1 token has nothing to predict from; expected two or more");
  const std::int64_t stride = scoring.stride == 0 ? context / 2 : scoring.stride;
  if (stride < 1 || stride >= context)
    throw UsageError(fmt::format("`stride` is {}; expected 1 to {}, one less than the context", stride, context - 1));
  if (ids.size() < 2)
    throw UsageError(fmt::format("a text of {} tokens has nothing to predict; expected two or more", ids.size()));
  check_ids(ids, engine.model().vocab_size);
  for (const Window& window : windows_of(static_cast<std::int64_t>(ids.size()), context, stride)) {
    try {
      read(engines, ids, window, visit);
    } catch (const Cancelled&) {
      return;
    }
    after_window();
  }
}

Score nothing_of(std::span<const std::int32_t> ids) { return {.all = static_cast<std::int64_t>(ids.size()) - 1}; }

}  // namespace

Score score(Engine& engine, std::span<const std::int32_t> ids, const Scoring& scoring, const OnScored& on_scored) {
  Score result = nothing_of(ids);
  Engine* const engines[] = {&engine};
  read_all(
      engines, ids, scoring,
      [&](std::int64_t, std::int32_t token, std::span<const std::span<const float>> rows) {
        result.nll += log_sum_exp(rows[0]) - static_cast<double>(rows[0][static_cast<std::size_t>(token)]);
        result.tokens += 1;
      },
      [&] {
        if (on_scored) on_scored(result);
      });
  return result;
}

double Divergence::quantile(double share) const {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

double Divergence::median() const {
  const std::size_t above = sorted.size() / 2, below = (sorted.size() - 1) / 2;
  return (static_cast<double>(sorted[below]) + static_cast<double>(sorted[above])) / 2;
}

void check_comparable(const Model& model, const Model& other) {
  if (model.vocab_size == other.vocab_size) return;
  throw UsageError(fmt::format("{} has a vocabulary of {} tokens and {} one of {}; expected one vocabulary of both",
                               model.name, grouped(model.vocab_size), other.name, grouped(other.vocab_size)));
}

Divergence diverge(Engine& engine, Engine& other, std::span<const std::int32_t> ids, const Scoring& scoring,
                   std::int64_t worst, const OnScored& on_scored) {
  check_comparable(engine.model(), other.model());
  if (engine.options().capacity != other.options().capacity)
    throw UsageError(fmt::format("engines with contexts of {} and {} tokens; expected one context of both",
                                 engine.options().capacity, other.options().capacity));
  Divergence result{nothing_of(ids), nothing_of(ids), 0, 0, {}, {}};
  const auto farther = [](const TokenDivergence& a, const TokenDivergence& b) { return a.divergence > b.divergence; };
  Engine* const engines[] = {&engine, &other};
  read_all(
      engines, ids, scoring,
      [&](std::int64_t position, std::int32_t token, std::span<const std::span<const float>> rows) {
        const auto next = static_cast<std::size_t>(token);
        const double sum = log_sum_exp(rows[0]), sum_of_other = log_sum_exp(rows[1]);
        const double log_p = static_cast<double>(rows[0][next]) - sum;
        const double log_q = static_cast<double>(rows[1][next]) - sum_of_other;
        TokenDivergence one{position, 0, std::exp(log_p), std::exp(log_q)};
        for (std::size_t id = 0; id < rows[0].size(); ++id) {
          const double p = static_cast<double>(rows[0][id]) - sum, q = static_cast<double>(rows[1][id]) - sum_of_other;
          one.divergence += std::exp(q) * (q - p);
        }
        one.divergence = std::max(one.divergence, 0.0);  // rounding
        const auto best = [](std::span<const float> row) {
          return static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
        };
        one.best = best(rows[0]);
        one.best_of_other = best(rows[1]);
        result.score.nll -= log_p;
        result.other.nll -= log_q;
        result.score.tokens += 1;
        result.other.tokens += 1;
        result.sum += one.divergence;
        result.equal_best += one.best == one.best_of_other;
        result.sorted.push_back(static_cast<float>(one.divergence));
        if (std::ssize(result.worst) < worst || (worst > 0 && farther(one, result.worst.back()))) {
          result.worst.insert(std::upper_bound(result.worst.begin(), result.worst.end(), one, farther), one);
          if (std::ssize(result.worst) > worst) result.worst.pop_back();
        }
      },
      [&] {
        if (on_scored) on_scored(result.score);
      });
  std::sort(result.sorted.begin(), result.sorted.end());
  return result;
}

}  // namespace reckon

// Only the rows of logits that are scored are computed, a piece at a time.
#include "run/score.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <vector>

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

// Adds one window.
void add(Engine& engine, std::span<const std::int32_t> ids, const Window& window, Score& score) {
  const auto vocab_size = static_cast<std::size_t>(engine.model().vocab_size);
  const auto text = ids.subspan(static_cast<std::size_t>(window.begin), static_cast<std::size_t>(window.length()));
  // Token t is predicted by the logits of token t − 1.
  const auto from = static_cast<std::size_t>(window.scored - 1 - window.begin);
  // As many rows of logits at a time as stay below 128 MiB.
  const std::size_t rows = std::max<std::size_t>(1, (std::size_t{1} << 25) / vocab_size);
  const std::size_t piece = std::min(rows, static_cast<std::size_t>(engine.options().chunk));

  Session session = engine.session();
  session.reset(window.length());
  if (from > 0) session.run(text.first(from), Logits::none);
  const std::size_t predicting = text.size() - 1;  // what the last token predicts is not in the window
  for (std::size_t begin = from; begin < predicting; begin += piece) {
    const std::size_t end = std::min(begin + piece, predicting);
    const std::span<const float> logits = session.run(text.subspan(begin, end - begin), Logits::all);
    for (std::size_t t = begin; t < end; ++t) {
      const auto here = logits.subspan((t - begin) * vocab_size, vocab_size);
      score.nll += log_sum_exp(here) - static_cast<double>(here[static_cast<std::size_t>(text[t + 1])]);
      score.tokens += 1;
    }
  }
}

}  // namespace

Score score(Engine& engine, std::span<const std::int32_t> ids, const Scoring& scoring, const OnScored& on_scored) {
  const std::int64_t context = engine.options().capacity;
  if (context < 2) throw UsageError("a context of 1 token has nothing to predict from; expected two or more");
  const std::int64_t stride = scoring.stride == 0 ? context / 2 : scoring.stride;
  if (stride < 1 || stride >= context)
    throw UsageError(fmt::format("`stride` is {}; expected 1 to {}, one less than the context", stride, context - 1));
  if (ids.size() < 2)
    throw UsageError(fmt::format("a text of {} tokens has nothing to predict; expected two or more", ids.size()));
  check_ids(ids, engine.model().vocab_size);

  const std::vector<Window> windows = windows_of(static_cast<std::int64_t>(ids.size()), context, stride);
  Score result{.all = static_cast<std::int64_t>(ids.size()) - 1};
  for (const Window& window : windows) {
    try {
      add(engine, ids, window, result);
    } catch (const Cancelled&) {
      break;
    }
    if (on_scored) on_scored(result);
  }
  return result;
}

}  // namespace reckon

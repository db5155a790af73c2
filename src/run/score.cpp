// Windows of one length are run together; only the rows of logits that are scored are computed, a piece at a time.
#include "run/score.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <vector>

#include "run/ids.h"
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

// Runs the tokens at [from, to) of each window. Rows of the batch beyond the group repeat its first window.
std::span<const float> run_part(Engine& engine, std::span<const std::int32_t> ids, std::span<const Window> group,
                                std::int64_t from, std::int64_t to, Logits logits) {
  std::vector<std::int32_t> part;
  for (std::int64_t b = 0; b < engine.options().batch; ++b) {
    const Window& window = group[static_cast<std::size_t>(b) < group.size() ? static_cast<std::size_t>(b) : 0];
    const auto first = ids.begin() + window.begin;
    part.insert(part.end(), first + from, first + to);
  }
  return engine.run(part, logits);
}

// Adds the windows of `group`, all of one length.
void add(Engine& engine, std::span<const std::int32_t> ids, std::span<const Window> group, Score& score) {
  const std::int64_t vocab_size = engine.model().vocab_size, batch = engine.options().batch;
  const std::int64_t length = group.front().length();
  // Token t is predicted by the logits of token t − 1.
  std::int64_t from = length;
  for (const Window& window : group) from = std::min(from, window.scored - 1 - window.begin);
  // As many rows of logits at a time as stay below 128 MiB.
  const std::int64_t rows = std::max<std::int64_t>(1, (std::int64_t{1} << 25) / (vocab_size * batch));
  const std::int64_t piece = std::min(rows, engine.options().chunk);

  engine.reset(length);
  if (from > 0) run_part(engine, ids, group, 0, from, Logits::none);
  const std::int64_t predicting = length - 1;  // what the last token predicts is not in the window
  for (std::int64_t begin = from; begin < predicting; begin += piece) {
    const std::int64_t end = std::min(begin + piece, predicting);
    const std::span<const float> logits = run_part(engine, ids, group, begin, end, Logits::all);
    for (std::size_t b = 0; b < group.size(); ++b) {
      const Window& window = group[b];
      const std::int64_t first = std::max(window.scored, window.begin + begin + 1);
      for (std::int64_t t = first; t < std::min(window.end, window.begin + end + 1); ++t) {
        const std::int64_t row = static_cast<std::int64_t>(b) * (end - begin) + t - 1 - window.begin - begin;
        const auto here =
            logits.subspan(static_cast<std::size_t>(row * vocab_size), static_cast<std::size_t>(vocab_size));
        const std::int32_t id = ids[static_cast<std::size_t>(t)];
        score.nll += log_sum_exp(here) - static_cast<double>(here[static_cast<std::size_t>(id)]);
        score.tokens += 1;
      }
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
  for (auto first = windows.begin(); first != windows.end();) {
    auto last = first;
    while (last != windows.end() && last - first < engine.options().batch && last->length() == first->length()) ++last;
    try {
      add(engine, ids, {first, last}, result);
    } catch (const Cancelled&) {
      break;
    }
    first = last;
    if (on_scored) on_scored(result);
  }
  return result;
}

}  // namespace reckon

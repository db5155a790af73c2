#include "count/growth.h"

#include <reckon/reckon.h>

#include "count/cache.h"
#include "count/parts.h"
#include "model/modify.h"
#include "model/sublayers.h"
#include "network/forward.h"

namespace reckon {
namespace {

struct Sizes {
  double parameters = 0, matmul = 0, scores = 0, elementwise = 0, cache = 0;
};

Sizes sizes_of(const Model& model, const Workload& workload) {
  const Ledger ledger = count(model, workload);
  Sizes sizes;
  sizes.parameters = static_cast<double>(ledger.parameter_totals.total);
  sizes.matmul = static_cast<double>(ledger.total().matmul);
  sizes.elementwise = static_cast<double>(ledger.total().elementwise);
  sizes.scores = static_cast<double>(matmul_parts(ledger).scores_and_mixing);
  sizes.cache = static_cast<double>(full_cache_cost(model, workload.batch).total);
  return sizes;
}

std::optional<double> factor(double after, double before) {
  if (before == 0) return std::nullopt;
  return after / before;
}

// A doubled width takes its heads along: as wide as they were, twice as many, where wider ones are impossible.
Model twice_as_wide(const Model& model) {
  Changes changes;
  changes.d_model = 2 * model.d_model;
  try {
    return modify(model, changes);
  } catch (const UsageError&) {
    if (find<Attention>(model) == nullptr) throw;
    changes.heads = 2 * first_attention(model).n_heads;
    return modify(model, changes);
  }
}

}  // namespace

std::vector<Growth> growth(const Model& model, const Workload& asked) {
  const Workload workload = resolve(model, asked);
  const Sizes before = sizes_of(model, workload);
  std::vector<Growth> rows;
  const auto add = [&](const char* what, std::int64_t from, const Workload& doubled, auto doubled_model) {
    Growth row;
    row.what = what;
    row.from = from;
    row.to = 2 * from;
    try {
      const Sizes after = sizes_of(doubled_model(), doubled);
      row.parameters = factor(after.parameters, before.parameters);
      row.matmul = factor(after.matmul, before.matmul);
      row.scores = factor(after.scores, before.scores);
      row.elementwise = factor(after.elementwise, before.elementwise);
      row.cache = factor(after.cache, before.cache);
    } catch (const Error& error) {
      row.refused = error.what();
    }
    rows.push_back(std::move(row));
  };
  const auto changed = [&](auto Changes::*field, std::int64_t value) {
    Changes changes;
    changes.*field = value;
    return modify(model, changes);
  };

  const bool decode = workload.phase == Phase::decode;
  Workload longer = workload;
  longer.tokens = decode ? workload.tokens : 2 * workload.tokens;
  longer.past = 2 * workload.past;
  longer.encoder_tokens = 2 * workload.encoder_tokens;
  Workload more = workload;
  more.batch = 2 * workload.batch;
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t length = decode ? workload.past : workload.tokens;
  add("layers", layers, workload, [&] { return changed(&Changes::layers, 2 * layers); });
  add("width", model.d_model, workload, [&] { return twice_as_wide(model); });
  if (length > 0) {
    add(decode ? "past tokens" : "tokens", length, longer,
        [&] { return changed(&Changes::context, 2 * model.context); });
  }
  add("vocabulary", model.vocab_size, workload, [&] { return changed(&Changes::vocab, 2 * model.vocab_size); });
  add("batch", workload.batch, more, [&] { return model; });
  return rows;
}

}  // namespace reckon

#include "time/layouts.h"

#include <reckon/error.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "compile/compile.h"
#include "network/stages.h"

namespace reckon {
namespace {

// Fewer tokens of a sequence on a rank than this never pay for what context ranks exchange.
constexpr std::int64_t least_tokens = 1024;

bool divides(const Model& model, const Workload& workload) {
  try {
    validate_layout(model, workload);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Which operation of the model cannot be shared out over the ranks of a layout, as a sentence; empty: all can.
std::string not_shared(const Model& model, Workload workload) {
  Layout& layout = workload.layout;
  layout.data *= layout.pipeline;  // of all layers at once
  layout.pipeline = layout.virtual_stages = layout.micro_batches = 1;
  layout.zero = 0;
  workload.batch = 1;
  try {
    logical_program(model, workload);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<std::int64_t> choices(const std::optional<std::int64_t>& given, std::vector<std::int64_t> all) {
  if (!given) return all;
  const bool there = std::find(all.begin(), all.end(), *given) != all.end();
  return there ? std::vector{*given} : std::vector<std::int64_t>{};
}

// Ranks of experts: divisors of their number that also divide the ranks which they are some of.
std::vector<std::int64_t> expert_ranks(const Search& search, std::int64_t ranks) {
  const Mixture* const mixture = find<Mixture>(search.model);
  if (mixture == nullptr) return choices(search.given.expert, {1});
  std::vector<std::int64_t> found;
  for (std::int64_t n : divisors(mixture->n_experts))
    if (ranks % n == 0) found.push_back(n);
  return choices(search.given.expert, found);
}

// 1 and up to three more, spread over those that divide: the largest among them.
std::vector<std::int64_t> virtual_stages(const Search& search, const Workload& split) {
  std::vector<std::int64_t> found{1};
  const std::int64_t layers = static_cast<std::int64_t>(search.model.layers.size());
  Workload workload = split;
  for (std::int64_t n = 2; split.layout.pipeline > 1 && split.layout.pipeline * n <= layers + 2; ++n) {
    if (layers % (split.layout.pipeline * n) != 0 && (layers + 2) % (split.layout.pipeline * n) != 0) continue;
    workload.layout.virtual_stages = n;
    if (divides(search.model, workload)) found.push_back(n);
  }
  if (search.given.virtual_stages) return choices(search.given.virtual_stages, found);
  if (found.size() > 4) found = {1, found[1], found[found.size() / 2], found.back()};
  return found;
}

}  // namespace

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t i = 1; i * i <= n; ++i) {
    if (n % i != 0) continue;
    low.push_back(i);
    if (i != n / i) high.push_back(n / i);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

bool alike(const Layout& a, const Layout& b) {
  return a.tensor == b.tensor && a.pipeline == b.pipeline && a.expert == b.expert;
}

std::vector<Workload> splits_of(const Search& search, std::int64_t most_tensor, std::string& left_out) {
  std::vector<Workload> splits;
  std::string refused;                                                              // of what is left out, the first
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::string> why;  // by tensor, context, expert
  const Given& given = search.given;
  const std::int64_t devices = search.hardware.devices;
  const std::int64_t layers = static_cast<std::int64_t>(search.model.layers.size());
  for (std::int64_t tensor : choices(given.tensor, divisors(devices))) {
    if (tensor > most_tensor && !given.tensor) continue;
    for (std::int64_t context : choices(given.context, divisors(devices / tensor))) {
      if (context > 1 && !given.context && search.workload.tokens / context < least_tokens) continue;
      for (std::int64_t pipeline : choices(given.pipeline, divisors(devices / (tensor * context)))) {
        if (pipeline > layers) continue;
        const std::int64_t data = devices / (tensor * context * pipeline);
        if (search.sequences % data != 0 || (given.data && *given.data != data)) continue;
        for (std::int64_t expert : expert_ranks(search, context * data)) {
          Workload workload = search.workload;
          workload.layout = {
              .tensor = tensor, .context = context, .pipeline = pipeline, .expert = expert, .data = data};
          workload.batch = 1;
          if (!divides(search.model, workload)) continue;
          const auto [at, is_new] = why.try_emplace({tensor, context, expert});
          if (is_new) at->second = not_shared(search.model, workload);
          if (at->second.empty()) {
            splits.push_back(workload);
          } else if (refused.empty()) {
            refused = at->second;
          }
        }
      }
    }
  }
  if (refused.empty()) return splits;
  if (splits.empty() && (given.tensor || given.context || given.expert)) throw UsageError(refused);
  // "MODEL: recurrences cannot be …; expected 1 of each"
  const std::string of_model = search.model.name + ": ";
  left_out = refused.substr(refused.rfind(of_model, 0) == 0 ? of_model.size() : 0);
  left_out = left_out.substr(0, left_out.find("; expected"));
  return splits;
}

std::int64_t most_zero(const Workload& workload) {
  const Layout& layout = workload.layout;
  return layout.data * layout.context == 1 || workload.optimizer == Optimizer::muon ? 0 : 3;
}

std::vector<Workload> ways_of(const Search& search, const Workload& split) {
  std::vector<Workload> ways;
  const Given& given = search.given;
  const std::int64_t of_rank = search.sequences / split.layout.data;
  const std::vector<std::int64_t> batches = choices(given.batch, divisors(of_rank));
  std::vector<Recompute> recomputes{Recompute::none, Recompute::block};
  // Streamed attention keeps no scores that it could be worth to compute again.
  if (!search.target.fusions.attention) recomputes.insert(recomputes.begin() + 1, Recompute::selective);
  if (given.recompute) recomputes = {*given.recompute};
  std::vector<std::int64_t> zeros;
  for (std::int64_t zero = 0; zero <= most_zero(split); ++zero) zeros.push_back(zero);
  std::vector<bool> sequences{false};
  if (split.layout.tensor > 1) sequences = {true, false};
  for (std::int64_t pieces : virtual_stages(search, split))
    for (bool sequence : sequences) {
      if (given.sequence && *given.sequence != sequence) continue;
      Workload workload = split;
      workload.layout.virtual_stages = pieces;
      workload.layout.sequence = sequence;
      if (!divides(search.model, workload)) continue;
      if (sequence && !not_shared(search.model, workload).empty()) continue;
      for (std::int64_t zero : choices(given.zero, zeros))
        for (std::int64_t batch : batches)
          for (Recompute recompute : recomputes) {
            workload.layout.zero = zero;
            workload.layout.micro_batches = of_rank / batch;
            if (!in_whole_rounds(workload.layout)) continue;
            workload.batch = batch;
            workload.recompute = recompute;
            if (!search.accepts || search.accepts(workload)) ways.push_back(workload);
          }
    }
  return ways;
}

}  // namespace reckon

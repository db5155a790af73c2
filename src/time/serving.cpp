#include "time/serving.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "files/duration.h"
#include "files/numbers.h"
#include "network/forward.h"
#include "time/layouts.h"
#include "time/reasons.h"

namespace reckon {
namespace {

// More sequences than anybody decodes at the same time.
constexpr std::int64_t most_sequences = std::int64_t{1} << 20;

class ServingSearcher {
 public:
  ServingSearcher(const Search& search, const std::optional<double>& goal)
      : search_(search),
        goal_(goal),
        budget_(static_cast<std::int64_t>(static_cast<double>(search.hardware.profile.memory_bytes) *
                                          search.memory_share)) {}

  ServingPlans run() {
    for (const bool across : {false, true}) {
      if (across && search_.node >= search_.hardware.devices) break;
      plans_.too_large.clear();
      plans_.layouts = 0;
      for (const Layout& layout : layouts(across ? search_.hardware.devices : search_.node)) {
        ++plans_.layouts;
        look(layout);
      }
      if (!plans_.best.empty() || plans_.soonest) break;
    }
    finish();
    return std::move(plans_);
  }

  // The least that a rank of any layout needs, for one sequence.
  std::optional<TooLarge> most_frugal() {
    std::optional<TooLarge> found;
    for (const Layout& layout : layouts(search_.hardware.devices)) {
      const RankMemory memory = memory_of(layout, 1, Places::all);
      if (!found || memory.total() < found->memory.total()) found = TooLarge{decoding(layout, 1), memory, ""};
      if (memory.total() <= budget_) break;
    }
    return found;
  }

  std::int64_t budget() const { return budget_; }
  const std::string& left_out() const { return plans_.left_out; }

 private:
  std::vector<Layout> layouts(std::int64_t most_tensor) {
    Search search = search_;
    search.sequences = search.hardware.devices;  // each number of replicas divides them
    search.given.context = 1;
    search.workload = decoding({}, 1);
    std::vector<Layout> found;
    for (const Workload& split : splits_of(search, most_tensor, plans_.left_out)) {
      if (!search_.accepts || search_.accepts(split)) found.push_back(split.layout);
    }
    return found;
  }

  Workload workload_in(Phase phase, const Layout& layout, std::int64_t batch) const {
    Workload workload = workload_of(phase);
    workload.precision = search_.workload.precision;
    workload.parameter_types = search_.workload.parameter_types;
    workload.batch = batch;
    workload.layout = layout;
    workload.layout.data = layout.expert;  // other replicas have nothing to do with it
    return workload;
  }

  Workload decoding(const Layout& layout, std::int64_t batch) const {
    Workload workload = workload_in(Phase::decode, layout, batch);
    workload.tokens = 1;
    workload.past = search_.workload.tokens - 1;
    return resolve(search_.model, workload);
  }

  Workload prompt(const Layout& layout, std::int64_t tokens) const {
    Workload workload = workload_in(Phase::prefill, layout, 1);
    workload.tokens = tokens;
    workload.past = search_.workload.tokens - tokens;
    return resolve(search_.model, workload);
  }

  StageCosts costs_of(Workload workload, std::int64_t stage, Places places) {
    ++plans_.compiled;
    workload.layout.stage = stage;
    StageCosts costs = stage_costs(search_.model, workload, search_.target, search_.hardware, places);
    add_new(plans_.assumptions, costs.assumptions);
    return costs;
  }

  // Of the rank that needs the most, while so many sequences are decoded and a prompt is worked through.
  RankMemory memory_of(const Layout& layout, std::int64_t sequences, Places places) {
    RankMemory most;
    const std::int64_t chunk = std::min(prompt_chunk, search_.workload.tokens);
    for (const StageKind& kind : different_stages(search_.model, layout)) {
      RankMemory memory = costs_of(decoding(layout, sequences), kind.stage, places).memory;
      const auto [prompts, is_new] =
          prompts_.try_emplace({layout.tensor, layout.pipeline, layout.expert, kind.stage, places});
      if (is_new) prompts->second = costs_of(prompt(layout, chunk), kind.stage, places).memory.activations;
      memory.activations = std::max(memory.activations, prompts->second);
      if (memory.total() > most.total()) most = memory;
    }
    return most;
  }

  // The most sequences that fit, at least one; 0: not even one. By peaks first, as in fit.cpp.
  std::int64_t most_that_fit(const Layout& layout, RankMemory& memory) {
    const std::int64_t by_peaks = most_that_fit(layout, most_sequences, Places::none, memory);
    memory = memory_of(layout, std::max<std::int64_t>(by_peaks, 1), Places::all);
    if (memory.total() <= budget_) return by_peaks;
    return by_peaks > 1 ? most_that_fit(layout, by_peaks - 1, Places::all, memory) : 0;
  }

  std::int64_t most_that_fit(const Layout& layout, std::int64_t most, Places places, RankMemory& memory) {
    memory = memory_of(layout, 1, places);
    if (memory.total() > budget_) return 0;
    const std::int64_t each = std::max<std::int64_t>(memory.cache, 1);
    std::int64_t low = 1, high = std::min(most, 1 + (budget_ - memory.total()) / each);
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      // Activations grow little beside the cache: the guess is near the top.
      const std::int64_t next = high - low > 8 ? std::max(middle, high - (high - low) / 16) : middle;
      const RankMemory there = memory_of(layout, next, places);
      if (there.total() <= budget_) {
        low = next;
        memory = there;
      } else {
        high = next - 1;
      }
    }
    return low;
  }

  struct TokenTime {
    double seconds = 0, device = 0;
  };

  // From token to token: each stage has a group in turn, and the slowest sets the pace.
  TokenTime token_time(const Layout& layout, std::int64_t group) {
    TokenTime slowest;
    for (const StageKind& kind : different_stages(search_.model, layout)) {
      const StageCosts costs = costs_of(decoding(layout, group), kind.stage, Places::none);
      const double busy = costs.busy(Stage::forward) + of(costs.of(Stage::forward).link, Group::data);
      if (busy > slowest.seconds) slowest = {busy, costs.of(Stage::forward).device};
    }
    const double stages = static_cast<double>(layout.pipeline);
    return {slowest.seconds * stages, slowest.device * stages};
  }

  double prefill_time(const Layout& layout) {
    double seconds = 0;
    for (const StageKind& kind : different_stages(search_.model, layout)) {
      const double busy =
          costs_of(prompt(layout, search_.workload.tokens), kind.stage, Places::none).busy(Stage::forward);
      seconds += busy * static_cast<double>(kind.count);
    }
    return seconds;
  }

  void look(const Layout& layout) {
    Served served;
    std::int64_t most = most_that_fit(layout, served.memory);
    if (most == 0) {
      plans_.too_large.push_back({decoding(layout, 1), served.memory, why_too_large(served.memory, budget_)});
      return;
    }
    // Groups of the pipeline are alike; fewer sequences than stages leave some of them idle.
    if (search_.given.batch) most = std::min(most, *search_.given.batch);
    std::int64_t group = std::max<std::int64_t>(1, most / layout.pipeline);
    const std::int64_t groups_of = std::min(most, layout.pipeline);
    TokenTime time = token_time(layout, group);
    if (goal_ && time.seconds > *goal_) {
      std::int64_t low = 0, high = group;
      while (low + 1 < high) {
        const std::int64_t middle = (low + high) / 2;
        (token_time(layout, middle).seconds <= *goal_ ? low : high) = middle;
      }
      group = std::max<std::int64_t>(low, 1);
      time = token_time(layout, group);
    }
    const std::int64_t sequences = group * groups_of;
    if (sequences != most) served.memory = memory_of(layout, sequences, Places::all);
    served.workload = decoding(layout, group);
    served.workload.layout = layout;
    served.replicas = layout.data;
    served.sequences = sequences;
    served.left = search_.hardware.profile.memory_bytes - served.memory.total();
    served.prefill_seconds = prefill_time(layout);
    served.token_seconds = time.seconds;
    served.device_seconds = time.device;
    served.tokens_per_second = static_cast<double>(sequences * served.replicas) / time.seconds;
    if (goal_ && time.seconds > *goal_) {
      if (!plans_.soonest || time.seconds < plans_.soonest->token_seconds) plans_.soonest = served;
    } else {
      plans_.best.push_back(served);
    }
  }

  void finish() {
    std::stable_sort(plans_.best.begin(), plans_.best.end(),
                     [](const Served& a, const Served& b) { return a.tokens_per_second > b.tokens_per_second; });
    if (!plans_.best.empty()) plans_.soonest.reset();
    if (plans_.best.size() > search_.wanted) plans_.best.resize(search_.wanted);
    constexpr std::size_t most = 3;
    if (plans_.too_large.size() > most) plans_.too_large.resize(most);
    for (Served& served : plans_.best)
      if (&served != &plans_.best.front()) served.why_not = why_fewer_tokens(served, plans_.best.front());
  }

  static std::string why_fewer_tokens(const Served& served, const Served& first) {
    std::string text =
        fmt::format("{} fewer tokens a second: ", percent(1 - served.tokens_per_second / first.tokens_per_second));
    const auto waiting = [](const Served& one) { return 1 - one.device_seconds / one.token_seconds; };
    const std::int64_t all = served.sequences * served.replicas, others = first.sequences * first.replicas;
    if (waiting(served) > waiting(first) + 0.05) {
      text += fmt::format("{} of a token's time is waiting for other ranks, {} in the first", percent(waiting(served)),
                          percent(waiting(first)));
    } else if (all < others) {
      text += fmt::format("{} at a time on all devices, {} in the first", counted(all, "sequence"), grouped(others));
    } else {
      text += fmt::format("a token takes {}, {} in the first", duration(served.token_seconds),
                          duration(first.token_seconds));
    }
    return text;
  }

  const Search& search_;
  std::optional<double> goal_;
  std::int64_t budget_;
  ServingPlans plans_;
  // Bytes of activations of a prompt's piece, by tensor ranks, stages, expert ranks, the stage and whether it is laid
  // out.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, Places>, std::int64_t> prompts_;
};

// That the most frugal layout takes of a device.
std::optional<std::int64_t> serving_bytes_on(Search search, std::int64_t devices) {
  search.hardware.devices = devices;
  const std::optional<TooLarge> frugal = ServingSearcher(search, std::nullopt).most_frugal();
  return frugal ? std::optional(frugal->memory.total()) : std::nullopt;
}

}  // namespace

ServingPlans search_serving(const Search& search, const std::optional<double>& token_seconds) {
  return ServingSearcher(search, token_seconds).run();
}

std::string what_would_fit_serving(const Search& search) {
  ServingSearcher searcher(search, std::nullopt);
  const std::optional<TooLarge> frugal = searcher.most_frugal();
  if (!frugal) return "";
  return does_not_fit(search, *frugal, searcher.budget()) +
         devices_that_would_do(search.hardware.devices, 0, searcher.budget(), searcher.left_out(),
                               [&](std::int64_t n) { return serving_bytes_on(search, n); });
}

}  // namespace reckon

#include "time/search.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "files/numbers.h"
#include "time/layouts.h"
#include "time/rates.h"
#include "time/reasons.h"

namespace reckon {
namespace {

// A way to train with a split, before it is looked at.
struct Way {
  Workload workload;
  std::size_t split = 0;         // those that are alike have the same number
  double least_seconds = 0;      // it cannot take less
  std::int64_t least_bytes = 0;  // it cannot need less
  // What these are from: the same with nothing computed again, its own program without a pipeline, or stages of it.
  enum class From : std::uint8_t { less, whole, stages } from = From::whole;
};

class Searcher {
 public:
  explicit Searcher(const Search& search)
      : search_(search),
        budget_(static_cast<std::int64_t>(static_cast<double>(search.hardware.profile.memory_bytes) *
                                          search.memory_share)) {}

  Plans run() {
    for (const bool across : {false, true}) {
      const std::int64_t most = across ? search_.hardware.devices : search_.node;
      if (across && search_.node >= search_.hardware.devices) break;
      plans_.across_nodes = across;
      enumerate(most);
      look();
      if (!plans_.best.empty()) break;
    }
    finish();
    return std::move(plans_);
  }

  // The least that any layout needs, whatever its speed: of the ways that keep the least of each split.
  std::optional<TooLarge> most_frugal() {
    std::vector<Way> frugal;
    for (const Workload& split : splits_of(search_, search_.hardware.devices, plans_.left_out)) {
      const auto order = [](const Workload& w) {
        return std::tuple(-w.layout.zero, w.batch, -static_cast<int>(w.recompute), w.layout.virtual_stages,
                          !w.layout.sequence);
      };
      const std::vector<Workload> ways = ways_of(search_, split);
      const auto least = std::min_element(ways.begin(), ways.end(),
                                          [&](const Workload& a, const Workload& b) { return order(a) < order(b); });
      if (least != ways.end()) frugal.push_back(bounded(*least, 0));
    }
    std::sort(frugal.begin(), frugal.end(), [](const Way& a, const Way& b) { return a.least_bytes < b.least_bytes; });
    std::optional<TooLarge> found;
    constexpr std::size_t enough = 24;
    for (std::size_t i = 0; i < std::min(frugal.size(), enough); ++i) {
      if (found && frugal[i].least_bytes > budget_) break;
      const RankMemory memory = memory_of(frugal[i].workload, Places::all);
      if (!found || memory.total() < found->memory.total()) found = TooLarge{frugal[i].workload, memory, ""};
      if (found->memory.total() <= budget_) break;
    }
    return found;
  }

  // Of all devices together at the least: each parameter and what is kept of it are on one of them.
  std::int64_t state_in_all() {
    Workload alone = search_.workload;
    alone.layout = {};
    alone.batch = 1;
    const RankMemory memory = costs_of(alone, Places::none).memory;
    return memory.weights + memory.gradients + memory.optimizer;
  }

  std::int64_t budget() const { return budget_; }
  const std::string& left_out() const { return plans_.left_out; }

 private:
  // Of programs without a pipeline: tensor, sequence, context, expert, what is computed again, sequences.
  using WholeKey = std::tuple<std::int64_t, bool, std::int64_t, std::int64_t, Recompute, std::int64_t>;
  static WholeKey key_of(const Workload& workload) {
    const Layout& layout = workload.layout;
    return {layout.tensor, layout.sequence, layout.context, layout.expert, workload.recompute, workload.batch};
  }

  // What a split's program costs without a pipeline: the stages of one cannot take less on average.
  const StageCosts& whole(const Workload& workload) {
    const Layout& layout = workload.layout;
    const WholeKey key = key_of(workload);
    const auto found = wholes_.find(key);
    if (found != wholes_.end()) return found->second;
    Workload alone = workload;
    alone.layout.pipeline = alone.layout.virtual_stages = alone.layout.micro_batches = 1;
    alone.layout.zero = 0;
    alone.layout.data = layout.data * layout.pipeline;
    return wholes_.emplace(key, costs_of(alone, Places::none)).first->second;
  }

  // What a stage of a pipeline costs with one piece of the stack on each rank: the middle one's time, and the memory of
  // the first, which has the most micro-batches under way.
  struct Plain {
    StageCosts middle;
    RankMemory first;
    std::int64_t zero = 0;  // that these are of
  };
  const Plain& plain(const Workload& workload) {
    const Layout& layout = workload.layout;
    const auto key = std::tuple(layout.tensor, layout.sequence, layout.context, layout.expert, workload.batch,
                                workload.recompute, layout.pipeline);
    const auto found = plains_.find(key);
    if (found != plains_.end()) return found->second;
    Workload one = workload;
    one.layout.virtual_stages = 1;
    one.layout.zero = std::min<std::int64_t>(1, most_zero(workload));
    one.layout.stage = layout.pipeline / 2;
    Plain costs;
    costs.zero = one.layout.zero;
    costs.middle = costs_of(one, Places::none);
    one.layout.stage = 0;
    costs.first = layout.pipeline == 1 ? costs.middle.memory : costs_of(one, Places::none).memory;
    return plains_.emplace(key, std::move(costs)).first->second;
  }

  // The seconds and bytes that a way needs at the least, from those of the same stages in one piece: interleaved pieces
  // send and keep more, and ranks of `data` exchange the same gradients and weights as often as their ZeRO asks for.
  void refine(Way& way) {
    const Layout& layout = way.workload.layout;
    const Plain& costs = plain(way.workload);
    const StageCosts& stage = costs.middle;
    const double m = static_cast<double>(layout.micro_batches), pieces = static_cast<double>(layout.virtual_stages);
    const auto busy = [&](Stage pass) {
      return stage.busy(pass) + (pieces - 1) * of(stage.of(pass).link, Group::pipeline);
    };
    const double forward = busy(Stage::forward), backward = busy(Stage::backward);
    const double sum = of(stage.of(Stage::backward).once_link, Group::data);
    const double gather = of(stage.of(Stage::optimizer).once_link, Group::data);
    const double forward_computing = stage.of(Stage::forward).device;
    const double backward_computing = stage.of(Stage::backward).device, layers = static_cast<double>(stage.layers);
    const double rounds = m + static_cast<double>(layout.pipeline - 1) / pieces;
    const auto of_each = [&](double link, double computing) {
      return (rounds - m) * std::max(0.0, link - computing) + waited(m * link, m * computing, m * layers);
    };
    double data = 0;
    switch (layout.zero) {
      case 0:
        data = waited(costs.zero == 0 ? sum : 2 * sum, backward_computing, layers);
        break;
      case 1:
        data = waited(sum, backward_computing, layers) + waited(gather, forward_computing, layers);
        break;
      case 2:
        data = of_each(sum, backward_computing) + waited(gather, forward_computing, layers);
        break;
      default:
        data = of_each(gather, forward_computing) + of_each(gather + sum, backward_computing);
    }
    constexpr double surely = 0.995;  // launches and the ends of a pipeline make small differences
    way.least_seconds = std::max(way.least_seconds, surely * (rounds * (forward + backward) + data));
    way.least_bytes = std::max(way.least_bytes, state_of(costs.first, layout, costs.zero) + costs.first.activations);
    way.from = Way::From::stages;
  }

  // Weights, gradients and the optimizer's state, from those of another ZeRO.
  static std::int64_t state_of(const RankMemory& memory, const Layout& layout, std::int64_t zero) {
    const std::int64_t shared = layout.data * layout.context;
    const auto part = [&](std::int64_t bytes, std::int64_t from) {
      return layout.zero >= from && zero < from ? bytes / shared : bytes;
    };
    const std::int64_t optimizer =
        layout.zero == 0 && zero > 0 ? memory.optimizer : part(memory.optimizer, 1);  // at the least
    return part(memory.weights, 3) + part(memory.gradients, 2) + optimizer;
  }

  StageCosts costs_of(const Workload& workload, Places places) {
    ++plans_.compiled;
    StageCosts costs = stage_costs(search_.model, workload, search_.target, search_.hardware, places);
    add_new(plans_.assumptions, costs.assumptions);
    return costs;
  }

  RankMemory memory_of(const Workload& workload, Places places) {
    RankMemory most;
    for (const StageKind& kind : different_stages(search_.model, workload.layout)) {
      Workload of_stage = workload;
      of_stage.layout.stage = kind.stage;
      const RankMemory memory = costs_of(of_stage, places).memory;
      if (memory.total() > most.total()) most = memory;
    }
    return most;
  }

  void enumerate(std::int64_t most_tensor) {
    ways_.clear();
    plans_.layouts = 0;
    std::vector<Layout> found;
    for (const Workload& split : splits_of(search_, most_tensor, plans_.left_out)) {
      const auto same = [&](const Layout& layout) { return alike(layout, split.layout); };
      const auto number = static_cast<std::size_t>(std::find_if(found.begin(), found.end(), same) - found.begin());
      if (number == found.size()) found.push_back(split.layout);
      for (const Workload& workload : ways_of(search_, split)) {
        ++plans_.layouts;
        // What computes something again takes no less than what does not: its own program may never be asked for.
        Workload less = workload;
        less.recompute = Recompute::none;
        if (less.recompute != workload.recompute && wholes_.count(key_of(less)) > 0) {
          ways_.push_back(bounded(less, number));
          ways_.back().workload = workload;
          ways_.back().from = Way::From::less;
        } else if (!surely_too_large(workload)) {
          ways_.push_back(bounded(workload, number));
        }
      }
    }
    splits_ = found.size();
    fastest_.assign(splits_, std::nullopt);
    failed_.assign(splits_, {});
  }

  // Where fewer sequences in a micro-batch have more than twice the activations that there is room for: no program is
  // made for more of them. The stages of a pipeline have as many micro-batches under way as there are stages, of an
  // equal part of the layers: together as much as one micro-batch of all layers, unless there are fewer micro-batches.
  bool surely_too_large(const Workload& workload) const {
    const Layout& layout = workload.layout;
    const auto at = wholes_.upper_bound(key_of(workload));
    if (at == wholes_.begin()) return false;
    const auto& [key, costs] = *std::prev(at);
    Workload smaller = workload;
    smaller.batch = std::get<5>(key);
    if (smaller.batch == workload.batch || key != key_of(smaller)) return false;
    const auto stages = static_cast<double>(layout.pipeline);
    const double under_way = std::min(static_cast<double>(layout.micro_batches), stages) / stages;
    return under_way * static_cast<double>(costs.memory.activations) > 2 * static_cast<double>(budget_);
  }

  Way bounded(const Workload& workload, std::size_t split) {
    const Layout& layout = workload.layout;
    const StageCosts& costs = whole(workload);
    const double stages = static_cast<double>(layout.pipeline);
    const double rounds =
        static_cast<double>(layout.micro_batches) + (stages - 1) / static_cast<double>(layout.virtual_stages);
    return {workload, split, rounds * (costs.busy(Stage::forward) + costs.busy(Stage::backward)) / stages,
            state_of(costs.memory, layout, 0) / layout.pipeline};
  }

  // Where one of the same split failed that needs no more: fewer sequences, more shared out, more computed again.
  bool fails_too(const Way& way) const {
    const Workload& w = way.workload;
    const auto needs_no_more = [&](const Workload& other) {
      return other.layout.context == w.layout.context && other.layout.virtual_stages == w.layout.virtual_stages &&
             other.layout.sequence >= w.layout.sequence && other.batch <= w.batch &&
             other.layout.zero >= w.layout.zero && other.recompute >= w.recompute;
    };
    return std::any_of(failed_[way.split].begin(), failed_[way.split].end(), needs_no_more);
  }

  // Seconds beyond which a layout is not among those that are wanted.
  double limit() const {
    std::vector<double> seconds;
    for (const std::optional<Step>& step : fastest_)
      if (step) seconds.push_back(step->seconds.total());
    if (seconds.size() < search_.wanted) return std::numeric_limits<double>::infinity();
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(search_.wanted) - 1, seconds.end());
    return seconds[search_.wanted - 1];
  }

  // From the lowest bound on. A bound is first refined, which is much quicker than making all programs of a way.
  void look() {
    const auto later = [&](std::size_t a, std::size_t b) { return ways_[a].least_seconds > ways_[b].least_seconds; };
    std::vector<std::size_t> heap(ways_.size());
    for (std::size_t i = 0; i < heap.size(); ++i) heap[i] = i;
    std::make_heap(heap.begin(), heap.end(), later);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), later);
      Way& way = ways_[heap.back()];
      const std::size_t number = heap.back();
      heap.pop_back();
      std::optional<Step>& fastest = fastest_[way.split];
      if (way.least_seconds >= limit()) break;
      if (fastest && way.least_seconds >= fastest->seconds.total()) continue;
      if (way.least_bytes > budget_ || fails_too(way)) continue;
      if (way.from != Way::From::stages) {
        if (way.from == Way::From::whole) {
          refine(way);
        } else if (surely_too_large(way.workload)) {
          continue;
        } else {
          way = bounded(way.workload, way.split);
        }
        heap.push_back(number);
        std::push_heap(heap.begin(), heap.end(), later);
        continue;
      }
      const std::optional<Step> step = timed(way, fastest);
      if (!step) {
        failed_[way.split].push_back(way.workload);
      } else if (!fastest || step->seconds.total() < fastest->seconds.total()) {
        fastest = step;
      }
    }
    for (std::optional<Step>& step : fastest_)
      if (step) plans_.best.emplace_back().step = *step;
    std::stable_sort(plans_.best.begin(), plans_.best.end(), [](const Planned& a, const Planned& b) {
      return a.step.seconds.total() < b.step.seconds.total();
    });
    if (plans_.best.size() > search_.wanted) plans_.best.resize(search_.wanted);
  }

  // Nothing: it does not fit. Arenas are laid out, which may take longer than all the rest, where it is faster than
  // `fastest` alone; otherwise the step has its peaks for its arenas.
  std::optional<Step> timed(const Way& way, const std::optional<Step>& fastest) {
    ++plans_.timed;
    const std::vector<StageKind> stages = different_stages(search_.model, way.workload.layout);
    std::optional<Step> step;
    for (const Places places : {Places::none, Places::all}) {
      std::vector<StageCosts> costs;
      for (const StageKind& kind : stages) {
        Workload workload = way.workload;
        workload.layout.stage = kind.stage;
        costs.push_back(costs_of(workload, places));
        if (costs.back().memory.total() > budget_) return std::nullopt;
      }
      step = put_together(way.workload, stages, costs);
      if (fastest && step->seconds.total() >= fastest->seconds.total()) break;
    }
    return step;
  }

  void finish() {
    const double tokens = static_cast<double>(search_.sequences * search_.workload.tokens);
    Rates rates(search_.hardware);
    for (Planned& plan : plans_.best) {
      const double seconds = plan.step.seconds.total();
      plan.tokens_per_second = tokens / seconds;
      const double peak = static_cast<double>(search_.hardware.profile.peak.at(rates.type_of(plan.step.products)));
      plan.mfu = headline_flops(search_.model, plan.step.workload) / seconds /
                 (peak * static_cast<double>(search_.hardware.devices));
      plan.bubble_share = plan.step.seconds.bubble / seconds;
      plan.left = search_.hardware.profile.memory_bytes - plan.step.memory.total();
      if (&plan != &plans_.best.front()) plan.why_not = why_slower(plan.step, plans_.best.front().step);
    }
    add_too_large();
  }

  // Splits that could have been faster than the last of the best, had they fitted.
  void add_too_large() {
    constexpr std::size_t most = 3;
    std::vector<const Way*> least(splits_, nullptr);
    std::vector<double> soonest(splits_, std::numeric_limits<double>::infinity());
    for (const Way& way : ways_) {
      if (fastest_[way.split]) continue;
      soonest[way.split] = std::min(soonest[way.split], way.least_seconds);
      const Way*& frugal = least[way.split];
      if (frugal == nullptr || way.least_bytes < frugal->least_bytes ||
          (way.least_bytes == frugal->least_bytes &&
           std::tuple(way.workload.batch, -static_cast<int>(way.workload.recompute)) <
               std::tuple(frugal->workload.batch, -static_cast<int>(frugal->workload.recompute))))
        frugal = &way;
    }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < splits_; ++i)
      if (least[i] != nullptr && soonest[i] < limit()) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return soonest[a] < soonest[b]; });
    for (std::size_t i : order) {
      if (plans_.too_large.size() == most) break;
      // The peaks of its arenas are what it needs at the least, and to lay these out would take longer than the rest.
      const RankMemory memory = memory_of(least[i]->workload, Places::none);
      if (memory.total() <= budget_) continue;  // it fits, in a way that is slower than the last of the best
      plans_.too_large.push_back({least[i]->workload, memory, why_too_large(memory, budget_)});
    }
  }

  const Search& search_;
  std::int64_t budget_;
  Plans plans_;
  std::vector<Way> ways_;
  std::size_t splits_ = 0;
  std::vector<std::optional<Step>> fastest_;   // of each split
  std::vector<std::vector<Workload>> failed_;  // of each split, that do not fit
  std::map<WholeKey, StageCosts> wholes_;
  std::map<std::tuple<std::int64_t, bool, std::int64_t, std::int64_t, std::int64_t, Recompute, std::int64_t>, Plain>
      plains_;
};

// That the most frugal layout takes of a device.
std::optional<std::int64_t> bytes_on(Search search, std::int64_t devices) {
  search.hardware.devices = devices;
  const std::optional<TooLarge> frugal = Searcher(search).most_frugal();
  return frugal ? std::optional(frugal->memory.total()) : std::nullopt;
}

}  // namespace

Plans search_layouts(const Search& search) { return Searcher(search).run(); }

std::string what_would_fit(const Search& search) {
  Searcher searcher(search);
  const std::optional<TooLarge> frugal = searcher.most_frugal();
  const std::int64_t devices = search.hardware.devices;
  if (!frugal) return "";
  const std::string needs = does_not_fit(search, *frugal, searcher.budget());
  if (search.given.recompute && *search.given.recompute != Recompute::block) {
    Search with_blocks = search;
    with_blocks.given.recompute = Recompute::block;
    const std::optional<std::int64_t> bytes = bytes_on(with_blocks, devices);
    if (bytes && *bytes <= searcher.budget()) return needs + "; it would fit if whole blocks were computed again";
  }
  const std::int64_t in_all = searcher.state_in_all();
  return needs + devices_that_would_do(devices, in_all, searcher.budget(), searcher.left_out(),
                                       [&](std::int64_t n) { return bytes_on(search, n); });
}

void add_new(std::vector<std::string>& sentences, const std::vector<std::string>& more) {
  for (const std::string& sentence : more)
    if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) sentences.push_back(sentence);
}

std::string does_not_fit(const Search& search, const TooLarge& frugal, std::int64_t budget) {
  return fmt::format(
      "{} does not fit on {} × {}: the layout that needs the least, {}, takes {} of the {} that may be filled on a "
      "device",
      search.model.name, grouped(search.hardware.devices), search.hardware.profile.name, layout_words(frugal.workload),
      binary_bytes(frugal.memory.total()), binary_bytes(budget));
}

std::string devices_that_would_do(std::int64_t devices, std::int64_t in_all, std::int64_t budget,
                                  const std::string& left_out,
                                  const std::function<std::optional<std::int64_t>(std::int64_t)>& bytes_on) {
  constexpr std::int64_t most = 65'536;
  std::int64_t number = 1;
  while (number <= devices || (in_all / number > budget && number < most)) number *= 2;
  std::optional<std::int64_t> least;
  std::string error;
  for (; number <= most; number *= 2) {
    try {
      const std::optional<std::int64_t> bytes = bytes_on(number);
      if (!bytes) continue;
      if (*bytes <= budget) return fmt::format("; {} would do", grouped(number));
      least = std::min(least.value_or(*bytes), *bytes);
    } catch (const Error& no_link) {
      if (error.empty()) error = no_link.what();
    }
  }
  std::string why;
  if (least) why = fmt::format(": the layout that needs the least takes {} of a device", binary_bytes(*least));
  if (!error.empty()) why += (least ? "; " : ": ") + error;
  if (why.empty()) why = ": no layout of so many divides layers, heads and sequences";
  if (!left_out.empty()) why += "; " + left_out;
  return fmt::format("; no power of two of devices up to {} would do{}", grouped(most), why);
}

}  // namespace reckon

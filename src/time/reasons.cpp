#include "time/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "files/duration.h"
#include "files/numbers.h"

namespace reckon {
namespace {

struct Loss {
  double seconds;
  std::string text;
};

std::string more_computing(const Step& step, const Step& fastest) {
  const Workload &here = step.workload, &there = fastest.workload;
  if (here.recompute > there.recompute) return "more computing, as whole blocks are computed again";
  const auto wide = [](const Workload& w) { return w.batch * w.tokens / w.layout.tensor / w.layout.context; };
  if (wide(here) < wide(there)) return "more computing in smaller products";
  return "more computing on its slowest stage";
}

}  // namespace

std::string counted(std::int64_t number, std::string_view thing) {
  return fmt::format("{} {}{}", grouped(number), thing, number == 1 ? "" : "s");
}

std::string link_rate(const Link& link) {
  return fmt::format("{} GB/s", grouped(static_cast<double>(link.bandwidth) / 1e9));
}

std::string recompute_words(Recompute recompute) {
  switch (recompute) {
    case Recompute::none:
      return "nothing";
    case Recompute::selective:
      return "attention";
    case Recompute::block:
      return "blocks";
  }
  return "";
}

std::string layout_words(const Workload& workload) {
  const Layout& layout = workload.layout;
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (layout.tensor > 1) add(fmt::format("tensor {}{}", layout.tensor, layout.sequence ? " + sequence" : ""));
  if (layout.context > 1) add(fmt::format("context {}", layout.context));
  if (layout.pipeline > 1)
    add(fmt::format("pipeline {}{}", layout.pipeline,
                    layout.virtual_stages > 1 ? fmt::format(" × {}", layout.virtual_stages) : ""));
  if (layout.expert > 1) add(fmt::format("expert {}", layout.expert));
  if (layout.data > 1) add(fmt::format("data {}", grouped(layout.data)));
  if (layout.zero > 0) add(fmt::format("ZeRO {}", layout.zero));
  return text.empty() ? "one device" : text;
}

std::string why_slower(const Step& step, const Step& fastest) {
  const StepSeconds &here = step.seconds, &there = fastest.seconds;
  const Layout& layout = step.workload.layout;
  std::vector<Loss> losses{{here.computing() - there.computing(), more_computing(step, fastest)},
                           {here.bubble - there.bubble,
                            fmt::format("more bubble, {} of the step: {} stages fill and drain over {} micro-batch{}",
                                        percent(here.bubble / here.total()), layout.pipeline, layout.micro_batches,
                                        layout.micro_batches == 1 ? "" : "es")},
                           {here.optimizer() - there.optimizer(), "more in the optimizer's step"}};
  const auto add = [&](Group group, const char* text) {
    losses.push_back({here.waiting(group) - there.waiting(group), text});
  };
  add(Group::tensor, "more waiting for tensor ranks");
  add(Group::context, "more waiting for context ranks");
  add(Group::expert, "more waiting for expert ranks");
  add(Group::pipeline, "more waiting for other stages");
  add(Group::data, "more gradients and weights on the way that nothing hides");
  std::sort(losses.begin(), losses.end(), [](const Loss& a, const Loss& b) { return a.seconds > b.seconds; });
  const double difference = here.total() - there.total();
  std::string text =
      fmt::format("{} slower a step: {} {}", duration(difference), duration(losses[0].seconds), losses[0].text);
  if (losses[1].seconds > 0.25 * losses[0].seconds)
    text += fmt::format(", and {} {}", duration(losses[1].seconds), losses[1].text);
  return text;
}

std::string why_too_large(const RankMemory& memory, std::int64_t budget) {
  const std::pair<std::int64_t, const char*> parts[] = {{memory.weights, "weights"},
                                                        {memory.gradients, "gradients"},
                                                        {memory.optimizer, "the optimizer's state"},
                                                        {memory.cache, "the cache"},
                                                        {memory.activations, "activations"}};
  const auto& [bytes, name] = *std::max_element(std::begin(parts), std::end(parts));
  return fmt::format("does not fit in any way: at least {} of {}, {} of them {}", binary_bytes(memory.total()),
                     binary_bytes(budget), binary_bytes(bytes), name);
}

}  // namespace reckon

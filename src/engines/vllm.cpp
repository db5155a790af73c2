// vLLM's arguments for serving.
#include "engines/each.h"
#include "files/numbers.h"

namespace reckon {
namespace {

std::string title() { return engine_title(Engine::vllm); }

// Its word for the type of the weights; empty: it has none.
std::string_view type_word(DType type) {
  switch (type) {
    case DType::float32:
      return "float32";
    case DType::float16:
      return "float16";
    case DType::bfloat16:
      return "bfloat16";
    default:
      return "";
  }
}

// Its word for the type of the cache; empty: it has none.
std::string_view cache_word(const Precision& precision) {
  if (precision.cache == precision.weights) return "auto";
  if (precision.cache == DType::float8_e4m3) return "fp8_e4m3";
  if (precision.cache == DType::float8_e5m2) return "fp8_e5m2";
  return precision.cache == DType::float32 ? "" : type_word(precision.cache);
}

// Experts are shared out among the ranks of all replicas, which then are no longer apart.
bool joined(const Launch& launch) { return launch.workload.layout.expert > 1; }

// Nodes of one replica, or of all where they are joined.
std::int64_t nodes_of(const Launch& launch) {
  const Layout& layout = launch.workload.layout;
  const std::int64_t ranks = layout.tensor * layout.pipeline * (joined(launch) ? layout.data : 1);
  return (ranks + launch.node_devices - 1) / launch.node_devices;
}

}  // namespace

std::string vllm_refusal(const Launch& launch) {
  const Workload& workload = launch.workload;
  const Layout& layout = workload.layout;
  if (layout.context > 1)
    return fmt::format("{} has context ranks that reuse or multiply its tensor ranks, which is another layout",
                       title());
  if (layout.sequence) return fmt::format("no argument of {} asks for sequence parallelism", title());
  if (layout.expert > 1 && layout.expert != layout.tensor * layout.data)
    return fmt::format("{} shares experts out among all tensor · data ranks, {} here; expected expert ranks 1 or {}",
                       title(), grouped(layout.tensor * layout.data), grouped(layout.tensor * layout.data));
  if (type_word(workload.precision.weights).empty())
    return fmt::format(
        "{} takes weights of narrower types than 16 bits from a checkpoint that has them; expected "
        "float32, float16 or bfloat16",
        title());
  if (cache_word(workload.precision).empty())
    return fmt::format("{} has caches of the weights' type, float16, bfloat16, float8_e4m3 or float8_e5m2 here",
                       title());
  return "";
}

std::string vllm_text(const Launch& launch) {
  const Workload& workload = launch.workload;
  const Layout& layout = workload.layout;
  const std::int64_t nodes = nodes_of(launch);
  std::string text = fmt::format("# {}: {}, {}\n", title(), launch.model.name, layout_words(launch));
  if (!joined(launch) && layout.data > 1)
    text += fmt::format("# {} replicas like this one, each on {} of its own, behind a load balancer\n",
                        grouped(layout.data),
                        nodes > 1 ? fmt::format("{} nodes", grouped(nodes))
                                  : fmt::format("{} devices", layout.tensor * layout.pipeline));
  if (nodes > 1) text += fmt::format("# on each of {} nodes, whose number is NODE_RANK\n", grouped(nodes));
  text += fmt::format("MODEL={}  # a folder with its weights, or its name on Hugging Face\n", launch.model.name);
  Command command("vllm serve $MODEL");
  command.flag("dtype", type_word(workload.precision.weights));
  command.flag("tensor-parallel-size", layout.tensor);
  command.flag("pipeline-parallel-size", layout.pipeline);
  if (joined(launch)) {
    if (layout.data > 1) command.flag("data-parallel-size", layout.data);
    command.flag("enable-expert-parallel");
  }
  command.line();
  if (nodes > 1) {
    command.flag("nnodes", nodes);
    command.flag("node-rank", "$NODE_RANK");
    command.flag("master-addr", "$MASTER_ADDR");
    command.word("$([ $NODE_RANK -gt 0 ] && echo");
    command.flag("headless");
    command.word(")");
    command.line();
  }
  command.flag("max-model-len", workload.past + workload.tokens);
  command.flag("max-num-seqs", launch.sequences);
  command.flag("gpu-memory-utilization", launch.memory_share);
  command.flag("kv-cache-dtype", cache_word(workload.precision));
  return text + command.text();
}

}  // namespace reckon

// vLLM's arguments for serving.
#include <algorithm>
#include <optional>

#include "engines/each.h"
#include "files/encoding.h"
#include "files/numbers.h"
#include "time/reasons.h"

namespace reckon {
namespace {

std::string vllm_title() { return engine_title(Launcher::vllm); }

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

// The type of matrices that are quantised by themselves, if there are any.
std::optional<DType> quantised(const Workload& workload) {
  if (!workload.parameter_types) return std::nullopt;
  for (const auto& [key, type] : *workload.parameter_types)
    if (type_word(type).empty()) return type;
  return std::nullopt;
}

// Its methods that read weights of a type, as checkpoints name them; empty: it has none.
std::string_view methods(DType type) {
  switch (type) {
    case DType::float8_e4m3:
      return "fp8 or compressed-tensors";
    case DType::int8:
      return "gptq or compressed-tensors";
    case DType::int4:
      return "awq, gptq or compressed-tensors";
    case DType::nf4:
      return "bitsandbytes";
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

// Data ranks that share experts out are one server; others are replicas that know nothing of each other.
std::int64_t joined_ranks(const Job& job) { return job.workload.layout.expert; }
std::int64_t servers(const Job& job) { return job.workload.layout.data / joined_ranks(job); }

std::int64_t ranks_of_server(const Job& job) {
  return job.workload.layout.tensor * job.workload.layout.pipeline * joined_ranks(job);
}

// Ranks that a server has on each of its nodes: as many on each (arg_utils.py: world_size % nnodes; config/parallel.py:
// whole data ranks on a node, or whole nodes of a data rank), tensor ranks that fit a node together, and so many that
// all servers find devices. 0: there are none.
std::int64_t ranks_of_node(const Job& job) {
  const Layout& layout = job.workload.layout;
  const std::int64_t all = ranks_of_server(job), of_data = layout.tensor * layout.pipeline;
  for (std::int64_t here = std::min(all, job.node_devices); here > 0; --here) {
    const std::int64_t nodes = all / here;
    const bool whole_tensor = here % layout.tensor == 0 || layout.tensor > job.node_devices;
    const bool whole_data = here % of_data == 0 || of_data % here == 0;
    if (all % here != 0 || !whole_tensor || !whole_data || nodes > job.nodes) continue;
    if (nodes * servers(job) <= job.nodes * (job.node_devices / here)) return here;
  }
  return 0;
}

}  // namespace

std::string vllm_refusal(const Job& job) {
  const Workload& workload = job.workload;
  const Layout& layout = workload.layout;
  if (job.materialised) return fmt::format("{} has no attention that writes its scores out", vllm_title());
  if (layout.context > 1)
    return fmt::format("{} has context ranks that reuse or multiply its tensor ranks, which is another layout",
                       vllm_title());
  if (layout.sequence) return fmt::format("no argument of {} asks for sequence parallelism", vllm_title());
  if (layout.expert > 1 && layout.tensor > 1)
    return fmt::format("{} shares whole experts out among tensor and data ranks, not their matrices among tensor ranks",
                       vllm_title());
  if (type_word(workload.precision.weights).empty())
    return fmt::format(
        "{} takes weights of narrower types than 16 bits from a checkpoint that has them; expected "
        "float32, float16 or bfloat16",
        vllm_title());
  if (const std::optional<DType> type = quantised(workload); type && methods(*type).empty())
    return fmt::format("{} has no method for weights of {}; expected float8_e4m3, int8, int4 or nf4", vllm_title(),
                       encoding_of(*type).name);
  if (cache_word(workload.precision).empty())
    return fmt::format("{} has caches of the weights' type, float16, bfloat16, float8_e4m3 or float8_e5m2 here",
                       vllm_title());
  if (ranks_of_node(job) == 0)
    return fmt::format("{} has as many ranks of a server on each of its nodes, and {} of {} each do not fit {} so",
                       vllm_title(), counted(servers(job), "server"), counted(ranks_of_server(job), "rank"),
                       job.nodes > 1
                           ? fmt::format("{} nodes of {}", grouped(job.nodes), counted(job.node_devices, "device"))
                           : counted(job.node_devices, "device"));
  return "";
}

std::string vllm_text(const Job& job) {
  const Workload& workload = job.workload;
  const Layout& layout = workload.layout;
  const std::int64_t of_node = ranks_of_node(job), nodes = ranks_of_server(job) / of_node;
  std::string text = fmt::format("# {}: {}, {}\n", vllm_title(), job.model.name, layout_words(job.workload));
  const bool whole_nodes = nodes > 1 && 2 * of_node > job.node_devices;
  if (servers(job) > 1)
    text += fmt::format("# {} servers like this one, each on {} of its own{}, behind a load balancer\n",
                        grouped(servers(job)),
                        whole_nodes ? fmt::format("{} nodes", grouped(nodes)) : counted(of_node, "device"),
                        nodes > 1 && !whole_nodes ? fmt::format(" of each of {} nodes", grouped(nodes)) : "");
  if (servers(job) > 1 && 2 * of_node <= job.node_devices)
    text += fmt::format("# (on a node {} differ from server to server)\n",
                        nodes > 1 ? "CUDA_VISIBLE_DEVICES and both ports" : "CUDA_VISIBLE_DEVICES and the port");
  if (nodes > 1) text += fmt::format("# on each of {} nodes, whose number is NODE_RANK\n", grouped(nodes));
  // No argument makes weights narrow as they were planned: they are narrow in the checkpoint.
  const std::optional<DType> type = quantised(workload);
  if (type)
    text += fmt::format(
        "# planned for weights of {0}: MODEL must be a checkpoint that is quantised to {0}; vLLM finds\n"
        "# its method ({1}) in the checkpoint's config.json, and the type given below is that of activations\n",
        encoding_of(*type).name, methods(*type));
  text += set_model(job, fmt::format("its config.json and {}weights", type ? "quantised " : ""));
  Command command("vllm serve $MODEL");
  command.flag("dtype", type_word(workload.precision.weights));
  command.flag("tensor-parallel-size", layout.tensor);
  command.flag("pipeline-parallel-size", layout.pipeline);
  if (joined_ranks(job) > 1) {
    command.flag("data-parallel-size", joined_ranks(job));
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
  command.flag("max-num-seqs", job.sequences);
  command.flag("gpu-memory-utilization", job.memory_share);
  command.flag("kv-cache-dtype", cache_word(workload.precision));
  return text + command.text();
}

}  // namespace reckon

#include "engines/each.h"

#include "files/numbers.h"

namespace reckon {

void Command::add(const std::string& text) {
  constexpr std::size_t width = 100;
  if (!fresh_ && lines_.back().size() + 1 + text.size() <= width) {
    lines_.back() += (lines_.back().empty() ? "" : " ") + text;
  } else {
    lines_.push_back("  " + text);
  }
  fresh_ = false;
}

void Command::word(const std::string& text) { add(text); }

void Command::line() { fresh_ = true; }

std::string Command::text() const { return fmt::format("{}\n", fmt::join(lines_, " \\\n")); }

Command torchrun(const Job& job) {
  Command command("torchrun");
  command.flag("nnodes", job.nodes);
  command.flag("nproc_per_node", job.node_devices);
  if (job.nodes > 1) {
    command.flag("node_rank", "$NODE_RANK");
    command.flag("master_addr", "$MASTER_ADDR");
    command.flag("master_port", 29500);
  }
  return command;
}

std::string where_to_run(const Job& job) {
  return job.nodes > 1 ? fmt::format("on each of {} nodes, whose number is NODE_RANK", grouped(job.nodes))
                       : "on the one node";
}

std::string set_model(const Job& job, const std::string& holds) {
  if (job.changes.empty())
    return fmt::format("MODEL={}  # a folder with {}, or its name on Hugging Face\n", job.model.name, holds);
  return fmt::format(
      "# not {0}, but a model that was made of it: its config.json is that of {0} but for\n# {1}\n"
      "MODEL=${{MODEL:?a folder with {2}}}\n",
      job.model.name, job.changes, holds);
}

std::int64_t global_batch(const Job& job) {
  const Workload& workload = job.workload;
  return workload.batch * workload.layout.data * workload.layout.micro_batches;
}

Stages stages_of(const Job& job) {
  const Layout& layout = job.workload.layout;
  const std::int64_t layers = static_cast<std::int64_t>(job.model.layers.size());
  const std::int64_t stages = layout.pipeline * layout.virtual_stages;
  if (layers % stages == 0) return {layers / stages, false};
  if ((layers + 2) % stages == 0 && layers + 2 >= stages) return {(layers + 2) / stages, true};
  return {};
}

}  // namespace reckon

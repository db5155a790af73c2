// torchtitan's configuration, a TOML file. It knows networks by name: a model is one of its flavours, or none.
#include <algorithm>

#include "engines/each.h"
#include "files/numbers.h"
#include "model/load.h"
#include "time/reasons.h"

namespace reckon {
namespace {

std::string torchtitan_title() { return engine_title(Launcher::torchtitan); }

// Its networks (torchtitan/models/*/__init__.py), and the presets that are the same.
struct Flavour {
  std::string_view model, flavour, preset;
  bool pipeline = true, context = true;
};

constexpr Flavour flavours[] = {
    {"llama3", "8B", "llama-3-8b"},
    {"llama3", "8B", "llama-3.1-8b"},
    {"llama3", "70B", "llama-3-70b"},
    {"llama3", "70B", "llama-3.1-70b"},
    {"llama3", "405B", "llama-3.1-405b"},
    {"qwen3", "0.6B", "qwen3-0.6b", false},
    {"qwen3", "1.7B", "qwen3-1.7b", false},
    {"qwen3", "4B", "qwen3-4b", false},
    {"qwen3", "8B", "qwen3-8b", false},
    {"qwen3", "14B", "qwen3-14b", false},
    {"qwen3", "32B", "qwen3-32b", false},
    {"qwen3", "30B-A3B", "qwen3-30b-a3b", false},
    {"qwen3", "235B-A22B", "qwen3-235b-a22b", false},
    {"deepseek_v3", "16B", "deepseek-v2-lite", true, false},
    {"deepseek_v3", "236B", "deepseek-v2", true, false},
    {"deepseek_v3", "671B", "deepseek-v3", true, false},
    {"gpt_oss", "20b", "gpt-oss-20b", false, false},
    {"gpt_oss", "120b", "gpt-oss-120b", false, false},
};

// In their order.
const std::vector<Model>& networks() {
  static const std::vector<Model> all = [] {
    std::vector<Model> models;
    for (const Flavour& one : flavours) models.push_back(find_preset(std::string(one.preset)));
    return models;
  }();
  return all;
}

// How long sequences are is no matter: it takes that from the job.
const Flavour* flavour_of(const Model& model) {
  for (std::size_t i = 0; i < std::size(flavours); ++i) {
    const Model& network = networks()[i];
    if (network.family != model.family || network.d_model != model.d_model) continue;
    Model same = model;
    same.name = network.name;
    same.about = network.about;
    same.notes = network.notes;
    same.context = network.context;
    if (same == network) return &flavours[i];
  }
  return nullptr;
}

// Its Llama 3 always scales RoPE as Llama 3.1 does.
bool scales_otherwise(const Model& model, const Flavour& flavour) {
  const Attention* const attention = find<Attention>(model);
  return flavour.model == "llama3" && (!attention->rope || attention->rope->scaling != Rope::Scaling::llama3);
}

class Toml {
 public:
  void section(std::string_view name) { text_ += fmt::format("\n[{}]\n", name); }
  void key(std::string_view name, const std::string& value, const char* comment = "") {
    write(name, fmt::format("\"{}\"", value), comment);
  }
  void key(std::string_view name, const char* value, const char* comment = "") {
    key(name, std::string(value), comment);
  }
  void key(std::string_view name, bool value) { write(name, value ? "true" : "false", ""); }
  void key(std::string_view name, std::int64_t value, const char* comment = "") {
    write(name, std::to_string(value), comment);
  }
  void key(std::string_view name, double value, const char* comment = "") {
    write(name, fmt::format("{}", value), comment);
  }
  const std::string& text() const { return text_; }

 private:
  void write(std::string_view name, const std::string& value, std::string_view comment) {
    text_ += fmt::format("{} = {}{}{}\n", name, value, comment.empty() ? "" : "  # ", comment);
  }
  std::string text_;
};

void add_parallelism(Toml& toml, const Job& job) {
  const Layout& layout = job.workload.layout;
  toml.section("parallelism");
  toml.key("data_parallel_replicate_degree", layout.zero == 0 ? layout.data : 1);
  toml.key("data_parallel_shard_degree", layout.zero == 0 ? 1 : layout.data);
  if (layout.zero > 0)
    toml.key("fsdp_reshard_after_forward", layout.zero == 3 ? "always" : "never",
             layout.zero == 3 ? "ZeRO 3" : "ZeRO 2: weights stay whole between the passes");
  toml.key("tensor_parallel_degree", layout.tensor,
           layout.tensor > 1 ? "sequence parallelism always comes with it" : "");
  toml.key("pipeline_parallel_degree", layout.pipeline);
  if (layout.pipeline > 1) {
    const Stages stages = stages_of(job);
    toml.key("pipeline_parallel_schedule", layout.virtual_stages > 1 ? "Interleaved1F1B" : "1F1B");
    toml.key("pipeline_parallel_layers_per_stage", stages.layers);
    toml.key("pipeline_parallel_first_stage_less_layers", std::int64_t{stages.uneven});
    toml.key("pipeline_parallel_last_stage_less_layers", std::int64_t{stages.uneven});
    toml.key("pipeline_parallel_microbatch_size", job.workload.batch);
  }
  toml.key("context_parallel_degree", layout.context);
  if (layout.context > 1) toml.key("context_parallel_rotate_method", "allgather");
  toml.key("expert_parallel_degree", layout.expert);
  if (layout.expert > 1) toml.key("expert_tensor_parallel_degree", layout.tensor);
}

}  // namespace

std::string torchtitan_refusal(const Job& job) {
  const Workload& workload = job.workload;
  const Layout& layout = workload.layout;
  const Flavour* const flavour = flavour_of(job.model);
  if (flavour == nullptr)
    return fmt::format(
        "{} knows networks by name, and {} as it is planned is none of its Llama 3, Qwen3, DeepSeek and gpt-oss ones",
        torchtitan_title(), job.model.name);
  if (workload.optimizer != Optimizer::adamw) return fmt::format("{} has AdamW alone", torchtitan_title());
  if (workload.precision.weights != DType::bfloat16 && workload.precision.weights != DType::float32)
    return fmt::format("{} trains weights in bfloat16 or float32", torchtitan_title());
  if (workload.precision.weights == DType::bfloat16 && workload.precision.gradients != DType::float32)
    return fmt::format("{} sums gradients over ranks in float32 only; expected gradients float32", torchtitan_title());
  if (job.materialised)
    return fmt::format("no key of {} asks for attention that writes its scores out", torchtitan_title());
  if (workload.dropout != 0 || workload.attention_dropout != 0)
    return fmt::format("{} has no dropout", torchtitan_title());
  if (layout.pipeline > 1 && !flavour->pipeline)
    return fmt::format("{} has no pipeline for its model {}", torchtitan_title(), flavour->model);
  if (layout.context > 1 && !flavour->context)
    return fmt::format("{} has no context parallelism for its model {}", torchtitan_title(), flavour->model);
  if (layout.tensor > 1 && !layout.sequence)
    return fmt::format("{} has tensor parallelism with sequence parallelism only", torchtitan_title());
  if (layout.zero == 1)
    return fmt::format("{} has no ZeRO 1; expected 2 or 3, or 0 with data ranks alone", torchtitan_title());
  if (layout.zero == 0 && layout.data > 1 && layout.tensor * layout.pipeline * layout.context > 1)
    return fmt::format("{} has ZeRO 0 with data ranks alone; expected 2 or 3", torchtitan_title());
  if (layout.zero == 0 && layout.context > 1)
    return fmt::format("{} has context ranks with ZeRO 2 and 3 only", torchtitan_title());
  if (layout.pipeline > 1 && stages_of(job).layers == 0)
    return fmt::format("{} divides {} layers, or two more for the embedding and the head, among {} stages",
                       torchtitan_title(), job.model.layers.size(), layout.pipeline * layout.virtual_stages);
  if (layout.virtual_stages > 1 &&
      layout.micro_batches % std::max<std::int64_t>(1, layout.micro_batches / layout.pipeline) != 0)
    return fmt::format("{} interleaves {} micro-batches in rounds of {}, which they do not divide into",
                       torchtitan_title(), layout.micro_batches, layout.pipeline);
  if (workload.tokens % (2 * layout.tensor * layout.context) != 0)
    return fmt::format("{} cuts a sequence into 2 · {} · {} pieces, which {} tokens do not divide into",
                       torchtitan_title(), layout.tensor, layout.context, grouped(workload.tokens));
  if (workload.recompute == Recompute::selective)
    return fmt::format("{} computes whole blocks again, or nothing: it has no selective recomputation of attention",
                       torchtitan_title());
  return "";
}

std::string torchtitan_text(const Job& job) {
  const Workload& workload = job.workload;
  const Layout& layout = workload.layout;
  const Flavour& flavour = *flavour_of(job.model);
  std::string head = fmt::format("# {}: {}, {}\n# {}; learning rate, steps and data are yours to choose:\n",
                                 torchtitan_title(), job.model.name, layout_words(job.workload), where_to_run(job));
  Command command("torchrun");
  command.flag("nnodes", job.nodes);
  command.flag("nproc_per_node", job.node_devices);
  command.flag("rdzv_id", 101);
  command.flag("rdzv_backend", "c10d");
  command.flag("rdzv_endpoint", job.nodes > 1 ? "$MASTER_ADDR:29500" : "localhost:29500");
  command.word("-m torchtitan.train");
  command.flag("job.config_file", "THIS_FILE.toml");
  std::string lines = command.text();
  for (std::size_t at = 0; at != std::string::npos && at < lines.size(); at = lines.find('\n', at)) {
    if (at != 0) ++at;
    if (at < lines.size()) lines.insert(at, "#   ");
  }
  head += lines;
  if (scales_otherwise(job.model, flavour))
    head += fmt::format("# Note: its {} {} scales RoPE as Llama 3.1 does, which {} does not.\n", flavour.model,
                        flavour.flavour, job.model.name);
  Toml toml;
  toml.section("model");
  toml.key("name", std::string(flavour.model));
  toml.key("flavor", std::string(flavour.flavour));
  toml.key("hf_assets_path", fmt::format("./assets/hf/{}", job.model.name), "its tokenizer");
  toml.section("optimizer");
  toml.key("name", "AdamW");
  toml.key("lr", 3e-4);
  toml.key("beta1", 0.9);
  toml.key("beta2", 0.95);
  toml.key("eps", 1e-8);
  toml.key("weight_decay", 0.1);
  toml.section("lr_scheduler");
  toml.key("warmup_steps", std::int64_t{100});
  toml.section("training");
  // With a pipeline the batch of a rank is that of all micro-batches; without, the rest is accumulated.
  toml.key("local_batch_size", layout.pipeline > 1 ? workload.batch * layout.micro_batches : workload.batch,
           layout.pipeline > 1 ? "all micro-batches of a rank" : "");
  toml.key("global_batch_size", global_batch(job));
  toml.key("seq_len", workload.tokens);
  toml.key("steps", std::int64_t{1000});
  toml.key("max_norm", 1.0);
  toml.key("dtype", "float32", "the weights that are shared out and updated");
  toml.key("mixed_precision_param", workload.precision.weights == DType::float32 ? "float32" : "bfloat16");
  toml.key("mixed_precision_reduce", "float32");
  toml.key("dataset", "c4");
  add_parallelism(toml, job);
  toml.section("activation_checkpoint");
  toml.key("mode", workload.recompute == Recompute::block ? "full" : "none");
  toml.section("compile");
  toml.key("enable", true);
  return head + toml.text();
}

}  // namespace reckon

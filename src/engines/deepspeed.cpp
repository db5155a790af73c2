// DeepSpeed's configuration and job, with the training script of Hugging Face that most people run under it. The
// script takes the network from a config.json.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "engines/each.h"
#include "files/encoding.h"
#include "files/numbers.h"
#include "time/reasons.h"

namespace reckon {
namespace {

std::string deepspeed_title() { return engine_title(Launcher::deepspeed); }

// How its tensor parallelism splits a family's matrices; empty: by the plan that transformers has for the model.
std::string_view tensor_preset(const std::string& family) {
  if (family == "llama" || family == "mistral") return "llama";
  if (family == "bloom" || family == "mixtral" || family == "deepseek_v2" || family == "qwen2" || family == "phi3")
    return family;
  return "";
}

// How its expert parallelism finds a family's experts.
std::string_view expert_preset(const std::string& family) {
  if (family == "mixtral" || family == "qwen3_moe" || family == "deepseek_v2" || family == "deepseek_v3") return family;
  return "";
}

// Gradients that are summed in float32 while weights are narrower.
bool sums_wide(const Precision& precision) {
  return precision.gradients == DType::float32 && precision.weights != DType::float32;
}

// It sums them so with ZeRO only (_do_optimizer_sanity_check of runtime/engine.py), and ZeRO 1 of one rank shares
// nothing out.
std::int64_t stage_of(const Job& job) {
  const bool one_rank = job.workload.layout.data == 1;
  return sums_wide(job.workload.precision) && one_rank ? std::max<std::int64_t>(1, job.workload.layout.zero)
                                                       : job.workload.layout.zero;
}

nlohmann::ordered_json configuration(const Job& job) {
  const Workload& workload = job.workload;
  const Layout& layout = workload.layout;
  nlohmann::ordered_json json;
  json["train_micro_batch_size_per_gpu"] = workload.batch;
  json["gradient_accumulation_steps"] = layout.micro_batches;
  json["gradient_clipping"] = 1.0;
  if (workload.precision.weights == DType::bfloat16) {
    json["bf16"] = {{"enabled", true}};
    json["data_types"] = {{"grad_accum_dtype", sums_wide(workload.precision) ? "fp32" : "bf16"}};
  } else if (workload.precision.weights == DType::float16) {
    json["fp16"] = {{"enabled", true}};
    json["data_types"] = {{"grad_accum_dtype", sums_wide(workload.precision) ? "fp32" : "fp16"}};
  }
  if (layout.tensor > 1) {
    json["tensor_parallel"] = {{"autotp_size", layout.tensor}};
    const std::string_view preset = tensor_preset(job.model.family);
    if (!preset.empty()) json["tensor_parallel"]["preset_model"] = preset;
  }
  if (layout.expert > 1)
    json["expert_parallel"] = {
        {"enabled", true}, {"autoep_size", layout.expert}, {"preset_model", expert_preset(job.model.family)}};
  json["zero_optimization"] = {{"stage", stage_of(job)}};
  if (layout.zero > 0) json["zero_optimization"]["overlap_comm"] = true;
  if (layout.zero > 1) json["zero_optimization"]["contiguous_gradients"] = true;
  if (layout.zero == 3) json["zero_optimization"]["stage3_gather_16bit_weights_on_model_save"] = true;
  if (workload.optimizer == Optimizer::adamw)
    json["optimizer"] = {{"type", "AdamW"},
                         {"params", {{"lr", 3e-4}, {"betas", {0.9, 0.95}}, {"eps", 1e-8}, {"weight_decay", 0.1}}}};
  return json;
}

// What the optimizer is called by the script, where the configuration has none.
std::string_view script_optimizer(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return "sgd";
    case Optimizer::adafactor:
      return "adafactor";
    case Optimizer::adam8bit:
      return "adamw_bnb_8bit";
    default:
      return "";
  }
}

}  // namespace

std::string deepspeed_refusal(const Job& job) {
  const Workload& workload = job.workload;
  const Layout& layout = workload.layout;
  if (workload.precision.weights != DType::bfloat16 && workload.precision.weights != DType::float16 &&
      workload.precision.weights != DType::float32)
    return fmt::format("{} trains weights in float32, bfloat16 or float16", deepspeed_title());
  if (workload.precision.gradients != workload.precision.weights && workload.precision.gradients != DType::float32)
    return fmt::format("{} sums gradients in the weights' type or in float32; expected gradients {} or float32",
                       deepspeed_title(), encoding_of(workload.precision.weights).name);
  if (workload.optimizer == Optimizer::muon)
    return fmt::format("{} has Muon for parameters that the training script marks, which no argument asks for",
                       deepspeed_title());
  if (layout.pipeline > 1)
    return fmt::format("{} has no pipeline for stock models; expected ZeRO, tensor and expert ranks",
                       deepspeed_title());
  if (layout.sequence)
    return fmt::format("{} has tensor parallelism without sequence parallelism only", deepspeed_title());
  if (layout.context > 1)
    return fmt::format("{} shares a sequence out by heads (Ulysses) in the training script, which no argument asks for",
                       deepspeed_title());
  if (sums_wide(workload.precision) && stage_of(job) == 0)
    return fmt::format(
        "{} sums gradients of narrower weights in float32 with ZeRO 1, 2 and 3 only; expected one of "
        "these, or gradients {}",
        deepspeed_title(), encoding_of(workload.precision.weights).name);
  if (layout.expert > 1 && expert_preset(job.model.family).empty())
    return fmt::format("{} does not know the experts of family {}", deepspeed_title(), job.model.family);
  if (layout.expert > 1 && layout.tensor > 1)
    return fmt::format("{} does not share out the matrices of experts among tensor ranks", deepspeed_title());
  if (workload.recompute == Recompute::selective)
    return fmt::format("{} computes whole blocks again, or nothing: it has no selective recomputation of attention",
                       deepspeed_title());
  return "";
}

std::string deepspeed_text(const Job& job) {
  const Workload& workload = job.workload;
  std::string text = fmt::format("# {}: {}, {}\n", deepspeed_title(), job.model.name, layout_words(job.workload));
  text += fmt::format(
      "# with run_clm.py of Transformers v5.15.1 (examples/pytorch/language-modeling); {}\n"
      "# learning rate, steps, tokenizer and data are yours to choose; block_size is cut to its model_max_length\n"
      "# planned with dropout {}, and {} of attention's weights: as fields of MODEL's config.json say, no argument "
      "does\n",
      job.nodes > 1 ? "hostfile has a line 'host slots=N' for each node" : "on the one node", workload.dropout,
      workload.attention_dropout);
  if (job.materialised)
    text +=
        "# planned with scores that are written out: so MODEL's config.json has \"attn_implementation\": \"eager\"\n";
  text += set_model(job, "its config.json") + "TOKENIZER=$MODEL\nSTEPS=1000\n";
  if (stage_of(job) != workload.layout.zero)
    text +=
        "# ZeRO 1 shares nothing out here, with one data rank, but without it gradients are not summed in float32\n";
  text += fmt::format("cat > ds_config.json <<'END'\n{}\nEND\n", configuration(job).dump(2));
  Command command("deepspeed");
  if (job.nodes > 1) {
    command.flag("hostfile", "hostfile");
    command.flag("num_nodes", job.nodes);
    command.flag("master_addr", "$MASTER_ADDR");
  }
  command.flag("num_gpus", job.node_devices);
  command.flag("master_port", 29500);
  command.line();
  command.word("run_clm.py");
  command.flag("deepspeed", "ds_config.json");
  command.flag("config_name", "$MODEL");
  command.flag("tokenizer_name", "$TOKENIZER");
  command.flag("block_size", workload.tokens);
  command.line();
  command.flag("dataset_name", "allenai/c4");
  command.flag("dataset_config_name", "en");
  command.flag("streaming");
  command.flag("do_train");
  command.flag("output_dir", "out");
  command.flag("max_steps", "$STEPS");
  command.line();
  command.flag("per_device_train_batch_size", workload.batch);
  command.flag("gradient_accumulation_steps", workload.layout.micro_batches);
  if (workload.precision.weights == DType::bfloat16) command.flag("bf16");
  if (workload.precision.weights == DType::float16) command.flag("fp16");
  if (workload.recompute == Recompute::block) command.flag("gradient_checkpointing");
  command.line();
  if (const std::string_view optimizer = script_optimizer(workload.optimizer); !optimizer.empty())
    command.flag("optim", optimizer);
  command.flag("learning_rate", 3e-4);
  if (workload.optimizer == Optimizer::adamw) {
    command.flag("adam_beta1", 0.9);
    command.flag("adam_beta2", 0.95);
    command.flag("adam_epsilon", 1e-8);
    command.flag("weight_decay", 0.1);
  }
  command.flag("max_grad_norm", 1.0);
  return text + command.text();
}

}  // namespace reckon

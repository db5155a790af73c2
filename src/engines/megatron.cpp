// Megatron-LM's arguments: of the layout and of training. Those of the network are in megatron_model.cpp.
#include "engines/each.h"
#include "engines/megatron_model.h"
#include "files/encoding.h"
#include "files/numbers.h"
#include "time/layouts.h"
#include "time/reasons.h"

namespace reckon {
namespace {

std::string megatron_title() { return engine_title(Launcher::megatron); }

// ZeRO 2 and 3 are Megatron-FSDP's there.
bool fully_sharded(const Layout& layout) { return layout.zero >= 2 && layout.data * layout.context > 1; }

void add_layout(Command& command, const Job& job) {
  const Layout& layout = job.workload.layout;
  command.line();
  command.flag("tensor-model-parallel-size", layout.tensor);
  if (layout.sequence) command.flag("sequence-parallel");
  command.flag("pipeline-model-parallel-size", layout.pipeline);
  const Stages stages = stages_of(job);
  if (layout.virtual_stages > 1) command.flag("num-layers-per-virtual-pipeline-stage", stages.layers);
  if (stages.uneven) {
    command.flag("account-for-embedding-in-pipeline-split");
    command.flag("account-for-loss-in-pipeline-split");
  }
  command.flag("context-parallel-size", layout.context);
  if (layout.expert > 1) {
    command.flag("expert-model-parallel-size", layout.expert);
    command.flag("expert-tensor-parallel-size", layout.tensor);
  }
  command.line();
  if (fully_sharded(layout)) {
    command.flag("use-megatron-fsdp");
    command.flag("data-parallel-sharding-strategy", layout.zero == 2 ? "optim_grads" : "optim_grads_params");
    command.flag("ckpt-format", "fsdp_dtensor");
  } else {
    if (layout.zero > 0) command.flag("use-distributed-optimizer");
    command.flag("overlap-grad-reduce");
    if (layout.zero > 0) command.flag("overlap-param-gather");
    command.flag("ckpt-format", "torch_dist");
  }
}

void add_training(Command& command, const Job& job) {
  const Workload& workload = job.workload;
  command.line();
  command.flag("micro-batch-size", workload.batch);
  command.flag("global-batch-size", global_batch(job));
  command.flag("seq-length", workload.tokens);
  command.flag("max-position-embeddings", std::max(workload.tokens, job.model.context));
  if (workload.recompute == Recompute::selective) {
    command.flag("recompute-granularity", "selective");
    command.flag("recompute-modules", "core_attn");
  } else if (workload.recompute == Recompute::block) {
    command.flag("recompute-granularity", "full");
    command.flag("recompute-method", "uniform");
    command.flag("recompute-num-layers", 1);
  }
  if (workload.precision.weights == DType::bfloat16) {
    command.flag("bf16");
    if (workload.precision.gradients == DType::bfloat16) command.flag("grad-reduce-in-bf16");
  } else if (workload.precision.weights == DType::float16) {
    command.flag("fp16");
    // With bfloat16 it does so by itself.
    if (workload.precision.gradients == DType::float32 && !fully_sharded(workload.layout))
      command.flag("accumulate-allreduce-grads-in-fp32");
  }
  // Its FSDP has a type of its own for the sums, by default that of the weights.
  if (fully_sharded(workload.layout) && workload.precision.gradients == DType::float32)
    command.flag("megatron-fsdp-main-grads-dtype", "fp32");
  command.line();
  switch (workload.optimizer) {
    case Optimizer::sgd:
      command.flag("optimizer", "sgd");
      break;
    case Optimizer::muon:
      command.flag("optimizer", "muon");
      break;
    default:
      command.flag("optimizer", "adam");
      command.flag("adam-beta1", 0.9);
      command.flag("adam-beta2", 0.95);
  }
  command.flag("weight-decay", 0.1);
  command.flag("clip-grad", 1.0);
  command.flag("lr", "$LR");
  command.flag("train-iters", "$STEPS");
  command.line();
  command.flag("mock-data");
  command.flag("eval-iters", 0);
}

}  // namespace

std::string megatron_refusal(const Job& job) {
  const Workload& workload = job.workload;
  const Layout& layout = workload.layout;
  if (std::string why = megatron_model_refusal(job); !why.empty()) return why;
  if (workload.optimizer == Optimizer::adafactor || workload.optimizer == Optimizer::adam8bit)
    return fmt::format("{} has no such optimizer; expected adamw, sgd or muon", megatron_title());
  if (workload.precision.weights != DType::bfloat16 && workload.precision.weights != DType::float16 &&
      workload.precision.weights != DType::float32)
    return fmt::format("{} trains weights in float32, bfloat16 or float16", megatron_title());
  if (workload.precision.gradients != workload.precision.weights && workload.precision.gradients != DType::float32)
    return fmt::format("{} sums gradients in the weights' type or in float32; expected gradients {} or float32",
                       megatron_title(), encoding_of(workload.precision.weights).name);
  if (fully_sharded(layout) && layout.pipeline > 1)
    return fmt::format("{} shares out gradients and weights (ZeRO {}) without a pipeline only; expected ZeRO 0 or 1",
                       megatron_title(), layout.zero);
  if (fully_sharded(layout) && workload.optimizer == Optimizer::muon)
    return fmt::format("{} has Muon with ZeRO 0 and 1 only", megatron_title());
  if (layout.zero == 3 && layout.expert > 1 && layout.tensor > 1)
    return fmt::format("{} with ZeRO 3 and experts of {} ranks is not known to take tensor ranks", megatron_title(),
                       layout.expert);
  if (stages_of(job).layers == 0)
    return fmt::format("{} divides {} layers, or two more for the embedding and the loss, evenly among {} stages",
                       megatron_title(), job.model.layers.size(), layout.pipeline * layout.virtual_stages);
  if (stages_of(job).layers == 1 && stages_of(job).uneven && layout.virtual_stages == 1)
    return fmt::format("{} would have a first and a last stage without a layer", megatron_title());
  // forward_backward_pipelining_with_interleaving of core/pipeline_parallel/schedules.py; groups of micro-batches are
  // as many as stages where --microbatch-group-size-per-virtual-pipeline-stage says nothing.
  if (!in_whole_rounds(layout))
    return fmt::format("{} interleaves stages with a multiple of as many micro-batches as stages; there are {} and {}",
                       megatron_title(), layout.micro_batches, layout.pipeline);
  if (layout.context > 1 && workload.tokens % (2 * layout.context) != 0)
    return fmt::format(
        "{} cuts a sequence into 2 · {} pieces for its context ranks, which {} tokens do not divide into",
        megatron_title(), layout.context, grouped(workload.tokens));
  // UnfusedDotProductAttention of Transformer Engine (attention/dot_product_attention/utils.py)
  if (layout.context > 1 && job.materialised)
    return fmt::format("{} has no context ranks with attention that writes its scores out", megatron_title());
  if (layout.expert > 1 && layout.tensor > 1 && !layout.sequence)
    return fmt::format("{} wants sequence parallelism where there are tensor and expert ranks", megatron_title());
  return "";
}

std::string megatron_text(const Job& job) {
  const Layout& layout = job.workload.layout;
  std::string text = fmt::format("# {}: {}, {}\n# {}; learning rate, steps and data are yours to choose\n",
                                 megatron_title(), job.model.name, layout_words(job.workload), where_to_run(job));
  text += "LR=3e-4\nSTEPS=1000\n";
  // It asks for this on Hopper and older devices, and against it with its FSDP.
  if ((layout.tensor > 1 || layout.context > 1) && !fully_sharded(layout))
    text += "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  Command command = torchrun(job);
  command.word("pretrain_gpt.py");
  add_megatron_model(command, job);
  add_layout(command, job);
  add_training(command, job);
  return text + command.text();
}

}  // namespace reckon

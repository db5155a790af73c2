#include "engines/megatron_model.h"

#include <algorithm>
#include <cmath>

#include "files/numbers.h"

namespace reckon {
namespace {

// Of a layer that layer_refusal() has nothing against.
const Attention& attention_of(const Layer& layer) { return std::get<Attention>(layer.sublayers.front().kind); }
const FeedForward& form_of(const Layer& layer) {
  const auto& kind = layer.sublayers.back().kind;
  const auto* dense = std::get_if<FeedForward>(&kind);
  return dense != nullptr ? *dense : std::get<Mixture>(kind).expert;
}
const Norm& norm_of(const Model& model) { return *model.layers.front().sublayers.front().norms.before; }

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

// Layers as it has them: attention, then a feed-forward or a mixture, each behind a norm.
std::string layer_refusal(const Layer& layer) {
  if (layer.shares != 0) return "layers that share weights";
  if (find<CrossAttention>(layer) != nullptr) return "cross-attention";
  if (layer.sublayers.size() != 2 || !std::holds_alternative<Attention>(layer.sublayers.front().kind))
    return "layers of other sublayers than attention and a feed-forward";
  for (const Sublayer& sublayer : layer.sublayers) {
    if (sublayer.reads != Sublayer::Reads::stream) return "sublayers beside each other";
    if (!sublayer.norms.before || sublayer.norms.after || sublayer.norms.residual)
      return "norms elsewhere than before each sublayer";
    if (sublayer.residual_scale != 1.0) return "a factor on what a sublayer adds";
    const Norm& norm = *sublayer.norms.before;
    if (!norm.weight || norm.weight_plus_one || norm.bias != (norm.kind == Norm::Kind::layer))
      return "norms other than RMSNorm with a weight and LayerNorm with weight and bias";
  }
  const Attention& attention = attention_of(layer);
  if (attention.alibi) return "ALiBi";
  if (attention.softcap != 0) return "capped attention scores";
  if (attention.sinks) return "attention sinks";
  if (attention.gate) return "gates of attention's output";
  if (attention.clip != 0) return "clipped queries, keys and values";
  if (attention.value_scale != 1.0) return "a factor on the values";
  if (attention.position_scale) return "queries scaled by their position";
  if (attention.chunked) return "attention in chunks";
  if (attention.norm_after_rope) return "a norm of queries and keys behind RoPE";
  if (!attention.latent && attention.d_value != attention.d_head) return "values of another width than keys";
  if (attention.query_key_norm && attention.norm_span != Attention::NormSpan::shared_head)
    return "a norm over queries and keys of all heads";
  if (attention.query_key_norm && attention.query_key_norm->weight_plus_one) return "norms with 1 + w";
  if (attention.query_key_norm && !attention.query_key_norm->weight) return "norms without weights";
  if (attention.key_bias != attention.query_bias || attention.value_bias != attention.query_bias)
    return "biases of some of queries, keys and values";
  if (const auto* feed_forward = find<FeedForward>(layer)) {
    const bool swiglu = feed_forward->gated && feed_forward->activation == Activation::silu;
    const bool plain = !feed_forward->gated && (feed_forward->activation == Activation::gelu ||
                                                feed_forward->activation == Activation::relu_squared);
    // Its fused GELU is the one by tanh, and needs biases.
    const bool fused = !feed_forward->gated && feed_forward->activation == Activation::gelu_tanh && feed_forward->bias;
    if (!(swiglu || plain || fused)) return "feed-forwards other than GELU, squared ReLU and SwiGLU";
    if (feed_forward->bias != attention.output_bias) return "biases in one of attention and feed-forward";
    if (feed_forward->clamp != 0) return "clamped feed-forwards";
  }
  if (attention.output_bias && !attention.query_bias) return "biases of attention's output alone";
  if (const auto* mixture = find<Mixture>(layer)) {
    if (!mixture->expert.gated || mixture->expert.activation != Activation::silu || mixture->expert.bias ||
        mixture->expert.clamp != 0)
      return "experts other than SwiGLU without biases";
    if (mixture->router_bias) return "routers with a bias";
    if (mixture->router_softcap != 0) return "capped logits of routers";
    if (mixture->scores == Mixture::Scores::sparsemixer) return "sparsemixers";
    if (mixture->shared_gate) return "gated shared experts";
    if (mixture->weigh_inputs) return "experts that are weighted by their input";
    if (mixture->output_scale != 1.0) return "a factor on what a mixture makes";
    if (mixture->correction_bias && mixture->scores != Mixture::Scores::sigmoid)
      return "a correction of softmax scores";
    if (attention.output_bias) return "biases in a mixture's layers";
  }
  return "";
}

std::string rope_refusal(const Rope& rope, bool latent) {
  if (rope.theta != std::floor(rope.theta)) return "a RoPE base that is no whole number";
  const bool llama3 = rope.scaling == Rope::Scaling::llama3 && rope.low_frequency_factor == 1 &&
                      rope.high_frequency_factor == 4 && rope.original_context == 8192;
  const bool yarn = latent && rope.scaling == Rope::Scaling::yarn && rope.original_context == 4096 &&
                    rope.beta_fast == 32 && rope.beta_slow == 1;
  if (rope.scaling != Rope::Scaling::none && !llama3 && !yarn) return "this scaling of RoPE";
  if (rope.backwards) return "RoPE that turns backwards";
  if (rope.evens_first > 0) return "RoPE whose frequencies stand in another order";
  return "";
}

std::string stack_refusal(const Model& model) {
  if (model.layers.empty()) return "a model without layers";
  if (model.d_embedding != model.d_model) return "an embedding of another width than the layers";
  if (model.embedding_scale != 1.0) return "a factor on the embedding";
  if (model.embedding_norm) return "a norm behind the embedding";
  if (model.positions.kind == Positions::Kind::sinusoidal ||
      model.positions.kind == Positions::Kind::sinusoidal_halves || model.positions.extra_rows != 0)
    return "sinusoidal positions, or a table with extra rows";
  if (!model.final_norm) return "a stack without a last norm";
  if (model.head.bias || model.head.scale != 1.0 || model.head.softcap != 0)
    return "a head with a bias, a factor or a cap";
  const Layer& first = model.layers.front();
  const Mixture* mixture = nullptr;
  for (const Layer& layer : model.layers.written()) {
    if (std::string why = layer_refusal(layer); !why.empty()) return why;
    if (!(attention_of(layer) == attention_of(first))) return "layers whose attention differs";
    if (const auto* own = find<Mixture>(layer)) {
      if (mixture != nullptr && !(*mixture == *own)) return "mixtures that differ";
      mixture = own;
    } else if (mixture != nullptr) {
      return "dense layers behind mixtures";
    }
  }
  const Attention& attention = attention_of(first);
  const double natural = 1.0 / std::sqrt(static_cast<double>(attention.d_head));
  if (!attention.latent && !close(attention.scale, natural))
    return "another scale of attention's scores than 1/√d_head";
  if (attention.rope && attention.rope->dims == 0) return "";
  return attention.rope ? rope_refusal(*attention.rope, attention.latent.has_value()) : "";
}

void add_attention(Command& command, const Attention& attention) {
  command.flag("num-attention-heads", attention.n_heads);
  if (attention.latent) {
    const Latent& latent = *attention.latent;
    command.flag("multi-latent-attention");
    if (latent.query_rank > 0) command.flag("q-lora-rank", latent.query_rank);
    command.flag("kv-lora-rank", latent.kv_rank);
    command.flag("qk-head-dim", latent.d_nope);
    command.flag("qk-pos-emb-head-dim", latent.d_rope);
    command.flag("v-head-dim", attention.d_value);
    command.flag("qk-layernorm");  // the norms of the latents
  } else {
    command.flag("kv-channels", attention.d_head);
    if (attention.n_kv_heads != attention.n_heads) {
      command.flag("group-query-attention");
      command.flag("num-query-groups", attention.n_kv_heads);
    }
    if (attention.query_key_norm) command.flag("qk-layernorm");
  }
  if (attention.window > 0) command.flag("window-size", fmt::format("{},0", attention.window - 1));
}

void add_positions(Command& command, const Model& model, const Attention& attention) {
  if (!attention.rope) {
    command.flag("position-embedding-type",
                 model.positions.kind == Positions::Kind::learned ? "learned_absolute" : "none");
    return;
  }
  const Rope& rope = *attention.rope;
  command.flag("position-embedding-type", "rope");
  command.flag("rotary-base", static_cast<std::int64_t>(rope.theta));
  if (attention.latent) {
    const bool yarn = rope.scaling == Rope::Scaling::yarn;
    command.flag("rope-type", yarn ? "yarn" : "rope");
    if (yarn) {
      command.flag("rotary-scaling-factor", rope.factor);
      command.flag("mscale", rope.mscale);
      command.flag("mscale-all-dim", rope.mscale_all_dim);
    }
    return;
  }
  command.flag("rotary-percent", static_cast<double>(rope.dims) / static_cast<double>(attention.d_head));
  if (rope.interleaved) command.flag("rotary-interleaved");
  if (rope.scaling == Rope::Scaling::llama3) {
    command.flag("use-rope-scaling");
    command.flag("rope-scaling-factor", rope.factor);
  }
}

void add_mixture(Command& command, const Model& model, const Mixture& mixture) {
  command.line();
  command.flag("num-experts", mixture.n_experts);
  command.flag("moe-router-topk", mixture.n_active);
  command.flag("moe-ffn-hidden-size", mixture.expert.d_ff);
  if (mixture.shared) command.flag("moe-shared-expert-intermediate-size", mixture.shared->d_ff);
  std::int64_t dense = 0;
  while (find<Mixture>(std::as_const(model.layers)[static_cast<std::size_t>(dense)]) == nullptr) ++dense;
  if (dense > 0)
    command.flag("moe-layer-freq",
                 fmt::format("'([0]*{}+[1]*{})'", dense, static_cast<std::int64_t>(model.layers.size()) - dense));
  const bool sigmoid = mixture.scores == Mixture::Scores::sigmoid;
  command.flag("moe-router-score-function", sigmoid ? "sigmoid" : "softmax");
  // Without it, the softmax is of the chosen, which is the same as one of all that is divided by its sum.
  if (mixture.scores == Mixture::Scores::softmax && !mixture.normalize) command.flag("moe-router-pre-softmax");
  if (mixture.scale != 1.0) command.flag("moe-router-topk-scaling-factor", mixture.scale);
  if (mixture.n_groups > 1) {
    command.flag("moe-router-num-groups", mixture.n_groups);
    command.flag("moe-router-group-topk", mixture.n_active_groups);
  }
  if (mixture.correction_bias) command.flag("moe-router-enable-expert-bias");
  command.flag("moe-token-dispatcher-type", "alltoall");
  command.flag("moe-grouped-gemm");
}

}  // namespace

std::string megatron_model_refusal(const Job& job) {
  const std::string why = stack_refusal(job.model);
  if (why.empty()) return "";
  return fmt::format("no argument of {} says {}, which {} has", engine_title(Launcher::megatron), why, job.model.name);
}

void add_megatron_model(Command& command, const Job& job) {
  const Model& model = job.model;
  const Attention& attention = attention_of(model.layers.front());
  const FeedForward& form = form_of(model.layers.front());
  command.line();
  command.flag("num-layers", model.layers.size());
  command.flag("hidden-size", model.d_model);
  command.flag("ffn-hidden-size", form.d_ff);
  add_attention(command, attention);
  command.line();
  command.flag("normalization", norm_of(model).kind == Norm::Kind::rms ? "RMSNorm" : "LayerNorm");
  command.flag("norm-epsilon", norm_of(model).epsilon);
  if (form.gated) command.flag("swiglu");
  if (form.activation == Activation::relu_squared) command.flag("squared-relu");
  if (form.activation == Activation::gelu) command.flag("no-bias-gelu-fusion");  // the exact one
  if (!attention.output_bias) command.flag("disable-bias-linear");
  if (attention.query_bias && !attention.output_bias) command.flag("add-qkv-bias");
  if (!model.head.tied) command.flag("untie-embeddings-and-output-weights");
  command.line();
  add_positions(command, model, attention);
  command.flag("attention-dropout", job.workload.attention_dropout);
  command.flag("hidden-dropout", job.workload.dropout);
  if (job.materialised) command.flag("attention-backend", "unfused");  // by itself it streams scores where it can
  command.line();
  // Padded only as far as the tensor ranks ask for: by itself it would pad to a multiple of 128 · tensor.
  const std::int64_t tensor = job.workload.layout.tensor;
  command.flag("tokenizer-type", "NullTokenizer");
  command.flag("vocab-size", model.vocab_size);
  command.flag("padded-vocab-size", (model.vocab_size + tensor - 1) / tensor * tensor);
  if (const auto* mixture = find<Mixture>(model)) add_mixture(command, model, *mixture);
}

}  // namespace reckon

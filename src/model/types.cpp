#include "model/types.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <map>

#include "model/sublayers.h"

namespace reckon {

TypeReference type_reference(std::string_view type) {
  for (const TypeReference& one : type_references())
    if (one.type == type) return one;
  return {type, 0, 0, false};
}

namespace {

constexpr std::string_view by_distance = "its positions by distance have no backward pass";
constexpr std::string_view of_streams = "its hyper-connections and its keys of several tokens have no backward pass";
constexpr std::string_view of_convolutions = "the convolutions of its heads have no backward pass";

}  // namespace

bool is_trainable(std::string_view type) { return why_not_trained(type).empty(); }

std::string_view why_not_trained(std::string_view type) {
  if (type == "inkling_text") return by_distance;
  if (type == "deepseek_v4") return of_streams;
  return type == "zaya" ? of_convolutions : std::string_view();
}

std::string_view why_not_trained(const Model& model) {
  std::string_view why;
  for_each<Attention>(model.layers.written(), [&](const Attention& attention) {
    if (attention.relative) why = by_distance;
    if (attention.shared_key) why = of_streams;
    if (attention.convolved) why = of_convolutions;
  });
  return why;
}

void check_trainable(const Model& model) {
  if (const std::string_view why = why_not_trained(model); !why.empty())
    throw UsageError(fmt::format(
        "{} cannot be trained yet: {}; its forward pass, prefill and decode can be counted and run", model.name, why));
}

std::string_view what_stays_frozen(const Model& model) {
  bool chooses = false;
  for_each<Attention>(model.layers.written(),
                      [&](const Attention& attention) { chooses = chooses || attention.indexer.has_value(); });
  return chooses ? "its indexers stay frozen in training: their choice of keys has no gradient" : std::string_view();
}

std::string_view what_it_adds(std::string_view type) {
  static const std::map<std::string_view, std::string_view> words{
      {"afmoe", "output gates, norms on both sides, RoPE in windowed layers alone, sigmoid router"},
      {"apertus", "xIELU with learned slopes, query-key norm"},
      {"arcee", "a plain feed-forward with squared ReLU"},
      {"aria_text", "softmax of the chosen experts, shared experts"},
      {"axk1", "deepseek_v3 with a norm after its mixtures"},
      {"axk2", "deepseek_v32 with gated norms, and gates and queries of the latent behind and before its norm"},
      {"bamba", "Mamba-2 between layers of attention with half a head rotated"},
      {"biogpt", "learned positions from the third row on, scaled embedding"},
      {"bloom", "ALiBi, a norm after the embedding"},
      {"codegen", "parallel block, interleaved partial RoPE, queries, values and keys in four blocks"},
      {"cohere", "parallel block, LayerNorm without bias, logit scale"},
      {"cohere2", "cohere with windows; RoPE in windowed layers alone"},
      {"cohere2_moe", "cohere2 with experts, whose sum with the shared ones is halved"},
      {"cohere_compass_text", "cohere2 with a RoPE for each type of layer, its frequencies in another order"},
      {"cwm", "windows in three layers of four, Llama 3's RoPE"},
      {"dbrx", "clipped queries, keys and values; experts in one matrix"},
      {"deepseek_v2", "latent attention, shared experts, groups of experts"},
      {"deepseek_v3", "latent attention, sigmoid router with a correction, groups of experts"},
      {"deepseek_v32", "deepseek_v3 with an indexer that chooses the keys; it stays frozen in training"},
      {"deepseek_v4",
       "several residual streams, one head of keys that are values too, keys of several tokens, experts by a table"},
      {"diffllama", "pairs of heads, of which the second is subtracted from the first"},
      {"doge", "masks that values make, learned factors of the stream, experts of one row by product keys"},
      {"dots1", "qwen3's attention with deepseek_v3's mixture"},
      {"ernie4_5", "interleaved RoPE, biases at choice"},
      {"ernie4_5_moe", "ernie4_5 with a corrected softmax router and shared experts"},
      {"exaone4", "norms after each sublayer, query-key norm, RoPE in windowed layers alone"},
      {"exaone4_5_text", "exaone4's network, in exaone4_5"},
      {"exaone_moe", "exaone4's attention with deepseek_v3's mixture"},
      {"falcon", "parallel block, multi-query or grouped heads, RoPE or ALiBi"},
      {"falcon_h1", "attention and Mamba-2 side by side, multipliers of nearly everything"},
      {"falcon_mamba", "mamba with norms on steps, keys and queries"},
      {"flex_olmo", "olmo2 with experts"},
      {"gemma", "norms of 1 + w, GeGLU, scaled embedding"},
      {"gemma2", "norms on both sides, windows in every other layer, soft caps"},
      {"gemma3_text", "query-key norm, two RoPE bases, five windowed layers to one"},
      {"gemma3n_text", "AltUp, LAuReL, inputs of layers from tokens, sparse gates, keys and values of earlier layers"},
      {"gemma4_text",
       "inputs of layers from tokens, keys and values of earlier layers or values that are keys, experts beside a "
       "feed-forward"},
      {"gemma4_unified_text", "gemma4_text without inputs of layers and experts"},
      {"glm", "interleaved partial RoPE, query, key and value biases, gate and up in one"},
      {"glm4", "glm with norms on both sides"},
      {"glm4_moe", "partial RoPE, deepseek_v3's mixture"},
      {"glm4_moe_lite", "deepseek_v3 with other sizes"},
      {"glm4v_moe_text", "glm4_moe's network, in glm4v_moe"},
      {"glm4v_text", "glm4's network, in glm4v"},
      {"glm_moe_dsa", "deepseek_v32 with choices that layers share"},
      {"gpt-sw3", "gpt2's network"},
      {"gpt2", "learned positions, LayerNorm, biases, matrices stored in × out"},
      {"gpt_bigcode", "gpt2 with one key and value head"},
      {"gpt_neo", "windows in every other layer, unscaled scores"},
      {"gpt_neox", "partial RoPE, parallel block with two norms"},
      {"gpt_neox_japanese", "gpt_neox in sequence, without biases but one"},
      {"gpt_oss", "sinks, windows, clamped SwiGLU, biases on router and experts"},
      {"gptj", "parallel block with one norm, interleaved partial RoPE"},
      {"granite", "multipliers of embedding, residual, scores and logits"},
      {"granite_swa", "granite with sinks, windows, and a RoPE base for each layer"},
      {"granitemoe", "granite with experts: softmax of the chosen"},
      {"granitemoe_swa", "granite_swa with experts"},
      {"granitemoehybrid", "granitemoeshared with Mamba-2 in most layers"},
      {"granitemoeshared", "granitemoe with a shared expert"},
      {"helium", "interleaved RoPE"},
      {"hunyuan_v1_dense", "query-key norm after RoPE"},
      {"hunyuan_v1_moe", "hunyuan_v1_dense with experts and a shared one"},
      {"hy_v3", "query-key norm, sigmoid router with a correction, shared experts"},
      {"hyperclovax", "granite with norms on both sides at choice"},
      {"inkling_text",
       "positions by distance, short convolutions of keys, values and results, experts that every token takes"},
      {"jais2", "LayerNorm, biases, squared ReLU"},
      {"jamba", "Mamba in seven layers of eight, experts in every other, no positions"},
      {"jetmoe", "experts that make queries and project what these mix"},
      {"kimi_k2", "deepseek_v3's network"},
      {"kimi_linear", "the delta rule with decays for each channel, latent attention without positions"},
      {"laguna", "softplus gates of heads, head counts by layer, two RoPEs, capped sigmoid router"},
      {"lfm2", "short convolutions between layers of attention"},
      {"lfm2_moe", "lfm2 with experts and a corrected sigmoid router"},
      {"llama", "the common form"},
      {"llama4_text", "attention in chunks, scaled queries in layers without RoPE, experts weighted by their input"},
      {"longcat_flash", "two attentions and feed-forwards a layer, a mixture beside them, identity experts"},
      {"mamba", "selective state spaces alone"},
      {"mamba2", "state spaces with one decay a head, alone"},
      {"mellum", "qwen3_moe with windows and two RoPE bases"},
      {"mimo_v2_flash", "narrower values, more key heads and sinks in windowed layers, scaled values"},
      {"minicpm3", "latent attention, multipliers of embedding, residual and logits"},
      {"minimax", "lightning attention in every other layer, norms that take the stream's place"},
      {"minimax_m2", "query-key norm over all heads, sigmoid router with a correction"},
      {"minimax_m3_vl_text", "blocks of keys that an indexer chooses, clamped SwiGLU, sigmoid router"},
      {"ministral", "windows by layer"},
      {"ministral3", "queries scaled by position, YaRN"},
      {"mistral", "a window in its first version"},
      {"mistral4", "latent attention, queries scaled by position, softmax router in groups"},
      {"mixtral", "experts, chosen weights normalised"},
      {"mpt", "ALiBi, LayerNorm without biases, clipped queries, keys and values"},
      {"nanochat", "norms without weights, RoPE backwards and before the query-key norm, capped logits"},
      {"nemotron", "LayerNorm of 1 + w, squared ReLU, partial RoPE"},
      {"nemotron_h", "one sublayer a layer: Mamba-2, attention, squared ReLU or experts in a latent space"},
      {"olmo", "LayerNorm without weights, clipped queries, keys and values"},
      {"olmo2", "norms after each sublayer, query-key norm over all heads"},
      {"olmo3", "olmo2 with windows in three layers of four"},
      {"olmo_hybrid", "the gated delta rule with norms before it, olmo3's attention with norms after it"},
      {"olmoe", "query-key norm over all heads, experts"},
      {"openai-gpt", "norms after the residual sum, none at the end"},
      {"opt", "positions from the third row on, ReLU"},
      {"persimmon", "LayerNorm on queries and keys, squared ReLU, partial RoPE"},
      {"phi", "parallel block with one norm, partial RoPE, biases, head too"},
      {"phi3", "queries, keys and values in one, LongRoPE"},
      {"phimoe", "sparsemixer, LayerNorm, LongRoPE with magnitudes by length"},
      {"qwen2", "query, key and value biases"},
      {"qwen2_5_vl", "qwen2's network, beside a vision model"},
      {"qwen2_5_vl_text", "qwen2's network, in qwen2_5_vl"},
      {"qwen2_moe", "qwen2 with experts and a gated shared one"},
      {"qwen2_vl", "qwen2's network, beside a vision model"},
      {"qwen2_vl_text", "qwen2's network, in qwen2_vl"},
      {"qwen3", "query-key norm"},
      {"qwen3_5_moe_text", "qwen3_5_text with experts in every layer"},
      {"qwen3_5_text", "the gated delta rule in three layers of four, gated attention"},
      {"qwen3_moe", "qwen3 with experts"},
      {"qwen3_next", "the gated delta rule in three layers of four, gated attention, a gated shared expert"},
      {"qwen3_vl_moe_text", "qwen3_moe's network, in qwen3_vl_moe"},
      {"qwen3_vl_text", "qwen3's network, in qwen3_vl"},
      {"recurrent_gemma", "RG-LRU in two layers of three, attention to a window"},
      {"seed_oss", "biases of queries, keys and values, and of the output at choice"},
      {"smollm3", "layers without RoPE"},
      {"solar_open", "glm4_moe with experts in every layer, whole RoPE"},
      {"stablelm", "LayerNorm, partial RoPE, a norm for each head at choice"},
      {"starcoder2", "LayerNorm, biases, plain GELU"},
      {"step3p5", "gates of heads, head counts by type of layer, two RoPEs, clipped SwiGLU in some layers"},
      {"vaultgemma", "gemma2 without norms after its sublayers"},
      {"xglm", "sinusoids, scaled embedding"},
      {"youtu", "latent attention with plain feed-forwards"},
      {"zamba", "one block of attention that layers share, beside Mamba in heads; it reads the embedding too"},
      {"zamba2", "zamba with Mamba-2, several shared blocks, and adapters of each layer's own"},
      {"zaya",
       "convolutions of queries and keys, values of the token before, routers that are networks, an expert that "
       "makes nothing"},
  };
  const auto found = words.find(type);
  return found == words.end() ? std::string_view() : found->second;
}

}  // namespace reckon

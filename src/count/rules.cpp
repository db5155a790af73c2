// The rules of thumb that people use, each held against the program's own figure.
#include "count/rules.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "compile/compile.h"
#include "count/parts.h"
#include "model/sublayers.h"
#include "model/types.h"
#include "ops/norm.h"
#include "ops/rope.h"

namespace reckon {
namespace {

double real(Count value) { return static_cast<double>(value); }

struct Sizes {
  double layers, d_model, vocabulary, heads, kv_heads, d_head, d_ff;
  double batch, tokens, keys;
};

// What the published formulas know of a network: one kind of layer, described by the first.
Sizes sizes_of(const Model& model, const Workload& workload) {
  const Attention& attention = first_attention(model);
  return {real(static_cast<std::int64_t>(model.layers.size())),
          real(model.d_model),
          real(model.vocab_size),
          real(attention.n_heads),
          real(attention.n_kv_heads),
          real(attention.d_head),
          real(first_feed_forward(model).d_ff),
          real(workload.batch),
          real(workload.tokens),
          real(workload.past + workload.tokens)};
}

double new_tokens(const Workload& workload) { return real(workload.batch) * real(workload.tokens); }

// Element-wise FLOPs of one operation in the forward pass.
double forward_flops(const Ledger& ledger, const Operation& operation) {
  Count sum;
  for (const WorkEntry& entry : ledger.work) {
    if (entry.stage == Stage::forward && entry.operation == &operation)
      sum += entry.each.elementwise * entry.place.count;
  }
  return real(sum);
}

// Two RMSNorms a layer and one at the end, over the whole width: what the rule for norms assumes.
bool plain_rms_norms(const Model& model) {
  const auto rms = [](const std::optional<Norm>& norm) { return norm && norm->kind == Norm::Kind::rms; };
  const std::span<const Layer> layers = model.layers.written();
  return rms(model.final_norm) && !model.embedding_norm &&
         std::all_of(layers.begin(), layers.end(), [&](const Layer& layer) {
           std::int64_t norms = 0;
           for (const Sublayer& sublayer : layer.sublayers) {
             const auto* attention = std::get_if<Attention>(&sublayer.kind);
             if (attention && (attention->query_key_norm || attention->latent)) return false;
             const auto& [before, after, residual] = sublayer.norms;
             if ((before && !rms(before)) || after || residual) return false;
             norms += before ? 1 : 0;
           }
           return norms == 2;
         });
}

// Every layer has one attention, which rotates whole heads: what the rule for RoPE assumes.
bool whole_rope(const Model& model) {
  const std::span<const Layer> layers = model.layers.written();
  return std::all_of(layers.begin(), layers.end(), [](const Layer& layer) {
    std::int64_t whole = 0, attentions = 0;
    for_each<Attention>(layer, [&](const Attention& a) {
      whole += a.rope && a.rope->dims == a.d_head ? 1 : 0;
      ++attentions;
    });
    return whole == 1 && attentions == 1;
  });
}

// Matmul FLOPs of a training step, per token.
struct Passes {
  std::optional<double> forward, backward;

  std::optional<double> both() const { return forward ? std::optional(*forward + *backward) : std::nullopt; }
};

// Nothing where the model cannot be trained yet.
Passes training_passes(const Model& model, const Ledger& ledger) {
  Workload workload = ledger.workload;
  if (workload.phase == Phase::train) {
    const double tokens = new_tokens(workload);
    return {real(ledger.forward.matmul) / tokens, real(ledger.backward.matmul) / tokens};
  }
  if (!why_not_trained(model).empty()) return {};
  workload.phase = Phase::train;
  workload.batch = 1;  // a token's share is the same in any batch
  workload.past = 0;
  workload.logits = Logits::all;
  workload.parameter_types = nullptr;  // a file's blocks cannot be trained; FLOPs are the same in any type
  const Program step = logical_program(model, workload);
  const auto flops = [&](Stage stage) {
    return real(matmul_flops(step, [&](const Op& op) { return op.stage == stage; })) / new_tokens(step.workload);
  };
  return {flops(Stage::forward), flops(Stage::backward)};
}

constexpr const char* kaplan_reference = "Kaplan et al. 2020, arXiv 2001.08361";
constexpr const char* chinchilla_reference = "Hoffmann et al. 2022, arXiv 2203.15556";
constexpr const char* palm_reference = "Chowdhery et al. 2022, arXiv 2204.02311, appendix B";
constexpr const char* megatron_reference = "Narayanan et al. 2021, arXiv 2104.04473, equation 3 without recomputation";
constexpr const char* recomputed_reference = "Narayanan et al. 2021, arXiv 2104.04473, equation 3";
constexpr const char* selective_reference = "Korthikanti et al. 2022, arXiv 2205.05198, equation 8";
constexpr const char* exercise_reference = "the usual hand calculation";

}  // namespace

std::optional<double> Rule::error() const {
  if (!exact || *exact == 0) return std::nullopt;
  return estimate / *exact - 1;
}

Rule crossover_rule(const Model& model, const Workload& workload) {
  Rule rule{"T = 2·d",
            "context at which scores and mixing cost as much as the projections",
            2 * real(model.d_model),
            std::nullopt,
            "tokens",
            exercise_reference};
  if (const auto length = crossover(model, workload)) {
    rule.exact = real(*length);
  } else {
    rule.meaning += " (here at none)";
  }
  return rule;
}

std::vector<Rule> rules_of_thumb(const Model& model, const Ledger& ledger, double train_tokens) {
  const Sizes s = sizes_of(model, ledger.workload);
  const ParameterTotals& p = ledger.parameter_totals;
  const double n = real(p.active);
  const double blocks = 12 * s.layers * s.d_model * s.d_model;
  const double table = s.vocabulary * s.d_model;
  const double tokens = new_tokens(ledger.workload);

  // Of a mixture, a token activates only its experts; what is trained is all of them.
  const std::string of_active = p.active == p.total ? "" : ", N those active",
                    all = p.active == p.total ? "" : ", N all";

  std::vector<Rule> rules;
  rules.push_back({"12·L·d²", "parameters", blocks, real(p.total), "parameters", kaplan_reference});
  rules.push_back({"V·d / (V·d + 12·L·d²)", "share of the embedding", table / (table + blocks),
                   real(p.embedding) / real(p.total), "share", exercise_reference});
  rules.push_back({"2·N", "forward FLOPs per token" + of_active, 2 * n, real(ledger.forward.matmul) / tokens,
                   "FLOPs per token", kaplan_reference});
  if (ledger.workload.phase == Phase::forward || ledger.workload.phase == Phase::train) {
    const Passes passes = training_passes(model, ledger);
    const auto times = [&](double tokens_of_all) {
      const std::optional<double> both = passes.both();
      return both ? std::optional(*both * tokens_of_all) : std::nullopt;
    };
    rules.push_back(
        {"4·N", "backward FLOPs per token" + of_active, 4 * n, passes.backward, "FLOPs per token", kaplan_reference});
    rules.push_back(
        {"6·N", "training FLOPs per token" + of_active, 6 * n, passes.both(), "FLOPs per token", kaplan_reference});
    rules.push_back({"20·N", "tokens for training at the optimum of compute" + all, 20 * real(p.total), std::nullopt,
                     "tokens", chinchilla_reference});
    rules.push_back({"6·N·20·N", "FLOPs of that training", 6 * n * 20 * real(p.total), times(20 * real(p.total)),
                     "FLOPs", chinchilla_reference});
    if (train_tokens > 0) {
      rules.push_back({"6·N·D", "FLOPs of training on D tokens", 6 * n * train_tokens, times(train_tokens), "FLOPs",
                       kaplan_reference});
    }
  }
  if (find<Attention>(model) != nullptr) rules.push_back(crossover_rule(model, ledger.workload));
  if (plain_rms_norms(model) && ledger.workload.logits == Logits::all) {
    rules.push_back({"3·(2·L + 1)·T·d", "element-wise FLOPs of RMSNorm, forward",
                     3 * (2 * s.layers + 1) * s.batch * s.tokens * s.d_model, forward_flops(ledger, rms_norm_operation),
                     "FLOPs", exercise_reference});
  }
  if (whole_rope(model)) {
    const Attention& attention = first_attention(model);
    const double head = static_cast<double>(attention.rope->dims);
    const double rotated = attention.latent ? s.heads + 1 : s.heads + s.kv_heads;
    rules.push_back({"2·dₕ²·(H + K)·L·T", "FLOPs of RoPE, were it a dense rotation of each head",
                     2 * head * head * rotated * s.layers * s.batch * s.tokens, forward_flops(ledger, rope_operation),
                     "FLOPs", exercise_reference});
  }
  return rules;
}

const char* convention_name(Convention convention) {
  switch (convention) {
    case Convention::exact:
      return "exact";
    case Convention::six_nd:
      return "6nd";
    case Convention::kaplan:
      return "kaplan";
    case Convention::palm:
      return "palm";
    case Convention::megatron:
      return "megatron";
    case Convention::chinchilla:
      return "chinchilla";
  }
  return "";
}

Rule megatron_hardware_flops(const Model& model, const Ledger& ledger) {
  const Sizes s = sizes_of(model, ledger.workload);
  const double blocks = 24 * new_tokens(ledger.workload) * s.layers * s.d_model * s.d_model;
  const double scores = s.keys / (6 * s.d_model), head = s.vocabulary / (12 * s.layers * s.d_model);
  Rule rule{"72·B·s·L·h²·(1 + s/6h + V/12Lh)",
            "nothing computed again",
            3 * blocks * (1 + scores + head),
            real(ledger.total().matmul),
            "FLOPs",
            megatron_reference};
  if (ledger.workload.recompute == Recompute::selective) {
    rule.name = "72·B·s·L·h²·(1 + s/3h + V/12Lh)";
    rule.meaning = "attention computed again, as if that had a backward pass too";
    rule.estimate = 3 * blocks * (1 + 2 * scores + head);
    rule.reference = selective_reference;
  } else if (ledger.workload.recompute == Recompute::block) {
    rule.name = "96·B·s·L·h²·(1 + s/6h + V/16Lh)";
    rule.meaning = "all blocks computed again";
    rule.estimate = 4 * blocks * (1 + scores + head * 12 / 16);
    rule.reference = recomputed_reference;
  }
  return rule;
}

Rule convention_flops(Convention convention, const Model& model, const Ledger& ledger) {
  const Sizes s = sizes_of(model, ledger.workload);
  const double exact = real(ledger.total().matmul);
  const double tokens = new_tokens(ledger.workload);
  // Each counts the backward pass as twice the forward.
  const bool train = ledger.workload.phase == Phase::train;
  const double passes = train ? 3 : 1;
  const auto rule = [&](const char* name, const char* meaning, double estimate, const std::string& reference) {
    return Rule{name, meaning, estimate, exact, "FLOPs", reference};
  };
  switch (convention) {
    case Convention::exact:
      break;
    case Convention::six_nd:
      return rule(train ? "6·N·D" : "2·N·D", "N with embeddings, D tokens, attention's T² left out",
                  passes * 2 * real(ledger.parameter_totals.active) * tokens, chinchilla_reference);
    case Convention::kaplan:
      return rule(train ? "6·N·T" : "2·N·T", "N without embeddings, attention's T² left out",
                  passes * 2 * real(ledger.parameter_totals.active_non_embedding) * tokens, kaplan_reference);
    case Convention::palm:
      return rule(
          train ? "(6·N + 12·L·H·Q·T)·T" : "(2·N + 4·L·H·Q·T)·T", "N with embeddings, Q the width of a head",
          passes * (2 * real(ledger.parameter_totals.active) + 4 * s.layers * s.heads * s.d_head * s.keys) * tokens,
          palm_reference);
    case Convention::megatron:
      return rule(train ? "72·B·s·L·h²·(1 + s/6h + V/12Lh)" : "24·B·s·L·h²·(1 + s/6h + V/12Lh)",
                  "plain blocks of d_ff = 4·d and full heads",
                  passes * 24 * tokens * s.layers * s.d_model * s.d_model *
                      (1 + s.keys / (6 * s.d_model) + s.vocabulary / (12 * s.layers * s.d_model)),
                  megatron_reference);
    case Convention::chinchilla: {
      const double width = s.heads * s.d_head;
      const double attention = 2 * 3 * s.d_model * width + 2 * s.keys * width + 3 * s.heads * s.keys +
                               2 * s.keys * width + 2 * width * s.d_model;
      const double block = attention + 2 * (2 * s.d_model * s.d_ff);
      const double forward = 2 * s.vocabulary * s.d_model + s.layers * block + 2 * s.d_model * s.vocabulary;
      return rule(train ? "3·(4·V·d + L·(attention + dense))·T" : "(4·V·d + L·(attention + dense))·T",
                  "embedding as a product, softmax at 3 a score, plain blocks", passes * forward * tokens,
                  std::string(chinchilla_reference) + ", appendix F");
    }
  }
  return rule("exact", "matrix products of the program", exact, "");
}

}  // namespace reckon

#include "count/training_amounts.h"

namespace reckon {

TrainingAmounts training_amounts(const Ledger& step, const TrainingQuestion& question) {
  TrainingAmounts found;
  const double n = found.parameters = static_cast<double>(step.parameter_totals.total);
  found.mixture = step.parameter_totals.active != step.parameter_totals.total;
  const double tokens_of_step = static_cast<double>(step.workload.batch) * static_cast<double>(step.workload.tokens);
  const double each = static_cast<double>(step.forward.matmul + step.backward.matmul) / tokens_of_step;
  const auto add = [&](const std::string& name, const std::string& reference, double tokens,
                       const std::optional<LossFit>& fit) {
    found.amounts.push_back({name, reference, tokens, each * tokens, 6 * n * tokens,
                             fit ? std::optional(fit->loss(n, tokens)) : std::nullopt});
  };
  if (question.tokens) add("as asked", "", *question.tokens, std::nullopt);
  if (!question.optimal) return found;
  for (const ScalingLaw& law : scaling_laws()) {
    if (law.used_for == ScalingLaw::Use::inference && !question.inference_tokens) continue;
    add(law.name, law.reference, law.tokens(n), law.fit);
    if (question.tokens) {
      found.compute = 6 * n * *question.tokens;
      const double parameters = law.parameters(found.compute);
      found.optima.push_back({law.name, parameters, law.tokens(parameters)});
    }
    if (!question.inference_tokens || !law.fit) continue;
    found.inference_tokens = *question.inference_tokens;
    const double plain = law.tokens(n);
    found.served.push_back({law.name, law.reference, tokens_for_inference(*law.fit, n, *question.inference_tokens),
                            trained_and_served(n, plain, *question.inference_tokens),
                            cheapest(*law.fit, law.fit->loss(n, plain), *question.inference_tokens)});
  }
  return found;
}

}  // namespace reckon

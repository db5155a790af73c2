#include "count/utilisation.h"

#include <reckon/reckon.h>

#include <utility>

#include "count/ledger.h"
#include "count/rules.h"

namespace reckon {

std::vector<Utilisation> utilisations(const Model& model, Workload workload, const Target& target, double seconds,
                                      double peak) {
  workload.layout = {};  // all devices together run the whole network
  workload.causal = Causal::full;
  Workload plain = workload;
  plain.recompute = Recompute::none;
  const Ledger headline = count(model, plain);
  const Ledger lowered = read_ledger(compile(model, workload, target).lowered);
  std::vector<Utilisation> all;
  const auto add = [&](std::string name, std::string formula, std::string meaning, std::string reference, bool hardware,
                       double flops) {
    all.push_back({std::move(name), std::move(formula), std::move(meaning), std::move(reference), hardware, flops,
                   flops / (seconds * peak)});
  };
  add("program", "", "matrix products, every score of attention", "", false,
      static_cast<double>(headline.matmul_full - headline.optimizer.matmul));
  add("program, causal", "", "matrix products, the scores that causality and windows let through", "", false,
      static_cast<double>(headline.matmul_exact - headline.optimizer.matmul));
  for (const Convention convention : conventions) {
    if (convention == Convention::exact) continue;
    const Rule rule = convention_flops(convention, model, headline);
    add(convention_name(convention), rule.name, rule.meaning, rule.reference, false, rule.estimate);
  }
  add("program", "", "matrix products of what target " + std::string(target.name) + " runs", "", true,
      static_cast<double>(lowered.total().matmul));
  if (workload.phase == Phase::train) {
    const Rule rule = megatron_hardware_flops(model, lowered);
    add("megatron", rule.name, rule.meaning, rule.reference, true, rule.estimate);
  }
  return all;
}

}  // namespace reckon

// What scales how: the same program at doubled sizes, ledger against ledger.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include <optional>
#include <string>
#include <vector>

namespace reckon {

struct Growth {
  std::string what;  // "layers"
  std::int64_t from = 0, to = 0;
  // Factors; none where the quantity is zero.
  std::optional<double> parameters, matmul, scores, elementwise, cache;
  std::string refused;  // why this size cannot be doubled; the factors are then empty
};

// Layers, width, context, vocabulary and batch, each doubled by itself. `scores` are the products of attention that
// grow with two lengths: scores and mixing. `cache` is that of a full context.
std::vector<Growth> growth(const Model& model, const Workload& workload);

}  // namespace reckon

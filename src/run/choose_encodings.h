// Which encoding each tensor gets, so that a file is no larger than asked for and loses as little as it can.
#pragma once

#include "run/export_model.h"

#include <cstdint>
#include <span>
#include <vector>

namespace reckon {

struct EncodingChoice {
  std::vector<DType> types;  // of every tensor
  std::int64_t bytes = 0;    // of all of them, as they lie in a GGUF file
};

// Every matrix is encoded in each of the candidates (where their blocks divide its rows), and what that loses of what
// it multiplies is measured: squares, weighted by importance, relative to those of the matrix; `sensitivity`
// (measure_sensitivity()) says what that costs the predictions. The sum over all matrices is made as small as
// `most_bytes` of a file's data allow. Throws UsageError where the smallest candidates are more.
EncodingChoice choose_encodings(const ModelExport& model, std::span<const DType> candidates, std::int64_t most_bytes,
                                const Importance& importance, std::span<const double> sensitivity, Pool& pool,
                                const OnElements& progress);

}  // namespace reckon

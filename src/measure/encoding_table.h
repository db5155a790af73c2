// A model in one encoding after another: what each weighs, how fast it decodes on this machine, and what it loses.
#pragma once

#include <reckon/run.h>

#include "files/write_gguf.h"
#include "run/export_model.h"
#include "threads/pool.h"
#include "time/profile.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reckon {

struct EncodingRow {
  std::string encoding;                  // that was asked for
  std::vector<DType> matrices;           // what its matrices are in, that of most elements first
  bool original = false;                 // the model as it is
  std::int64_t bytes = 0, elements = 0;  // of the weights
  std::int64_t needed = 0;               // bytes of memory to run it with the context below
  bool fits = false;
  std::optional<double> predicted;  // tokens/s of decoding one text
  double measured = 0;
  // Against the model as it is, where a text was given.
  struct Loss {
    double perplexity = 0, divergence = 0;  // the mean, in nats per token
    double same_best = 0;                   // share of tokens
  };
  std::optional<Loss> loss;
  double bits() const { return elements > 0 ? 8.0 * static_cast<double>(bytes) / static_cast<double>(elements) : 0; }
};

struct EncodingTable {
  std::vector<EncodingRow> rows;  // the model as it is, then the encodings as they were asked for
  std::int64_t memory = 0;        // bytes that there are for it
  std::int64_t context = 0;       // tokens in the cache, half of which are there when decoding is measured
  std::int64_t scored = 0;        // tokens of the text; 0: none was given
  std::string unpredicted;        // why there is no prediction; empty: there is one
  bool calibrated = false;
};

struct EncodingTableOptions {
  std::vector<DType> encodings;
  std::span<const std::int32_t> ids;  // of a text to score; empty: none
  EngineOptions engine;               // threads, and what cancels
  std::optional<Profile> profile;     // of this machine; none: nothing is predicted, and this is why
  std::string no_profile;
  std::int64_t memory = 0;  // bytes; 0: what this machine has left
  std::int64_t beside = 0;  // of what it has left, what the model as it is will take when it runs beside another
};

// What goes on with which row, and how far it is.
using OnTable = std::function<void(std::string_view what, std::int64_t done, std::int64_t all)>;

// Each encoding is written to a file for the time that it is measured; `pairs` are that file's. `original` is what
// `model` exports. Throws Cancelled.
EncodingTable encoding_table(const std::shared_ptr<const LoadedModel>& original, const ModelExport& model,
                             std::span<const GgufPair> pairs, const Importance& importance,
                             const EncodingTableOptions& options, Pool& pool, const OnTable& progress);

}  // namespace reckon

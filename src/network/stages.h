// Which layers of a model a rank of a pipeline has, and whether a layout suits a model at all.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <cstdint>
#include <vector>

namespace reckon {

// The layers [first, last).
struct LayerRange {
  std::size_t first, last;
  bool operator==(const LayerRange&) const = default;
};

// Those of the stage layout.stage, one range for each of its virtual stages. Every stage has as many layers, or, where
// these do not divide but would with two more, the embedding and the loss each take the place of one (Llama 3 405B:
// 126 = 7 + 14·8 + 7).
std::vector<LayerRange> stage_layers(const Model& model, const Layout& layout);

// The layer that such a rank runs `later` layers after its layer `first`: its ranges follow one another.
std::int64_t layer_after(const std::vector<LayerRange>& ranges, std::int64_t first, std::int64_t later);

inline bool first_stage(const Layout& layout) { return layout.stage == 0; }
inline bool last_stage(const Layout& layout) { return layout.stage == layout.pipeline - 1; }

// Throws a UsageError with one sentence where the model cannot be laid out so: what does not divide by what.
void validate_layout(const Model& model, const Layout& layout);
// …and what a workload's phase and tokens add to it.
void validate_layout(const Model& model, const Workload& workload);
// Throws one where an operation of the model cannot be shared out over ranks, whatever its sizes. That is apart, so
// that a search can say why it leaves such layouts out.
void check_operations(const Model& model, const Layout& layout);

}  // namespace reckon

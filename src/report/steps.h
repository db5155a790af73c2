// A program as a person follows it: steps in the order of the data, each with what it computes, on which shapes, with
// which parameters and FLOPs. Blocks that are alike are one section.
#pragma once

#include <reckon/ledger.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace reckon {

struct Operand {
  std::string letter;            // "q"
  std::string symbols, numbers;  // "T × d", "32 × 64"
  bool operator==(const Operand&) const = default;
};

// What a step is: all that has a role, or a detail of it that is explained by itself.
struct StepKey {
  enum class Detail : std::uint8_t { whole, heads, values, key, sum, squared_norm, adamw };
  Role role;
  Detail detail = Detail::whole;
  std::int32_t nth = 0;  // of its layer's sublayers of this block; 0 is the first
  bool operator==(const StepKey&) const = default;
};
std::string path_of(const StepKey& key);  // "attention/scores", "attention/rope/key", "attention/1/scores"

struct ExplainedStep {
  StepKey key;
  std::string name;  // "scores", "scores (2)" of the second in its layer
  std::string text;  // why it is there
  std::vector<std::string_view> operations;
  std::vector<std::string> formulas;
  std::vector<Operand> operands;
  Formula parameters, matmul, elementwise;  // of one instance
};

// Steps that run equally often: those before the stack, one kind of block, those after it; the same going backward.
struct Section {
  Stage stage = Stage::forward;
  std::vector<std::int32_t> layers;  // the blocks it stands for; empty outside the stack
  std::vector<ExplainedStep> steps;
  bool in_stack() const { return !layers.empty(); }
  std::int64_t count() const { return in_stack() ? static_cast<std::int64_t>(layers.size()) : 1; }
};

// The forward sections in the order of the data, then the backward ones from the last to the first, then the optimizer.
std::vector<Section> steps_of(const Program& program);

Count total(const Section& section, Quantity quantity);  // of all its instances

// Which kind of block each layer is: equal numbers for layers that compute the same on the same shapes, up to this
// stage. Backward, layers differ more: where several share weights or read the embedding, all but one add to its
// gradient.
std::vector<std::int32_t> layer_kinds(const Program& program, Stage last);

// The parts of a network as a diagram shows them.
enum class NetworkPart : std::uint8_t {
  tokens,
  encoder,
  token_embedding,
  embedding_projection,
  positions,
  embedding_norm,
  norm,
  residual,
  attention,
  cross_attention,
  recurrence,
  layer_input,
  streams,
  feed_forward,
  router,
  experts,
  combine,
  shared_expert,
  final_norm,
  head,
  logits,
  loss,
};
NetworkPart part_of(Role role);
std::string_view name_of(NetworkPart part);  // "attention", "experts", "norm", "+"

// The name of a step ("scores"), and why it is there.
struct StepText {
  StepKey key;
  std::string_view name, why;
};
const StepText& step_text(const StepKey& key);  // whichever of its layer it is

}  // namespace reckon

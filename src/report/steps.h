// A program as a person follows it: steps in the order of the data, each with what it computes, on which shapes, with
// which parameters and FLOPs. Blocks that are alike are one section.
#pragma once

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

struct Step {
  std::string_view key;   // "attention/scores": what it is looked up by
  std::string_view name;  // "scores"
  std::string text;       // why it is there
  std::vector<std::string_view> operations;
  std::vector<std::string> formulas;
  std::vector<Operand> operands;
  Formula parameters, matmul, elementwise;  // of one instance
};

// Steps that run equally often: those before the stack, one kind of block, those after it; the same going backward.
struct Section {
  Stage stage = Stage::forward;
  std::vector<std::int32_t> layers;  // the blocks it stands for; empty outside the stack
  std::vector<Step> steps;
  bool in_stack() const { return !layers.empty(); }
  std::int64_t count() const { return in_stack() ? static_cast<std::int64_t>(layers.size()) : 1; }
};

// The forward sections in the order of the data, then the backward ones from the last to the first, then the optimizer.
std::vector<Section> steps_of(const Program& program);

enum class Work { parameters, matmul, elementwise };
Count total(const Section& section, Work work);  // of all its instances

// Which kind of block each layer is: equal numbers for layers that compute the same on the same shapes.
std::vector<std::int32_t> layer_kinds(const Program& program);

// The part of the network that a path belongs to: "attention", "experts", "norm", "+".
std::string_view part_name(std::string_view path);

// The name of a step by its key ("attention/scores" → "scores"), and why it is there.
struct StepText {
  std::string_view key, name, why;
};
const StepText& step_text(std::string_view key);

}  // namespace reckon

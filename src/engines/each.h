// What engine.cpp asks of each engine, and what their texts are written with.
#pragma once

#include <fmt/format.h>

#include <string>
#include <type_traits>
#include <vector>

#include "engines/engine.h"

namespace reckon {

std::string megatron_refusal(const Job& job);
std::string torchtitan_refusal(const Job& job);
std::string deepspeed_refusal(const Job& job);
std::string vllm_refusal(const Job& job);

std::string megatron_text(const Job& job);
std::string torchtitan_text(const Job& job);
std::string deepspeed_text(const Job& job);
std::string vllm_text(const Job& job);

// A command of a shell: words that are continued over lines, each flag with its value.
class Command {
 public:
  explicit Command(const std::string& name) : lines_{name} {}
  void word(const std::string& text);  // as it is
  void flag(const std::string& name) { add("--" + name); }
  template <class Value>
  void flag(const std::string& name, const Value& value) {
    add(fmt::format("--{} {}", name, value));
  }
  void line();  // what follows stands on a line of its own
  std::string text() const;

 private:
  void add(const std::string& text);
  std::vector<std::string> lines_;
  bool fresh_ = false;
};

// torchrun with what every node gives it; NODE_RANK and MASTER_ADDR are the shell's.
Command torchrun(const Job& job);
// "on each of 2,048 nodes", or "on the node".
std::string where_to_run(const Job& job);
// For an engine that takes the network from a folder, which `holds` "its config.json": the line that sets MODEL to it.
// Of a model that was changed, comments say how, and the name of the one that it was made of is not offered.
std::string set_model(const Job& job, const std::string& holds);
// Sequences of a step, over all ranks and micro-batches.
std::int64_t global_batch(const Job& job);

// How the layers are shared out among pipeline · virtual_stages stages: so many in each; `uneven`: one less in the
// first and in the last, which have the embedding and the head. 0 layers: in neither way.
struct Stages {
  std::int64_t layers = 0;
  bool uneven = false;
};
Stages stages_of(const Job& job);

}  // namespace reckon

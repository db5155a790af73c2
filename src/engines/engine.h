// The programs that people train and serve models with on clusters: what each can do of a layout, and the arguments
// that it takes for it. Flags and keys were checked against the public source of the version that is named;
// tests/data/engines lists those that there are.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reckon {

enum class Launcher : std::uint8_t { megatron, torchtitan, deepspeed, vllm };

struct EngineFacts {
  Launcher engine;
  bool serves;               // it serves models; the others train them
  bool reads_config;         // it takes the network from a config.json
  std::string_view name;     // as users say it: "megatron"
  std::string_view title;    // "Megatron-LM"
  std::string_view version;  // whose flags are meant
};
std::span<const EngineFacts> engines();
const EngineFacts& facts_of(Launcher engine);
std::string engine_title(Launcher engine);  // "Megatron-LM core_v0.19.0"

// The engine of a name, in any case. An Error suggests the nearest.
Launcher find_engine(std::string_view name);

// What is to be launched, on nodes · node_devices devices.
struct Job {
  const Model& model;
  Workload workload;  // of a rank, with its layout: `batch` sequences of `tokens` in a micro-batch
  std::int64_t nodes = 1;
  std::int64_t node_devices = 1;
  // Serving: the most tokens and sequences at a time of a replica, and the share of memory that may be filled.
  std::int64_t sequences = 1;
  double memory_share = 1;
  bool materialised = false;  // attention's scores are written out
  // What is planned is not the model that `model.name` names but one that was made of it: the fields that a config.json
  // of it has otherwise ({"n_layer":24}); empty: it is that one.
  std::string changes{};
  std::vector<std::string> notes{};  // sentences for the head of the text
};

// Why an engine cannot do it: a sentence without a full stop, empty where it can. What no other layout would mend comes
// first.
std::string refusal(Launcher engine, const Job& job);
// The text of a file to launch it with: a shell script, or torchtitan's TOML. An Error where there is a refusal().
std::string launch_text(Launcher engine, const Job& job);

}  // namespace reckon

#include "engines/engine.h"

#include <reckon/error.h>

#include <algorithm>
#include <cctype>

#include "engines/each.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "model/nearest.h"

namespace reckon {
namespace {

constexpr EngineFacts facts[] = {
    {Engine::megatron, "megatron", "Megatron-LM", "core_v0.19.0"},
    {Engine::torchtitan, "torchtitan", "torchtitan", "v0.2.2"},
    {Engine::deepspeed, "deepspeed", "DeepSpeed", "v0.19.5"},
    {Engine::vllm, "vllm", "vLLM", "v0.27.1", true},
};

// Whether it trains or serves, and what no engine's arguments can say.
std::string general_refusal(Engine engine, const Launch& launch) {
  const bool training = launch.workload.phase == Phase::train;
  const std::string title = engine_title(engine);
  if (training && facts_of(engine).serves) return title + " serves models and does not train them";
  if (!training && !facts_of(engine).serves) return title + " is known here for training only";
  if (launch.workload.lora.rank > 0) return "no argument of " + title + " asks for low-rank adapters";
  return "";
}

// In the order of the enumeration: why not, and the arguments, whose first line is a comment.
struct Writer {
  std::string (*refusal)(const Launch&);
  std::string (*text)(const Launch&);
};
constexpr Writer writers[] = {{megatron_refusal, megatron_text},
                              {torchtitan_refusal, torchtitan_text},
                              {deepspeed_refusal, deepspeed_text},
                              {vllm_refusal, vllm_text}};
const Writer& writer_of(Engine engine) { return writers[static_cast<std::size_t>(engine)]; }

}  // namespace

std::span<const EngineFacts> engines() { return facts; }

const EngineFacts& facts_of(Engine engine) { return facts[static_cast<std::size_t>(engine)]; }

std::string engine_title(Engine engine) {
  return fmt::format("{} {}", facts_of(engine).title, facts_of(engine).version);
}

Engine find_engine(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  std::vector<std::string> names;
  for (const EngineFacts& one : facts) {
    if (one.name == lower) return one.engine;
    names.emplace_back(one.name);
  }
  const std::string close = nearest(lower, names);
  throw UsageError(fmt::format("there is no engine {}; {}expected one of: {}", quote(name),
                               close.empty() ? "" : fmt::format("did you mean {}? ", close), fmt::join(names, " ")));
}

std::string refusal(Engine engine, const Launch& launch) {
  if (std::string why = general_refusal(engine, launch); !why.empty()) return why;
  return writer_of(engine).refusal(launch);
}

std::string launch_text(Engine engine, const Launch& launch) {
  if (const std::string why = refusal(engine, launch); !why.empty()) throw Error(why);
  std::string text = writer_of(engine).text(launch);
  std::string notes;
  for (const std::string& note : launch.notes) notes += fmt::format("# {}\n", note);
  return text.insert(text.find('\n') + 1, notes);  // behind the line that names engine, model and layout
}

}  // namespace reckon

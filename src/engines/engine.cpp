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
    {Launcher::megatron, false, false, "megatron", "Megatron-LM", "core_v0.19.0"},
    {Launcher::torchtitan, false, false, "torchtitan", "torchtitan", "v0.2.2"},
    {Launcher::deepspeed, false, true, "deepspeed", "DeepSpeed", "v0.19.5"},
    {Launcher::vllm, true, true, "vllm", "vLLM", "v0.27.1"},
};

// Whether it trains or serves, and what no engine's arguments can say.
std::string general_refusal(Launcher engine, const Job& job) {
  const bool training = job.workload.phase == Phase::train;
  const std::string title = engine_title(engine);
  if (training && facts_of(engine).serves) return title + " serves models and does not train them";
  if (!training && !facts_of(engine).serves) return title + " is known here for training only";
  if (job.workload.lora.rank > 0) return "no argument of " + title + " asks for low-rank adapters";
  return "";
}

// In the order of the enumeration: why not, and the arguments, whose first line is a comment.
struct Writer {
  std::string (*refusal)(const Job&);
  std::string (*text)(const Job&);
};
constexpr Writer writers[] = {{megatron_refusal, megatron_text},
                              {torchtitan_refusal, torchtitan_text},
                              {deepspeed_refusal, deepspeed_text},
                              {vllm_refusal, vllm_text}};
const Writer& writer_of(Launcher engine) { return writers[static_cast<std::size_t>(engine)]; }

}  // namespace

std::span<const EngineFacts> engines() { return facts; }

const EngineFacts& facts_of(Launcher engine) { return facts[static_cast<std::size_t>(engine)]; }

std::string engine_title(Launcher engine) {
  return fmt::format("{} {}", facts_of(engine).title, facts_of(engine).version);
}

Launcher find_engine(std::string_view name) {
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

std::string refusal(Launcher engine, const Job& job) {
  if (std::string why = general_refusal(engine, job); !why.empty()) return why;
  return writer_of(engine).refusal(job);
}

std::string launch_text(Launcher engine, const Job& job) {
  if (const std::string why = refusal(engine, job); !why.empty()) throw Error(why);
  std::string text = writer_of(engine).text(job);
  std::string notes;
  for (const std::string& note : job.notes) notes += fmt::format("# {}\n", note);
  return text.insert(text.find('\n') + 1, notes);  // behind the line that names engine, model and layout
}

}  // namespace reckon

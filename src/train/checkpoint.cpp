#include "train/checkpoint.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <unordered_map>

#include "files/atomic_write.h"
#include "files/read_text.h"
#include "files/safetensors.h"
#include "run/save.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t longest_text = 512 << 20;  // bytes of a tokenizer.json
constexpr int format = 1;

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

std::optional<double> optional_of(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional<double>(value.get<double>());
}

Json json_of(const Arithmetic& arithmetic) {
  return {{"instruction_set", arithmetic.instruction_set},
          {"openblas", arithmetic.openblas.empty() ? Json(nullptr) : Json(arithmetic.openblas)}};
}

Arithmetic arithmetic_of(const Json& json) {
  const Json& openblas = json.at("openblas");
  return {json.at("instruction_set").get<std::string>(), openblas.is_null() ? "" : openblas.get<std::string>()};
}

Json state_of(const Identity& identity, const Progress& progress, const Arithmetic& arithmetic) {
  return {{"format", format},
          {"step", progress.step},
          {"epoch", progress.data.epoch},
          {"window", progress.data.window},
          {"seconds", progress.seconds},
          {"loss", progress.loss},
          {"validation", json_of(progress.validation)},
          {"best_validation", json_of(progress.best_validation)},
          {"best_step", progress.best_step},
          {"data", identity.data},
          {"arithmetic", json_of(arithmetic)},
          {"settings", to_json(identity.settings)}};
}

// The moments of all parameters in optimizer.safetensors.
void write_moments(const Trainer& trainer, const fs::path& path) {
  std::vector<TensorToWrite> all;
  std::vector<std::pair<const TrainedTensor*, Trainer::What>> moments;
  for (const TrainedTensor& tensor : trainer.tensors()) {
    for (const auto& [suffix, moment] : {std::pair(".first_moment", &TrainedTensor::first_moment),
                                         std::pair(".second_moment", &TrainedTensor::second_moment)}) {
      all.push_back({tensor.name + suffix, DType::float32, tensor.shape});
      moments.emplace_back(&tensor, moment);
    }
  }
  write_safetensors(path, all, [&](std::size_t i, const TensorSink& sink) {
    std::vector<std::byte> copy;  // where they are not in memory of the host
    sink(std::as_bytes(trainer.values(*moments[i].first, moments[i].second, copy)));
  });
}

}  // namespace

fs::path write_checkpoint(RunFolder& run, const Trainer& trainer, const Identity& identity, const Progress& progress) {
  const auto fill = [&](const fs::path& folder) {
    save_checkpoint(trainer.model(), trainer.masters(), identity.config, folder);
    write_moments(trainer, folder / "optimizer.safetensors");
    if (!identity.tokenizer.empty()) atomic_write(folder / "tokenizer.json", identity.tokenizer);
  };
  return run.save(progress.step, fill, state_of(identity, progress, trainer.backend().arithmetic()));
}

Checkpoint read_checkpoint(const fs::path& folder) {
  const Json state = read_state(folder);
  Checkpoint checkpoint;
  checkpoint.folder = folder;
  try {
    if (state.at("format") != format) {
      throw Error(fmt::format("{}: training.json has the format {}; this program reads {}", folder.string(),
                              state.at("format").dump(), format));
    }
    Progress& progress = checkpoint.progress;
    state.at("step").get_to(progress.step);
    state.at("epoch").get_to(progress.data.epoch);
    state.at("window").get_to(progress.data.window);
    state.at("seconds").get_to(progress.seconds);
    state.at("loss").get_to(progress.loss);
    progress.validation = optional_of(state.at("validation"));
    progress.best_validation = optional_of(state.at("best_validation"));
    state.at("best_step").get_to(progress.best_step);
    state.at("data").get_to(checkpoint.identity.data);
    if (state.contains("arithmetic")) checkpoint.arithmetic = arithmetic_of(state["arithmetic"]);
    checkpoint.identity.settings = settings_of(state.at("settings"));
  } catch (const Json::exception& error) {
    throw Error(fmt::format("{}: training.json is not as expected: {}", folder.string(), error.what()));
  }
  checkpoint.identity.config = read_text(folder / "config.json", longest_text);
  if (fs::exists(folder / "tokenizer.json")) {
    checkpoint.identity.tokenizer = read_text(folder / "tokenizer.json", longest_text);
  }
  return checkpoint;
}

void set_weights(Trainer& trainer, const Weights& weights) {
  for (const TrainedTensor& tensor : trainer.tensors()) {
    Elements elements(weights[tensor.key]);
    std::vector<float> values(static_cast<std::size_t>(tensor.elements));
    std::generate(values.begin(), values.end(), [&] { return elements.next(); });
    trainer.set_values(tensor, &TrainedTensor::weight, values);
  }
}

void restore(Trainer& trainer, const Checkpoint& checkpoint) {
  set_weights(trainer, Weights::load(trainer.model(), checkpoint.folder / "model.safetensors"));
  const fs::path path = checkpoint.folder / "optimizer.safetensors";
  const TensorFile file = read_tensor_file(path);
  const std::vector<MappedFile> mapped = file.map();
  std::unordered_map<std::string, const TensorInfo*> stored;
  for (const TensorInfo& info : file.tensors) stored[info.name] = &info;
  const auto read = [&](const std::string& name, const TrainedTensor& tensor, Trainer::What what) {
    const auto found = stored.find(name);
    if (found == stored.end()) throw Error(fmt::format("{} has no tensor '{}'", path.string(), name));
    const TensorInfo& info = *found->second;
    if (info.dtype != DType::float32 || info.shape != tensor.shape) {
      throw Error(fmt::format("{}: tensor '{}' is not of the model's shape in float32", path.string(), name));
    }
    std::vector<float> values(static_cast<std::size_t>(tensor.elements));
    decode(encoding_of(info.dtype), file.bytes_of(info, mapped), values);
    trainer.set_values(tensor, what, values);
  };
  for (const TrainedTensor& tensor : trainer.tensors()) {
    read(tensor.name + ".first_moment", tensor, &TrainedTensor::first_moment);
    read(tensor.name + ".second_moment", tensor, &TrainedTensor::second_moment);
  }
  trainer.set_steps(checkpoint.progress.step);
}

}  // namespace reckon

#include "cli/model_file.h"

#include "files/encoding.h"
#include "files/tensor_file.h"
#include "model/location.h"
#include "model/stored.h"

namespace reckon::cli {

std::optional<ModelFile> read_model_file(const std::string& name, const Model& model) {
  const ModelLocation location = locate_model(name);
  if (location.weights.empty()) return std::nullopt;
  const TensorFile file = read_tensor_file(location.weights);
  ModelFile found{inspect_file(model, file), nullptr};
  const bool quantised = location.gguf || !found.report.quantized.empty();
  if (quantised && found.report.complete && !packed_otherwise(found.report)) found.types = file_types(model, file);
  return found;
}

bool is_of_file(const Model& changed, const Model& read) {
  Model same = changed;
  same.context = read.context;
  return same == read;
}

void take_types(const ModelFile& file, const Options& options, Workload& workload) {
  if (!options.precision && workload.phase != Phase::train) workload.parameter_types = file.types;
}

}  // namespace reckon::cli

// The files that MODEL's weights are in, for reports that count them.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <memory>
#include <optional>
#include <string>

#include "cli/options.h"
#include "model/file_report.h"

namespace reckon::cli {

struct ModelFile {
  FileReport report;
  std::shared_ptr<const ParameterTypes> types;  // that the weights have in it; null: all are plain, or packed otherwise
};

// Nothing where MODEL is a description without weights. `model` as it was read.
std::optional<ModelFile> read_model_file(const std::string& name, const Model& model);

// Whether the weights of `changed` are still those of the file.
bool is_of_file(const Model& changed, const Model& read);

// Weights are read as they are in the file, unless another type is asked for, or what is trained.
void take_types(const ModelFile& file, const Options& options, Workload& workload);

}  // namespace reckon::cli

// Where the weights of a model come from.
#include <reckon/reckon.h>
#include <reckon/run.h>

#include <utility>

#include "model/location.h"
#include "run/weights.h"

namespace reckon {

std::shared_ptr<const LoadedModel> LoadedModel::open(const std::string& path) {
  Model model = load_model(path);
  Weights weights = Weights::load(model, locate_weights(path));
  return std::make_shared<const LoadedModel>(std::move(model), std::move(weights));
}

std::shared_ptr<const LoadedModel> LoadedModel::random(Model model, std::uint64_t seed, DType dtype) {
  Weights weights = Weights::random(model, seed, dtype);
  return std::make_shared<const LoadedModel>(std::move(model), std::move(weights));
}

LoadedModel::LoadedModel(Model model, Weights weights)
    : model_(std::move(model)), weights_(std::make_unique<const Weights>(std::move(weights))) {}
LoadedModel::~LoadedModel() = default;

}  // namespace reckon

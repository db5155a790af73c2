// The one place that knows which backends there are.
#include <fmt/format.h>
#include <reckon/error.h>

#include "backend/cpu/backend.h"
#include "backend/reference/backend.h"

namespace reckon {

std::span<const DeviceName> device_names() {
  static constexpr DeviceName names[] = {
      {Device::cpu, "cpu"}, {Device::reference, "reference"}, {Device::reference64, "reference64"}};
  return names;
}

void check_present(const DeviceName& name) {
  if (name.missing == nullptr) return;
  if (const std::string why = name.missing(); !why.empty())
    throw Error(fmt::format("the device {} is not there: {}", name.word, why));
}

std::unique_ptr<Backend> make_backend(Device device, int threads, Inspection* inspection) {
  for (const DeviceName& name : device_names()) {
    if (name.device == device) check_present(name);
  }
  switch (device) {
    case Device::cpu:
      return std::make_unique<CpuBackend>(threads, inspection);
    case Device::reference:
      return make_reference(true, inspection);
    case Device::reference64:
      return make_reference(false, inspection);
  }
  throw Error(fmt::format("device {} is none that there is", static_cast<int>(device)));
}

std::string to_string(const Arithmetic& arithmetic) {
  if (arithmetic.openblas.empty()) return arithmetic.instruction_set + " without OpenBLAS";
  return arithmetic.instruction_set + " and " + arithmetic.openblas;
}

}  // namespace reckon

// The one place that knows which backends there are.
#include "backend/cpu/backend.h"
#include "backend/reference/backend.h"

namespace reckon {

std::unique_ptr<Backend> make_backend(Device device, int threads, Inspection* inspection) {
  if (device == Device::cpu) return std::make_unique<CpuBackend>(threads, inspection);
  return std::make_unique<ReferenceBackend>(device == Device::reference, inspection);
}

std::string to_string(const Arithmetic& arithmetic) {
  if (arithmetic.openblas.empty()) return arithmetic.instruction_set + " without OpenBLAS";
  return arithmetic.instruction_set + " and " + arithmetic.openblas;
}

}  // namespace reckon

#include "backend/cpu/backend.h"

#include "backend/cpu/dense.h"
#include "backend/cpu/executable.h"
#include "backend/inspection.h"

#include <cstring>

namespace reckon {

CpuBackend::CpuBackend(int threads, Inspection* inspection)
    : pool_(threads),
      scratch_(threads),
      counters_(threads),
      limit_counters_(threads),
      machine_{pool_, scratch_, counters_},
      inspection_(inspection) {
  if (inspection != nullptr && inspection->sabotage() != nullptr) machine_.left_out = inspection->sabotage()->task;
}

std::shared_ptr<Buffer> CpuBackend::allocate(std::int64_t bytes, Fill fill) {
  return std::make_shared<HostBuffer>(bytes, fill, inspection_ != nullptr);
}

void CpuBackend::write(const Address& to, DType, std::span<const std::byte> elements) {
  std::memcpy(host_memory(to, std::ssize(elements)), elements.data(), elements.size());
}

std::span<const std::byte> CpuBackend::read(const Address& from, DType dtype, std::int64_t count,
                                            std::vector<std::byte>&) const {
  const std::int64_t bytes = row_bytes(dtype, count);
  return {host_memory(from, bytes), static_cast<std::size_t>(bytes)};
}

void CpuBackend::copy(const Address& from, const Address& to, std::int64_t bytes) {
  std::memcpy(host_memory(to, bytes), host_memory(from, bytes), static_cast<std::size_t>(bytes));
}

std::map<TensorKey, Address> CpuBackend::load(const Parameters& parameters) {
  std::map<TensorKey, Address> places;
  for (const auto& [key, data] : parameters) places[key].stored = &data;
  return places;
}

std::unique_ptr<Executable> CpuBackend::bind(const Compiled& compiled, const Resident& resident,
                                             std::shared_ptr<Buffer> arena) {
  return std::make_unique<CpuExecutable>(compiled, resident, std::move(arena), inspection_, machine_, profile_);
}

std::int64_t CpuBackend::scratch_bytes() const {
  return static_cast<std::int64_t>(reckon::scratch_bytes(pool_.threads()));
}

}  // namespace reckon

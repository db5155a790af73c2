#include "backend/cpu/backend.h"

#include "backend/cpu/dense.h"
#include "backend/cpu/executable.h"
#include "backend/cpu/interleave.h"
#include "backend/inspection.h"
#include "backend/interleaved.h"

#include <algorithm>
#include <cstring>

namespace reckon {
namespace {

bool is_interleaved(const Weight& w) {
  return is_quantised(w.dtype) && w.col_stride == 1 && w.row_stride == w.cols && w.block_rows == 0 &&
         keeps_interleaved(w.dtype, w.rows);
}

}  // namespace

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
  const auto wanted = [](const ParameterData& data) {
    return !data.matrices.empty() && std::all_of(data.matrices.begin(), data.matrices.end(), is_interleaved);
  };
  // All in one buffer: a small matrix alone would have no huge page.
  const auto room = [](const ParameterData& data) {
    std::int64_t bytes = 0;
    for (const Weight& matrix : data.matrices) bytes += row_bytes(matrix.dtype, matrix.rows * matrix.cols);
    return bytes;
  };
  std::int64_t all = 0, offset = 0;
  for (const auto& [key, data] : parameters)
    if (wanted(data) && !interleaved_.contains(source_of(data))) all += room(data);
  const auto memory = all > 0 ? std::make_shared<HostBuffer>(all, Fill::nothing) : nullptr;
  std::map<TensorKey, Address> places;
  for (const auto& [key, data] : parameters) {
    Address& place = places[key];
    place.stored = &data;
    if (!wanted(data)) continue;
    if (!interleaved_.contains(source_of(data))) {
      interleave_all(data, memory, offset);
      offset += room(data);
    }
    place.stored = &interleaved_.at(source_of(data)).data;
    place.buffer = interleaved_.at(source_of(data)).memory;
  }
  return places;
}

void CpuBackend::interleave_all(const ParameterData& data, std::shared_ptr<HostBuffer> memory, std::int64_t offset) {
  Interleaved copy{data, std::move(memory)};
  for (Weight& matrix : copy.data.matrices) {
    const std::int64_t bytes = row_bytes(matrix.dtype, matrix.rows * matrix.cols);
    const std::int64_t panel = row_bytes(matrix.dtype, rows_together() * matrix.cols),
                       panels = matrix.rows / rows_together();
    const auto* from = static_cast<const std::byte*>(matrix.data);
    std::byte* to = copy.memory->at(offset, bytes);
    pool_.run(panels,
              [&](std::int64_t i, int) { interleave(matrix.dtype, from + i * panel, matrix.cols, to + i * panel); });
    std::memcpy(to + panels * panel, from + panels * panel, static_cast<std::size_t>(bytes - panels * panel));
    matrix.data = to;
    matrix.interleaved = true;
    offset += bytes;
  }
  interleaved_.emplace(source_of(data), std::move(copy));
}

std::unique_ptr<Executable> CpuBackend::bind(const Compiled& compiled, const Resident& resident,
                                             std::shared_ptr<Buffer> arena) {
  return std::make_unique<CpuExecutable>(compiled, resident, std::move(arena), inspection_, machine_, profile_);
}

std::int64_t CpuBackend::scratch_bytes() const {
  return static_cast<std::int64_t>(reckon::scratch_bytes(pool_.threads()));
}

}  // namespace reckon

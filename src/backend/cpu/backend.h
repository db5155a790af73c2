// This processor: memory of the host, a pool of threads and the kernels of this folder.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/machine.h"
#include "backend/host_buffer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

namespace reckon {

class CpuBackend : public Backend {
 public:
  CpuBackend(int threads, Inspection* inspection);

  const Target& target() const override { return cpu_target; }
  Arithmetic arithmetic() const override;
  std::shared_ptr<Buffer> allocate(std::int64_t bytes, Fill fill) override;
  void write(const Address& to, DType dtype, std::span<const std::byte> elements) override;
  std::span<const std::byte> read(const Address& from, DType dtype, std::int64_t count,
                                  std::vector<std::byte>& copy) const override;
  void copy(const Address& from, const Address& to, std::int64_t bytes) override;
  std::map<TensorKey, Address> load(const Parameters& parameters) override;
  std::unique_ptr<Executable> bind(const Compiled& compiled, const Resident& resident,
                                   std::shared_ptr<Buffer> arena) override;
  void cancel_on(const std::atomic<bool>* flag) override { pool_.cancel_on(flag); }
  Measured measured() const override { return counters_.total(); }
  std::int64_t scratch_bytes() const override;
  Measure product_limit() override;
  Measure read_limit(const Parameters& parameters) override;
  MeasureTransfer transfer_limit(std::int64_t most_bytes) override;

 private:
  // Where its blocks lie, and how they are cut into rows: others of the same name are other weights.
  using Source = std::tuple<const void*, DType, std::int64_t, std::int64_t>;
  static Source source_of(const ParameterData& data) {
    const Weight& first = data.matrices.front();
    return {first.data, first.dtype, first.rows, first.cols};
  }
  void interleave_all(const ParameterData& data, std::shared_ptr<HostBuffer> memory, std::int64_t offset);

  Pool pool_;
  Scratch scratch_;
  Counters counters_, limit_counters_;
  Machine machine_;
  Inspection* inspection_;
  // Copies of quantised matrices in the order that kernels are fastest with.
  struct Interleaved {
    ParameterData data;
    std::shared_ptr<HostBuffer> memory;
  };
  std::map<Source, Interleaved> interleaved_;
};

// Bytes per second that the pool reads of all of these ranges, best of 1, 2 and 4 places side by side.
double measure_read_limit(Pool& pool, std::span<const std::span<const std::byte>> ranges);

}  // namespace reckon

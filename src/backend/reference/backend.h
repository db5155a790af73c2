// The reference as a backend: buffers have a double for each element of four bytes, weights are copied to doubles, and
// programs run one op at a time, in one thread.
#pragma once

#include "backend/backend.h"

namespace reckon {

class ReferenceBackend : public Backend {
 public:
  // `float32`: every result is rounded to it; else all is float64.
  ReferenceBackend(bool float32, Inspection* inspection) : float32_(float32), inspection_(inspection) {}

  const Target& target() const override { return reference_target; }
  Arithmetic arithmetic() const override { return {float32_ ? "reference" : "reference64", ""}; }
  std::int64_t memory_bytes(std::int64_t bytes) const override;
  std::shared_ptr<Buffer> allocate(std::int64_t bytes, Fill fill) override;
  void write(const Address& to, DType dtype, std::span<const std::byte> elements) override;
  std::span<const std::byte> read(const Address& from, DType dtype, std::int64_t count,
                                  std::vector<std::byte>& copy) const override;
  void copy(const Address& from, const Address& to, std::int64_t bytes) override;
  // Throws where the weights, at 8 bytes each, do not fit this machine.
  std::map<TensorKey, Address> load(const Parameters& parameters) override;
  std::unique_ptr<Executable> bind(const Compiled& compiled, const Resident& resident,
                                   std::shared_ptr<Buffer> arena) override;
  void cancel_on(const std::atomic<bool>* flag) override { cancel_ = flag; }
  Measured measured() const override { return measured_; }

 private:
  friend class ReferenceExecutable;

  bool float32_;
  Inspection* inspection_;
  const std::atomic<bool>* cancel_ = nullptr;
  Measured measured_;
};

// The twin, backend/no_reference.cpp, refuses.
std::unique_ptr<Backend> make_reference(bool float32, Inspection* inspection);

}  // namespace reckon

// What programs bound to memory of the host have in common: where each tensor lies, and that an inspection may watch.
#pragma once

#include "backend/backend.h"
#include "backend/host_buffer.h"

#include <vector>

namespace reckon {

class HostExecutable : public Executable {
 public:
  Address place(TensorId id) const override;
  std::byte* data(TensorId id) const;            // of any but a stored parameter
  std::int64_t host_bytes(TensorId root) const;  // that a tensor with memory of its own has
  bool in_arena(TensorId root) const { return expanded_.offsets[static_cast<std::size_t>(root)] >= 0; }

 protected:
  HostExecutable(const Compiled& compiled, const Resident& resident, std::shared_ptr<Buffer> arena,
                 Inspection* inspection);

  std::vector<Address> places_;  // of each tensor with memory of its own that an op touches
  Inspection* inspection_;       // nullptr: nobody watches
};

}  // namespace reckon

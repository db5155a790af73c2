#include "backend/host_executable.h"

#include "backend/inspection.h"
#include "lowering/regions.h"

namespace reckon {

HostExecutable::HostExecutable(const Compiled& compiled, const Resident& resident, std::shared_ptr<Buffer> arena,
                               Inspection* inspection)
    : Executable(compiled, std::move(arena)), places_(program().tensors.size()), inspection_(inspection) {
  const Sabotage* sabotage = inspection != nullptr ? inspection->sabotage() : nullptr;
  if (sabotage != nullptr && sabotage->plan) sabotage->plan(program(), expanded_.offsets, plan_);
  const auto take = [&](TensorId id) {
    if (id == no_tensor) return;
    Address& to = places_[static_cast<std::size_t>(id)];
    if (to.buffer != nullptr || to.stored != nullptr) return;
    if (in_arena(id)) {
      to = {arena_, expanded_.offsets[static_cast<std::size_t>(id)]};
      static_cast<HostBuffer&>(*arena_).take(to.offset,
                                             padded(static_cast<std::int64_t>(bytes(program()[id])), plan_.alignment));
    } else {
      to = resident(program(), id);
    }
  };
  for (const Op& op : program().ops) {
    for (const TensorIds* ids : {&op.inputs, &op.outputs}) {
      for (const TensorId id : *ids) {
        if (id == no_tensor) continue;
        const TensorId root = placement(program(), id).root;
        take(root);
        take(program()[root].pages);
      }
    }
  }
}

Address HostExecutable::place(TensorId id) const {
  const auto [root, offset] = placement(program(), id);
  Address found = places_[static_cast<std::size_t>(root)];
  found.offset += row_bytes(program()[id].dtype, offset);
  return found;
}

std::byte* HostExecutable::data(TensorId id) const { return host_memory(place(id), 0); }

std::int64_t HostExecutable::host_bytes(TensorId root) const {
  const auto& buffer = static_cast<const HostBuffer&>(*places_[static_cast<std::size_t>(root)].buffer);
  return static_cast<std::int64_t>(bytes(program()[root])) * buffer.scale();
}

}  // namespace reckon

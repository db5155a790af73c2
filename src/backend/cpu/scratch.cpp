#include "backend/cpu/scratch.h"

#include <new>

#include "backend/cpu/cut.h"
#include "backend/cpu/tile.h"
#include "files/checked.h"

namespace reckon {

namespace {
constexpr std::align_val_t alignment{64};
}

std::size_t scratch_bytes(int threads) {
  return (shared_scratch + static_cast<std::size_t>(threads) * tile_scratch) * sizeof(float);
}

Scratch::Scratch(int threads)
    : threads_(threads), memory_(static_cast<float*>(::operator new(scratch_bytes(threads), alignment))) {
  cuts_.reserve(1024);  // more products at once than any network has experts
  panels_.resize(static_cast<std::size_t>(threads));
}

Scratch::~Scratch() { ::operator delete(memory_, alignment); }

std::span<float> Scratch::of(int worker) const {
  return {memory_ + shared_scratch + static_cast<std::size_t>(worker) * tile_scratch, tile_scratch};
}

std::span<float> Scratch::of(int worker, std::int64_t floats, std::vector<float>& more) const {
  const std::size_t wanted = memory_size(floats, "scratch memory");
  if (wanted <= tile_scratch) return of(worker);
  more.resize(wanted);
  return more;
}

std::span<float> Scratch::shared() const { return {memory_, shared_scratch}; }

}  // namespace reckon

#include "backend/cpu/scratch.h"

#include <new>

#include "backend/cpu/tile.h"

namespace reckon {

namespace {
constexpr std::align_val_t alignment{64};
}

std::size_t scratch_bytes(int threads) { return static_cast<std::size_t>(threads) * tile_scratch * sizeof(float); }

Scratch::Scratch(int threads)
    : threads_(threads), memory_(static_cast<float*>(::operator new(scratch_bytes(threads), alignment))) {}

Scratch::~Scratch() { ::operator delete(memory_, alignment); }

std::span<float> Scratch::of(int worker) const {
  return {memory_ + static_cast<std::size_t>(worker) * tile_scratch, tile_scratch};
}

}  // namespace reckon

#include "backend/cpu/read_memory.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/read_memory.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

float read_all(const void* from, std::size_t bytes, std::size_t streams) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d), apart = bytes / sizeof(float) / streams;
  const float* const data = static_cast<const float*>(from);
  hn::Vec<Floats> sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (std::size_t i = 0; i + 4 * lanes <= apart; i += 4 * lanes)
    for (std::size_t stream = 0; stream < streams; ++stream) {
      const float* p = data + stream * apart + i;
      HWY_UNROLL(4)
      for (std::size_t j = 0; j < 4; ++j) sums[j] = hn::Add(sums[j], hn::LoadU(d, p + j * lanes));
    }
  const auto sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void write_all(void* to, std::size_t bytes) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d), count = bytes / sizeof(float);
  float* const data = static_cast<float*>(to);
  const auto value = hn::Set(d, 1.0f);
  for (std::size_t i = 0; i + 4 * lanes <= count; i += 4 * lanes) {
    HWY_UNROLL(4)
    for (std::size_t j = 0; j < 4; ++j) hn::StoreU(value, d, data + i + j * lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {

HWY_EXPORT(read_all);
HWY_EXPORT(write_all);

float read_memory(const void* from, std::size_t bytes, std::size_t streams) {
  return HWY_DYNAMIC_DISPATCH(read_all)(from, bytes, streams);
}

void write_memory(void* to, std::size_t bytes) { HWY_DYNAMIC_DISPATCH(write_all)(to, bytes); }

}  // namespace reckon
#endif

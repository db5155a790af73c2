// Quantised products with VPDPBUSD: AVX512-VNNI in vectors of 64 bytes, AVX-VNNI in those of 32. Highway 1.0 has
// neither, so the attributes and the detection are our own; all else is as in quantised.cpp.
#include <algorithm>

#include "backend/cpu/quantised.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/quantised_vnni.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "backend/cpu/simd-inl.h"

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#undef RECKON_INTEGERS_BEFORE
#undef RECKON_INTEGERS_AFTER
#define RECKON_INTEGERS vnni
#if HWY_TARGET == HWY_AVX2
#define RECKON_INTEGERS_BEFORE HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avxvnni") static_assert(true)
#else
#define RECKON_INTEGERS_BEFORE HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni") static_assert(true)
#endif
#define RECKON_INTEGERS_AFTER HWY_POP_ATTRIBUTES static_assert(true)
#define RECKON_VNNI 1
#include "backend/cpu/quantised_tiles-inl.h"
#endif

#if HWY_ONCE

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace reckon {
namespace {

enum class Vnni { none, avx, avx512 };

Vnni detect() {
#if HWY_ARCH_X86 && (HWY_TARGETS & HWY_AVX3) && (HWY_TARGETS & HWY_AVX2)
  const auto known = hwy::SupportedTargets();  // which also says that the system keeps such registers
  unsigned a = 0, b = 0, c = 0, d = 0;
  if ((known & HWY_AVX3) && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> 11 & 1)) return Vnni::avx512;
  if ((known & HWY_AVX2) && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1)) return Vnni::avx;
#endif
  return Vnni::none;
}

const Vnni found = detect();
bool wanted = true;

}  // namespace

bool have_vnni() { return found != Vnni::none && wanted; }

bool choose_instructions(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  wanted = name.empty() || name == "VNNI";
  if (wanted) return name.empty() || have_vnni();
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name != hwy::TargetName(target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return true;
  }
  return false;
}

#if HWY_ARCH_X86 && (HWY_TARGETS & HWY_AVX3) && (HWY_TARGETS & HWY_AVX2)
void few_vnni_tile(const Tile& tile, float* scratch) {
  found == Vnni::avx512 ? N_AVX3::vnni::few(tile, scratch) : N_AVX2::vnni::few(tile, scratch);
}
void many_vnni_tile(const Tile& tile, float* scratch) {
  found == Vnni::avx512 ? N_AVX3::vnni::many(tile, scratch) : N_AVX2::vnni::many(tile, scratch);
}
#else
void few_vnni_tile(const Tile&, float*) {}
void many_vnni_tile(const Tile&, float*) {}
#endif

}  // namespace reckon
#endif

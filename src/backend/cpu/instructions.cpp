#include "backend/cpu/instructions.h"

#include <cstdint>

#include "hwy/highway.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace reckon {
namespace {

Vnni detect() {
#if HWY_ARCH_X86
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

Vnni vnni() { return wanted ? found : Vnni::none; }

bool choose_instructions(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  wanted = name.empty() || name == "VNNI";
  if (wanted) return name.empty() || found != Vnni::none;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name != hwy::TargetName(target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return true;
  }
  return false;
}

}  // namespace reckon

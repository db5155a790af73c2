#include "backend/cpu/instructions.h"

#include <cstdint>

#include "hwy/highway.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif
#if HWY_ARCH_X86_64 && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace reckon {
namespace {

Vnni detect_vnni() {
#if HWY_ARCH_X86
  const auto known = hwy::SupportedTargets();  // which also says that the system keeps such registers
  unsigned a = 0, b = 0, c = 0, d = 0;
  if ((known & HWY_AVX3) && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> 11 & 1)) return Vnni::avx512;
  if ((known & HWY_AVX2) && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1)) return Vnni::avx;
#endif
  return Vnni::none;
}

// Linux saves AMX's registers, 8 KiB, only for processes that have asked for it.
[[maybe_unused]] bool ask_for_amx() {
#if HWY_ARCH_X86_64 && defined(__linux__)
  constexpr long request = 0x1023, registers = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, request, registers) == 0;
#else
  return false;
#endif
}

struct Found {
  Vnni vnni = detect_vnni();
  bool avx512_bfloat16 = false, amx = false, amx_integers = false;
  Found() {
#if HWY_ARCH_X86
    if (!(hwy::SupportedTargets() & HWY_AVX3)) return;
    unsigned a = 0, b = 0, c = 0, d = 0;
    avx512_bfloat16 = __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
    amx = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) && (d >> 24 & 1) && ask_for_amx();
    amx_integers = amx && vnni == Vnni::avx512 && (d >> 25 & 1);
#endif
  }
  Bfloat16 best() const { return amx ? Bfloat16::amx : avx512_bfloat16 ? Bfloat16::avx512 : Bfloat16::none; }
};

const Found found;
bool vnni_wanted = true, amx_wanted = true;
Bfloat16 chosen = found.best();

}  // namespace

Vnni vnni() { return vnni_wanted ? found.vnni : Vnni::none; }
bool amx_integers() { return amx_wanted && found.amx_integers; }
Bfloat16 bfloat16_instructions() { return chosen; }

bool choose_instructions(std::string_view name) {
#if HWY_TARGETS & (HWY_TARGETS - 1)
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
#endif
  amx_wanted = name.empty() || name == "AMX";
  vnni_wanted = amx_wanted || name == "VNNI";  // what AMX multiplies is packed as for VNNI
  chosen = name.empty() ? found.best() : Bfloat16::none;
  if (name == "AMX" && found.amx) chosen = Bfloat16::amx;
  if (name == "AVX512-BF16" && found.avx512_bfloat16) chosen = Bfloat16::avx512;
  if (name == "AMX" || name == "AVX512-BF16") return chosen != Bfloat16::none;
  if (vnni_wanted) return name.empty() || found.vnni != Vnni::none;
#if HWY_TARGETS & (HWY_TARGETS - 1)
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name != hwy::TargetName(target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return true;
  }
  return false;
#else  // of one target nothing is dispatched
  return name == hwy::TargetName(HWY_TARGETS);
#endif
}

}  // namespace reckon

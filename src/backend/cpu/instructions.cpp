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
#if HWY_ARCH_ARM_A64 && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace reckon {
namespace {

bool detect_avx512_vnni() {
#if HWY_ARCH_X86
  unsigned a = 0, b = 0, c = 0, d = 0;  // Highway also says that the system keeps such registers
  return (hwy::SupportedTargets() & HWY_AVX3) && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> 11 & 1);
#else
  return false;
#endif
}

bool detect_avx_vnni() {
#if HWY_ARCH_X86
  unsigned a = 0, b = 0, c = 0, d = 0;
  return (hwy::SupportedTargets() & HWY_AVX2) && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
#else
  return false;
#endif
}

bool detect_neon_dot() {
#if defined(__ARM_FEATURE_DOTPROD)
  return true;  // all that is compiled may have it
#elif HWY_ARCH_ARM_A64 && defined(__linux__)
  constexpr unsigned long dot_product = 1ul << 20;  // HWCAP_ASIMDDP
  return (::getauxval(AT_HWCAP) & dot_product) != 0;
#else
  return false;
#endif
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
  bool avx512_vnni = detect_avx512_vnni(), avx_vnni = detect_avx_vnni(), neon_dot = detect_neon_dot();
  bool avx512_bfloat16 = false, amx = false;
  Found() {
#if HWY_ARCH_X86
    if (!(hwy::SupportedTargets() & HWY_AVX3)) return;
    unsigned a = 0, b = 0, c = 0, d = 0;
    avx512_bfloat16 = __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
    amx = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) && (d >> 24 & 1) && ask_for_amx();
#endif
  }
  ByteDots vnni() const { return avx512_vnni ? ByteDots::avx512 : avx_vnni ? ByteDots::avx : ByteDots::none; }
  ByteDots best_dots() const { return neon_dot ? ByteDots::neon : vnni(); }
  Bfloat16 best() const { return amx ? Bfloat16::amx : avx512_bfloat16 ? Bfloat16::avx512 : Bfloat16::none; }
};

const Found found;
bool amx_wanted = true;
ByteDots chosen_dots = found.best_dots();
Bfloat16 chosen = found.best();

}  // namespace

ByteDots byte_dots() { return chosen_dots; }
#if defined(__x86_64__)
bool amx_quantised() { return amx_wanted && found.amx && found.avx512_vnni && found.avx512_bfloat16; }
#endif
Bfloat16 bfloat16_instructions() { return chosen; }

bool choose_instructions(std::string_view name) {
#if HWY_TARGETS & (HWY_TARGETS - 1)
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
#endif
  amx_wanted = name.empty() || name == "AMX";
  chosen_dots = ByteDots::none;
  if (name.empty()) chosen_dots = found.best_dots();
  if (name == "AMX" || name == "VNNI") chosen_dots = found.vnni();  // what AMX multiplies is unpacked as for VNNI
  if (name == "AVX-VNNI" && found.avx_vnni) chosen_dots = ByteDots::avx;
  if (name == "NEON-DOT" && found.neon_dot) chosen_dots = ByteDots::neon;
  chosen = name.empty() ? found.best() : Bfloat16::none;
  if (name == "AMX" && found.amx) chosen = Bfloat16::amx;
  if (name == "AVX512-BF16" && found.avx512_bfloat16) chosen = Bfloat16::avx512;
  if (name == "AMX" || name == "AVX512-BF16") return chosen != Bfloat16::none;
  if (name.empty()) return true;
  if (name == "VNNI" || name == "AVX-VNNI" || name == "NEON-DOT") return chosen_dots != ByteDots::none;
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

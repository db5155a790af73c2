#include "backend/cpu/arithmetic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/arithmetic.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "backend/cpu/tile.h"

namespace reckon {

HWY_EXPORT(target_name);

Arithmetic this_arithmetic() {
  return {HWY_DYNAMIC_DISPATCH(target_name)(), blas_wanted(few_rows + 1) ? blas_name() : ""};
}

std::string to_string(const Arithmetic& arithmetic) {
  if (arithmetic.openblas.empty()) return arithmetic.instruction_set + " without OpenBLAS";
  return arithmetic.instruction_set + " and " + arithmetic.openblas;
}

}  // namespace reckon
#endif

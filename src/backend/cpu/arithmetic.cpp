// Which kernels this machine has.
#include "backend/cpu/backend.h"

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

Arithmetic CpuBackend::arithmetic() const {
  return {HWY_DYNAMIC_DISPATCH(target_name)(), blas_wanted(few_rows + 1) ? blas_name() : ""};
}

}  // namespace reckon
#endif

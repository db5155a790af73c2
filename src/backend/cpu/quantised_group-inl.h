// The kernels of some encodings, for every instruction set that Highway has, and with products of bytes that
// Highway 1.0 does not know: VPDPBUSD, AVX512-VNNI in vectors of 64 bytes, AVX-VNNI in those of 32; and ARM's SDOT.
// They are many, so each group of encodings is a file of its own (its objects are compiled side by side), which has
//   RECKON_GROUP       its name
//   RECKON_GROUP_LIST  its encodings
// and includes this as the body of Highway's targets.

#include <algorithm>

#include "backend/cpu/instructions.h"
#include "backend/cpu/quantised.h"

#define RECKON_INTEGERS plain
#define RECKON_INTEGERS_BEFORE HWY_BEFORE_NAMESPACE()
#define RECKON_INTEGERS_AFTER HWY_AFTER_NAMESPACE()
#define RECKON_INTEGERS_ATTR HWY_ATTR
#define RECKON_VNNI 0
#define RECKON_SDOT 0
#include "backend/cpu/quantised_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace RECKON_GROUP {
namespace HWY_NAMESPACE {

namespace plain = reckon::HWY_NAMESPACE::plain;
void few(const Tile& tile, float* scratch) { plain::few_rows_among<RECKON_GROUP_LIST>(tile, scratch); }
void many(const Tile& tile, float* scratch) { plain::many_rows_among<RECKON_GROUP_LIST>(tile, scratch); }

}  // namespace HWY_NAMESPACE
}  // namespace RECKON_GROUP
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define RECKON_INTEGERS by_fours
// (A lambda has the target of its function with g++, only its own with clang.)
#if HWY_TARGET == HWY_AVX2
#define RECKON_INTEGERS_BEFORE HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avxvnni") static_assert(true)
#define RECKON_INTEGERS_ATTR __attribute__((target(HWY_TARGET_STR ",avxvnni")))
#else
#define RECKON_INTEGERS_BEFORE HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni") static_assert(true)
#define RECKON_INTEGERS_ATTR __attribute__((target(HWY_TARGET_STR ",avx512vnni")))
#endif
#define RECKON_INTEGERS_AFTER HWY_POP_ATTRIBUTES static_assert(true)
#define RECKON_VNNI 1
#define RECKON_SDOT 0
#include "backend/cpu/quantised_tiles-inl.h"
#endif

// (clang 14 has the intrinsics only where all that it compiles may use them.)
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64 && (HWY_COMPILER_GCC_ACTUAL || defined(__ARM_FEATURE_DOTPROD))
#define RECKON_INTEGERS by_fours
#if HWY_COMPILER_GCC_ACTUAL
#define RECKON_INTEGERS_BEFORE HWY_PUSH_ATTRIBUTES("arch=armv8.2-a+crypto+dotprod") static_assert(true)
#define RECKON_INTEGERS_AFTER HWY_POP_ATTRIBUTES static_assert(true)
#else
#define RECKON_INTEGERS_BEFORE HWY_BEFORE_NAMESPACE()
#define RECKON_INTEGERS_AFTER HWY_AFTER_NAMESPACE()
#endif
#define RECKON_INTEGERS_ATTR HWY_ATTR
#define RECKON_VNNI 0
#define RECKON_SDOT 1
#define RECKON_HAS_SDOT
#include "backend/cpu/quantised_tiles-inl.h"
#endif

#if HWY_ONCE
namespace reckon {
namespace RECKON_GROUP {
namespace {

HWY_EXPORT(few);
HWY_EXPORT(many);

void plain_few(const Tile& tile, float* scratch) { HWY_DYNAMIC_DISPATCH(few)(tile, scratch); }
void plain_many(const Tile& tile, float* scratch) { HWY_DYNAMIC_DISPATCH(many)(tile, scratch); }

#if (HWY_TARGETS & HWY_AVX3) && (HWY_TARGETS & HWY_AVX2)
void dots_few(const Tile& tile, float* scratch) {
  (byte_dots() == ByteDots::avx512 ? reckon::N_AVX3::by_fours::few_rows_among<RECKON_GROUP_LIST>
                                   : reckon::N_AVX2::by_fours::few_rows_among<RECKON_GROUP_LIST>)(tile, scratch);
}
void dots_many(const Tile& tile, float* scratch) {
  (byte_dots() == ByteDots::avx512 ? reckon::N_AVX3::by_fours::many_rows_among<RECKON_GROUP_LIST>
                                   : reckon::N_AVX2::by_fours::many_rows_among<RECKON_GROUP_LIST>)(tile, scratch);
}
#elif defined(RECKON_HAS_SDOT)
constexpr auto dots_few = reckon::N_NEON::by_fours::few_rows_among<RECKON_GROUP_LIST>,
               dots_many = reckon::N_NEON::by_fours::many_rows_among<RECKON_GROUP_LIST>;
#else
constexpr auto dots_few = plain_few, dots_many = plain_many;
#endif

}  // namespace

extern const QuantisedKernels kernels{plain_few, plain_many, dots_few, dots_many};

}  // namespace RECKON_GROUP
}  // namespace reckon
#endif

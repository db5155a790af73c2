// Quantised products with blocks of 32 codes of 4 bits that lie evenly, or as floats do.
#include "files/encoding.h"

#define RECKON_GROUP q4
#define RECKON_GROUP_LIST DType::q4_0, DType::q4_1, DType::mxfp4

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/quantised_q4.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// Behind it.
#include "backend/cpu/quantised_group-inl.h"

// Quantised products with the smaller K blocks.
#include "files/encoding.h"

#define RECKON_GROUP q2_k_q3_k
#define RECKON_GROUP_LIST DType::q2_k, DType::q3_k

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/quantised_q2_k_q3_k.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// Behind it.
#include "backend/cpu/quantised_group-inl.h"

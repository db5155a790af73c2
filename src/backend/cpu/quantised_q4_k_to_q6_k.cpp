// Quantised products with the larger K blocks.
#include "files/encoding.h"

#define RECKON_GROUP q4_k_to_q6_k
#define RECKON_GROUP_LIST DType::q4_k, DType::q5_k, DType::q6_k

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/quantised_q4_k_to_q6_k.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// Behind it.
#include "backend/cpu/quantised_group-inl.h"

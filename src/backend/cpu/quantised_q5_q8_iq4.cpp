// Quantised products with blocks of 32 codes of 5 and 8 bits, and with the uneven ones of 4 bits.
#include "files/encoding.h"

#define RECKON_GROUP q5_q8_iq4
#define RECKON_GROUP_LIST DType::q5_0, DType::q5_1, DType::q8_0, DType::iq4_nl, DType::iq4_xs

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/quantised_q5_q8_iq4.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// Behind it.
#include "backend/cpu/quantised_group-inl.h"

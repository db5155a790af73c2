// The twin of blas.cpp in a build without OpenBLAS: gemm_tile does all the work.
#include "backend/cpu/tile.h"

namespace reckon {

bool have_blas() { return false; }

std::string blas_name() { return ""; }

void blas_tile(const Tile&, float*) {}

}  // namespace reckon

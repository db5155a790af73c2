// The tests are a program of their own, and say before anything else what cli/main.cpp says: one thread for OpenBLAS.
#include <cstdlib>

namespace {

[[maybe_unused]] const int said = ::setenv("OPENBLAS_NUM_THREADS", "1", 1) + ::setenv("OMP_NUM_THREADS", "1", 1);

}  // namespace

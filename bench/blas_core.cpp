// Prints for which kind of processor OpenBLAS multiplies here: "SkylakeX".
#include <cblas.h>

#include <cstdio>

int main() { std::puts(openblas_get_corename()); }

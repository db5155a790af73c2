// The twin of quantised.cpp in the page's engine, which reads no GGUF: its kernels would be a sixth of that.
#include <reckon/error.h>

#include "backend/cpu/interleave.h"
#include "backend/cpu/quantised.h"

namespace reckon {
namespace {

[[noreturn]] void refuse() { throw Error("weights in GGUF's blocks: this build has no kernels for them"); }

}  // namespace

void few_quantised_rows_tile(const Tile&, float*) { refuse(); }
void many_quantised_rows_tile(const Tile&, float*) { refuse(); }
void quantise_row(const float*, std::int64_t, std::byte*) { refuse(); }
std::int64_t amx_packed(std::int64_t, std::int64_t) { refuse(); }
void amx_pack_rows(const std::byte*, std::int64_t, std::int64_t, std::int64_t, std::uint16_t*) { refuse(); }
bool want_interleaved(DType) { return false; }
std::int64_t rows_together() { return 1; }

}  // namespace reckon

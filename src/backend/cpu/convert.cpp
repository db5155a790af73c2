// Activations to bfloat16, where they are kept, and back.
#include "files/float_types.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/tile.h"

namespace reckon {
namespace {

std::int64_t elements(const View& view) { return view.rows() * view.width(); }

constexpr std::int64_t piece = 4096;

template <class Body>
void in_pieces(const Launch& launch, std::int64_t n, const Body& body) {
  over_rows(launch.machine, (n + piece - 1) / piece, 2 * piece,
            [&](std::int64_t first, std::int64_t last, int) { body(first * piece, std::min(n, last * piece)); });
}

}  // namespace

void run_narrow(const Launch& launch) {
  float* x = launch.inputs[0].floats();
  auto* kept = reinterpret_cast<std::uint16_t*>(launch.outputs[0].data);
  in_pieces(launch, elements(launch.inputs[0]), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      kept[i] = to_bfloat16(x[i]);
      x[i] = from_bfloat16(kept[i]);
    }
  });
}

void run_widen(const Launch& launch) {
  const auto* kept = reinterpret_cast<const std::uint16_t*>(launch.inputs[0].data);
  float* y = launch.outputs[0].floats();
  in_pieces(launch, elements(launch.inputs[0]), [&](std::int64_t begin, std::int64_t end) {
    convert_weights(DType::bfloat16, kept + begin, end - begin, y + begin);
  });
}

}  // namespace reckon

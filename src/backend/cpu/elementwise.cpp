// Kernels of ops/elementwise.h.
#include "ops/elementwise.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/tile.h"
#include "backend/cpu/vectors.h"
#include "files/float_types.h"
#include "files/random.h"

#include <algorithm>
#include <limits>

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

// b may lack leading dimensions of a: its rows then repeat.
void run_add(const Launch& launch) {
  const View &a = launch.inputs[0], &b = launch.inputs[1], &y = launch.outputs[0];
  const std::int64_t repeat = b.rows();
  const auto added = [&](std::int64_t r) {  // a shift that all rows share is a parameter
    return b.parameter != nullptr ? b.parameter->values.data() : b.row(r % repeat);
  };
  over_rows(launch.machine, y.rows(), y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) vector_add(a.row(r), added(r), y.row(r), y.width());
  });
}

// The gradient of what was added to every row, in stripes of columns, from the first row to the last.
void run_sum_rows(const Launch& launch) {
  const View &dy = launch.inputs[0], &sum = launch.outputs[0];
  const std::int64_t width = sum.rows() * sum.width(), count = dy.rows() * dy.width() / width;
  constexpr std::int64_t stripe = 128;
  const bool adds = launch.adds(sum);
  launch.machine.run((width + stripe - 1) / stripe, [&](std::int64_t task, int) {
    const std::int64_t begin = task * stripe, n = std::min(stripe, width - begin);
    float* to = sum.floats() + begin;
    if (!adds) std::fill_n(to, n, 0.0f);
    for (std::int64_t r = 0; r < count; ++r) vector_add(to, dy.floats() + r * width + begin, to, n);
    if (!adds) count_elementwise(-n);  // the first row was added to zeros
  });
}

void run_scale(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const auto factor = static_cast<float>(launch.op.attributes<ScaleAttributes>().factor);
  over_rows(launch.machine, y.rows(), y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      std::copy_n(x.row(r), y.width(), y.row(r));
      vector_scale(y.row(r), y.width(), factor);
    }
  });
}

void run_softcap(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const auto cap = static_cast<float>(launch.op.attributes<SoftcapAttributes>().cap);
  over_rows(launch.machine, y.rows(), 8 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      std::copy_n(x.row(r), y.width(), y.row(r));
      vector_softcap(y.row(r), y.width(), 1.0f, cap);
    }
  });
}

void run_softcap_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &y = launch.inputs[1], &dx = launch.outputs[0];
  const auto cap = static_cast<float>(launch.op.attributes<SoftcapAttributes>().cap);
  over_rows(launch.machine, y.rows(), 4 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) vector_softcap_backward(dy.row(r), y.row(r), dx.row(r), y.width(), cap);
  });
}

void run_clip(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const auto& a = launch.op.attributes<ClipAttributes>();
  const auto limit = static_cast<float>(a.limit), least = a.above ? -std::numeric_limits<float>::infinity() : -limit;
  over_rows(launch.machine, y.rows(), 2 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((a.above ? 1 : 2) * (last - first) * y.width());
    for (std::int64_t r = first; r < last; ++r) {
      const float* from = x.row(r);
      float* to = y.row(r);
      for (std::int64_t i = 0; i < y.width(); ++i) to[i] = std::min(std::max(from[i], least), limit);
    }
  });
}

void run_clip_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &dx = launch.outputs[0];
  const auto& a = launch.op.attributes<ClipAttributes>();
  const auto limit = static_cast<float>(a.limit), least = a.above ? -std::numeric_limits<float>::infinity() : -limit;
  over_rows(launch.machine, dx.rows(), 2 * dx.width(), [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((a.above ? 1 : 2) * (last - first) * dx.width());
    for (std::int64_t r = first; r < last; ++r) {
      const float *from = dy.row(r), *at = x.row(r);
      float* to = dx.row(r);
      for (std::int64_t i = 0; i < dx.width(); ++i) to[i] = at[i] >= least && at[i] <= limit ? from[i] : 0.0f;
    }
  });
}

// A hash of (seed, layer, stream, element) decides what is dropped.
void run_dropout(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const double probability = launch.op.attributes<DropoutAttributes>().probability;
  const bool drops = launch.training->drops;
  const auto factor = static_cast<float>(1.0 / (1.0 - probability));
  const auto limit = static_cast<std::uint64_t>(probability * 0x1p53);
  const std::uint64_t seed =
      mixed(mixed(launch.training->seed + static_cast<std::uint64_t>(launch.op.scope.layer + 1)) +
            static_cast<std::uint64_t>(launch.op.attributes<DropoutAttributes>().stream));
  const std::int64_t begin = launch.training->rank * y.rows();  // in the batch of all ranks
  over_rows(launch.machine, y.rows(), 4 * y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      const float* from = x.row(r);
      float* to = y.row(r);
      if (!drops) {
        std::copy_n(from, y.width(), to);
        continue;
      }
      count_elementwise(2 * y.width());
      const std::uint64_t row = seed + static_cast<std::uint64_t>((begin + r) * y.width());
      for (std::int64_t i = 0; i < y.width(); ++i) {
        to[i] = mixed(row + static_cast<std::uint64_t>(i)) >> 11 < limit ? 0.0f : factor * from[i];
      }
    }
  });
}

// Activations to bfloat16, where they are kept, and back.
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

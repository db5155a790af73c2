// Joining two tensors along their last dimension; one head of the second may serve all of the first. And back.
#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>

namespace reckon {

// A part that is not there (the gradient of what nothing depends on) is zeros.
void run_join(const Launch& launch) {
  const View &a = launch.inputs[0], &b = launch.inputs[1], &y = launch.outputs[0];
  const std::int64_t left = a.there() ? a.width() : y.width() - b.width(), right = y.width() - left;
  const std::int64_t shared = a.there() && b.there() && b.rank == 4 && b.size[2] != a.size[2] ? a.size[2] : 1;
  over_rows(launch.machine, y.rows(), y.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      float* to = y.row(r);
      a.there() ? std::copy_n(a.row(r), left, to) : std::fill_n(to, left, 0.0f);
      b.there() ? std::copy_n(b.row(r / shared), right, to + left) : std::fill_n(to + left, right, 0.0f);
    }
  });
}

// Where one head of b served all of a's, its gradient is their sum.
void run_join_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &da = launch.outputs[0], &db = launch.outputs[1];
  const std::int64_t shared = db.rank == 4 && db.size[2] != da.size[2] ? da.size[2] : 1;
  over_rows(launch.machine, db.rows(), shared * dy.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      for (std::int64_t h = 0; h < shared; ++h) {
        const float* from = dy.row(r * shared + h);
        std::copy_n(from, da.width(), da.row(r * shared + h));
        if (h == 0) {
          std::copy_n(from + da.width(), db.width(), db.row(r));
        } else {
          vector_add(db.row(r), from + da.width(), db.row(r), db.width());
        }
      }
    }
  });
}

}  // namespace reckon

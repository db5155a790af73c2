// A product per head with a slice of a weight's rows, the heads being independent products of one region.
#include "ops/head_matmul.h"

#include "backend/cpu/dtype.h"
#include "backend/cpu/kernels.h"

namespace reckon {

// x (B × T × H × m); of each head's R rows of W (H·R × r), those from `first` on.
void run_head_matmul(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const Weight& all = launch.inputs[1].parameter->matrices[0];
  const auto& a = launch.op.attributes<HeadMatmulAttributes>();
  const std::int64_t heads = x.size[2], rows_per_head = all.rows / heads;
  launch.products.clear();
  for (std::int64_t b = 0; b < x.size[0]; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      // Into the latent x·W, the weight's columns are the results: N and K change places.
      Weight slice = all;
      slice.data = element(all.dtype, all.data, (h * rows_per_head + a.first) * all.row_stride);
      if (a.into_latent) {
        slice.rows = all.cols;
        slice.cols = x.size[3];
        slice.row_stride = all.col_stride;
        slice.col_stride = all.row_stride;
      } else {
        slice.rows = y.size[3];
      }
      launch.products.push_back({x.floats() + b * x.stride[0] + h * x.stride[2],
                                 x.size[1],
                                 x.stride[1],
                                 slice,
                                 y.floats() + b * y.stride[0] + h * y.stride[2],
                                 y.stride[1],
                                 {},
                                 false,
                                 b > 0});
    }
  }
  run_products(launch.machine, launch.products);
}

}  // namespace reckon

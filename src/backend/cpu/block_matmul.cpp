// A product for each head, all in one region.
#include "ops/block_matmul.h"

#include "backend/cpu/kernels.h"

namespace reckon {

void run_block_matmul(const Launch& launch) {
  const View &x = launch.inputs[0], &weight = launch.inputs[1], &bias = launch.inputs[2], &y = launch.outputs[0];
  const bool turned = launch.op.attributes<BlockMatmulAttributes>().transposed;
  launch.products.clear();
  for (std::int64_t h = 0; h < x.size[2]; ++h) {
    const Weight& matrix = weight.parameter->matrices[static_cast<std::size_t>(h)];
    Product product{
        x.floats() + h * x.stride[2], x.size[0] * x.size[1], x.stride[1], turned ? transposed(matrix) : matrix,
        y.floats() + h * y.stride[2], y.stride[1],           {}};
    if (bias.there()) product.epilogue.bias = bias.parameter->values.data() + h * y.size[3];
    launch.products.push_back(product);
  }
  run_products(launch.machine, launch.products);
}

void run_block_weight_gradient(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &dw = launch.outputs[0];
  const std::int64_t rows = x.size[0] * x.size[1], out = dy.size[3], in = x.size[3];
  launch.products.clear();
  for (std::int64_t h = 0; h < x.size[2]; ++h) {
    Product product{dy.floats() + h * dy.stride[2],
                    out,
                    dy.stride[1],
                    Weight{x.floats() + h * x.stride[2], DType::float32, in, rows, 1, x.stride[1], 0, 0},
                    dw.floats() + h * out * in,
                    in,
                    {},
                    true};
    if (launch.adds(dw)) {
      product.epilogue.residual = product.y;
      product.epilogue.residual_stride = in;
    }
    launch.products.push_back(product);
  }
  run_products(launch.machine, launch.products);
}

}  // namespace reckon

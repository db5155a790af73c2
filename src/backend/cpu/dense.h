// Dense products y = x·Wᵀ with what is done to each result while it is still in the cache.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/machine.h"
#include "files/parameter_data.h"

namespace reckon {

// The same matrix the other way round; it must have no blocks.
Weight transposed(const Weight& weight);

// y = residual + scale·f(product + bias), where f is nothing, an activation, or the gate's activation times it.
struct Epilogue {
  const float* bias = nullptr;  // N
  const float* gate = nullptr;  // rows × N: f(u) = act(gate)·u
  std::int64_t gate_stride = 0;
  bool activate = false;  // without a gate: f(u) = act(u)
  Activation activation = Activation::gelu;
  double clamp = 0;  // gpt-oss, with a gate: g = min(gate, c), u = clamp(u, ±c), f = g·σ(1.702·g)·(u + 1); 0: none
  const float* residual = nullptr;  // rows × N; may be y itself
  std::int64_t residual_stride = 0;
  float scale = 1;
};

struct Product {
  const float* x = nullptr;  // rows × K, or K × rows where `transposed`; must not overlap y
  std::int64_t rows = 0, x_stride = 0;
  Weight weight;
  float* y = nullptr;  // rows × N
  std::int64_t y_stride = 0;
  Epilogue epilogue;
  bool transposed = false;   // x's element (r, k) is at k·x_stride + r
  bool same_weight = false;  // as the product before it, where its bytes are counted
  // Where x lies in the pages of a cache, from `x` on: page i of `page_rows` rows at pages[i]·page_stride. A tile never
  // spans two: page_rows is a multiple of every tile's rows, or there is one page.
  const std::int32_t* pages = nullptr;
  std::int64_t page_rows = 0, page_stride = 0;
  // In place of x where the weights are quantised: rows × K in activation8, x_stride being K.
  const std::byte* x8 = nullptr;

  const float* x_row(std::int64_t row) const {
    if (pages == nullptr) return x + row * x_stride;
    return x + pages[row / page_rows] * page_stride + row % page_rows * x_stride;
  }
};

// Runs products that don't depend on each other in one parallel region (query, key and value; all experts of a
// mixture). How they are cut and which kernel runs depends on shapes and the instruction set alone, so the bits of y
// are the same for any number of threads.
void run_products(Machine& machine, std::span<const Product> products);

}  // namespace reckon

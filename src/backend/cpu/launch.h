// What a kernel is given: its op, where its tensors lie, and the machine to run on.
#pragma once

#include "backend/cpu/dense.h"
#include "backend/cpu/machine.h"
#include "backend/step.h"
#include "program/program.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reckon {

// A parameter as kernels read it.
struct BoundParameter {
  std::vector<Weight> matrices;   // one, or one per expert
  std::span<const float> values;  // of a vector
  float* master = nullptr;        // in training: all values in float32, row-major, which the optimizer changes
  Squares* squares = nullptr;     // what an update saw of it
};

// A tensor in memory. Strides are in elements; the last is 1.
struct View {
  std::byte* data = nullptr;
  int rank = 0;
  std::int64_t size[Shape::capacity] = {};
  std::int64_t stride[Shape::capacity] = {};
  std::int64_t capacity = 0;  // planned size of dimension 1, where `size` is that of this run
  // Of a cache: the pages that each sequence has, `stride` being that within a page of so many tokens.
  const std::int32_t* pages = nullptr;
  std::int64_t most_pages = 0, page_tokens = 0, page_stride = 0;
  const Encoding* blocks = nullptr;           // of a cache that does not hold floats
  const BoundParameter* parameter = nullptr;  // for parameters: data is null for matrices
  bool sums_up = false;                       // the gradient of a parameter: micro-steps add to it

  bool there() const { return data != nullptr || parameter != nullptr; }
  float* floats() const { return reinterpret_cast<float*>(data); }
  const float* values() const;  // of a parameter, or of a constant that is stored with them
  std::int32_t* integers() const { return reinterpret_cast<std::int32_t*>(data); }
  std::int64_t width() const { return size[rank - 1]; }
  std::int64_t rows() const;             // product of all but the last size
  float* row(std::int64_t index) const;  // the index-th row, in row-major order of the leading dimensions
  // Where the first head of position p of sequence b of a cache lies, in elements.
  std::int64_t place(std::int64_t b, std::int64_t p) const {
    return pages[b * most_pages + p / page_tokens] * page_stride + p % page_tokens * stride[1];
  }
  float* position(std::int64_t b, std::int64_t p) const { return floats() + place(b, p); }
  std::byte* block(std::int64_t element) const { return data + row_bytes(*blocks, element); }
};

struct Launch {
  const Op& op;
  std::span<const View> inputs, outputs;
  Machine& machine;
  std::vector<Product>& products;  // room for the products of a mixture
  const TrainingStep* training = nullptr;

  // Whether what is there already is to be added to.
  bool adds(const View& output) const { return output.sums_up && training->add; }
};

using Kernel = void (*)(const Launch&);

// The kernel of an operation; throws Error where the backend has none.
Kernel cpu_kernel(const Operation& operation);

// Calls body(first, last, worker) for ranges of rows: in parallel where there is enough work, by shape alone.
template <class Body>
void over_rows(Machine& machine, std::int64_t rows, std::int64_t work_per_row, const Body& body) {
  constexpr std::int64_t worthwhile = 32768, in_a_task = 8192;  // element operations
  work_per_row = std::max<std::int64_t>(1, work_per_row);
  const std::int64_t chunk = std::max<std::int64_t>(1, in_a_task / work_per_row);
  const std::int64_t tasks = (rows + chunk - 1) / chunk;
  if (tasks <= 1 || rows <= worthwhile / work_per_row) return body(std::int64_t{0}, rows, 0);
  machine.run(tasks,
              [&](std::int64_t task, int worker) { body(task * chunk, std::min(rows, (task + 1) * chunk), worker); });
}

}  // namespace reckon

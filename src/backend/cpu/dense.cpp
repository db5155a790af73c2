// Runs the tiles that products are cut into.
#include "backend/cpu/dense.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <string>

#include "backend/cpu/bfloat16.h"
#include "backend/cpu/cut.h"
#include "backend/cpu/dtype.h"
#include "backend/cpu/instructions.h"
#include "backend/cpu/interleave.h"
#include "backend/cpu/quantised.h"
#include "backend/cpu/tile.h"

namespace reckon {

namespace {

ManyRows many_rows = ManyRows::automatic;

void check(const Product& product) {
  const Weight& w = product.weight;
  if (is_quantised(w.dtype)) {
    if (product.x8 == nullptr || w.col_stride != 1)
      throw Error(
          fmt::format("a dense product: weights of {} can be multiplied along their rows alone, "
                      "with activations in 8 bits",
                      encoding_of(w.dtype).name));
    return;
  }
  if (w.dtype != DType::float32 && w.dtype != DType::bfloat16 && w.dtype != DType::float16)
    throw Error("a dense product: its weights have a type that no kernel reads, expected float32, bfloat16 or float16");
  if (w.cols < 1) throw Error("a dense product: weights with no columns, expected at least one");
  if (w.row_stride != 1 && w.col_stride != 1)
    throw Error("a dense product: weights with strides " + std::to_string(w.row_stride) + " and " +
                std::to_string(w.col_stride) + ", expected one of them to be 1");
}

void finish(const Product& product, std::int64_t row, std::int64_t m, std::int64_t first, std::int64_t n,
            const float* results) {
  const Epilogue& e = product.epilogue;
  if (e.bias != nullptr && row == 0 && !product.same_weight) count_read_floats(n);
  count_read_floats(m * n * ((e.gate != nullptr ? 1 : 0) + (e.residual != nullptr ? 1 : 0)));
  count_written_floats(m * n);
  finish_rows(product.epilogue, row, m, first, n, results, product.y + row * product.y_stride + first,
              product.y_stride);
}

// Whether tiles are the results themselves, and lie so close together that they need not be made elsewhere first.
bool is_plain(const Product& product, const Cut& cut) {
  constexpr std::int64_t near = 1 << 18;  // floats
  const Epilogue& e = product.epilogue;
  return e.bias == nullptr && e.gate == nullptr && !e.activate && e.residual == nullptr && e.scale == 1.0f &&
         cut.parts == 1 && product.weight.cols <= tile_depth && product.rows * product.y_stride <= near;
}

Tile::Ahead from(const float* data, std::int64_t stride, std::int64_t row, std::int64_t column) {
  if (data == nullptr) return {};
  return {data + row * stride + column, stride};
}

Tile::Ahead operand_ahead(const Epilogue& epilogue, std::int64_t row, std::int64_t column) {
  if (epilogue.gate != nullptr) return from(epilogue.gate, epilogue.gate_stride, row, column);
  return from(epilogue.residual, epilogue.residual_stride, row, column);
}

// Whether the panels that gemm_tile packs for a tile are those of the next one, and there is room for all of them.
bool keeps_panels(const Product& product, const Cut& cut) {
  return cut.down > 1 && cut.cols <= gemm_cols && product.weight.block_rows == 0 &&
         gemm_cols * product.weight.cols <= blas_cols * tile_depth;
}

std::uint16_t* packed_rows(const Cut& cut, std::span<float> shared) {
  return reinterpret_cast<std::uint16_t*>(shared.data() + cut.packed);
}

void run_tile(const Product& product, const Cut& cut, std::int64_t index, std::span<float> own, std::span<float> shared,
              bool has_panels) {
  const Weight& w = product.weight;
  const std::int64_t row = index % cut.down * cut.rows, first = index / cut.down % cut.across * cut.cols,
                     part = index / cut.down / cut.across, begin = part * cut.depth;
  const std::int64_t m = std::min(cut.rows, product.rows - row), n = std::min(cut.cols, cut.columns - first),
                     k = std::min(cut.depth, w.cols - begin);
  const bool plain = is_plain(product, cut);
  float* const results = plain           ? product.y + row * product.y_stride + first
                         : cut.parts > 1 ? shared.data() + cut.sums + part * m * n
                                         : own.data();
  float* const weights = own.data() + tile_results;
  for (std::int64_t j = first, next; j < first + n; j = next) {
    next = w.block_rows ? std::min(first + n, (j / w.block_rows + 1) * w.block_rows) : first + n;
    const bool quantised = product.x8 != nullptr;
    const Tile tile{.m = m,
                    .n = next - j,
                    .k = k,
                    .x = quantised            ? nullptr
                         : product.transposed ? product.x + begin * product.x_stride + row
                                              : product.x_row(row) + begin,
                    .x_stride = product.x_stride,
                    .w = element(w.dtype, w.data, w.row_offset(j) + begin * w.col_stride),
                    .dtype = w.dtype,
                    .row_stride = w.row_stride,
                    .col_stride = w.col_stride,
                    .out = results + (j - first),
                    .out_stride = plain ? product.y_stride : n,
                    .transposed = product.transposed,
                    .ahead = {from(product.y, product.y_stride, row, j), operand_ahead(product.epilogue, row, j)},
                    .x8 = quantised ? product.x8 + row_bytes(DType::activation8, row * k) : nullptr,
                    .x16 = cut.packed >= 0 ? packed_rows(cut, shared) + row * w.cols : nullptr,
                    .interleaved = w.interleaved ? w.rows / rows_together() * rows_together() - j : 0,
                    .keeps_panels = keeps_panels(product, cut),
                    .has_panels = has_panels};
    if (quantised)
      product.rows <= few_rows ? few_quantised_rows_tile(tile, weights) : many_quantised_rows_tile(tile, weights);
    else if (product.rows <= few_rows && !product.transposed)
      few_rows_tile(tile);
    else if (native_bfloat16(product))
      bfloat16_tile(tile, weights);
    else if (blas_wanted(product.rows))
      blas_tile(tile, weights);
    else
      gemm_tile(tile, weights);
    if (j == 0) count_read(cut.products * row_bytes(quantised ? DType::activation8 : DType::float32, m * k));
    if (row == 0 && !product.same_weight) count_read(row_bytes(w.dtype, tile.n * k));
  }
  if (plain) return count_written_floats(m * n);
  if (cut.parts == 1) finish(product, row, m, first, n, results);
}

// The second region, for products whose K was cut.
void run_sum_tile(const Product& product, const Cut& cut, std::int64_t index, std::span<float> own,
                  std::span<const float> shared) {
  const std::int64_t rows = product.rows, first = index * sum_cols, n = std::min(sum_cols, product.weight.rows - first);
  for (std::int64_t i = 0; i < rows; ++i) {
    add_parts(shared.data() + cut.sums + i * cut.columns + first, cut.parts, rows * cut.columns, n, own.data() + i * n);
  }
  finish(product, 0, rows, first, n, own.data());
}

// The product that a tile belongs to: the last one that begins at or before it.
std::size_t product_of(std::span<const Cut> cuts, std::int64_t Cut::*first, std::int64_t tile) {
  const auto after =
      std::upper_bound(cuts.begin(), cuts.end(), tile, [&](std::int64_t t, const Cut& cut) { return t < cut.*first; });
  return static_cast<std::size_t>(after - cuts.begin()) - 1;
}

}  // namespace

Weight transposed(const Weight& w) {
  if (w.block_rows != 0) throw Error("a dense product: rows in blocks cannot be transposed");
  return {w.data, w.dtype, w.cols, w.rows, w.col_stride, w.row_stride, 0, 0};
}

void choose_many_rows(ManyRows choice) { many_rows = choice; }

bool native_bfloat16(const Product& product) {
  return many_rows == ManyRows::automatic && !product.transposed && product.x8 == nullptr &&
         bfloat16_wanted(product.weight.dtype, product.rows);
}

bool blas_wanted(std::int64_t rows) {
  return (many_rows == ManyRows::blas || (many_rows == ManyRows::automatic && !gemm_is_faster(rows))) && have_blas();
}

void run_products(Machine& machine, std::span<const Product> products) {
  for (const Product& product : products) check(product);
  Scratch& scratch = machine.scratch;
  std::vector<Cut>& cuts = scratch.cuts();
  const Totals totals = cut_products(products, cuts);
  const std::span<Scratch::Panels> panels = scratch.panels();
  std::fill(panels.begin(), panels.end(), Scratch::Panels());
  if (amx_quantised())
    machine.run(totals.pack_tiles, [&](std::int64_t tile, int) {
      const std::size_t i = product_of(cuts, &Cut::first_pack_tile, tile);
      const Product& product = products[i];
      amx_pack_rows(product.x8, product.rows, product.weight.cols, tile - cuts[i].first_pack_tile,
                    packed_rows(cuts[i], scratch.shared()));
    });
  machine.run(totals.tiles, [&](std::int64_t tile, int worker) {
    const std::size_t i = product_of(cuts, &Cut::first_tile, tile);
    const Cut& cut = cuts[i];
    const std::int64_t index = tile - cut.first_tile;
    const Scratch::Panels wanted{static_cast<std::int64_t>(i), index / cut.down};
    Scratch::Panels& there = panels[static_cast<std::size_t>(worker)];
    const bool has_panels = keeps_panels(products[i], cut) && there == wanted;
    there = wanted;
    run_tile(products[i], cut, index, scratch.of(worker), scratch.shared(), has_panels);
  });
  machine.run(totals.sum_tiles, [&](std::int64_t tile, int worker) {
    const std::size_t i = product_of(cuts, &Cut::first_sum_tile, tile);
    run_sum_tile(products[i], cuts[i], tile - cuts[i].first_sum_tile, scratch.of(worker), scratch.shared());
  });
}

}  // namespace reckon

// How products are cut into tiles: by their shapes alone, never by threads or time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/dense.h"

namespace reckon {

// Tiles of at most rows × cols × depth. Where K is cut into parts, each part's sums go to shared scratch, and a second
// region adds them up, first to last. Products whose weights lie side by side in the same rows (GPT-2's query, key and
// value) are then cut as one, so that memory is read along whole rows: the first of them has the tiles of all.
struct Cut {
  std::int64_t rows, cols, depth;
  std::int64_t columns;              // N, of all products that are cut as one
  std::int64_t products;             // how many those are
  std::int64_t down, across, parts;  // how many tiles that makes
  std::int64_t sums;                 // where its sums begin in shared scratch; their rows are `columns` long
  std::int64_t packed, pack_tiles;   // where x lies there, packed for AMX, or -1; by how many tiles it is packed
  std::int64_t first_pack_tile, first_tile, first_sum_tile;  // among those of all products of a run
};

// Columns of a tile of the second region; it has all rows.
constexpr std::int64_t sum_cols = 512;

struct Totals {
  std::int64_t pack_tiles = 0, tiles = 0, sum_tiles = 0;
};

// Fills `cuts` with one for each product.
Totals cut_products(std::span<const Product> products, std::vector<Cut>& cuts);

}  // namespace reckon

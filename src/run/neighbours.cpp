#include "run/neighbours.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "files/encoding.h"
#include "run/inputs.h"

namespace reckon {

std::vector<Neighbour> nearest_tokens(const Weights& weights, std::int32_t token, std::int64_t count) {
  const Weight& table = weights[TensorKey{{{Block::embedding, Part::token}}, Piece::weight}].matrices.at(0);  // V × d
  check_ids({&token, 1}, table.rows);
  const Encoding& encoding = encoding_of(table.dtype);
  std::vector<double> row(static_cast<std::size_t>(table.cols));
  const auto read = [&](std::int64_t id) {
    for (std::int64_t i = 0; i < table.cols; ++i) {
      row[static_cast<std::size_t>(i)] =
          static_cast<double>(decode_element(encoding, table.data, table.row_offset(id) + i * table.col_stride));
    }
  };
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  read(token);
  const std::vector<double> own = row;
  const double own_length = std::sqrt(dot(own, own));
  std::vector<Neighbour> all;
  for (std::int64_t id = 0; id < table.rows; ++id) {
    if (id == token) continue;
    read(id);
    const double lengths = own_length * std::sqrt(dot(row, row));
    all.push_back({static_cast<std::int32_t>(id), lengths > 0 ? dot(own, row) / lengths : 0});
  }
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min<std::int64_t>(count, std::ssize(all)));
  std::partial_sort(all.begin(), end, all.end(), [](const Neighbour& a, const Neighbour& b) {
    return a.cosine != b.cosine ? a.cosine > b.cosine : a.id < b.id;
  });
  all.erase(end, all.end());
  return all;
}

}  // namespace reckon

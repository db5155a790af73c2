// What a device reaches of its peaks: as it was measured where its profile says so, else an assumed share, which is
// said.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "program/program.h"
#include "time/grid.h"
#include "time/products.h"
#include "time/profile.h"
#include "time/reuse.h"

namespace reckon {

// Where a profile has nothing better.
namespace assumed {
constexpr double product_share = 0.75;   // of the peak, of a product of 8,192³
constexpr double memory_share = 0.85;    // of the memory's bandwidth
constexpr double link_share = 0.8;       // of a link's
constexpr double attend_share = 0.39;    // of the peak, as measured on an H200 (profiles/h200.json): attention
constexpr double backward_share = 0.30;  // …and its gradient
constexpr double gpu_launch = 6e-6;      // seconds that the host takes to launch a kernel, without CUDA graphs
constexpr double kernel_start = 1e-6;    // seconds until a kernel's or a tile's first operands are there
constexpr std::int64_t large_extent = 8192;
// Seconds of a message to the next rank, of a link whose profile has none: as NVLink's within a node, and as a
// network's between nodes (NCCL 2.30, src/graph/tuning.cc: ring, protocols Simple and LL).
constexpr double latency_within = 3.4e-6, small_within = 0.6e-6, latency_between = 14e-6, small_between = 2.7e-6;
}  // namespace assumed

// What the rate of an op depends on.
struct OpSize {
  double sequences = 1;  // the first extent of its result
  double rows = 1;       // all of its extents but the last
  double work = 0;       // FLOPs, of products and element-wise
};
OpSize size_of(const Program& program, const Op& op, double work);

// What a product of a processor multiplies with: a matrix of a type, or one in GGUF's blocks.
struct MatrixType {
  ComputeType type;
  std::optional<DType> blocks;
  // Implicit, for most have no blocks.
  MatrixType(ComputeType numbers, std::optional<DType> in_blocks = std::nullopt) : type(numbers), blocks(in_blocks) {}
  // (libc++ 13 cannot compare optionals in three ways.)
  bool operator==(const MatrixType&) const = default;
  bool operator<(const MatrixType& other) const { return std::tie(type, blocks) < std::tie(other.type, other.blocks); }
};

// Seconds until a message has come to the next rank: one that goes at the link's bandwidth, and a small one.
struct Latency {
  double large, small;
};

class Rates {
 public:
  explicit Rates(const Hardware& hardware);

  // Of one product, or of several alike.
  double product(const ProductShape& shape, const MatrixType& matrix, double result_bytes);
  // Of products that are not cut into tiles as a whole, such as those within attention that is not fused.
  double plain_product(double flops, ComputeType type);
  // Of an op whose name was measured; nothing: it was not.
  std::optional<double> operation(std::string_view name, ComputeType type, const OpSize& size) const;
  // Of attention in one kernel where it was not measured.
  double attention(bool backward, double flops, ComputeType type);
  double memory(double read, double written);
  // Of a processor, whose caches have what was touched not long ago.
  double memory(const std::vector<Traffic>& read, const std::vector<Traffic>& written);
  // What a product of a processor waits for its matrix, beyond one that is multiplied with over and over; nothing:
  // products with matrices from memory were not measured.
  std::optional<double> wait(const ProductShape& shape, const MatrixType& type, const Traffic& matrix) const;
  // Bytes/s that collectives reach over a link, and how long its messages are on the way.
  double link(const Link& link);
  Latency latency(const Link& link);

  double start() const { return tiled_.start; }  // of a kernel that runs alone
  double launch() const { return launch_; }      // by the host
  const Profile& profile() const { return profile_; }

  // The type whose rate is used for a type: itself, or the next wider that the device has. Throws where it has none.
  ComputeType type_of(DType dtype);
  // Whose rate is used for products with matrices of a type: of blocks that were not measured those with the nearest
  // number of bits, and where none were, as in older profiles, what the type of all other numbers is.
  MatrixType matrix_type_of(DType dtype);

  const std::vector<std::string>& assumptions() const { return assumptions_; }

 private:
  double peak(ComputeType type) const { return static_cast<double>(profile_.peak.at(type)); }
  double rate(const ProductShape& shape, const MatrixType& matrix);
  void assume(const std::string& sentence);

  const Profile& profile_;
  TiledDevice tiled_;
  double launch_ = 0;
  double bandwidth_ = 0;                    // where it was not measured
  std::map<MatrixType, Grid<3>> products_;  // rates behind what was measured, by m, n and k
  std::vector<std::string> assumptions_;
};

ComputeType compute_type_of(DType dtype);

}  // namespace reckon

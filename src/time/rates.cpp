#include "time/rates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <reckon/error.h>

#include "files/encoding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

namespace reckon {
namespace {

// Between two measured points over the logarithm of what was gone through; beyond them, the nearest.
template <class Points, class X>
double interpolated(const Points& points, X x_of, double x) {
  const auto above = std::find_if(points.begin(), points.end(),
                                  [&](const auto& point) { return static_cast<double>(x_of(point)) >= x; });
  if (above == points.begin()) return static_cast<double>(points.front().rate);
  if (above == points.end()) return static_cast<double>(points.back().rate);
  const auto below = above - 1;
  const double low = std::log(static_cast<double>(x_of(*below))), high = std::log(static_cast<double>(x_of(*above)));
  const double share = (std::log(x) - low) / (high - low);
  return (1 - share) * static_cast<double>(below->rate) + share * static_cast<double>(above->rate);
}

double transfer_rate(const std::vector<Efficiency::Transfer>& points, double bytes) {
  return interpolated(
      points, [](const Efficiency::Transfer& point) { return point.bytes; }, bytes);
}

// Of what was measured at sizes as networks have them, which form no grid: the mean, the nearer the heavier. The
// distance is that of the logarithms of all sizes. A size beyond all that were measured is taken for the nearest of
// these.
template <std::size_t sizes>
class Nearby {
 public:
  using Sizes = std::array<double, sizes>;

  void add(const Sizes& at, double value) {
    for (std::size_t i = 0; i < sizes; ++i) {
      least_[i] = points_.empty() ? at[i] : std::min(least_[i], at[i]);
      most_[i] = points_.empty() ? at[i] : std::max(most_[i], at[i]);
    }
    points_.push_back({at, value});
  }
  double mean(const Sizes& at) const {
    double sum = 0, weights = 0;
    for (const auto& [point, value] : points_) {
      double squares = 1e-12;
      for (std::size_t i = 0; i < sizes; ++i) {
        const double apart = std::log(std::clamp(at[i], least_[i], most_[i]) / point[i]);
        squares += apart * apart;
      }
      const double weight = 1 / (squares * squares);
      sum += weight * value;
      weights += weight;
    }
    return sum / weights;
  }

 private:
  std::vector<std::pair<Sizes, double>> points_;
  Sizes least_{}, most_{};
};

// Results are as wide as what is computed with, to a byte.
double bytes_of(ComputeType type) {
  switch (type) {
    case ComputeType::float32:
    case ComputeType::tf32:
      return 4;
    case ComputeType::float16:
    case ComputeType::bfloat16:
      return 2;
    default:
      return 1;
  }
}

double bytes_of(const MatrixType& matrix) {
  if (!matrix.blocks) return bytes_of(matrix.type);
  const Encoding& encoding = encoding_of(*matrix.blocks);
  return static_cast<double>(encoding.bytes) / static_cast<double>(encoding.elements);
}

MatrixType matrix_of(const Efficiency::Matmul& point) { return {point.type, point.blocks}; }

// Of what was measured in blocks, by `wanted` of it, the one with the nearest number of bits to that of `blocks`, then
// with blocks of the same length.
template <class Wanted>
std::optional<DType> nearest_blocks(const std::vector<Efficiency::Matmul>& points, DType blocks, const Wanted& wanted) {
  const auto distance = [&](DType other) {
    const double apart = std::abs(
        std::log(bytes_of(MatrixType{ComputeType::int8, other}) / bytes_of(MatrixType{ComputeType::int8, blocks})));
    return std::tuple(other != blocks, apart, encoding_of(other).elements != encoding_of(blocks).elements);
  };
  std::optional<DType> nearest;
  for (const Efficiency::Matmul& point : points) {
    if (!point.blocks || !wanted(point)) continue;
    if (!nearest || distance(*point.blocks) < distance(*nearest)) nearest = point.blocks;
  }
  return nearest;
}

}  // namespace

ComputeType compute_type_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return ComputeType::float16;
    case DType::bfloat16:
      return ComputeType::bfloat16;
    case DType::float8_e5m2:
    case DType::float8_e4m3:
    case DType::float8_e4m3fnuz:
    case DType::float8_e5m2fnuz:
    case DType::float6_e2m3:
    case DType::float6_e3m2:
      return ComputeType::fp8;
    case DType::int8:
    case DType::uint8:
    case DType::block8:
      return ComputeType::int8;
    case DType::float4:
      return ComputeType::fp4;
    default:
      return ComputeType::float32;
  }
}

OpSize size_of(const Program& program, const Op& op, double work) {
  OpSize size;
  size.work = work;
  for (const TensorId id : op.outputs) {
    if (id == no_tensor || program[id].shape.rank() == 0) continue;
    const Shape& shape = program[id].shape;
    size.sequences = shape.rank() > 2 ? static_cast<double>(shape[0].size) : 1;
    size.rows = static_cast<double>(shape.leading().product().value());
    break;
  }
  return size;
}

Rates::Rates(const Hardware& hardware) : profile_(hardware.profile) {
  const bool gpu = profile_.kind == DeviceKind::gpu;
  const auto measured = profile_.efficiency.value_or(Efficiency{});
  bandwidth_ = assumed::memory_share * static_cast<double>(profile_.memory_bandwidth);
  tiled_.multiprocessors = static_cast<double>(profile_.multiprocessors);
  tiled_.bandwidth = measured.write.empty() ? bandwidth_ : static_cast<double>(measured.write.back().rate);
  tiled_.start = profile_.kind == DeviceKind::cpu ? 0 : assumed::kernel_start;
  launch_ = measured.overhead > 0 ? measured.overhead : gpu ? assumed::gpu_launch : 0;
  for (const Efficiency::Matmul& point : measured.matmul) {
    const ProductShape shape{1, static_cast<double>(point.m), static_cast<double>(point.n),
                             static_cast<double>(point.k)};
    products_[matrix_of(point)].add(
        {shape.m, shape.n, shape.k},
        rate_behind(shape, tiled_, shape.flops() / static_cast<double>(point.rate), bytes_of(point.type)));
  }
  if (measured.overhead <= 0 && gpu)
    assume(fmt::format("the host launches a kernel in {:g} µs", assumed::gpu_launch * 1e6));
  if (gpu) assume(fmt::format("a kernel's first operands arrive after {:g} µs", assumed::kernel_start * 1e6));
}

void Rates::assume(const std::string& sentence) {
  if (std::find(assumptions_.begin(), assumptions_.end(), sentence) == assumptions_.end())
    assumptions_.push_back(sentence);
}

ComputeType Rates::type_of(DType dtype) {
  static constexpr ComputeType wider[] = {ComputeType::fp4,      ComputeType::fp8,     ComputeType::int8,
                                          ComputeType::bfloat16, ComputeType::float16, ComputeType::float32};
  const ComputeType wanted = compute_type_of(dtype);
  if (profile_.peak.count(wanted)) return wanted;
  for (const ComputeType* at = std::find(std::begin(wider), std::end(wider), wanted); at != std::end(wider); ++at) {
    // float16 is no wider than bfloat16: it has fewer bits of exponent.
    if (wanted == ComputeType::bfloat16 && *at == ComputeType::float16) continue;
    if (!profile_.peak.count(*at)) continue;
    assume(fmt::format("{} has no rate for {}: that of {} is taken", profile_.name, compute_type_name(wanted),
                       compute_type_name(*at)));
    return *at;
  }
  std::vector<std::string_view> known;
  for (const auto& [type, flops] : profile_.peak) known.push_back(compute_type_name(type));
  throw Error(fmt::format("{} has no rate for products in {}; it has {}", profile_.name, compute_type_name(wanted),
                          fmt::join(known, ", ")));
}

MatrixType Rates::matrix_type_of(DType dtype) {
  if (!is_quantised(dtype)) return {type_of(dtype)};
  const std::string_view name = encoding_of(dtype).name;
  const auto& measured = profile_.efficiency;
  const auto blocks =
      measured ? nearest_blocks(measured->matmul, dtype, [](const auto&) { return true; }) : std::nullopt;
  if (!blocks) {
    assume(fmt::format("{} has no rates for products with {}: those of float32 are taken", profile_.name, name));
    return {type_of(DType::float32)};
  }
  if (*blocks != dtype) assume(fmt::format("products with {} are as fast as with {}", name, encoding_of(*blocks).name));
  return {ComputeType::int8, blocks};
}

double Rates::rate(const ProductShape& shape, const MatrixType& matrix) {
  const auto measured = products_.find(matrix);
  if (measured != products_.end()) return measured->second.at({shape.m, shape.n, shape.k});
  const ComputeType type = matrix.type;
  assume(fmt::format("large products in {} reach {:g}% of the peak", compute_type_name(type),
                     100 * assumed::product_share));
  const auto extent = static_cast<double>(assumed::large_extent);
  const ProductShape large{1, extent, extent, extent};
  return rate_behind(large, tiled_, large.flops() / (assumed::product_share * peak(type)), bytes_of(type));
}

double Rates::product(const ProductShape& shape, const MatrixType& matrix, double result_bytes) {
  return product_seconds(shape, tiled_, rate(shape, matrix), result_bytes);
}

double Rates::plain_product(double flops, ComputeType type) {
  const auto extent = static_cast<double>(assumed::large_extent);
  return flops / rate({1, extent, extent, extent}, {type});
}

std::optional<double> Rates::operation(std::string_view name, ComputeType type, const OpSize& size) const {
  if (!profile_.efficiency || size.work <= 0) return std::nullopt;
  std::vector<Efficiency::Operation> points;
  for (const Efficiency::Operation& point : profile_.efficiency->operations)
    if (point.name == name && point.type == type) points.push_back(point);
  if (points.empty()) return std::nullopt;
  if (points.front().rows == 0)
    return size.work / interpolated(
                           points, [](const Efficiency::Operation& point) { return point.work; }, size.work);
  Nearby<3> nearby;
  for (const Efficiency::Operation& point : points)
    nearby.add({static_cast<double>(point.sequences), static_cast<double>(point.rows), static_cast<double>(point.work)},
               static_cast<double>(point.rate));
  return size.work / nearby.mean({size.sequences, size.rows, size.work});
}

double Rates::attention(bool backward, double flops, ComputeType type) {
  const double share = backward ? assumed::backward_share : assumed::attend_share;
  assume(fmt::format("attention's {} reaches {:g}% of the peak, as on an H200", backward ? "gradient" : "forward pass",
                     100 * share));
  return flops / (share * peak(type));
}

double Rates::memory(double read, double written) {
  const Efficiency none, &measured = profile_.efficiency ? *profile_.efficiency : none;
  if (measured.read.empty() || measured.write.empty())
    assume(fmt::format("{:g}% of the memory's bandwidth is reached", 100 * assumed::memory_share));
  double seconds = 0;
  if (read > 0) seconds += read / (measured.read.empty() ? bandwidth_ : transfer_rate(measured.read, read));
  if (written > 0) seconds += written / (measured.write.empty() ? bandwidth_ : transfer_rate(measured.write, written));
  return seconds;
}

double Rates::memory(const std::vector<Traffic>& read, const std::vector<Traffic>& written) {
  const Efficiency none, &measured = profile_.efficiency ? *profile_.efficiency : none;
  const auto sum = [](const std::vector<Traffic>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0,
                           [](double bytes, const Traffic& one) { return bytes + one.bytes; });
  };
  if (measured.read.empty() || measured.write.empty()) return memory(sum(read), sum(written));
  double seconds = 0;
  for (const Traffic& one : read) seconds += one.bytes / transfer_rate(measured.read, one.distance);
  // A line that is written is fetched first, unless the op has read it.
  for (const Traffic& one : written) {
    const double fetched = one.in_place ? 1 / transfer_rate(measured.read, one.distance) : 0;
    seconds += one.bytes * std::max(0.0, 1 / transfer_rate(measured.write, one.distance) - fetched);
  }
  return seconds;
}

// A core does not fetch far enough ahead to hide all of the way to memory, nor does it only wait. How much of the
// difference between reading a matrix from memory and from where it lies when it is used over and over a product waits
// for was measured.
std::optional<double> Rates::wait(const ProductShape& shape, const MatrixType& type, const Traffic& matrix) const {
  if (!profile_.efficiency || profile_.efficiency->read.empty()) return std::nullopt;
  const auto& read = profile_.efficiency->read;
  const double from_memory = 1 / static_cast<double>(read.back().rate);  // seconds of a byte
  const auto is_cold = [](const Efficiency::Matmul& point) { return point.cold_rate > 0; };
  // Kernels of blocks wait otherwise than those of numbers, which are alike.
  const std::optional<DType> cold =
      type.blocks ? nearest_blocks(profile_.efficiency->matmul, *type.blocks, is_cold) : std::nullopt;
  Grid<3> over_and_over, share;
  for (const Efficiency::Matmul& point : profile_.efficiency->matmul) {
    const ProductShape measured{1, static_cast<double>(point.m), static_cast<double>(point.n),
                                static_cast<double>(point.k)};
    const double bytes = measured.n * measured.k * bytes_of(matrix_of(point)), cached = 1 / transfer_rate(read, bytes);
    if (matrix_of(point) == type) over_and_over.add({measured.m, measured.n, measured.k}, cached);
    constexpr double least = 0.1;  // less of a difference is lost in what measuring is unsure of
    if (!is_cold(point) || point.blocks != cold || from_memory - cached < least * from_memory) continue;
    const double waited =
        measured.flops() / static_cast<double>(point.cold_rate) - measured.flops() / static_cast<double>(point.rate);
    share.add({measured.m, measured.n, measured.k}, std::max(0.0, waited / (bytes * (from_memory - cached))));
  }
  if (!share.any() || !over_and_over.any()) return std::nullopt;
  const std::array<double, 3> here{shape.m, shape.n, shape.k};
  const double further = 1 / transfer_rate(read, matrix.distance) - over_and_over.at(here);
  return share.at(here) * matrix.bytes * std::max(0.0, further);
}

double Rates::link(const Link& link) {
  double share = link.share;
  if (share == 0) {
    share = assumed::link_share;
    assume(fmt::format("collectives reach {:g}% of a link's bandwidth", 100 * share));
  }
  return share * static_cast<double>(link.bandwidth);
}

Latency Rates::latency(const Link& link) {
  if (link.latency > 0) return {link.latency, link.small_latency > 0 ? link.small_latency : link.latency};
  const bool within = link.devices != 0;
  const Latency taken{within ? assumed::latency_within : assumed::latency_between,
                      within ? assumed::small_within : assumed::small_between};
  assume(fmt::format("a message over {} takes {:g} µs to the next rank, a small one {:g} µs, as NCCL takes for {}",
                     link.name, taken.large * 1e6, taken.small * 1e6, within ? "NVLink" : "networks"));
  return taken;
}

}  // namespace reckon

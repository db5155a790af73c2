// The scale, or scale and offset, with which small integers come nearest to some numbers, in weighted squares: for the
// encoders of GGUF's blocks.
//
// For given integers q the best scale follows from sums (least squares); for a given scale the best integers are the
// nearest. So candidates are tried, each is refitted, and the best of them alternate until nothing gets better.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "files/float_types.h"

namespace reckon::fit {

// Four at a time, as every machine here has them; sums are the same on all of them.
using Lanes = float __attribute__((vector_size(16)));

inline Lanes load(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
inline float sum(const Lanes& lanes) { return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]); }

// The nearest whole number, ties to even, of values below 2²².
inline Lanes nearest(const Lanes& values) {
  constexpr float big = 0x1.8p23f;
  return (values + big) - big;
}

// 0 of 0, and finite also where the scale is subnormal.
inline float inverse_of(float scale) {
  constexpr float most = std::numeric_limits<float>::max();
  return scale != 0 ? std::clamp(1 / scale, -most, most) : 0;
}

// Integers from `low` to `high`.
template <int low_, int high_>
struct Integers {
  static constexpr int low = low_, high = high_;
  static Lanes nearest_value(const Lanes& values) {
    constexpr Lanes least = {low, low, low, low}, most = {high, high, high, high};
    Lanes clamped = values < least ? least : values;
    clamped = clamped > most ? most : clamped;
    return nearest(clamped);
  }
};

// A few whole values by code, within ±127.
template <const auto& values_>
struct Table {
  // NOLINTBEGIN(bugprone-signed-char-misuse): they are numbers
  static constexpr int low = *std::min_element(values_.begin(), values_.end());
  static constexpr int high = *std::max_element(values_.begin(), values_.end());
  // NOLINTEND(bugprone-signed-char-misuse)
  // The nearest of each interval of a half, from −128 on: half way between two values an interval ends.
  static constexpr std::array<std::uint8_t, 512> codes = [] {
    std::array<std::uint8_t, 512> found{};
    for (int i = 0; i < 512; ++i) {
      const auto distance = [&](std::size_t code) {  // in quarters, from the middle of the interval
        const int difference = 4 * values_[code] - (2 * (i - 256) + 1);
        return difference < 0 ? -difference : difference;
      };
      std::size_t best = 0;
      for (std::size_t code = 1; code < values_.size(); ++code)
        if (distance(code) < distance(best)) best = code;
      found[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(best);
    }
    return found;
  }();
  static int code_of(float value) {
    return codes[static_cast<std::size_t>(std::clamp(value, -128.0f, 127.75f) * 2 + 256)];
  }
  static Lanes nearest_value(const Lanes& values) {
    Lanes found;
    for (int i = 0; i < 4; ++i) found[i] = values_[static_cast<std::size_t>(code_of(values[i]))];
    return found;
  }
};

// What there is to fit: n numbers (a multiple of 4) and how much each counts.
struct Numbers {
  const float* x;
  const float* weight;
  int n;
};

// Sums over numbers with their integers q at some scale and offset; r = x − scale·q − offset is what is left.
struct Sums {
  float w = 0, q = 0, qq = 0, r = 0, rq = 0, rr = 0;  // each weighted
};

template <class Values>
Sums sums_at(const Numbers& of, float scale, float offset) {
  const float inverse = inverse_of(scale);
  Lanes w{}, wq{}, qq{}, wr{}, rq{}, rr{};
  for (int i = 0; i < of.n; i += 4) {
    const Lanes x = load(of.x + i) - offset, weight = load(of.weight + i);
    const Lanes q = Values::nearest_value(x * inverse);
    const Lanes r = x - scale * q, weighted_q = weight * q, weighted_r = weight * r;
    w += weight;
    wq += weighted_q;
    qq += weighted_q * q;
    wr += weighted_r;
    rq += weighted_r * q;
    rr += weighted_r * r;
  }
  return {sum(w), sum(wq), sum(qq), sum(wr), sum(rq), sum(rr)};
}

// Without an offset only these count.
template <class Values>
Sums scale_sums_at(const Numbers& of, float scale) {
  const float inverse = inverse_of(scale);
  Lanes qq{}, rq{}, rr{};
  for (int i = 0; i < of.n; i += 4) {
    const Lanes x = load(of.x + i), weight = load(of.weight + i);
    const Lanes q = Values::nearest_value(x * inverse);
    const Lanes r = x - scale * q, weighted_r = weight * r;
    qq += weight * q * q;
    rq += weighted_r * q;
    rr += weighted_r * r;
  }
  return {0, 0, sum(qq), 0, sum(rq), sum(rr)};
}

// The best scale for the integers of these sums, which were taken at `scale`.
inline float refitted(float scale, const Sums& sums) { return sums.qq > 0 ? scale + sums.rq / sums.qq : scale; }
inline float error_when_refitted(const Sums& sums) {
  return sums.qq > 0 ? sums.rr - sums.rq * sums.rq / sums.qq : sums.rr;
}

struct Scale {
  float scale = 0, error = 0;
  float curvature = 0;  // how fast the error grows: by this times the square of a change of the scale
};

constexpr int most_alternations = 4;

// The number of largest magnitude.
inline float extreme(const Numbers& of) {
  float found = 0;
  for (int i = 0; i < of.n; ++i)
    if (std::fabs(of.x[i]) > std::fabs(found)) found = of.x[i];
  return found;
}

// The best scale without an offset. Candidates put the extreme number at, beyond or within either end of the values.
template <class Values>
Scale fit_scale(const Numbers& of, int steps, float step, float first) {
  const float most = extreme(of);
  if (most == 0) return {};
  constexpr int kept = 3;
  std::array<Scale, kept> best;
  best.fill({0, INFINITY, 0});
  const auto consider = [&](float scale) {
    const Sums sums = scale_sums_at<Values>(of, scale);
    Scale candidate{refitted(scale, sums), error_when_refitted(sums), sums.qq};
    for (Scale& place : best)
      if (candidate.error < place.error) std::swap(candidate, place);
  };
  for (const int end : {Values::low, Values::high})
    for (int i = 0; i < steps; ++i) consider(most / (static_cast<float>(end) * (first + step * static_cast<float>(i))));
  Scale found = best[0];
  for (Scale one : best) {
    for (int i = 0; i < most_alternations && std::isfinite(one.error); ++i) {
      const Sums sums = scale_sums_at<Values>(of, one.scale);
      const float error = error_when_refitted(sums);
      const bool better = error < one.error;
      if (error < found.error) found = {refitted(one.scale, sums), error, sums.qq};
      one = {refitted(one.scale, sums), error, sums.qq};
      if (!better) break;
    }
  }
  return found;
}

struct Line {
  float scale = 0, offset = 0, error = 0;
  Sums sums = {};  // of the integers that it was fitted to
};

// The best scale and offset for the integers of sums that were taken at those of `line`; an offset beyond `most_offset`
// becomes it.
inline Line refitted(const Line& line, const Sums& sums, float most_offset) {
  const float determinant = sums.w * sums.qq - sums.q * sums.q;
  Line best = line;
  best.sums = sums;
  best.error = sums.rr;
  if (determinant > 1e-6f * sums.w * sums.qq) {
    const float scale = (sums.w * sums.rq - sums.q * sums.r) / determinant;
    const float offset = (sums.qq * sums.r - sums.q * sums.rq) / determinant;
    if (line.offset + offset <= most_offset) {
      best.scale += scale;
      best.offset += offset;
      best.error = sums.rr - (scale * sums.rq + offset * sums.r);
      return best;
    }
  }
  if (sums.qq > 0) {  // the offset is given
    const float change = most_offset - line.offset < 0 ? most_offset - line.offset : 0;
    const float scale = (sums.rq - change * sums.q) / sums.qq;
    best.offset += change;
    best.scale += scale;
    best.error = sums.rr - 2 * change * sums.r + change * change * sums.w - scale * scale * sums.qq;
  }
  return best;
}

// The best scale and offset, which is at most `most_offset`, for integers from 0. Candidates move either end of the
// range inwards by so many steps of a half, quarter, … of the distance between two integers.
template <class Values>
Line fit_line(const Numbers& of, float most_offset, int steps, float step, float first) {
  float least = of.x[0], most = of.x[0];
  for (int i = 1; i < of.n; ++i) {
    least = std::min(least, of.x[i]);
    most = std::max(most, of.x[i]);
  }
  least = std::min(least, most_offset);
  Line found;
  found.offset = least;
  if (most <= least) {
    found.sums = sums_at<Values>(of, 0, least);
    found.error = found.sums.rr;
    return found;
  }
  constexpr int kept = 3;
  std::array<Line, kept> best;
  best.fill({0, 0, INFINITY});
  const float distance = (most - least) / static_cast<float>(Values::high);
  for (int i = 0; i < steps; ++i)
    for (int j = 0; j < steps; ++j) {
      const float from = least + distance * (first + step * static_cast<float>(i));
      const float to = most - distance * (first + step * static_cast<float>(j));
      Line candidate{(to - from) / static_cast<float>(Values::high), from, 0};
      candidate = refitted(candidate, sums_at<Values>(of, candidate.scale, candidate.offset), most_offset);
      for (Line& place : best)
        if (candidate.error < place.error) std::swap(candidate, place);
    }
  found = best[0];
  for (Line one : best)
    for (int i = 0; i < most_alternations && std::isfinite(one.error); ++i) {
      const Line next = refitted(one, sums_at<Values>(of, one.scale, one.offset), most_offset);
      const bool better = next.error < one.error;
      if (next.error < found.error) found = next;
      one = next;
      if (!better) break;
    }
  return found;
}

// The float16 nearest to it that is a number.
inline std::uint16_t nearest_float16(float value) { return to_float16(std::clamp(value, -65504.0f, 65504.0f)); }

}  // namespace reckon::fit

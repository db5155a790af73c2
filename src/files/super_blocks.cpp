#include "files/super_blocks.h"

#include <array>

#include "files/blocks.h"

namespace reckon {
namespace {

using fit::Integers;
using fit::Line;
using fit::nearest_float16;
using fit::Numbers;
using fit::Scale;
using fit::Sums;
using fit::sums_at;
using Bytes = std::uint8_t*;

constexpr int elements = 256;
constexpr int rounds = 2;  // of choosing the small integers and refitting what scales them

void put(Bytes at, std::uint16_t value) { std::memcpy(at, &value, sizeof value); }

Numbers part(const Numbers& of, int index, int n) { return {of.x + index * n, of.weight + index * n, n}; }

int rounded(float value, int least, int most) {
  constexpr float big = 0x1.8p23f;  // as fit::nearest(); std::lrint is a call
  const float clamped = std::clamp(value, static_cast<float>(least), static_cast<float>(most));
  return static_cast<int>((clamped + big) - big);
}

float over(float value, float divisor) { return divisor != 0 ? value / divisor : 0; }

// ---- Scales without offsets: value = d · scale · q.

template <int count>
struct Scales {
  std::uint16_t d = 0;
  std::array<int, count> scale{};
  float error = INFINITY;
};

// The best of the small integers near to what was found, for a given d. Gives d's best value for them.
template <class Values, int count>
float choose_scales(const Numbers& of, std::uint16_t d, int least, int most, std::array<float, count>& fitted,
                    Scales<count>& best) {
  const float scale = from_float16(d);
  Scales<count> found;
  found.d = d;
  found.error = 0;
  float rq = 0, qq = 0;
  for (int j = 0; j < count; ++j) {
    const auto index = static_cast<std::size_t>(j);
    const int middle = rounded(over(fitted[index], scale), least, most);
    Sums sums;
    sums.rr = INFINITY;
    for (int s = std::max(middle - 1, least); s <= std::min(middle + 1, most); ++s) {
      const Sums at = fit::scale_sums_at<Values>(part(of, j, elements / count), scale * static_cast<float>(s));
      if (at.rr >= sums.rr) continue;
      sums = at;
      found.scale[index] = s;
    }
    const auto s = static_cast<float>(found.scale[index]);
    found.error += sums.rr;
    rq += sums.rq * s;
    qq += sums.qq * s * s;
    fitted[index] = fit::refitted(scale * s, sums);
  }
  if (found.error < best.error) best = found;
  return scale + over(rq, qq);
}

template <class Values, int count>
Scales<count> fit_scales(const Numbers& of, int least, int most, int steps, float step, float first) {
  std::array<Scale, count> fitted;
  float extreme = 0;
  for (int j = 0; j < count; ++j) {
    Scale& one = fitted[static_cast<std::size_t>(j)];
    one = fit::fit_scale<Values>(part(of, j, elements / count), steps, step, first);
    if (std::fabs(one.scale) > std::fabs(extreme)) extreme = one.scale;
  }
  // Candidates of d put the extreme scale at either end of the small integers or a little within; what they lose
  // follows from the curvature of each sub-block's error.
  constexpr int within = 6, kept = 2;
  struct Candidate {
    float d = 0, loss = INFINITY;
  };
  std::array<Candidate, kept> candidates;
  for (const int end : {least, most})
    for (int i = 0; i < within; ++i) {
      Candidate candidate{extreme / static_cast<float>(end < 0 ? end + i : end - i), 0};
      for (const Scale& one : fitted) {
        const float nearest = static_cast<float>(rounded(over(one.scale, candidate.d), least, most)) * candidate.d;
        candidate.loss += one.curvature * (one.scale - nearest) * (one.scale - nearest);
      }
      for (Candidate& place : candidates)
        if (candidate.loss < place.loss) std::swap(candidate, place);
    }
  Scales<count> best;
  for (const Candidate& candidate : candidates) {
    std::array<float, count> scales;
    for (std::size_t j = 0; j < count; ++j) scales[j] = fitted[j].scale;
    float d = candidate.d;
    for (int round = 0; round < rounds; ++round)
      d = choose_scales<Values, count>(of, nearest_float16(d), least, most, scales, best);
  }
  return best;
}

// ---- Scales and offsets: value = d · scale · q − m · offset.

template <int count>
struct Lines {
  std::uint16_t d = 0, m = 0;
  std::array<int, count> scale{}, offset{};
  float error = INFINITY;
};

struct Pair {
  float d, m;
};

template <class Values, int count>
Pair choose_lines(const Numbers& of, std::uint16_t d, std::uint16_t m, int most, std::array<Line, count>& fitted,
                  Lines<count>& best) {
  const Pair at{from_float16(d), from_float16(m)};
  Lines<count> found;
  found.d = d;
  found.m = m;
  found.error = 0;
  float rf = 0, rg = 0, ff = 0, fg = 0, gg = 0;  // least squares of r over f = scale·q and g = −offset
  for (int j = 0; j < count; ++j) {
    const auto index = static_cast<std::size_t>(j);
    const Numbers numbers = part(of, j, elements / count);
    const int scale = rounded(over(fitted[index].scale, at.d), 0, most);
    const int offset = rounded(over(-fitted[index].offset, at.m), 0, most);
    Sums sums;
    sums.rr = INFINITY;
    for (int s = std::max(scale - 1, 0); s <= std::min(scale + 1, most); ++s)
      for (int o = std::max(offset - 1, 0); o <= std::min(offset + 1, most); ++o) {
        const Sums here = sums_at<Values>(numbers, at.d * static_cast<float>(s), -at.m * static_cast<float>(o));
        if (here.rr >= sums.rr) continue;
        sums = here;
        found.scale[index] = s;
        found.offset[index] = o;
      }
    const auto s = static_cast<float>(found.scale[index]), o = static_cast<float>(found.offset[index]);
    found.error += sums.rr;
    rf += sums.rq * s;
    rg -= sums.r * o;
    ff += sums.qq * s * s;
    fg -= sums.q * s * o;
    gg += sums.w * o * o;
    fitted[index] = fit::refitted(Line{at.d * s, -at.m * o, 0}, sums, 0);
  }
  if (found.error < best.error) best = found;
  const float determinant = ff * gg - fg * fg;
  if (determinant <= 1e-6f * ff * gg) return {at.d + over(rf, ff), at.m};
  return {at.d + (gg * rf - fg * rg) / determinant, at.m + (ff * rg - fg * rf) / determinant};
}

template <class Values, int count>
Lines<count> fit_lines(const Numbers& of, int most, int steps, float step, float first) {
  std::array<Line, count> fitted;
  float scale = 0, offset = 0;
  for (int j = 0; j < count; ++j) {
    Line& one = fitted[static_cast<std::size_t>(j)];
    one = fit::fit_line<Values>(part(of, j, elements / count), 0, steps, step, first);
    scale = std::max(scale, one.scale);
    offset = std::max(offset, -one.offset);
  }
  constexpr int within = 8, kept = 2;
  struct Candidate {
    Pair at = {0, 0};
    float loss = INFINITY;
  };
  std::array<Candidate, kept> candidates;
  for (int i = 0; i < within; ++i)
    for (int k = 0; k < within; ++k) {
      Candidate candidate{{scale / static_cast<float>(most - i), offset / static_cast<float>(most - k)}, 0};
      const auto [d, m] = candidate.at;
      for (const Line& one : fitted) {
        const float s = static_cast<float>(rounded(over(one.scale, d), 0, most)) * d - one.scale;
        const float o = static_cast<float>(rounded(over(-one.offset, m), 0, most)) * -m - one.offset;
        candidate.loss += one.sums.qq * s * s + 2 * one.sums.q * s * o + one.sums.w * o * o;
      }
      for (Candidate& place : candidates)
        if (candidate.loss < place.loss) std::swap(candidate, place);
    }
  Lines<count> best;
  for (const Candidate& candidate : candidates) {
    std::array<Line, count> lines = fitted;
    Pair at = candidate.at;
    for (int round = 0; round < rounds; ++round)
      at = choose_lines<Values, count>(of, nearest_float16(at.d), nearest_float16(std::max(at.m, 0.0f)), most, lines,
                                       best);
  }
  return best;
}

// ---- Where they lie.

// The inverse of sub_block().
void put_sub_block(int j, int scale, int offset, Bytes packed) {
  if (j < 4) {
    packed[j] |= static_cast<std::uint8_t>(scale);
    packed[j + 4] |= static_cast<std::uint8_t>(offset);
  } else {
    packed[j + 4] = static_cast<std::uint8_t>((scale & 15) | (offset & 15) << 4);
    packed[j - 4] |= static_cast<std::uint8_t>(scale >> 4 << 6);
    packed[j] |= static_cast<std::uint8_t>(offset >> 4 << 6);
  }
}

template <class Values>
void put_lines(const Numbers& of, Bytes block) {
  const auto lines = fit_lines<Values, 8>(of, 63, 5, Values::high > 15 ? 0.35f : 0.25f, -0.1f);
  put(block, lines.d);
  put(block + 2, lines.m);
  for (int j = 0; j < 8; ++j)
    put_sub_block(j, lines.scale[static_cast<std::size_t>(j)], lines.offset[static_cast<std::size_t>(j)], block + 4);
}

}  // namespace

void fit_q2_k(const Numbers& of, Bytes block) {
  const auto lines = fit_lines<Integers<0, 3>, 16>(of, 15, 6, 0.15f, -0.15f);
  for (std::size_t j = 0; j < 16; ++j) block[j] = static_cast<std::uint8_t>(lines.scale[j] | lines.offset[j] << 4);
  put(block + 80, lines.d);
  put(block + 82, lines.m);
}

void fit_q3_k(const Numbers& of, Bytes block) {
  const auto scales = fit_scales<Integers<-4, 3>, 16>(of, -32, 31, 16, 0.05f, 0.65f);
  for (int k = 0; k < 16; ++k) {
    const int scale = scales.scale[static_cast<std::size_t>(k)] + 32;
    block[96 + k % 8] |= static_cast<std::uint8_t>((scale & 15) << k / 8 * 4);
    block[104 + k % 4] |= static_cast<std::uint8_t>(scale >> 4 << k / 4 * 2);
  }
  put(block + 108, scales.d);
}

void fit_q4_k(const Numbers& of, Bytes block) { put_lines<Integers<0, 15>>(of, block); }

void fit_q5_k(const Numbers& of, Bytes block) { put_lines<Integers<0, 31>>(of, block); }

void fit_q6_k(const Numbers& of, Bytes block) {
  const auto scales = fit_scales<Integers<-32, 31>, 16>(of, -128, 127, 10, 0.015f, 0.9f);
  for (std::size_t k = 0; k < 16; ++k) block[192 + k] = static_cast<std::uint8_t>(scales.scale[k]);
  put(block + 208, scales.d);
}

void fit_iq4_xs(const Numbers& of, Bytes block) {
  const auto scales = fit_scales<fit::Table<iq4_values>, 8>(of, -32, 31, 16, 0.03f, 0.72f);
  put(block, scales.d);
  std::uint16_t high = 0;
  for (int k = 0; k < 8; ++k) {
    const int stored = scales.scale[static_cast<std::size_t>(k)] + 32;
    high = static_cast<std::uint16_t>(high | (stored >> 4) << 2 * k);
    block[4 + k / 2] |= static_cast<std::uint8_t>((stored & 15) << k % 2 * 4);
  }
  put(block + 2, high);
}

}  // namespace reckon

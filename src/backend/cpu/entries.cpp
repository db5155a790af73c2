// Entries of several tokens, each sequence's into its own pages. The state has two of a sequence: position 0 is read,
// position 1 written.
#include "ops/entries.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace reckon {
namespace {

using namespace entries_input;

// What the tokens of a sequence gave: kv and, behind it in a state, its gate.
class Given {
 public:
  Given(const Launch& launch, std::int64_t before)
      : launch_(launch), before_(before), each_(launch.inputs[kv].size[2]) {
    if (launch.inputs[state].there()) starts_ = launch.inputs[starts].integers();
  }
  std::int64_t start(std::int64_t b) const { return starts_ != nullptr ? starts_[b] : 0; }
  // Of the token at a position of the text, from `before` ahead of the first new one on.
  const float* at(std::size_t which, std::int64_t b, std::int64_t p) const {
    const std::int64_t t = p - start(b);
    const View& fresh = launch_.inputs[which];
    if (t >= 0) return fresh.floats() + b * fresh.stride[0] + t * fresh.stride[1];
    return launch_.inputs[state].position(b, 0) + ((before_ + t) * 2 + static_cast<std::int64_t>(which)) * each_;
  }
  void keep(std::int64_t b, std::int64_t end) const {
    if (starts_ == nullptr) return;
    for (std::int64_t j = 0; j < before_; ++j) {
      for (const std::size_t which : {kv, gate}) {
        const std::int64_t p = end - before_ + j;
        float* to = launch_.inputs[state].position(b, 1) + (j * 2 + static_cast<std::int64_t>(which)) * each_;
        if (p < 0) {
          std::fill_n(to, each_, 0.0f);
        } else {
          std::copy_n(at(which, b, p), each_, to);
        }
      }
    }
  }

 private:
  const Launch& launch_;
  std::int64_t before_, each_;
  const std::int32_t* starts_ = nullptr;
};

}  // namespace

void run_entries(const Launch& launch) {
  const auto& a = launch.op.attributes<EntriesAttributes>();
  const View &fresh = launch.inputs[kv], &angles = launch.inputs[table], &y = launch.outputs[0];
  const float *biases = launch.inputs[bias].values(), *weight = launch.inputs[norm].values();
  const std::int64_t tokens = fresh.size[1], each = fresh.size[2], dims = angles.size[1], half = dims / 2;
  const std::int64_t width = a.overlaps ? each / 2 : each;
  const Given given(launch, a.before());
  for (std::int64_t b = 0; b < fresh.size[0]; ++b) {
    const std::int64_t start = given.start(b), first_entry = entries_of(start, a.rate);
    const std::int64_t made = entries_of(start + tokens, a.rate) - first_entry;
    launch.machine.run(made, [&](std::int64_t task, int) {
      const std::int64_t e = first_entry + task, own = e * a.rate, end = own + a.rate;
      const std::int64_t first = a.overlaps && e > 0 ? own - a.rate : own;
      count_elementwise((8 * (end - first) + 1) * width + 2 + 3 * dims);
      std::vector<float> most(static_cast<std::size_t>(width), -std::numeric_limits<float>::infinity());
      std::vector<float> sum(most.size()), total(most.size()), out(most.size());
      const auto shift = [&](std::int64_t p) { return a.overlaps && p >= own ? width : 0; };
      const auto score = [&](std::int64_t p, std::size_t i) {
        const std::int64_t at = shift(p) + static_cast<std::int64_t>(i);
        return given.at(gate, b, p)[at] + biases[p % a.rate * each + at];
      };
      for (std::int64_t p = first; p < end; ++p)
        for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], score(p, i));
      for (std::int64_t p = first; p < end; ++p) {
        const float* values = given.at(kv, b, p) + shift(p);
        for (std::size_t i = 0; i < most.size(); ++i) {
          const float share = std::exp(score(p, i) - most[i]);
          total[i] += share;
          sum[i] += share * values[i];
        }
      }
      float squares = 0.0f;
      for (std::size_t i = 0; i < most.size(); ++i) {
        out[i] = sum[i] / total[i];
        squares += out[i] * out[i];
      }
      const float root = std::sqrt(squares / static_cast<float>(width) + static_cast<float>(a.epsilon));
      for (std::size_t i = 0; i < most.size(); ++i) out[i] *= weight[i] / root;
      const float* turn = angles.floats() + own * dims;
      float* rotated = out.data() + width - dims;
      for (std::int64_t i = 0; i < half; ++i) {
        const float one = rotated[2 * i], two = rotated[2 * i + 1];
        rotated[2 * i] = one * turn[i] - two * turn[half + i];
        rotated[2 * i + 1] = one * turn[half + i] + two * turn[i];
      }
      if (y.blocks != nullptr) {
        y.blocks->encode(out.data(), width / y.blocks->elements, y.block(y.place(b, e)));
      } else {
        std::copy_n(out.data(), width,
                    y.floats() + (y.pages != nullptr ? y.place(b, e) : b * y.stride[0] + e * y.stride[1]));
      }
    });
    given.keep(b, start + tokens);
  }
}

}  // namespace reckon

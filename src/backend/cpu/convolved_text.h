// Rows of a text of which the last ones are new, for operations that read some tokens before each. A cache has two
// states of a sequence: position 0 is read, position 1 written.
#pragma once

#include <algorithm>

#include "backend/cpu/launch.h"

namespace reckon {

class ConvolvedText {
 public:
  // The new rows are the first input; `row` elements a token. The cache, input `cache`, has those of `before` tokens;
  // the next input is where sequences start.
  ConvolvedText(const Launch& launch, std::size_t cache, std::int64_t before, std::int64_t row)
      : x_(launch.inputs[0]), tokens_(launch.inputs[0].size[1]), before_(before), row_(row) {
    if (launch.inputs.size() > cache) cache_ = launch.inputs[cache];
    if (cache_.there()) starts_ = launch.inputs[cache + 1].integers();
  }
  // nullptr before the text; t < 0 is before what is new.
  const float* at(std::int64_t b, std::int64_t t) const {
    if (t >= 0) return x_.floats() + b * x_.stride[0] + t * x_.stride[1];
    return starts_ == nullptr || starts_[b] == 0 ? nullptr : cache_.position(b, 0) + (before_ + t) * row_;
  }
  // That row; zeros before the text.
  void copy(std::int64_t b, std::int64_t t, float* to) const {
    if (const float* in = at(b, t)) {
      std::copy_n(in, row_, to);
    } else {
      std::fill_n(to, row_, 0.0f);
    }
  }
  // What the next run reads from the cache.
  void keep() const {
    if (!cache_.there()) return;
    for (std::int64_t b = 0; b < x_.size[0]; ++b)
      for (std::int64_t j = 0; j < before_; ++j) copy(b, tokens_ - before_ + j, cache_.position(b, 1) + j * row_);
  }

 private:
  const View& x_;
  View cache_;
  const std::int32_t* starts_ = nullptr;
  std::int64_t tokens_, before_, row_;
};

}  // namespace reckon

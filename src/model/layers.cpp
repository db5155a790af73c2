// A stack whose repeating pattern is held once.
#include <reckon/model.h>

#include <algorithm>
#include <utility>

namespace reckon {

bool Layers::operator==(const Layers& other) const {
  return size() == other.size() && std::equal(begin(), end(), other.begin());
}

std::size_t Layers::repeats_until(std::size_t first, std::size_t period) const {
  std::size_t at = first + period;
  while (at < size()) {
    const bool both_repeat = repeated_ > 0 && period % period_ == 0 && at - period + period_ >= written_.size();
    if (both_repeat) return size();
    if (place(at) != place(at - period) && (*this)[at] != (*this)[at - period]) return at;
    ++at;
  }
  return at;
}

void Layers::assign(std::size_t n, const Layer& layer) {
  written_.assign(std::min<std::size_t>(n, 1), layer);
  period_ = 1;
  repeated_ = n - written_.size();
}

void Layers::repeat(std::size_t first, std::size_t period, std::size_t n) {
  all().resize(std::min(n, first + period));
  period_ = period;
  repeated_ = n - written_.size();
}

std::vector<Layer>& Layers::all() {
  const std::size_t n = size();
  written_.reserve(n);
  while (repeated_ > 0) {
    Layer next = written_[written_.size() - period_];
    written_.push_back(std::move(next));
    --repeated_;
  }
  return written_;
}

}  // namespace reckon

// How a program is written on paper: a letter for each tensor, a formula for each operation, shapes in symbols.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace reckon {

class Notation {
 public:
  explicit Notation(const Program& program);

  // "q", "W_q"; a tensor that only changes form or place keeps its letter.
  const std::string& letter(TensorId id) const { return letters_[static_cast<std::size_t>(id)]; }
  // "q = h·W_qᵀ + b_q" of a forward op; empty where nothing is computed.
  std::string formula(const Op& op) const;
  // What stands in `formula` but does not explain itself: a mask, a window, a cap.
  std::string remark(const Op& op) const;

  // "T × d" and "32 × 64", without a batch of one.
  std::string symbols(const Shape& shape) const;
  std::string numbers(const Shape& shape) const;

 private:
  void name_outputs(const Op& op);
  void name_summand(const Op& sum);
  std::string input(const Op& op, std::size_t i) const;
  template <class Text>
  std::string extents(const Shape& shape, const Text& text) const;
  const Program& program_;
  std::vector<std::string> letters_;
};

}  // namespace reckon

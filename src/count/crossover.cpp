// Where attention's products of pairs overtake its projections, by the program of each length.
#include <reckon/error.h>

#include <algorithm>
#include <cmath>

#include "compile/compile.h"
#include "count/parts.h"
#include "count/rules.h"
#include "network/forward.h"

namespace reckon {
namespace {

// One workload at any length.
class Lengths {
 public:
  Lengths(const Model& model, const Workload& asked) : model_(model), workload_(resolve(model, asked)) {
    workload_.batch = 1;  // every product of attention has it as a factor
  }

  bool decode() const { return workload_.phase == Phase::decode; }
  std::int64_t asked() const { return workload_.past + workload_.tokens; }
  std::int64_t shortest() const { return decode() ? workload_.tokens : workload_.past + 1; }

  struct Products {
    Count projections, pairs;
  };
  Products at(std::int64_t length) {
    (decode() ? workload_.past : workload_.tokens) = length - (decode() ? workload_.tokens : workload_.past);
    model_.context = std::max(model_.context, length);  // learned positions for all of them
    const Program program = logical_program(model_, workload_);
    const auto of = [&](bool pairs) {
      return matmul_flops(program, [&](const Op& op) {
        return op.scope.role.block == Block::attention && pairs_tokens(op.scope.role) == pairs;
      });
    };
    return {of(false), of(true)};
  }

 private:
  Model model_;
  Workload workload_;
};

}  // namespace

// The share of scores and mixing never falls with the length, so the place can be searched. Where no window is in the
// way it grows about in proportion to the length, and the first guess from it is mostly right.
std::optional<std::int64_t> crossover(const Model& model, const Workload& workload) {
  Lengths lengths(model, workload);
  std::int64_t below = lengths.shortest() - 1;                          // projections cost more up to here
  std::int64_t end = lengths.shortest() + (std::int64_t{1} << 40) - 1;  // here and beyond, they do not, or …
  bool found = false;                                                   // … nothing can be counted
  std::int64_t length = lengths.asked();
  for (int step = 0; end - below > 1; ++step) {
    double guess = 0;
    try {
      const auto [projections, pairs] = lengths.at(length);
      if (projections == 0 && pairs == 0) return std::nullopt;  // a model without attention
      const bool reached = pairs >= projections;
      (reached ? end : below) = length;
      found = found || reached;
      guess = std::ceil(static_cast<double>(length) * (static_cast<double>(projections) / static_cast<double>(pairs)));
    } catch (const Error&) {
      end = length;
    }
    // Every other step halves what is left (or doubles, while there is no end), in case the guesses converge slowly.
    if (guess == 0 || step % 2 == 1) {
      const std::int64_t middle = below + (end - below) / 2;
      guess = static_cast<double>(found ? middle : std::min(middle, 2 * std::max<std::int64_t>(below, 1)));
    }
    const double least = static_cast<double>(below + 1), most = static_cast<double>(std::max(end - 1, below + 1));
    length = static_cast<std::int64_t>(std::clamp(guess, least, most));
  }
  return found ? std::optional(end) : std::nullopt;
}

}  // namespace reckon

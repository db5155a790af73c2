#include "count/cache.h"

#include "compile/compile.h"
#include "network/forward.h"

namespace reckon {

CacheCost cache_cost(const Model& model, const Workload& asked) {
  const Workload given = resolve(model, asked);
  CacheCost cost{given.precision.cache, given.batch, given.past + given.tokens, given.encoder_tokens, {}, {}, {}, {}};
  // The decoding of the last of these tokens: it sees what a window still holds, and itself.
  Workload last = workload_of(Phase::decode);
  last.batch = given.batch;
  last.past = cost.tokens - 1;
  last.encoder_tokens = given.encoder_tokens;
  last.precision = given.precision;
  last.layout = given.layout;
  const Program program = logical_program(model, last);
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != TensorKind::cache || tensor.storage != no_tensor) continue;
    const Count all = bytes(tensor) * program.count(tensor.repeat);
    cost.total += all;
    const Piece piece = tensor.label.piece;
    if (piece == Piece::state_cache || piece == Piece::convolution_cache) {
      cost.state += all / cost.sequences;
      continue;
    }
    const Dim keys = tensor.shape[1];  // (B × S × heads × width)
    if (keys.symbol == Symbol::encoder_tokens) continue;
    // An entry that stands for several tokens is as much of each.
    const Count token = all / (Count(cost.sequences) * keys.size * tensor.every);
    cost.first_token += token;
    if (tensor.every > 1 || keys.size * given.layout.context == cost.tokens) cost.last_token += token;
  }
  return cost;
}

CacheCost full_cache_cost(const Model& model, std::int64_t sequences) {
  Workload full = workload_of(Phase::decode);
  full.batch = sequences;
  full.precision.cache = DType::bfloat16;
  return cache_cost(model, full);
}

}  // namespace reckon

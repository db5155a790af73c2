#include "ops/chosen.h"

#include "ops/attention.h"
#include "ops/rules.h"

#include <algorithm>

namespace reckon {
namespace {

std::int64_t past_of(const Program& program) { return std::max<std::int64_t>(0, program.workload.past); }

// A number of pairs as a factor of a formula, or in its coefficient where it is more than a dimension holds.
Term times_pairs(Term term, const Count& pairs) {
  if (pairs.is_short()) return term.times({static_cast<std::int64_t>(pairs), Symbol::window_pairs});
  term.coefficient *= pairs;
  return term;
}

// What is read of keys and values so wide: those of so many positions.
Count cached_bytes(const Program& program, TensorId id, std::int64_t positions) {
  const Shape& shape = program[id].shape;
  return whole_blocks(program[id].dtype,
                      Term(1).times(shape[0]).times(positions).times(shape[2]).times(shape[3]).value());
}

// Every key that a query may see is scored by every head: 2·m each. With weights: ReLU, product and sum, of which the
// first is none, and a comparison to choose by, 3 a head; of blocks, a maximum, 1 a head.
Cost choose_cost(const Program& program, const Op& op) {
  const Shape &query = program[op.inputs[0]].shape, &keys = program[op.inputs[1]].shape;
  const std::int64_t past = past_of(program), tokens = query[1].size;
  const std::int64_t every = op.attributes<ChooseAttributes>().every;
  const Count pairs = entry_pairs(tokens, past, every, 0);
  const bool weighted = op.inputs[2] != no_tensor;
  Cost cost;
  cost.matmul = Formula(times_pairs(Term(2).times(query[0]).times(query[2]).times(query[3]), pairs));
  cost.elementwise = Formula(times_pairs(Term(weighted ? 3 : 1).times(query[0]).times(query[2]), pairs));
  cost.read = bytes(program[op.inputs[0]]) +
              cached_bytes(program, op.inputs[1], std::min(keys[1].size, (past + tokens) / every));
  if (weighted) cost.read += bytes(program[op.inputs[2]]);
  cost.written = bytes(program[op.outputs[0]]);
  return cost;
}

Count pairs_of(const Program& program, const Op& op) {
  const std::int64_t tokens = program[op.inputs[0]].shape[1].size;
  return chosen_pairs(tokens, past_of(program), program[op.inputs[3]].shape[-1].size,
                      op.attributes<AttendChosenAttributes>().block);
}

// As of attention in one pass: a pair is scaled, then maximum, difference, exponential and sum; the quotient is taken
// of what was mixed. Of the keys, from the chosen of one query to all of them are read.
Cost attend_cost(const Program& program, const Op& op) {
  const Shape &query = program[op.inputs[0]].shape, &out = program[op.outputs[0]].shape;
  const auto& a = op.attributes<AttendChosenAttributes>();
  const Count pairs = pairs_of(program, op);
  Cost cost;
  cost.matmul = Formula(times_pairs(Term(2).times(query[0]).times(query[2]).times(query[3]), pairs));
  cost.matmul += times_pairs(Term(2).times(query[0]).times(query[2]).times(out[3]), pairs);
  cost.elementwise = Formula(times_pairs(Term(a.scale != 1.0 ? 5 : 4).times(query[0]).times(query[2]), pairs));
  cost.elementwise += out.product();
  const std::int64_t all = std::min(program[op.inputs[1]].shape[1].size, past_of(program) + query[1].size);
  const std::int64_t fewest = std::min(all, program[op.inputs[3]].shape[-1].size * a.block);
  const Count rest = bytes(program[op.inputs[0]]) + bytes(program[op.inputs[3]]);
  const auto keys_and_values = [&](std::int64_t positions) {
    return cached_bytes(program, op.inputs[1], positions) + cached_bytes(program, op.inputs[2], positions);
  };
  cost.read = rest + keys_and_values(all);
  cost.read_least = rest + keys_and_values(fewest);
  cost.written = bytes(program[op.outputs[0]]);
  return cost;
}

Cost entries_cost(const Program& program, const Op& op) {
  const Shape& query = program[op.inputs[0]].shape;
  const auto& a = op.attributes<AttendEntriesAttributes>();
  const bool any = op.inputs[2] != no_tensor, chosen = op.inputs[3] != no_tensor;
  const std::int64_t past = past_of(program), tokens = query[1].size, end = past + tokens;
  const std::int64_t top = chosen ? program[op.inputs[3]].shape[-1].size : 0;
  Count pairs = visible_pairs(tokens, end, {.window = a.window});
  if (any) pairs += entry_pairs(tokens, past, a.every, top);
  Cost cost;
  cost.matmul = Formula(times_pairs(Term(4).times(query[0]).times(query[2]).times(query[3]), pairs));
  cost.elementwise = Formula(times_pairs(Term(a.scale != 1.0 ? 5 : 4).times(query[0]).times(query[2]), pairs));
  cost.elementwise += query.product();
  cost.elementwise += query.leading().product(4);
  const std::int64_t seen = std::min(program[op.inputs[1]].shape[1].size, std::min(end, a.window - 1 + tokens));
  Count rest = bytes(program[op.inputs[0]]) + bytes(program[op.inputs[4]]) + cached_bytes(program, op.inputs[1], seen);
  if (chosen) rest += bytes(program[op.inputs[3]]);
  cost.weights = bytes(program[op.inputs[4]]);
  cost.read = rest;
  if (any) {
    const std::int64_t all = std::min(program[op.inputs[2]].shape[1].size, end / a.every);
    cost.read += cached_bytes(program, op.inputs[2], all);
    if (chosen) cost.read_least = rest + cached_bytes(program, op.inputs[2], std::min(all, top));
  }
  cost.written = bytes(program[op.outputs[0]]);
  return cost;
}

// Five products over the same pairs: q·k again, do·v, and those that make dq, dk and dv. A pair: scaled, difference,
// exponential and quotient again, its gradient p·(dp − Σ do·o) and that times the scale; a maximum and a sum of each
// row; Σ do·o of each row of o.
Cost backward_cost(const Program& program, const Op& op) {
  const Shape &query = program[op.inputs[0]].shape, &out = program[op.inputs[4]].shape;
  const auto& a = op.attributes<AttendChosenAttributes>();
  const Count pairs = pairs_of(program, op);
  Formula products(times_pairs(Term(6).times(query[0]).times(query[2]).times(query[3]), pairs));
  products += times_pairs(Term(4).times(query[0]).times(query[2]).times(out[3]), pairs);
  Formula operations(times_pairs(Term(a.scale != 1.0 ? 9 : 7).times(query[0]).times(query[2]), pairs));
  operations += elements_and_rows(out, 2, -1);
  return streaming_cost(program, op, std::move(operations), std::move(products));
}

void gradient(Gradient& g, const Op& op) {
  const TensorId query = op.inputs[0], keys = op.inputs[1], values = op.inputs[2];
  const TensorId dq = g.make(query), dk = g.make(keys), dv = g.make(values);
  g.builder().emit(attend_chosen_backward_operation,
                   {query, keys, values, op.inputs[3], op.outputs[0], g.of(op.outputs[0])}, {dq, dk, dv},
                   op.attributes<AttendChosenAttributes>());
  g.add(query, dq);
  g.add(keys, dk);
  g.add(values, dv);
}

}  // namespace

Count chosen_pairs(std::int64_t tokens, std::int64_t past, std::int64_t top, std::int64_t block) {
  // Of the first n positions: in block j, min(top, j + 1) − 1 whole blocks and the beginning of its own.
  const auto until = [&](std::int64_t n) {
    const std::int64_t whole = n / block, rest = n % block;
    const std::int64_t growing = std::min(whole, top);
    const Count others = Count(growing) * (growing - 1) / 2 + Count(whole - growing) * (top - 1);
    return others * block * block + Count(whole) * (Count(block) * (block + 1) / 2) +
           Count(rest) * (std::min(top, whole + 1) - 1) * block + Count(rest) * (rest + 1) / 2;
  };
  return until(past + tokens) - until(past);
}

Count entry_pairs(std::int64_t tokens, std::int64_t past, std::int64_t every, std::int64_t top) {
  // Of the first n positions: each of `every` from the last token of an entry on sees one more.
  const auto until = [&](std::int64_t n) {
    const std::int64_t whole = (n + 1) / every, rest = (n + 1) % every;  // position p sees ⌊(p + 1) / every⌋
    const std::int64_t growing = top > 0 ? std::min(whole, top) : whole;
    const Count sum = Count(growing) * (growing - 1) / 2 + Count(whole - growing) * growing;
    return sum * every + Count(rest) * growing;
  };
  return until(past + tokens) - until(past);
}

const OperationOf<AttendEntriesAttributes> attend_entries_operation{{"attend_entries", entries_cost, nullptr}};
const OperationOf<ChooseAttributes> choose_keys_operation{{"choose_keys", choose_cost, nullptr}};
const OperationOf<AttendChosenAttributes> attend_chosen_operation{{"attend_chosen", attend_cost, gradient}};
const OperationOf<AttendChosenAttributes> attend_chosen_backward_operation{
    {"attend_chosen_backward", backward_cost, nullptr}};

TensorId choose_keys(Builder& builder, TensorId query, TensorId keys, TensorId weights, std::int64_t top,
                     const ChooseAttributes& attributes) {
  const Shape q = builder.shape(query), k = builder.shape(keys);
  const bool weighted = weights != no_tensor;
  check(q.rank() == 4 && k.rank() == 4 && k[2].size == 1 && q[3].size == k[3].size, "choose_keys",
        to_string(q) + " and " + to_string(k), "heads of one width, and one of keys");
  check(!weighted || builder.shape(weights).elements() == q.leading().elements(), "choose_keys",
        "weights of " + to_string(builder.shape(weighted ? weights : query)), "one for each head of a query");
  const std::int64_t blocks = (k[1].size + attributes.block - 1) / attributes.block;
  const TensorId choice = builder.tensor(TensorKind::activation, "choice",
                                         {q[0], q[1], weighted ? Dim(1) : q[2], std::min(top, blocks)}, DType::int32);
  builder.emit(choose_keys_operation, {query, keys, weights}, {choice}, attributes);
  return choice;
}

TensorId attend_entries(Builder& builder, TensorId query, TensorId keys, TensorId entries, TensorId choice,
                        TensorId sinks, const AttendEntriesAttributes& attributes, Label label) {
  const Shape q = builder.shape(query), k = builder.shape(keys), e = entries == no_tensor ? k : builder.shape(entries);
  check(q.rank() == 4 && k.rank() == 4 && e.rank() == 4 && q[3].size == k[3].size && q[3].size == e[3].size &&
            k[2].size == 1 && e[2].size == 1 && builder.shape(sinks).elements() == q[2].size,
        "attend_entries", to_string(q) + ", " + to_string(k) + " and " + to_string(e),
        "one head of keys and entries, as wide as those of queries, and a sink for each of these");
  return builder.compute(label, q, attend_entries_operation, {query, keys, entries, choice, sinks}, attributes);
}

TensorId attend_chosen(Builder& builder, TensorId query, TensorId keys, TensorId values, TensorId choice,
                       const AttendChosenAttributes& attributes, Label label) {
  const Shape q = builder.shape(query), k = builder.shape(keys), v = builder.shape(values);
  const Shape c = builder.shape(choice);
  check(q.rank() == 4 && k.rank() == 4 && q[-1].size == k[-1].size && q[2].size % k[2].size == 0, "attend_chosen",
        to_string(q) + " and " + to_string(k), "heads of one width, shared evenly");
  check(v.rank() == 4 && v[1].size == k[1].size && v[2].size == k[2].size && q[2].size % c[2].size == 0,
        "attend_chosen", to_string(v) + " and choices of " + to_string(c),
        "a value for each key, choices shared evenly");
  return builder.compute(label, {q[0], q[1], q[2], v[3]}, attend_chosen_operation, {query, keys, values, choice},
                         attributes);
}

}  // namespace reckon

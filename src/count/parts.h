// Matmul FLOPs by the parts that grow differently, and by stage. Cheaper than rows(): no text is made.
#pragma once

#include <reckon/ledger.h>

#include "program/program.h"

namespace reckon {

// Whether a product grows with the square of the context: it takes every query with every key.
bool pairs_tokens(Role role);

struct MatmulParts {
  Count projections;        // of attention, self and cross; the embedding's where there is one
  Count scores_and_mixing;  // grows with two lengths: new tokens, and the keys that they see
  Count feed_forward;       // experts and routers too
  Count head;
};

MatmulParts matmul_parts(const Ledger& ledger);

// Of the ops of a program that are asked for, without a ledger of all: which(op).
template <class Which>
Count matmul_flops(const Program& program, const Which& which) {
  Count sum;
  for (const Op& op : program.ops)
    if (which(op)) sum += op.operation->cost(program, op).matmul.value() * program.count(op.repeat);
  return sum;
}

}  // namespace reckon

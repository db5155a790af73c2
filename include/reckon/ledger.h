// The ledger: every parameter, FLOP and byte of a program, entry by entry, with the formula behind each.
#pragma once

#include <reckon/count.h>
#include <reckon/formula.h>
#include <reckon/role.h>
#include <reckon/workload.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reckon {

struct Operation;

// Where an entry belongs, and how many alike ones it stands for.
struct Place {
  Role role;                // attention, query
  std::int32_t layer = -1;  // the first layer it stands for; -1: outside the stack
  std::int32_t period = 1;  // the next layers it stands for are layer + period, layer + 2·period, …
  std::int64_t count = 1;
  std::int32_t nth = 0;  // of its layer's sublayers of this block; 0 is the first
};

struct ParameterEntry {
  Place place;
  Piece piece = Piece::weight;
  Formula elements;  // of one
  Count each;
  Count active_each;  // that one token touches: a mixture's chosen experts only
};

struct WorkTotals {
  Count matmul, elementwise;        // FLOPs
  Count read, read_least, written;  // bytes; read_least is less where it depends on the experts chosen
  Count weights;                    // …of read_least, those of parameters
  Count sent;                       // bytes over links that a rank sends, which are no bytes of memory; as many come
  Count launches;                   // ops that run
  Count matmul_least, elementwise_least;  // FLOPs; less where they depend on the experts chosen
  WorkTotals& add(const WorkTotals& each, Count times = 1);
  Count flops() const { return matmul + elementwise; }
  // Arithmetic intensity: FLOPs over the bytes read and written; the most where the fewest bytes are read.
  double flops_per_byte() const;
  double flops_per_byte_most() const;
};

struct WorkEntry {
  Place place;
  std::string_view op;                   // "matmul"
  const Operation* operation = nullptr;  // the same, for those who know operations
  Stage stage = Stage::forward;
  Formula matmul, elementwise;       // FLOPs of one
  WorkTotals each;                   // of one
  DType precision = DType::float32;  // what it computes in
  Group group = Group::none;         // whose links it sends over
};

struct ParameterTotals {
  Count total;          // a tied tensor once
  Count active;         // touched by one token
  Count embedding;      // token and position tables, with their projection and norm
  Count non_embedding;  // total − embedding
  Count active_non_embedding;
  Count tensors;
};

// Bytes that last from one step of training to the next, in the workload's precision; 0 in other phases.
struct TrainingState {
  Count weights, gradients, moments;
  Count total() const { return weights + gradients + moments; }
};

struct Ledger {
  Workload workload;  // with every choice filled in
  Dim width;          // d_model
  std::int64_t layers = 0;
  std::vector<ParameterEntry> parameters;
  std::vector<WorkEntry> work;
  ParameterTotals parameter_totals;
  ParameterTotals prediction;  // of what predicts further tokens, beside all other totals; without embedding and head
  WorkTotals forward, backward, optimizer;
  TrainingState state;
  // The matmul FLOPs of all stages with every attention score, and with those that causality and windows let through;
  // one of them is what total() has.
  Count matmul_full, matmul_exact;

  WorkTotals total() const;
  bool mostly_visible() const;  // whether matmul_exact is at least nine tenths of matmul_full
};

// The FLOPs computed in a type: the widest of the operands of each op.
struct PrecisionFlops {
  DType type = DType::float32;
  Count matmul, elementwise;
};

std::vector<PrecisionFlops> flops_by_precision(const Ledger& ledger);  // in the order of types

// The bytes that a rank sends to the others of a group.
struct LinkBytes {
  Group group = Group::data;
  Count sent;
};

std::vector<LinkBytes> bytes_by_group(const Ledger& ledger);

// Bytes of all weights in a type.
Count weight_bytes(const Ledger& ledger, DType dtype);

enum class By { component, layer, tensor, op };
enum class Quantity { parameters, matmul, elementwise };

// One line of a report.
struct Row {
  std::string name;
  std::string group;             // "attention", "feed-forward", …; rows of a group stand together
  std::string formula, numbers;  // "4·L·d²", "4·12·768²"
  Count value;
  Count each;               // in one layer, where all its layers are alike; else 0
  std::int64_t layers = 0;  // how many layers have it; 0: it stands outside the stack
  std::int32_t layer = -1;  // by layer: which one it stands for; -1: none
  Role role{};              // of the first entry in it
};

// The ledger's entries grouped, in the order of the data. The values add up to the total.
std::vector<Row> rows(const Ledger& ledger, Quantity quantity, By by);

// The symbols of the formulas with their values: "d = 768".
std::vector<Dim> dimensions(const Ledger& ledger, Quantity quantity);

}  // namespace reckon

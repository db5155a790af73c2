// What a network computes: tensors, and operations on them in the order of execution.
// This room knows no particular operation; ops/ does.
#pragma once

#include <reckon/count.h>
#include <reckon/formula.h>
#include <reckon/role.h>
#include <reckon/workload.h>

#include "files/encoding.h"
#include "program/attributes.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace reckon {

struct Operation;
template <class A = NoAttributes>
struct OperationOf;
struct Program;

// The extents of a tensor, outermost first.
class Shape {
 public:
  static constexpr int capacity = 5;
  Shape() = default;
  Shape(std::initializer_list<Dim> dims);
  Shape& push(Dim dim);  // appends an extent
  int rank() const { return rank_; }
  Dim operator[](int i) const { return dims_[i < 0 ? rank_ + i : i]; }
  const Dim* begin() const { return dims_.data(); }
  const Dim* end() const { return dims_.data() + rank_; }
  Shape leading() const;  // all but the last extent
  // Of a tensor that lies in memory: past 2⁶³ is an error. product().value() counts on.
  std::int64_t elements() const { return static_cast<std::int64_t>(product().value()); }
  Term product(Count coefficient = 1) const;
  bool same_sizes(const Shape& other) const;
  bool operator==(const Shape&) const = default;

 private:
  std::array<Dim, capacity> dims_{};
  int rank_ = 0;
};

std::string to_string(const Shape& shape);  // "1 × 1024 × 768"

using Strides = std::array<std::int64_t, Shape::capacity>;

using TensorId = std::int32_t;
constexpr TensorId no_tensor = -1;

enum class TensorKind : std::uint8_t {
  parameter,
  input,
  activation,
  cache,
  gradient,
  optimizer_state,
  constant,
  step,  // what a run is told of its sequences: small, and outside the arena
};

// What a tensor is called: by the piece that it is, or, where nobody asks for it, by a literal that is only printed.
struct Label {
  Piece piece = Piece::other;
  std::string_view name;

  Label() = default;
  Label(Piece which) : piece(which), name(name_of(which)) {}
  Label(Piece which, std::string_view called) : piece(which), name(called) {}
  Label(const char* literal) : name(literal) {}
  bool operator==(const Label&) const = default;
};

struct Tensor {
  Scope scope;
  Label label;
  TensorKind kind = TensorKind::activation;
  DType dtype = DType::float32;
  Shape shape;
  std::int32_t repeat = -1;      // the repeat whose body made it: one instance per iteration
  TensorId storage = no_tensor;  // the tensor whose memory this one is a view of
  std::int64_t offset = 0;       // …from this element on
  Strides strides{};             // in elements; all 0: row-major without gaps
  std::int64_t every = 1;        // of a cache: it has one entry for so many tokens
  TensorId pages = no_tensor;    // of a cache that lies in pages: batch × pages, which of them each sequence has
};

// Where the elements of a tensor lie.
Strides strides_of(const Tensor& tensor);

inline TensorKey key_of(const Tensor& tensor) { return {tensor.scope, tensor.label.piece}; }
std::string full_name(const Tensor& tensor);  // "layers.3.attention.query.weight"
Count bytes(const Tensor& tensor);
// What so many bytes take where everything begins at a multiple of `alignment`, a target's or a bucket's.
constexpr std::int64_t padded(std::int64_t bytes, std::int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

using TensorIds = std::vector<TensorId>;

struct Op {
  const Operation* operation = nullptr;
  TensorIds inputs;  // no_tensor where an optional input is absent
  TensorIds outputs;
  Scope scope;
  Stage stage = Stage::forward;
  std::int32_t repeat = -1;

  Op() = default;
  template <class A>
  Op(const OperationOf<A>& of, TensorIds in, TensorIds out, const std::type_identity_t<A>& attributes_of_it, Scope at,
     Stage in_stage, std::int32_t in_repeat = -1)
      : operation(&of),
        inputs(std::move(in)),
        outputs(std::move(out)),
        scope(at),
        stage(in_stage),
        repeat(in_repeat),
        attributes_(attributes_of_it) {}

  // Throws Error where the op's operation has others.
  template <class A>
  const A& attributes() const {
    const A* found = attributes_.as<A>();
    if (found == nullptr) other_attributes();
    return *found;
  }
  bool same_attributes(const Op& other) const { return attributes_ == other.attributes_; }

 private:
  [[noreturn]] void other_attributes() const;
  Attributes attributes_;
};

// A run of ops that stands for `count` alike blocks. `carried` pairs the tensor that enters the body with the one
// that leaves it: an iteration's second is the next iteration's first.
struct Repeat {
  std::int32_t first_op = 0, last_op = 0;  // [first, last)
  std::int64_t count = 1;
  std::int32_t layers = 1;  // layers per iteration
  std::vector<std::pair<TensorId, TensorId>> carried;
  std::int32_t root = -1;  // the forward repeat whose iterations this one shares (itself for a forward one)
  bool reversed = false;   // iterations run from the last to the first
};

struct Program {
  Workload workload;
  Dim width;  // d_model, for formulas
  std::int64_t layers = 0;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<Repeat> repeats;
  TensorId output = no_tensor;  // the logits, or the loss when training

  const Tensor& operator[](TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
  // How many instances of a tensor or op of this repeat the expanded program holds.
  std::int64_t count(std::int32_t repeat) const {
    return repeat < 0 ? 1 : repeats[static_cast<std::size_t>(repeat)].count;
  }
  // The same as a dimension of formulas: L when the repeat is the whole stack.
  Dim count_dim(std::int32_t repeat) const;
};

// What one op uses. Formulas are for one instance.
struct Cost {
  Formula matmul, elementwise;  // FLOPs
  Count read, written;          // bytes of memory
  Count read_least = -1;        // mixtures: the fewest bytes that may be read; -1: as `read`
  Count weights;                // of the fewest bytes read, those of parameters
  // Mixtures with identity experts, which may be all that are chosen: the fewest FLOPs; -1: as above.
  Count matmul_least = -1, elementwise_least = -1;
  Count sent;                 // bytes to other ranks; as many come from them
  Group group = Group::none;  // …which these are
  std::int64_t launches = 1;  // 0: nothing runs
};

class Gradient;

// The rules of one operation. Its shape rule is the function that emits it, in ops/NAME.h.
struct Operation {
  std::string_view name;
  Cost (*cost)(const Program&, const Op&);
  void (*gradient)(Gradient&, const Op&);  // nullptr: never differentiated
};

// An operation whose ops have attributes A.
template <class A>
struct OperationOf : Operation {};

// What an op computes in: the widest type of its operands, indices aside.
DType precision_of(const Program& program, const Op& op);

// Finds the ops of each body again after ops were added or taken away, by the repeat that each op names.
void find_bodies(Program& program);

}  // namespace reckon

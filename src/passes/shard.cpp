// One walk over the ops. Of each tensor it is known whether all tensor ranks have the same, or other tokens, or other
// columns or heads of it; each operation has a rule which says what follows for its results.
#include "passes/shard.h"

#include <reckon/error.h>

#include "ops/activate.h"
#include "ops/append.h"
#include "ops/attention.h"
#include "ops/collectives.h"
#include "ops/cross_entropy.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/gate.h"
#include "ops/head_matmul.h"
#include "ops/last.h"
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/multiply.h"
#include "ops/norm.h"
#include "ops/position_scale.h"
#include "ops/rope.h"
#include "ops/view.h"
#include "ops/xielu.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace reckon {
namespace {

// How the tensor ranks have a tensor.
struct Split {
  enum class Kind : std::uint8_t { none, tokens, columns };  // all alike; other tokens; other columns, heads or words
  Kind kind = Kind::none;
  int extent = 0;          // which of its extents is divided
  std::int64_t parts = 1;  // by how much: less than there are ranks where several hold the same heads
  bool operator==(const Split&) const = default;
};

// How the ranks share out a parameter.
struct Cut {
  enum class Kind : std::uint8_t { whole, columns, rows };
  Kind kind = Kind::whole;
  std::int64_t parts = 1;
};

Dim joined(Dim extent, std::int64_t ranks) {
  return {extent.size * ranks, extent.symbol,
          static_cast<std::int32_t>(std::max<std::int64_t>(extent.parts / ranks, 1))};
}

// Of the vocabulary, engines fill the last rank's part up.
Dim padded_part(Dim extent, std::int64_t ranks) {
  return extent.size % ranks == 0 ? part_of(extent, ranks) : Dim((extent.size + ranks - 1) / ranks);
}

Shape with(const Shape& shape, int extent, Dim dim) {
  Shape out;
  for (int i = 0; i < shape.rank(); ++i) out.push(i == extent ? dim : shape[i]);
  return out;
}

class Sharding {
 public:
  explicit Sharding(Program program) : program_(std::move(program)), layout_(program_.workload.layout) {
    trains_ = program_.workload.phase == Phase::train;
    sequence_ = layout_.sequence && layout_.tensor > 1;
    const std::size_t tensors = given_tensors_ = program_.tensors.size();
    splits_.resize(tensors);
    now_.resize(tensors);
    for (std::size_t i = 0; i < tensors; ++i) now_[i] = static_cast<TensorId>(i);
    program_.tensors.reserve(2 * tensors);
  }

  Program run() {
    given_ = std::move(program_.ops);
    program_.ops.clear();
    program_.ops.reserve(2 * given_.size());
    find_heads();
    divide_given();
    for (std::size_t i = 0; i < given_.size(); ++i) {
      open_layer(i);
      rewrite(given_[i]);
    }
    for (Repeat& repeat : program_.repeats) {
      for (auto& [entering, leaving] : repeat.carried) {
        entering = now(entering);
        leaving = now(leaving);
        if (split(entering) != split(leaving) || !program_[entering].shape.same_sizes(program_[leaving].shape))
          throw Error("[shard] a layer leaves its input otherwise than it got it");
      }
    }
    for (std::size_t i = 0; i < given_tensors_; ++i) {  // also of what no op reads
      if (program_.tensors[i].kind == TensorKind::parameter) prepare(static_cast<TensorId>(i));
    }
    program_.output = now(program_.output);
    if (split(program_.output).kind == Split::Kind::columns) gather_output();
    find_bodies(program_);
    return std::move(program_);
  }

 private:
  using Kind = Split::Kind;
  static std::size_t index(TensorId id) { return static_cast<std::size_t>(id); }
  Tensor& tensor(TensorId id) { return program_.tensors[index(id)]; }
  const Shape& shape(TensorId id) const { return program_[id].shape; }
  const Split& split(TensorId id) const { return splits_[index(id)]; }
  TensorId now(TensorId id) const { return id == no_tensor ? id : now_[index(id)]; }

  [[noreturn]] static void refuse(const Op& op, const std::string& why) {
    throw Error("[" + std::string(op.operation->name) + "] of " + full_name(op.scope) +
                " cannot be shared out over ranks: " + why);
  }

  // ---- what is given: inputs, constants, parameters

  // How many heads attend in each sublayer.
  void find_heads() {
    for (const Op& op : given_) {
      if (op.operation != &scores_operation) continue;
      kv_heads_[sublayer(op.scope)] = program_[op.inputs[1]].shape[2].size;
    }
  }
  static std::tuple<std::int32_t, std::int32_t, Block> sublayer(const Scope& scope) {
    return {scope.layer, scope.nth, scope.role.block};
  }

  void divide_given() {
    for (std::size_t i = 0; i < splits_.size(); ++i) {
      Tensor& t = program_.tensors[i];
      if (t.kind != TensorKind::input && t.kind != TensorKind::constant) continue;
      for (int extent = 0; extent < t.shape.rank(); ++extent) {
        if (t.shape[extent].symbol != Symbol::tokens) continue;
        t.shape = with(t.shape, extent, part_of(t.shape[extent], layout_.context));
        // Words are looked up by all ranks, each in its part of the table; positions are looked up where they belong.
        const Piece piece = t.label.piece;
        if (!sequence_ || (piece != Piece::positions && piece != Piece::sinusoids)) continue;
        splits_[i] = {Kind::tokens, extent, layout_.tensor};
        t.shape = with(t.shape, extent, part_of(t.shape[extent], layout_.tensor));
      }
    }
  }

  Cut cut_of(const Tensor& t) const {
    const std::int64_t ranks = layout_.tensor;
    const Cut whole, columns{Cut::Kind::columns, ranks}, rows{Cut::Kind::rows, ranks};
    if (ranks == 1) return whole;
    const auto keys = [&]() -> Cut {
      const auto found = kv_heads_.find(sublayer(t.scope));
      if (found == kv_heads_.end()) return columns;  // an encoder's, when only its cache is read
      return {Cut::Kind::columns, std::min(ranks, found->second)};
    };
    const Part part = t.scope.role.part;
    switch (t.scope.role.block) {
      case Block::embedding:
        return part == Part::token ? columns : whole;
      case Block::head:
        return part == Part::whole ? columns : whole;
      case Block::attention:
      case Block::cross_attention:
        if (part == Part::query || part == Part::query_up || part == Part::kv_up || part == Part::sinks ||
            part == Part::gate)
          return columns;
        if (part == Part::key || part == Part::value) return keys();
        if (part == Part::output) return rows;
        // A weight for each head; one for all of them together reads all.
        if (part == Part::query_norm && t.shape.rank() == 2) return columns;
        if (part == Part::key_norm && t.shape.rank() == 2) return keys();
        return whole;
      case Block::feed_forward:
        if (part == Part::gate || part == Part::up) return columns;
        if (part == Part::down) return rows;
        return whole;
      default:
        return whole;
    }
  }

  // Divides a parameter the first time that an op reads it.
  Cut prepare(TensorId id) {
    if (const auto found = cuts_.find(id); found != cuts_.end()) return found->second;
    Tensor& t = tensor(id);
    Cut cut = cut_of(t);
    const Piece piece = t.label.piece;
    // x·Wᵀ + (x·Aᵀ)·Bᵀ: A is divided as the rows of W are, B as its columns.
    if (cut.kind == Cut::Kind::columns && piece == Piece::lora_a) cut = {};
    if (cut.kind == Cut::Kind::rows && piece == Piece::lora_b) cut = {};
    const bool routed = t.scope.role.expert == Expert::routed;
    if (routed) t.shape = with(t.shape, 0, part_of(t.shape[0], layout_.expert));
    const int first = routed ? 1 : 0;
    // A bias of what is divided by rows is added to the sum.
    const bool divided = cut.kind == Cut::Kind::columns || (cut.kind == Cut::Kind::rows && t.shape.rank() > first + 1);
    if (divided && cut.parts > 1) {
      const int extent = first + (cut.kind == Cut::Kind::rows ? 1 : 0);
      const Block block = t.scope.role.block;
      const bool words = block == Block::embedding || block == Block::head;
      t.shape =
          with(t.shape, extent, words ? padded_part(t.shape[extent], cut.parts) : part_of(t.shape[extent], cut.parts));
    }
    cuts_.emplace(id, cut);
    // Ranks that hold the same heads have each seen other queries.
    if (cut.kind == Cut::Kind::columns && cut.parts < layout_.tensor) keep_alike(id, layout_.tensor / cut.parts);
    return cut;
  }

  // A parameter that several tensor ranks have, each with a part of its gradient.
  void keep_alike(TensorId id, std::int64_t ranks) {
    if (!trains_ || id == no_tensor || program_[id].kind != TensorKind::parameter || !alike_.insert(id).second) return;
    const Tensor& t = program_[id];
    program_.ops.emplace_back(keep_alike_operation, TensorIds{id}, TensorIds{},
                              CollectiveAttributes{Group::tensor, ranks}, t.scope, Stage::forward, t.repeat);
  }
  // …where what reads them has a part of the tokens or heads.
  void keep_alike(const Op& op, const Split& reader) {
    if (reader.kind == Kind::none) return;
    for (TensorId id : op.inputs) {
      const auto found = id == no_tensor ? cuts_.end() : cuts_.find(parameter(id));
      if (found != cuts_.end() && found->second.kind == Cut::Kind::whole) keep_alike(found->first, layout_.tensor);
    }
  }

  // ZeRO 3: at the beginning of a layer, all of its parameters; outside, each where it is read.
  void open_layer(std::size_t i) {
    const Op& op = given_[i];
    const std::pair layer{op.repeat, op.scope.layer};
    for (TensorId id : op.inputs) {
      if (id != no_tensor && program_[id].kind == TensorKind::parameter) prepare(id);
    }
    if (layout_.zero < 3 || !trains_) return;
    if (layer == layer_ && layer.second >= 0) return;
    layer_ = layer;
    std::size_t last = i + 1;
    while (layer.second >= 0 && last < given_.size() && given_[last].repeat == op.repeat &&
           given_[last].scope.layer == op.scope.layer) {
      ++last;
    }
    gathered_.clear();
    for (; i < last; ++i) {
      for (TensorId id : given_[i].inputs) {
        if (id != no_tensor && program_[id].kind == TensorKind::parameter) gather_parameter(id, given_[i]);
      }
    }
  }

  void gather_parameter(TensorId id, const Op& reader) {
    if (gathered_.contains(id)) return;
    prepare(id);
    const std::int64_t ranks = alike_ranks(layout_, program_[id]);
    if (ranks == 1) return;
    const auto whole = whole_.emplace(id, shape(id)).first->second;
    tensor(id).shape = part_of(whole, ranks);
    Tensor all = program_[id];
    all.kind = TensorKind::activation;
    all.shape = whole;
    all.repeat = reader.repeat;
    const TensorId gathered = add(all, {});
    gathered_[id] = gathered;
    sources_[gathered] = id;
    program_.ops.emplace_back(all_gather_operation, TensorIds{id}, TensorIds{gathered},
                              CollectiveAttributes{Group::data, ranks}, program_[id].scope, Stage::forward,
                              reader.repeat);
  }

  // ---- new tensors and collectives

  TensorId add(Tensor t, Split how) {
    program_.tensors.push_back(t);
    splits_.push_back(how);
    now_.push_back(static_cast<TensorId>(program_.tensors.size() - 1));
    return now_.back();
  }

  // An op that makes of x a tensor of another shape, beside `reader`; in_place: in the memory of x.
  TensorId exchange(const OperationOf<CollectiveAttributes>& operation, TensorId x, const Shape& to, Split how,
                    const Op& reader, const CollectiveAttributes& attributes, bool in_place = false) {
    Tensor t = program_[x];
    t.shape = to;
    t.repeat = reader.repeat;
    t.scope = reader.scope;
    t.storage = in_place ? x : no_tensor;
    t.offset = 0;
    t.strides = {};
    if (in_place && operation.name == own_part_operation.name) t.strides = strides_of(program_[x]);
    const TensorId y = add(t, how);
    Scope scope = reader.scope;
    scope.role.part = Part::whole;
    program_.ops.emplace_back(operation, TensorIds{x}, TensorIds{y}, attributes, scope, Stage::forward, reader.repeat);
    return y;
  }

  CollectiveAttributes over_tensor(int extent = 0) const {
    return {Group::tensor, layout_.tensor, static_cast<std::int32_t>(extent)};
  }

  // x, all of whose tokens every rank has, of which each uses a part of the columns: its gradient is a sum.
  TensorId enter(TensorId x, const Op& reader) {
    if (layout_.tensor == 1) return x;
    const Split how = split(x);
    if (how.kind == Kind::columns) refuse(reader, "it would need all columns of what it reads");
    if (how.kind == Kind::none && !trains_) return x;
    const auto [found, is_new] = entered_.emplace(std::pair{x, reader.repeat}, no_tensor);
    if (!is_new) return found->second;
    if (how.kind == Kind::none) {
      found->second = exchange(copy_to_group_operation, x, shape(x), {}, reader, over_tensor(), true);
    } else {
      const Shape to = with(shape(x), how.extent, joined(shape(x)[how.extent], layout_.tensor));
      found->second = exchange(all_gather_operation, x, to, {}, reader, over_tensor(how.extent));
    }
    return found->second;
  }

  // x, of which every rank has a summand: all get the sum, or each that of its tokens.
  TensorId sum(TensorId x, const Op& writer) {
    if (layout_.tensor == 1) return x;
    constexpr int tokens = 1;
    if (!sequence_) return exchange(all_reduce_operation, x, shape(x), {}, writer, over_tensor(), true);
    const Shape to = with(shape(x), tokens, part_of(shape(x)[tokens], layout_.tensor));
    return exchange(reduce_scatter_operation, x, to, {Kind::tokens, tokens, layout_.tensor}, writer,
                    over_tensor(tokens));
  }

  // Keys or values of the tokens of all context ranks.
  TensorId of_all_tokens(TensorId x, const Op& reader) {
    if (layout_.context == 1 || reader.scope.role.block != Block::attention) return x;
    const auto [found, is_new] = all_tokens_.emplace(std::pair{x, reader.repeat}, no_tensor);
    if (is_new) {
      const Shape to = with(shape(x), 1, joined(shape(x)[1], layout_.context));
      found->second = exchange(all_gather_operation, x, to, split(x), reader, {Group::context, layout_.context, 1});
    }
    return found->second;
  }

  TensorId all_columns(TensorId x, const Op& reader) {
    const Split how = split(x);
    const Shape to = with(shape(x), how.extent, joined(shape(x)[how.extent], how.parts));
    return exchange(all_gather_operation, x, to, {}, reader,
                    {Group::tensor, how.parts, static_cast<std::int32_t>(how.extent), true});
  }

  void gather_output() {
    const Op reader = program_.ops.back();
    const TensorId y = all_columns(program_.output, reader);
    program_.output = y;
  }

  TensorId exchange_rows(TensorId rows, const Op& op) {
    if (layout_.expert == 1) return rows;
    return exchange(all_to_all_operation, rows, shape(rows), split(rows), op, {Group::expert, layout_.expert});
  }

  // ---- rules

  void set(TensorId id, const Shape& to, const Split& how) {
    if (id == no_tensor) return;
    Tensor& t = tensor(id);
    t.shape = to;
    if (t.storage != no_tensor) t.storage = now(t.storage);
    splits_[index(id)] = how;
  }

  void push(Op op) { program_.ops.push_back(std::move(op)); }

  // All operands divided alike, and the results too.
  void each_element(Op op) {
    const TensorId x = op.inputs[0];
    const Split how = split(x);
    const int rank = shape(x).rank();
    for (TensorId id : op.inputs) {
      if (id == no_tensor || program_[id].kind != TensorKind::activation || shape(id).rank() != rank) continue;
      if (split(id) != how) refuse(op, "its operands are divided in different ways");
    }
    for (TensorId y : op.outputs) {
      if (y == no_tensor) continue;
      if (shape(y).rank() != rank) refuse(op, "a result is of another shape");
      set(y, shape(x), how);
    }
    push(std::move(op));
  }

  void product(Op op) {
    const TensorId x = op.inputs[0];
    const Cut cut = parameter_cut(op.inputs[1]);
    const Shape& weight = shape(op.inputs[1]);
    const int columns = weight.rank() - 2;  // which of its extents
    const int last = shape(x).rank() - 1;
    const Shape to = shape(x).leading().push(weight[columns]);
    const TensorId y = op.outputs[0];
    if (cut.kind == Cut::Kind::columns) {
      op.inputs[0] = enter(x, op);
      set(y, shape(op.inputs[0]).leading().push(weight[columns]), {Kind::columns, last, cut.parts});
      return push(std::move(op));
    }
    if (cut.kind == Cut::Kind::whole) {
      const Split how = split(x);
      if (how.kind == Kind::columns && how.extent == last) refuse(op, "it would need all columns of what it reads");
      set(y, to, how);
      keep_alike(op, how);
      return push(std::move(op));
    }
    if (split(x) != Split{Kind::columns, last, cut.parts})
      refuse(op, "its weight is divided by rows, what it reads is not");
    // An expert's bias stays where it is: one rank's counts.
    const bool grouped = op.operation == &grouped_matmul_operation;
    const TensorId bias = grouped ? no_tensor : op.inputs[2];
    if (!grouped) op.inputs[2] = no_tensor;
    set(y, to, {});
    push(op);
    TensorId total = sum(y, op);
    if (bias != no_tensor) {
      const TensorId summed = total;
      Tensor t = program_[y];
      t.shape = shape(summed);
      total = add(t, split(summed));
      program_.ops.emplace_back(add_operation, TensorIds{summed, bias}, TensorIds{total}, NoAttributes{}, op.scope,
                                Stage::forward, op.repeat);
      if (sequence_) keep_alike(parameter(bias), layout_.tensor);
    }
    now_[index(y)] = total;
  }

  // The parameter that a tensor was gathered from, or itself.
  TensorId parameter(TensorId id) const {
    const auto found = sources_.find(id);
    return found == sources_.end() ? id : found->second;
  }
  Cut parameter_cut(TensorId id) const {
    const auto found = cuts_.find(parameter(id));
    return found == cuts_.end() ? Cut{} : found->second;
  }

  void embed(Op op) {
    const TensorId ids = op.inputs[1], y = op.outputs[0];
    const Shape to = Shape(shape(ids)).push(shape(op.inputs[0])[-1]);
    if (parameter_cut(op.inputs[0]).kind == Cut::Kind::whole) {
      set(y, to, split(ids));
      keep_alike(op, split(ids));
      return push(std::move(op));
    }
    set(y, to, {});
    push(op);
    now_[index(y)] = sum(y, op);
  }

  void norm(Op op) {
    const TensorId given = op.inputs[0], y = op.outputs[0], statistics = op.outputs[1];
    const Split how = split(given);
    const bool needs_all = how.kind == Kind::columns && how.extent == shape(given).rank() - 1;
    const TensorId x = op.inputs[0] = needs_all ? all_columns(given, op) : given;
    const Shape of = shape(x);
    if (statistics != no_tensor) {
      Shape rows = of.leading();
      if (shape(statistics).rank() == of.rank()) rows.push(shape(statistics)[-1]);
      set(statistics, rows, split(x));
    }
    set(y, of, split(x));
    keep_alike(op, split(x));
    push(op);
    if (!needs_all) return;
    now_[index(y)] = exchange(own_part_operation, y, shape(given), how, op,
                              {Group::tensor, how.parts, static_cast<std::int32_t>(how.extent)}, true);
  }

  void add_up(Op op) {
    const TensorId a = op.inputs[0], b = op.inputs[1];
    const Split first = split(a), second = split(b);
    if (first.kind != second.kind || first.parts != second.parts)
      refuse(op, "its summands are divided in different ways");
    set(op.outputs[0], shape(a), first);
    push(std::move(op));
  }

  void view(Op op) {
    const TensorId x = op.inputs[0], y = op.outputs[0];
    const Split how = split(x);
    const Shape given = shape(y), in = shape(x);
    // What is divided is the outermost extent behind as many elements as before.
    std::int64_t before = 1, here = 1;
    for (int i = 0; i < how.extent; ++i) before *= in[i].size;
    Split seen = how;
    seen.extent = -1;
    Shape to;
    for (int i = 0; i < given.rank(); ++i) {
      Dim extent = i < 2 ? in[i] : given[i];  // sequences and tokens are as they are
      if (how.kind == Kind::columns && seen.extent < 0 && here == before && extent.size > 1) {
        seen.extent = i;
        extent = part_of(extent, how.parts);
      }
      to.push(extent);
      here *= extent.size;
    }
    if (how.kind != Kind::columns) seen = how;
    if (here != in.elements() || seen.extent < 0) refuse(op, "another view of it would be of other elements");
    set(y, to, seen);
    push(std::move(op));
  }

  void two_parts(Op op) {
    const TensorId x = op.inputs[0];
    const Split how = split(x);
    if (how.kind == Kind::columns && how.extent == shape(x).rank() - 1) refuse(op, "it takes columns apart");
    for (TensorId y : op.outputs) {
      set(y, shape(x).leading().push(shape(y)[-1]), how);
      tensor(y).strides = strides_of(program_[x]);
    }
    push(std::move(op));
  }

  void join(Op op) {
    const TensorId a = op.inputs[0], b = op.inputs[1], y = op.outputs[0];
    if (split(a).kind == Kind::columns && split(b).kind != Kind::columns) op.inputs[1] = enter(b, op);
    if (split(a).kind != Kind::columns && split(b) != split(a)) refuse(op, "its parts are divided in different ways");
    set(y, shape(a).leading().push(shape(y)[-1]), split(a));
    push(std::move(op));
  }

  void append(Op op) {
    TensorId fresh = op.inputs[0];
    if (split(fresh).kind == Kind::tokens) op.inputs[0] = fresh = enter(fresh, op);
    const TensorId cache = op.inputs[1], y = op.outputs[0];
    const Shape in = shape(fresh);
    set(cache, {shape(cache)[0], shape(cache)[1], in[2], in[3]}, split(fresh));
    set(y, {in[0], shape(y)[1], in[2], in[3]}, split(fresh));
    tensor(y).strides = strides_of(program_[cache]);
    push(std::move(op));
  }

  // Keys or values, beside what is divided by heads.
  TensorId beside(TensorId x, const Split& heads, const Op& op) {
    const TensorId all = of_all_tokens(x, op);
    if (program_[x].kind == TensorKind::cache && layout_.tensor > 1 && heads.kind == Kind::columns &&
        split(x).kind == Kind::none && op.scope.role.block == Block::cross_attention) {
      // An encoder's, which only its cache holds.
      set(x, with(shape(x), 2, part_of(shape(x)[2], heads.parts)), {Kind::columns, 2, heads.parts});
    }
    return heads.kind == Kind::columns && split(all).kind != Kind::columns ? enter(all, op) : all;
  }

  void scores(Op op) {
    const TensorId q = op.inputs[0];
    const Split how = split(q);
    const TensorId k = op.inputs[1] = beside(op.inputs[1], how, op);
    const Shape of = shape(q);
    Split heads = how;
    if (how.kind == Kind::columns) heads.extent = 1;
    set(op.outputs[0], {of[0], of[2], of[1], shape(k)[1]}, heads);
    push(std::move(op));
  }

  void mix(Op op) {
    const TensorId p = op.inputs[0];
    const Split how = split(p);
    Split heads = how;
    if (how.kind == Kind::columns) heads.extent = 2;
    const TensorId v = op.inputs[1] = beside(op.inputs[1], how, op);
    const Shape of = shape(p);
    set(op.outputs[0], {of[0], of[2], of[1], shape(v)[3]}, heads);
    push(std::move(op));
  }

  // x, and results that have its leading extents and a last one of their own.
  void each_row(Op op) {
    const TensorId x = op.inputs[0];
    for (TensorId y : op.outputs) {
      if (y != no_tensor) set(y, shape(x).leading().push(shape(y)[-1]), split(x));
    }
    push(std::move(op));
  }

  void dispatch(Op op) {
    const TensorId x = op.inputs[0], choice = op.inputs[1], rows = op.outputs[0];
    const TensorId offsets = op.outputs[2];
    const std::int64_t experts = shape(offsets)[0].size - 1;
    set(rows, Shape(shape(choice)).push(shape(x)[-1]), split(x));
    set(op.outputs[1], shape(choice), split(choice));
    set(offsets, {experts / layout_.expert + 1}, {});
    push(op);
    now_[index(rows)] = exchange_rows(rows, op);
  }

  void combine(Op op) {
    const TensorId rows = op.inputs[0] = exchange_rows(op.inputs[0], op);
    if (op.inputs[1] != no_tensor && split(rows) != split(op.inputs[1]))
      refuse(op, "rows and their weights are divided in different ways");
    set(op.outputs[0], shape(rows).leading().leading().push(shape(rows)[-1]), split(rows));
    push(std::move(op));
  }

  void last(Op op) {
    TensorId x = op.inputs[0];
    if (split(x).kind == Kind::tokens) op.inputs[0] = x = enter(x, op);
    set(op.outputs[0], {shape(x)[0], shape(op.outputs[0])[1], shape(x)[2]}, split(x));
    push(std::move(op));
  }

  // On a part of the words, it stops three times for the other ranks: for the maximum of a row, for the logit of its
  // label, for the sum of its exponentials.
  void cross_entropy(Op op) {
    const TensorId logits = op.inputs[0], log_sum_exp = op.outputs[1];
    set(log_sum_exp, shape(logits).leading(), {});
    push(op);
    if (split(logits).kind != Kind::columns) return;
    for (int i = 0; i < 3; ++i)
      exchange(all_reduce_operation, log_sum_exp, shape(log_sum_exp), {}, op, over_tensor(), true);
  }

  void receive(Op op) {
    const TensorId y = op.outputs[0];
    constexpr int tokens = 1;
    Shape to = with(shape(y), tokens, part_of(shape(y)[tokens], layout_.context));
    if (sequence_) to = with(to, tokens, part_of(to[tokens], layout_.tensor));
    set(y, to, sequence_ ? Split{Kind::tokens, tokens, layout_.tensor} : Split{});
    push(std::move(op));
  }

  void rewrite(Op op) {
    const Operation* const operation = op.operation;
    for (TensorId& id : op.inputs) {
      if (const auto found = gathered_.find(id); found != gathered_.end() && op.operation != &keep_alike_operation)
        id = found->second;
      else
        id = now(id);
    }
    if (operation == &matmul_operation || operation == &grouped_matmul_operation) return product(std::move(op));
    if (operation == &layer_norm_operation || operation == &rms_norm_operation) return norm(std::move(op));
    if (operation == &embed_operation) return embed(std::move(op));
    if (operation == &add_operation) return add_up(std::move(op));
    if (operation == &view_operation) return view(std::move(op));
    if (operation == &split_operation) return two_parts(std::move(op));
    if (operation == &join_operation) return join(std::move(op));
    if (operation == &append_operation) return append(std::move(op));
    if (operation == &scores_operation) return scores(std::move(op));
    if (operation == &mix_operation) return mix(std::move(op));
    if (operation == &head_matmul_operation || operation == &route_operation) return each_row(std::move(op));
    if (operation == &dispatch_operation) return dispatch(std::move(op));
    if (operation == &combine_operation) return combine(std::move(op));
    if ((operation == &weigh_operation || operation == &pass_identity_operation) && layout_.expert == 1)
      return each_element(std::move(op));
    if (operation == &last_operation) return last(std::move(op));
    if (operation == &cross_entropy_operation) return cross_entropy(std::move(op));
    if (operation == &receive_operation) return receive(std::move(op));
    if (operation == &send_operation || operation == &keep_alike_operation) return push(std::move(op));
    if (operation == &activate_operation || operation == &softmax_operation || operation == &rope_operation ||
        operation == &scale_operation || operation == &softcap_operation || operation == &dropout_operation ||
        operation == &clip_operation || operation == &position_scale_operation)
      return each_element(std::move(op));
    if (operation == &gate_operation || operation == &xielu_operation || operation == &multiply_operation) {
      keep_alike(op, split(op.inputs[0]));
      return each_element(std::move(op));
    }
    // Where nothing that it reads is divided, nothing changes.
    const bool whole = std::all_of(op.inputs.begin(), op.inputs.end(),
                                   [&](TensorId id) { return id == no_tensor || split(id) == Split{}; });
    if (whole && layout_.tensor == 1 && layout_.context == 1) return push(std::move(op));
    refuse(op, "it has no rule for that");
  }

  Program program_;
  const Layout layout_;
  bool trains_ = false, sequence_ = false;
  std::vector<Op> given_;  // as they were
  std::size_t given_tensors_ = 0;
  std::vector<Split> splits_;  // of each tensor
  std::vector<TensorId> now_;  // what stands for each tensor behind the op that made it
  std::map<std::tuple<std::int32_t, std::int32_t, Block>, std::int64_t> kv_heads_;
  std::unordered_map<TensorId, Cut> cuts_;  // of the parameters
  std::set<TensorId> alike_;
  std::map<std::pair<TensorId, std::int32_t>, TensorId> entered_, all_tokens_;  // by reader's body
  std::pair<std::int32_t, std::int32_t> layer_{-1, -1};
  std::unordered_map<TensorId, TensorId> gathered_;  // parameters, in this layer
  std::unordered_map<TensorId, TensorId> sources_;   // of what was gathered
  std::unordered_map<TensorId, Shape> whole_;        // of parameters that ranks share out
};

}  // namespace

Dim part_of(Dim extent, std::int64_t ranks) {
  if (ranks == 1) return extent;
  if (extent.size % ranks != 0)
    throw Error("an extent of " + std::to_string(extent.size) + " does not divide by " + std::to_string(ranks) +
                " ranks");
  const std::int64_t size = extent.size / ranks;
  if (extent.symbol == Symbol::none) return size;
  return {size, extent.symbol, static_cast<std::int32_t>(extent.parts * ranks)};
}

Shape part_of(const Shape& parameter, std::int64_t ranks) {
  for (int i = 0; i < parameter.rank(); ++i) {
    if (parameter[i].size % ranks == 0) return with(parameter, i, part_of(parameter[i], ranks));
  }
  const Dim flat((parameter.elements() + ranks - 1) / ranks);
  return parameter.rank() > 1 ? Shape{1, flat} : Shape{flat};  // a matrix is decayed, a vector is not
}

std::int64_t alike_ranks(const Layout& layout, const Tensor& parameter) {
  const std::int64_t ranks = layout.data * layout.context;
  return parameter.scope.role.expert == Expert::routed ? ranks / layout.expert : ranks;
}

Program shard(Program forward) {
  const Layout& layout = forward.workload.layout;
  const bool gathers = layout.zero == 3 && layout.data * layout.context > 1 && forward.workload.phase == Phase::train;
  if (layout.tensor == 1 && layout.context == 1 && layout.expert == 1 && !gathers) return forward;
  return Sharding(std::move(forward)).run();
}

}  // namespace reckon

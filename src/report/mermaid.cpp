#include "report/mermaid.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <set>

#include "files/numbers.h"
#include "report/describe.h"
#include "report/notation.h"

namespace reckon {
namespace {

struct Node {
  std::string id;
  Count parameters;
};

class Flowchart {
 public:
  Flowchart(const Program& program, const std::vector<Section>& sections)
      : program_(program), notation_(program), kinds_(layer_kinds(program, Stage::forward)), sections_(sections) {}

  std::string text() {
    for (std::size_t i = 0; i < program_.tensors.size(); ++i) {
      const Tensor& tensor = program_.tensors[i];
      if (tensor.kind == TensorKind::input && tensor.scope.role.block == Block::input) {
        const bool encoder = tensor.label.piece == Piece::encoder;
        producer_[static_cast<TensorId>(i)] = node(tensor.scope, encoder ? NetworkPart::encoder : NetworkPart::tokens);
      }
    }
    for (const Op& op : program_.ops) {
      if (op.stage == Stage::forward) visit(op);
    }
    if (const auto made = producer_.find(program_.output);
        made != producer_.end() && made->second.part == NetworkPart::head) {
      connect(made->second, node(Key{after_stack, NetworkPart::logits, {}}), program_[program_.output].shape);
    }
    std::string out = "flowchart TD\n";
    for (const Section& section : sections_) {
      if (section.stage == Stage::forward) write(out, section);
    }
    for (const std::string& edge : edges_) out += edge;
    return out;
  }

 private:
  // What has one of these is one node: a part of a block. Norms and sums are nodes of their own.
  struct Key {
    std::int32_t kind;  // of block
    NetworkPart part;
    Role role;
    std::int32_t nth = 0;                          // of the sublayers of its block
    auto operator<=>(const Key&) const = default;  // NOLINT: clang-tidy 14 takes it for a null pointer
  };
  static constexpr std::int32_t before_stack = -1, after_stack = -2;

  std::int32_t kind(std::int32_t layer) {
    if (layer < 0) return outside_;
    outside_ = after_stack;
    return kinds_[static_cast<std::size_t>(layer)];
  }

  Key node(Scope scope, NetworkPart part) {
    const bool own = part == NetworkPart::norm || part == NetworkPart::residual;
    return node(Key{kind(scope.layer), part, own ? scope.role : Role{scope.role.block}, scope.nth});
  }
  Key node(const Key& key) {
    const auto id = "n" + std::to_string(nodes_.size());
    if (nodes_.try_emplace(key, Node{id, 0}).second) order_.push_back(key);
    return key;
  }

  void visit(const Op& op) {
    const Key here = node(op.scope, part_of(op.scope.role));
    for (TensorId id : op.inputs) {
      if (id == no_tensor) continue;
      const Tensor& tensor = program_[id];
      // A tied matrix belongs to the node that reads it first; a kind of block counts one layer's parameters.
      if (tensor.kind == TensorKind::parameter && owned_.insert(id).second &&
          counted_.insert({here, tensor.scope.role, tensor.label.piece}).second) {
        nodes_[here].parameters += tensor.shape.product().value();
      }
      const auto made = producer_.find(id);
      if (made == producer_.end() || made->second == here) continue;
      connect(made->second, here, tensor.shape);
    }
    for (TensorId id : op.outputs) {
      if (id != no_tensor) producer_[id] = here;
    }
  }

  // One arrow for each pair of nodes; an arrow back to an earlier kind of block is left to the blocks' titles.
  void connect(const Key& from, const Key& to, const Shape& shape) {
    const auto place = [&](const Key& key) { return std::find(order_.begin(), order_.end(), key) - order_.begin(); };
    if (place(from) > place(to) || !connected_.insert({from, to}).second) return;
    edges_.push_back(fmt::format("  {} -->|\"{}\"| {}\n", nodes_[from].id, notation_.numbers(shape), nodes_[to].id));
  }

  void write(std::string& out, const Section& section) {
    const std::int32_t of = section.in_stack()      ? kind(section.layers[0])
                            : out.ends_with("TD\n") ? before_stack
                                                    : after_stack;
    const char* indent = "  ";
    if (section.in_stack()) {
      out += fmt::format("  subgraph block{}[\"{} × block: layers {}\"]\n", of, section.count(),
                         layer_list(section.layers));
      indent = "    ";
    }
    for (const Key& key : order_) {
      const Node& each = nodes_[key];
      if (key.kind != of) continue;
      if (key.part == NetworkPart::residual) {
        out += fmt::format("{}{}((\"+\"))\n", indent, each.id);
      } else if (each.parameters == 0) {
        out += fmt::format("{}{}[\"{}\"]\n", indent, each.id, name_of(key.part));
      } else {
        out += fmt::format("{}{}[\"{}<br/>{} parameters\"]\n", indent, each.id, name_of(key.part),
                           grouped(each.parameters));
      }
    }
    if (section.in_stack()) out += "  end\n";
  }

  const Program& program_;
  Notation notation_;
  std::vector<std::int32_t> kinds_;
  const std::vector<Section>& sections_;
  std::map<Key, Node> nodes_;
  std::vector<Key> order_;
  std::map<TensorId, Key> producer_;  // the node that made a tensor
  std::set<TensorId> owned_;
  std::set<std::tuple<Key, Role, Piece>> counted_;
  std::set<std::pair<Key, Key>> connected_;
  std::int32_t outside_ = before_stack;
  std::vector<std::string> edges_;
};

}  // namespace

std::string flowchart(const Program& program, const std::vector<Section>& sections) {
  return Flowchart(program, sections).text();
}

std::string pie(std::string_view title, const std::vector<Row>& rows) {
  std::string out = fmt::format("pie showData title {}\n", title);
  for (const Row& row : rows) {
    if (row.value > 0) out += fmt::format("  \"{}\" : {}\n", row.name, to_string(row.value));
  }
  return out;
}

}  // namespace reckon

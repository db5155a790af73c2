// Grouping the ledger: which entries make a row, what it is called, and the formula of their sum.
#include <reckon/ledger.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace reckon {
namespace {

struct Label {
  std::string_view name, group;
  bool operator==(const Label&) const = default;
};

// What a path's parameters are part of. The first prefix that fits holds.
Label parameter_label(std::string_view path) {
  static constexpr struct {
    std::string_view prefix;
    Label label;
  } table[] = {
      {"embedding/token", {"token embedding", "embedding"}},
      {"embedding/position", {"position embedding", "embedding"}},
      {"embedding/project", {"embedding projection", "embedding"}},
      {"embedding/norm", {"embedding norm", "embedding"}},
      {"attention/norm", {"norms", "block"}},
      {"attention/", {"attention", "block"}},
      {"cross_attention/norm", {"norms", "block"}},
      {"cross_attention/", {"cross-attention", "block"}},
      {"feed_forward/norm", {"norms", "block"}},
      {"feed_forward/router", {"router", "block"}},
      {"feed_forward/experts", {"experts", "block"}},
      {"feed_forward/shared", {"shared expert", "block"}},
      {"feed_forward/", {"feed-forward", "block"}},
      {"final_norm", {"final norm", "head"}},
      {"head", {"head", "head"}},
  };
  for (const auto& [prefix, label] : table) {
    if (path.starts_with(prefix)) return label;
  }
  return {path, ""};
}

// What a path's products are part of. `gated` says whether the block has a gate beside its up-projection.
Label matmul_label(std::string_view path, bool gated) {
  const std::string_view up = gated ? "gate and up" : "up";
  const struct {
    std::string_view prefix;
    Label label;
  } table[] = {
      {"embedding/project", {"embedding projection", "embedding"}},
      {"attention/query_", {"latent projections", "attention"}},
      {"attention/kv_", {"latent projections", "attention"}},
      {"attention/query", {"query, key, value", "attention"}},
      {"attention/key", {"query, key, value", "attention"}},
      {"attention/value", {"query, key, value", "attention"}},
      {"attention/scores", {"scores", "attention"}},
      {"attention/mixing", {"mixing", "attention"}},
      {"attention/output", {"output", "attention"}},
      {"cross_attention/query", {"cross query, key, value", "cross-attention"}},
      {"cross_attention/key", {"cross query, key, value", "cross-attention"}},
      {"cross_attention/value", {"cross query, key, value", "cross-attention"}},
      {"cross_attention/scores", {"cross scores", "cross-attention"}},
      {"cross_attention/mixing", {"cross mixing", "cross-attention"}},
      {"cross_attention/output", {"cross output", "cross-attention"}},
      {"feed_forward/router", {"router", "feed-forward"}},
      {"feed_forward/experts/down", {"experts down", "feed-forward"}},
      {"feed_forward/experts", {gated ? "experts gate and up" : "experts up", "feed-forward"}},
      {"feed_forward/shared/down", {"shared down", "feed-forward"}},
      {"feed_forward/shared", {gated ? "shared gate and up" : "shared up", "feed-forward"}},
      {"feed_forward/down", {"down", "feed-forward"}},
      {"feed_forward/", {up, "feed-forward"}},
      {"head", {"head", "head"}},
  };
  for (const auto& [prefix, label] : table) {
    if (path.starts_with(prefix)) return label;
  }
  return {path, ""};
}

// What kind of element-wise work an op does.
Label elementwise_label(std::string_view op, std::string_view path) {
  static constexpr struct {
    std::string_view prefix;
    Label label;
  } table[] = {
      {"layer_norm", {"norms", ""}},
      {"rms_norm", {"norms", ""}},
      {"rope", {"rotary positions", ""}},
      {"scores", {"scaling of scores", ""}},
      {"softmax", {"softmax", ""}},
      {"activate", {"activation", ""}},
      {"matmul", {"biases", ""}},
      {"grouped_matmul", {"biases", ""}},
      {"grouped_bias", {"biases", ""}},
      {"sum_rows", {"biases", ""}},
      {"route", {"routing", ""}},
      {"dispatch", {"routing", ""}},
      {"combine", {"routing", ""}},
      {"embed_backward", {"embedding", ""}},
      {"scale", {"multipliers", ""}},
      {"softcap", {"soft cap of logits", ""}},
      {"join", {"gradients that meet", ""}},
      {"cross_entropy", {"loss", ""}},
      {"squared_norm", {"gradient norm", ""}},
      {"adamw", {"optimizer", ""}},
  };
  for (const auto& [prefix, label] : table) {
    if (op.starts_with(prefix)) return label;
  }
  if (op == "add") {
    if (path.ends_with("/residual")) return {"residuals", ""};
    if (path == "embedding/position") return {"positions", ""};
    if (path == "feed_forward/combine") return {"routing", ""};
    return {"gradients that meet", ""};
  }
  return {op, ""};
}

// A row under construction: for each layer it occurs in (or outside of all), the sum of its formulas there.
struct Sum {
  Label label;
  std::string name;  // where the label is not a literal
  struct Slot {
    Place place;
    Formula formula;
    Count each;
  };
  std::vector<Slot> slots;

  void add(const Place& place, const Formula& formula, Count each) {
    auto slot = std::find_if(slots.begin(), slots.end(), [&](const Slot& s) {
      return s.place.layer == place.layer && s.place.count == place.count;
    });
    if (slot == slots.end()) slot = slots.insert(slots.end(), {place, {}, {}});
    slot->formula += formula;
    slot->each += each;
  }
};

struct Text {
  std::string symbols, numbers;
};

bool is_sum(const std::string& text) {
  return text.find(" + ") != std::string::npos || text.find(" − ") != std::string::npos;
}

// "4·L·d²" for one term, "L·(4·d² + 4·d)" for several.
std::string times(Dim count, const Formula& formula, Dim width, bool symbols) {
  std::string each = symbols ? formula.symbols(width) : formula.numbers(width);
  if (count.size == 1) return each;
  if (!is_sum(each)) {
    Formula scaled = formula;
    scaled *= count;
    return symbols ? scaled.symbols(width) : scaled.numbers(width);
  }
  const Formula factor(1, {count});
  return (symbols ? factor.symbols() : factor.numbers()) + "·(" + each + ")";
}

Row finish(const Sum& sum, const Ledger& ledger) {
  Row row;
  row.name = sum.name.empty() ? std::string(sum.label.name) : sum.name;
  row.group = sum.label.group;
  // Layers with one and the same formula are one summand.
  struct Summand {
    Formula formula;
    std::string symbols;
    Count each;
    std::int64_t layers;
    bool in_layer;
  };
  std::vector<Summand> summands;
  for (const Sum::Slot& slot : sum.slots) {
    row.value += slot.each * slot.place.count;
    const bool in_layer = slot.place.layer >= 0;
    if (in_layer) row.layers += slot.place.count;
    const std::string symbols = slot.formula.symbols(ledger.width);
    auto same = std::find_if(summands.begin(), summands.end(), [&](const Summand& t) {
      return t.each == slot.each && t.symbols == symbols && t.in_layer == in_layer;
    });
    if (same == summands.end()) {
      summands.push_back({slot.formula, symbols, slot.each, slot.place.count, in_layer});
    } else {
      same->layers += slot.place.count;
    }
  }
  for (const Summand& summand : summands) {
    const bool all = summand.in_layer && summand.layers == ledger.layers;
    const Dim count(summand.layers, all ? Symbol::layers : Symbol::none);
    if (!row.formula.empty()) {
      row.formula += " + ";
      row.numbers += " + ";
    }
    row.formula += times(count, summand.formula, ledger.width, true);
    row.numbers += times(count, summand.formula, ledger.width, false);
  }
  if (summands.size() == 1 && summands[0].in_layer) row.each = summands[0].each;
  return row;
}

std::string tensor_name(const Place& place, std::string_view name) {
  std::string out = place.layer < 0   ? ""
                    : place.count > 1 ? "layers.*."
                                      : "layers." + std::to_string(place.layer) + ".";
  out += place.path;
  std::replace(out.begin(), out.end(), '/', '.');
  if (!name.empty()) out += "." + std::string(name);
  return out;
}

class Grouping {
 public:
  Grouping(const Ledger& ledger, By by) : ledger_(ledger), by_(by) {}

  void add(const Place& place, std::string_view op, std::string_view name, const Label& label, const Formula& formula,
           Count each) {
    if (each == 0) return;
    switch (by_) {
      case By::component:
        row(std::string(label.name) + "\n" + std::string(label.group), label).add(place, formula, each);
        break;
      case By::op:
        named_row(std::string(op)).add(place, formula, each);
        break;
      case By::tensor:
        named_row(tensor_name(place, name)).add(place, formula, each);
        break;
      case By::layer:
        add_to_layers(place, label, formula, each);
        break;
    }
  }

  std::vector<Row> finish() const {
    std::vector<Row> out;
    for (const Sum& sum : sums_) out.push_back(reckon::finish(sum, ledger_));
    return out;
  }

 private:
  // Each layer is a row of its own; what stands outside the stack goes by its component.
  void add_to_layers(const Place& place, const Label& label, const Formula& formula, Count each) {
    if (place.layer < 0) return row(std::string(label.name), label).add(place, formula, each);
    for (std::int64_t k = 0; k < place.count; ++k) {
      const auto layer = static_cast<std::int32_t>(place.layer + k * place.period);
      named_row("layer " + std::to_string(layer)).add({place.path, layer, 1, 1}, formula, each);
    }
  }

  Sum& row(const std::string& key, const Label& label) {
    const auto [found, fresh] = index_.try_emplace(key, sums_.size());
    if (fresh) sums_.push_back({label, "", {}});
    return sums_[found->second];
  }

  Sum& named_row(const std::string& name) {
    Sum& sum = row(name, {});
    sum.name = name;
    return sum;
  }

  const Ledger& ledger_;
  By by_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<Sum> sums_;
};

// Rows of the stack in the order of its layers, between what comes before and after it.
void sort_layers(std::vector<Row>& rows) {
  const auto number = [](const Row& row) {
    return row.name.starts_with("layer ") ? std::stoll(row.name.substr(6)) : -1;
  };
  const auto first = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return number(r) >= 0; });
  const auto last = std::find_if(rows.rbegin(), rows.rend(), [&](const Row& r) { return number(r) >= 0; }).base();
  if (first < last) {
    std::stable_sort(first, last, [&](const Row& a, const Row& b) { return number(a) < number(b); });
  }
}

}  // namespace

std::vector<Row> rows(const Ledger& ledger, Quantity quantity, By by) {
  Grouping grouping(ledger, by);
  if (quantity == Quantity::parameters) {
    for (const ParameterEntry& entry : ledger.parameters) {
      grouping.add(entry.place, "parameter", entry.name, parameter_label(entry.place.path), entry.elements, entry.each);
    }
  } else {
    const bool gated = std::any_of(ledger.work.begin(), ledger.work.end(),
                                   [](const WorkEntry& entry) { return entry.place.path.ends_with("/gate"); });
    for (const WorkEntry& entry : ledger.work) {
      const bool matmul = quantity == Quantity::matmul;
      const Label label =
          matmul ? matmul_label(entry.place.path, gated) : elementwise_label(entry.op, entry.place.path);
      grouping.add(entry.place, entry.op, "", label, matmul ? entry.matmul : entry.elementwise,
                   matmul ? entry.matmul_each : entry.elementwise_each);
    }
  }
  std::vector<Row> out = grouping.finish();
  if (by == By::layer) sort_layers(out);
  return out;
}

std::vector<Dim> dimensions(const Ledger& ledger, Quantity quantity) {
  std::vector<Dim> found;
  const auto add = [&](const Formula& formula) {
    for (const Dim& dim : formula.dimensions(ledger.width)) {
      if (std::find(found.begin(), found.end(), dim) == found.end()) found.push_back(dim);
    }
  };
  found.push_back({ledger.layers, Symbol::layers});
  if (quantity == Quantity::parameters) {
    for (const ParameterEntry& entry : ledger.parameters) add(entry.elements);
  } else {
    for (const WorkEntry& entry : ledger.work) add(quantity == Quantity::matmul ? entry.matmul : entry.elementwise);
  }
  std::stable_sort(found.begin(), found.end(), [](const Dim& a, const Dim& b) { return a.symbol < b.symbol; });
  return found;
}

}  // namespace reckon

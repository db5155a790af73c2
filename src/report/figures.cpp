#include "report/figures.h"

#include <fmt/format.h>

#include <cmath>

#include "network/forward.h"
#include "program/program.h"
#include "report/describe.h"
#include "report/memory.h"

namespace reckon {
namespace {

std::string number_text(double value) {
  constexpr double exact = 9007199254740992.0;  // 2⁵³
  if (value == std::floor(value) && std::abs(value) < exact) return std::to_string(static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

class Figures {
 public:
  void add(std::string component, std::string quantity, Count value, std::string unit) {
    figures_.push_back({std::move(component), std::move(quantity), to_string(value), std::move(unit)});
  }
  void add(std::string component, std::string quantity, double value, std::string unit) {
    figures_.push_back({std::move(component), std::move(quantity), number_text(value), std::move(unit)});
  }
  void add_word(std::string quantity, std::string_view word) {
    figures_.push_back({"model", std::move(quantity), std::string(word), "word"});
  }
  // Of the model as a whole.
  template <class Value>
  void of_model(std::string quantity, Value value, std::string unit) {
    add("model", std::move(quantity), value, std::move(unit));
  }
  std::vector<Figure> take() { return std::move(figures_); }

 private:
  std::vector<Figure> figures_;
};

void add_sizes(Figures& out, const Model& model, const Workload& w) {
  for (const ModelSize& size : sizes_of(model)) {
    if (size.value && *size.key != '\0') out.of_model(size.key, Count(*size.value), size.unit);
  }
  out.add_word("phase", phase_name(w.phase));
  out.add_word("causal", causal_name(w.causal));
  out.add_word("precision", encoding_of(w.precision.weights).name);
  out.of_model("batch", Count(w.batch), "sequences");
  out.of_model("tokens", Count(w.tokens), "tokens");
  out.of_model("past", Count(w.past), "tokens");
  if (w.encoder_tokens > 0) out.of_model("encoder_tokens", Count(w.encoder_tokens), "tokens");
}

// "up" alone says little: "feed-forward: up". But "attention", not "block: attention".
std::string component_of(const Row& row) {
  if (row.group.empty() || row.group == "block" || row.group == row.name) return row.name;
  return row.group + ": " + row.name;
}

void add_parts(Figures& out, const Ledger& ledger, By by) {
  const By parameters_by = by == By::op ? By::component : by;  // parameters belong to no operation of their own
  for (const Row& row : rows(ledger, Quantity::parameters, parameters_by))
    out.add(component_of(row), "parameters", row.value, "parameters");
  for (const Row& row : rows(ledger, Quantity::matmul, by))
    out.add(component_of(row), "matmul FLOPs", row.value, "FLOP");
  for (const Row& row : rows(ledger, Quantity::elementwise, by))
    out.add(component_of(row), "element-wise FLOPs", row.value, "FLOP");
}

void add_totals(Figures& out, const Ledger& ledger) {
  const ParameterTotals& p = ledger.parameter_totals;
  out.of_model("all parameters", p.total, "parameters");
  out.of_model("active parameters", p.active, "parameters");
  out.of_model("embedding parameters", p.embedding, "parameters");
  out.of_model("parameters outside embeddings", p.non_embedding, "parameters");
  out.of_model("active parameters outside embeddings", p.active_non_embedding, "parameters");
  if (ledger.prediction.total > 0) {
    out.of_model("parameters that predict further tokens", ledger.prediction.total, "parameters");
    out.of_model("active parameters that predict further tokens", ledger.prediction.active, "parameters");
  }
  const WorkTotals work = ledger.total();
  out.of_model("all matmul FLOPs", work.matmul, "FLOP");
  out.of_model("all matmul FLOPs with every score", ledger.matmul_full, "FLOP");
  out.of_model("all matmul FLOPs with visible scores", ledger.matmul_exact, "FLOP");
  out.of_model("all element-wise FLOPs", work.elementwise, "FLOP");
  for (const auto& [name, stage] : stages_of(ledger)) {
    out.add(name, "matmul FLOPs of a stage", stage.matmul, "FLOP");
    out.add(name, "element-wise FLOPs of a stage", stage.elementwise, "FLOP");
    out.add(name, "bytes read by a stage", stage.read, "bytes");
    out.add(name, "bytes written by a stage", stage.written, "bytes");
  }
}

void add_bytes(Figures& out, const Ledger& ledger, const std::optional<CacheCost>& cache) {
  for (DType type : weight_types)
    out.of_model(fmt::format("weights in {}", encoding_of(type).name), weight_bytes(ledger, type), "bytes");
  if (cache) {
    out.of_model("KV cache of a token", cache->first_token, "bytes");
    out.of_model("KV cache of a token once windows are full", cache->last_token, "bytes");
    if (cache->state > 0) out.of_model("states of a sequence", cache->state, "bytes");
    out.of_model("KV cache", cache->total, "bytes");
  }
  if (ledger.workload.phase == Phase::train) {
    out.add("weights", "training state", ledger.state.weights, "bytes");
    out.add("gradients", "training state", ledger.state.gradients, "bytes");
    out.add("moments", "training state", ledger.state.moments, "bytes");
  }
  const WorkTotals work = ledger.total();
  out.of_model("bytes read", work.read, "bytes");
  out.of_model("bytes read at least", work.read_least, "bytes");
  out.of_model("bytes written", work.written, "bytes");
  out.of_model("FLOP per byte", work.flops_per_byte(), "FLOP/byte");
}

}  // namespace

std::vector<Figure> model_figures(const Model& model, const Ledger& ledger, By by,
                                  const std::optional<CacheCost>& cache) {
  Figures out;
  add_sizes(out, model, ledger.workload);
  add_parts(out, ledger, by);
  add_totals(out, ledger);
  add_bytes(out, ledger, cache);
  return out.take();
}

std::vector<Figure> rule_figures(const std::vector<Rule>& rules) {
  Figures out;
  for (const Rule& rule : rules) {
    out.add(rule.name, "rule of thumb", rule.estimate, rule.unit);
    if (rule.exact) out.add(rule.name, "exact", *rule.exact, rule.unit);
  }
  return out.take();
}

std::vector<Figure> file_figures(const FileReport& file) {
  Figures out;
  for (const auto& [type, share] : file.types) {
    const std::string name(encoding_of(type).stored_name);
    out.add(name, "tensors in the file", Count(share.tensors), "tensors");
    out.add(name, "elements in the file", Count(share.elements), "elements");
    out.add(name, "bytes in the file", Count(share.bytes), "bytes");
  }
  out.add("file", "tensors not in the model", Count(file.unexpected.size()), "tensors");
  out.add("file", "tensors missing", Count(file.missing.size()), "tensors");
  out.add("file", "tensors of another shape", Count(file.misshapen.size()), "tensors");
  out.add("file", "tensors quantized", Count(file.quantized.size()), "tensors");
  return out.take();
}

Table figures_table(const std::vector<Figure>& figures) {
  Table table{"", {{"component"}, {"quantity"}, {"value", true}, {"unit"}}};
  for (const Figure& figure : figures)
    table.rows.push_back({figure.component, figure.quantity, Cell(figure.value, figure.value), figure.unit});
  return table;
}

}  // namespace reckon

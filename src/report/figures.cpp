#include "report/figures.h"

#include <fmt/format.h>

#include <cmath>

#include "model/sublayers.h"
#include "network/forward.h"
#include "program/program.h"
#include "report/describe.h"

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
  // Of the whole model.
  template <class Value>
  void whole(std::string quantity, Value value, std::string unit) {
    add("model", std::move(quantity), value, std::move(unit));
  }
  std::vector<Figure> take() { return std::move(figures_); }

 private:
  std::vector<Figure> figures_;
};

void add_sizes(Figures& out, const Model& model, const Workload& w) {
  const Attention& attention = first_attention(model);
  out.whole("layers", Count(model.layers.size()), "layers");
  out.whole("d_model", Count(model.d_model), "elements");
  out.whole("n_heads", Count(attention.n_heads), "heads");
  out.whole("n_kv_heads", Count(attention.n_kv_heads), "heads");
  out.whole("d_head", Count(attention.d_head), "elements");
  if (attention.latent) {
    out.whole("kv_rank", Count(attention.latent->kv_rank), "elements");
    if (attention.latent->query_rank > 0) out.whole("query_rank", Count(attention.latent->query_rank), "elements");
  }
  if (const auto* dense = find<FeedForward>(model)) out.whole("d_ff", Count(dense->d_ff), "elements");
  if (const auto* mixture = find<Mixture>(model)) {
    out.whole("n_experts", Count(mixture->n_experts), "experts");
    out.whole("n_active_experts", Count(mixture->n_active), "experts");
    out.whole("d_expert", Count(mixture->expert.d_ff), "elements");
    if (mixture->shared) out.whole("d_shared", Count(mixture->shared->d_ff), "elements");
  }
  out.whole("vocab_size", Count(model.vocab_size), "tokens");
  out.whole("context", Count(model.context), "tokens");
  out.add_word("phase", phase_name(w.phase));
  out.add_word("causal", causal_name(w.causal));
  out.add_word("precision", encoding_of(w.precision.weights).name);
  out.whole("batch", Count(w.batch), "sequences");
  out.whole("tokens", Count(w.tokens), "tokens");
  out.whole("past", Count(w.past), "tokens");
  if (w.encoder_tokens > 0) out.whole("encoder_tokens", Count(w.encoder_tokens), "tokens");
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

void add_stage(Figures& out, const char* name, const WorkTotals& work) {
  out.add(name, "matmul FLOPs of a stage", work.matmul, "FLOP");
  out.add(name, "element-wise FLOPs of a stage", work.elementwise, "FLOP");
  out.add(name, "bytes read by a stage", work.read, "bytes");
  out.add(name, "bytes written by a stage", work.written, "bytes");
}

void add_totals(Figures& out, const Ledger& ledger) {
  const ParameterTotals& p = ledger.parameter_totals;
  out.whole("all parameters", p.total, "parameters");
  out.whole("active parameters", p.active, "parameters");
  out.whole("embedding parameters", p.embedding, "parameters");
  out.whole("parameters outside embeddings", p.non_embedding, "parameters");
  out.whole("active parameters outside embeddings", p.active_non_embedding, "parameters");
  const WorkTotals work = ledger.total();
  out.whole("all matmul FLOPs", work.matmul, "FLOP");
  out.whole("all matmul FLOPs with every score", ledger.matmul_full, "FLOP");
  out.whole("all matmul FLOPs with visible scores", ledger.matmul_exact, "FLOP");
  out.whole("all element-wise FLOPs", work.elementwise, "FLOP");
  if (ledger.workload.phase == Phase::train) {
    add_stage(out, "forward", ledger.forward);
    add_stage(out, "backward", ledger.backward);
    add_stage(out, "optimizer", ledger.optimizer);
  }
}

void add_bytes(Figures& out, const Ledger& ledger, const std::optional<CacheCost>& cache) {
  for (DType type : {DType::float32, DType::bfloat16, DType::int8, DType::int4})
    out.whole(fmt::format("weights in {}", encoding_of(type).name), weight_bytes(ledger, type), "bytes");
  if (cache) {
    out.whole("KV cache of a token", cache->first_token, "bytes");
    out.whole("KV cache of a token once windows are full", cache->last_token, "bytes");
    out.whole("KV cache", cache->total, "bytes");
  }
  if (ledger.workload.phase == Phase::train) {
    out.add("weights", "training state", ledger.state.weights, "bytes");
    out.add("gradients", "training state", ledger.state.gradients, "bytes");
    out.add("moments", "training state", ledger.state.moments, "bytes");
  }
  const WorkTotals work = ledger.total();
  out.whole("bytes read", work.read, "bytes");
  out.whole("bytes read at least", work.read_least, "bytes");
  out.whole("bytes written", work.written, "bytes");
  out.whole("FLOP per byte", work.flops_per_byte(), "FLOP/byte");
}

const std::vector<Column> figure_columns{{"component"}, {"quantity"}, {"value", true}, {"unit"}};

std::vector<Cell> cells_of(const Figure& figure) {
  return {figure.component, figure.quantity, Cell(figure.value, figure.value), figure.unit};
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
  Table table{"", figure_columns, {}, 0, {}};
  for (const Figure& figure : figures) table.rows.push_back(cells_of(figure));
  return table;
}

Table figures_table(const std::vector<std::string>& names, const std::vector<std::vector<Figure>>& figures) {
  Table table{"", figure_columns, {}, 0, {}};
  table.columns.insert(table.columns.begin(), {"model"});
  for (std::size_t m = 0; m < names.size(); ++m) {
    for (const Figure& figure : figures[m]) {
      std::vector<Cell> row = cells_of(figure);
      row.insert(row.begin(), Cell(names[m]));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace reckon

// The JSON of `count`; docs/json.md describes every key.
#include "model/types.h"
#include "report/count.h"
#include "report/describe.h"
#include "report/memory.h"

namespace reckon {
namespace {

OrderedJson rows_json(const Ledger& ledger, Quantity quantity, By by) {
  OrderedJson out = OrderedJson::array();
  for (Row& row : rows(ledger, quantity, by)) {
    OrderedJson& json = out.emplace_back();  // key by key: a list in braces is copied several times
    json["name"] = std::move(row.name);
    json["formula"] = std::move(row.formula);
    json["numbers"] = std::move(row.numbers);
    json["value"] = row.value;
    if (!row.group.empty()) json["group"] = std::move(row.group);
    if (row.layers > 0) json["layers"] = row.layers;
    if (row.each != 0) json["each"] = row.each;
  }
  return out;
}

void add_grouping(OrderedJson& json, const Ledger& ledger, By by) {
  const char* key = by == By::layer ? "by_layer" : by == By::tensor ? "by_tensor" : "by_op";
  json["parameters"][key] = rows_json(ledger, Quantity::parameters, by);
  json["flops"][key] = rows_json(ledger, Quantity::matmul, by);
  json["flops"][std::string("elementwise_") + key] = rows_json(ledger, Quantity::elementwise, by);
}

OrderedJson rule_json(const Rule& rule) {
  OrderedJson json;
  json["name"] = rule.name;
  json["meaning"] = rule.meaning;
  json["unit"] = rule.unit;
  json["estimate"] = number_json(rule.estimate);
  json["exact"] = rule.exact ? number_json(*rule.exact) : OrderedJson();
  const auto error = rule.error();
  json["error"] = error ? OrderedJson(*error) : OrderedJson();
  json["reference"] = rule.reference;
  return json;
}

}  // namespace

OrderedJson count_json(const Model& model, const Ledger& ledger, const CountView& view, const std::vector<Rule>& rules,
                       const std::optional<CacheCost>& cache) {
  const ParameterTotals& p = ledger.parameter_totals;
  const WorkTotals work = ledger.total();
  OrderedJson json = {{"schema", "reckon.count/1"}, {"model", model.name}};
  json["architecture"] = architecture_json(model);
  json["workload"] = workload_json(ledger.workload);
  json["parameters"] = parameters_json(p);
  json["parameters"]["tensors"] = p.tensors;
  if (const ParameterTotals& further = ledger.prediction; further.total > 0)
    json["parameters"]["prediction"] = {
        {"total", further.total}, {"active", further.active}, {"tensors", further.tensors}};
  json["parameters"]["by_component"] = rows_json(ledger, Quantity::parameters, By::component);
  json["flops"] = {{"matmul", work.matmul}, {"elementwise", work.elementwise}, {"total", work.flops()}};
  json["flops"]["matmul_full"] = ledger.matmul_full;
  json["flops"]["matmul_exact"] = ledger.matmul_exact;
  json["flops"]["causal"] = causal_name(ledger.workload.causal);
  if (ledger.workload.phase == Phase::train) {
    json["flops"]["forward_matmul"] = ledger.forward.matmul;
    json["flops"]["backward_matmul"] = ledger.backward.matmul;
    json["flops"]["forward_elementwise"] = ledger.forward.elementwise;
    json["flops"]["backward_elementwise"] = ledger.backward.elementwise;
    json["flops"]["optimizer_elementwise"] = ledger.optimizer.elementwise;
  }
  json["flops"]["by_component"] = rows_json(ledger, Quantity::matmul, By::component);
  json["flops"]["elementwise_by_component"] = rows_json(ledger, Quantity::elementwise, By::component);
  if (view.by != By::component) add_grouping(json, ledger, view.by);
  json["weights"] = weights_json(ledger);
  if (view.of_file && view.file->complete) json["weights_in_file"] = in_file_json(*view.file);
  add_memory_json(json, ledger, cache);
  if (view.convention != Convention::exact)
    json["convention"] = rule_json(convention_flops(view.convention, model, ledger));
  json["rules"] = OrderedJson::array();
  for (const Rule& rule : rules) json["rules"].push_back(rule_json(rule));
  if (const std::string_view why = why_not_trained(model); !why.empty()) json["why_not_trained"] = why;
  if (view.file) json["file"] = file_json(*view.file, view.json_alone);
  return json;
}

}  // namespace reckon

#include "report/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "files/encoding.h"
#include "files/numbers.h"
#include "report/describe.h"
#include "report/named_groups.h"
#include "files/duration.h"
#include "time/reasons.h"

namespace reckon {
namespace {

// A number for people, and all its digits for CSV.
Cell cell(const std::string& text, double value) { return {text, fmt::format("{}", value)}; }
Cell bytes_cell(std::int64_t bytes) { return {binary_bytes(bytes), std::to_string(bytes)}; }
Cell seconds_cell(double seconds) { return cell(seconds == 0 ? "" : duration(seconds), seconds); }
Cell sent_cell(double bytes) {
  const auto whole = static_cast<std::int64_t>(bytes);
  return {whole == 0 ? "" : decimal_bytes(whole), std::to_string(whole)};
}

// A column of numbers, and what CSV calls it: all tables of a plan are one there.
Column numbers(const std::string& title, const std::string& in_csv) {
  Column column{title, true};
  column.plain = in_csv;
  return column;
}

std::string number_of(std::size_t i) { return std::to_string(i + 1); }

std::string micro_batch_text(const Workload& workload) {
  return fmt::format("{} × {}", grouped(workload.layout.micro_batches), workload.batch);
}

Table plans_table(const Plans& plans) {
  Table table;
  table.columns = {{"#", true},
                   {"layout"},
                   {"batches", true},
                   {"again"},
                   numbers("memory", "memory bytes"),
                   numbers("step", "step seconds"),
                   {"tokens/s", true},
                   {"MFU", true},
                   numbers("bubble", "bubble share")};
  for (std::size_t i = 0; i < plans.best.size(); ++i) {
    const Planned& plan = plans.best[i];
    const Workload& workload = plan.step.workload;
    table.rows.push_back({number_of(i), layout_words(workload), micro_batch_text(workload),
                          recompute_words(workload.recompute), bytes_cell(plan.step.memory.total()),
                          seconds_cell(plan.step.seconds.total()),
                          cell(compact(plan.tokens_per_second), plan.tokens_per_second),
                          cell(percent(plan.mfu), plan.mfu), cell(percent(plan.bubble_share), plan.bubble_share)});
  }
  return table;
}

Table memory_table(const Plans& plans) {
  Table table;
  table.title = "Memory of the rank that needs the most";
  table.columns = {{"#", true},
                   {"stage", true},
                   numbers("weights", "weights bytes"),
                   numbers("gradients", "gradients bytes"),
                   numbers("optimizer", "optimizer bytes"),
                   numbers("activations", "activations bytes"),
                   numbers("left", "left bytes")};
  for (std::size_t i = 0; i < plans.best.size(); ++i) {
    const RankMemory& memory = plans.best[i].step.memory;
    table.rows.push_back({number_of(i), grouped(plans.best[i].step.memory_stage), bytes_cell(memory.weights),
                          bytes_cell(memory.gradients), bytes_cell(memory.optimizer), bytes_cell(memory.activations),
                          bytes_cell(plans.best[i].left)});
  }
  return table;
}

// Groups that any plan has something of.
template <class Amount>
std::vector<NamedGroup> groups_in(const Plans& plans, Amount amount) {
  std::vector<NamedGroup> found;
  for (const NamedGroup& named : named_groups) {
    const auto some = [&](const Planned& plan) { return amount(plan.step, named.group) > 0; };
    if (std::any_of(plans.best.begin(), plans.best.end(), some)) found.push_back(named);
  }
  return found;
}

Table seconds_table(const Plans& plans) {
  const std::vector<NamedGroup> shown =
      groups_in(plans, [](const Step& step, Group group) { return step.seconds.waiting(group); });
  Table table;
  table.title = "Where a step's time goes, on the slowest stage";
  table.columns = {{"#", true}, {"stage", true}, numbers("computing", "computing seconds")};
  for (const NamedGroup& named : shown)
    table.columns.push_back(numbers(fmt::format("{} links", named.name), fmt::format("{} links seconds", named.name)));
  table.columns.push_back(numbers("bubble", "bubble seconds"));
  table.columns.push_back(numbers("optimizer", "optimizer seconds"));
  for (std::size_t i = 0; i < plans.best.size(); ++i) {
    const Step& step = plans.best[i].step;
    Cells row{number_of(i), grouped(step.slowest_stage), seconds_cell(step.seconds.computing())};
    for (const NamedGroup& named : shown) row.push_back(seconds_cell(step.seconds.waiting(named.group)));
    row.push_back(seconds_cell(step.seconds.bubble));
    row.push_back(seconds_cell(step.seconds.optimizer()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table traffic_table(const Plans& plans) {
  const std::vector<NamedGroup> shown =
      groups_in(plans, [](const Step& step, Group group) { return of(step.sent, group); });
  Table table;
  table.title = "What a rank sends in a step, by group";
  table.columns = {{"#", true}};
  for (const NamedGroup& named : shown)
    table.columns.push_back(numbers(named.name, fmt::format("{} sent bytes", named.name)));
  if (shown.empty()) return table;
  for (std::size_t i = 0; i < plans.best.size(); ++i) {
    Cells row{number_of(i)};
    for (const NamedGroup& named : shown) row.push_back(sent_cell(of(plans.best[i].step.sent, named.group)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

template <class Plan>
Table reasons_table(const std::vector<Plan>& best, const std::vector<TooLarge>& too_large) {
  Table table;
  table.title = "Why the others lose";
  table.columns = {{"#", true}, {"layout"}, {"why"}};
  for (std::size_t i = 1; i < best.size(); ++i) {
    if constexpr (std::is_same_v<Plan, Planned>) {
      table.rows.push_back({number_of(i), layout_words(best[i].step.workload), best[i].why_not});
    } else {
      table.rows.push_back({number_of(i), layout_words(best[i].workload), best[i].why_not});
    }
  }
  for (const TooLarge& one : too_large) table.rows.push_back({"", layout_words(one.workload), one.why_not});
  return table;
}

OrderedJson memory_json(const RankMemory& memory) {
  return {{"weights", memory.weights}, {"gradients", memory.gradients},     {"optimizer", memory.optimizer},
          {"cache", memory.cache},     {"activations", memory.activations}, {"total", memory.total()}};
}

OrderedJson plan_json(const Planned& plan) {
  const Step& step = plan.step;
  OrderedJson seconds{{"computing", step.seconds.computing()}};
  for (const NamedGroup& named : named_groups) seconds[named.name] = step.seconds.waiting(named.group);
  seconds["bubble"] = step.seconds.bubble;
  seconds["optimizer"] = step.seconds.optimizer();
  OrderedJson json{{"layout", layout_json(step.workload.layout)},
                   {"micro_batch", step.workload.batch},
                   {"micro_batches", step.workload.layout.micro_batches},
                   {"recompute", recompute_name(step.workload.recompute)},
                   {"memory", memory_json(step.memory)}};
  json["memory"]["stage"] = step.memory_stage;
  json["memory"]["left"] = plan.left;
  json["step_seconds"] = step.seconds.total();
  json["slowest_stage"] = step.slowest_stage;
  json["tokens_per_second"] = plan.tokens_per_second;
  json["mfu"] = plan.mfu;
  json["bubble"] = plan.bubble_share;
  json["seconds"] = seconds;
  json["hidden_seconds"] = step.seconds.hidden;
  json["sent"] = by_group_json(step.sent);
  if (!plan.why_not.empty()) json["why_not"] = plan.why_not;
  return json;
}

OrderedJson too_large_json(const std::vector<TooLarge>& too_large) {
  OrderedJson json = OrderedJson::array();
  for (const TooLarge& one : too_large)
    json.push_back({{"layout", layout_json(one.workload.layout)},
                    {"micro_batch", one.workload.batch},
                    {"recompute", recompute_name(one.workload.recompute)},
                    {"memory", memory_json(one.memory)},
                    {"why_not", one.why_not}});
  return json;
}

OrderedJson head_json(const Search& search, const char* phase, const std::string& engine) {
  const Workload& w = search.workload;
  OrderedJson json{{"schema", "reckon.plan/1"},
                   {"model", search.model.name},
                   {"phase", phase},
                   {"hardware",
                    {{"profile", search.hardware.profile.name},
                     {"devices", search.hardware.devices},
                     {"node", search.node},
                     {"memory_bytes", search.hardware.profile.memory_bytes},
                     {"memory_share", search.memory_share}}},
                   {"tokens", w.tokens},
                   {"precision", encoding_of(w.precision.weights).name},
                   {"types", types_json(w, search.quantised, search.stored)},
                   {"attention", attention_name(!search.target.fusions.attention)}};
  if (const Link* network = network_of(search.hardware)) json["hardware"]["network"] = network->bandwidth;
  if (w.phase == Phase::train) {
    json["optimizer"] = optimizer_name(w.optimizer);
    json["dropout"] = w.dropout;
    json["attention_dropout"] = w.attention_dropout;
  }
  add_lora(json, w.lora);
  if (!engine.empty()) json["engine"] = engine;
  return json;
}

// "llama-3-8b with matrices in int4"
std::string model_text(const Search& search) {
  return search.model.name +
         (search.quantised ? fmt::format(" with matrices in {}", encoding_of(*search.quantised).name) : "");
}

// "Weights are in bfloat16, activations in bfloat16, gradients in float32; the optimizer is adamw, with dropout 0.1.
// Attention is streamed."
std::string setting_text(const Search& search) {
  const Workload& w = search.workload;
  const auto name = [](DType type) { return encoding_of(type).name; };
  const bool train = w.phase == Phase::train;
  std::string text = search.stored ? "Weights are as in the file"
                                   : fmt::format("{} are in {}", search.quantised ? "Other weights" : "Weights",
                                                 name(w.precision.weights));
  text += fmt::format(", activations in {}, {} in {}", name(w.precision.activations), train ? "gradients" : "the cache",
                      name(train ? w.precision.gradients : w.precision.cache));
  const std::string attention = fmt::format(". Attention is {}.", attention_name(!search.target.fusions.attention));
  if (!train) return text + attention;
  std::vector<std::string> with;
  if (w.lora.rank > 0) with.push_back(describe_adapters(w.lora));
  if (w.dropout > 0) with.push_back(fmt::format("dropout {}", grouped(w.dropout)));
  if (w.attention_dropout > 0) with.push_back(fmt::format("dropout {} of attention", grouped(w.attention_dropout)));
  return fmt::format("{}; the optimizer is {}{}{}", text, optimizer_name(w.optimizer),
                     with.empty() ? "" : ", with " + listed(with), attention);
}

// "64 × h100-sxm in nodes of 8, 50 GB/s between them"
std::string devices_text(const Search& search) {
  std::string text = fmt::format("{} × {}", grouped(search.hardware.devices), search.hardware.profile.name);
  if (search.node < search.hardware.devices) text += fmt::format(" in nodes of {}", grouped(search.node));
  if (const Link* network = network_of(search.hardware)) text += fmt::format(", {} between them", link_rate(*network));
  return text;
}

Document whole(Document document) {
  for (const Element& part : document.parts)
    if (const Table* table = std::get_if<Table>(&part); table != nullptr && !table->rows.empty())
      document.csv.push_back(*table);
  return document;
}

void add_table(Document& document, Table table) {
  if (!table.rows.empty()) document.parts.emplace_back(std::move(table));
}

void add_left_out(Document& document, const std::string& left_out) {
  if (left_out.empty()) return;
  document.parts.emplace_back(Paragraph{fmt::format("Some layouts were left out: {}.", left_out)});
}

void add_assumptions(Document& document, const std::vector<std::string>& assumptions) {
  if (assumptions.empty()) return;
  document.parts.emplace_back(Paragraph{fmt::format("Assumed: {}.", fmt::join(assumptions, "; "))});
}

// What a million tokens of each plan cost: in words of the first, where a price is known.
template <class Plan>
void add_cost(Document& document, const Search& search, const std::vector<Plan>& best,
              const std::optional<DevicePrice>& price, const char* tokens) {
  if (!price || best.empty()) return;
  const double usd = usd_per_million(*price, search.hardware.devices, best.front().tokens_per_second);
  document.parts.emplace_back(
      Paragraph{fmt::format("A million {} of the first cost {} at {}.", tokens, dollars(usd), price->text)});
}

template <class Plan>
void add_cost(OrderedJson& json, const Search& search, const std::vector<Plan>& best,
              const std::optional<DevicePrice>& price) {
  if (!price) return;
  json["price"] = price->text;
  for (std::size_t i = 0; i < best.size(); ++i)
    json["plans"][i]["usd_per_million_tokens"] =
        usd_per_million(*price, search.hardware.devices, best[i].tokens_per_second);
}

Table served_table(const ServingPlans& plans) {
  Table table;
  table.columns = {{"#", true},
                   {"layout"},
                   {"replicas", true},
                   {"sequences", true},
                   numbers("memory", "memory bytes"),
                   numbers("left", "left bytes"),
                   numbers("prompt", "prompt seconds"),
                   numbers("token", "token seconds"),
                   {"tokens/s", true}};
  for (std::size_t i = 0; i < plans.best.size(); ++i) {
    const Served& served = plans.best[i];
    Workload replica = served.workload;
    replica.layout.data = 1;
    table.rows.push_back({number_of(i), layout_words(replica), grouped(served.replicas), grouped(served.sequences),
                          bytes_cell(served.memory.total()), bytes_cell(served.left),
                          seconds_cell(served.prefill_seconds), seconds_cell(served.token_seconds),
                          cell(compact(served.tokens_per_second), served.tokens_per_second)});
  }
  return table;
}

Table served_memory_table(const ServingPlans& plans) {
  Table table;
  table.title = "Memory of the rank that needs the most";
  table.columns = {{"#", true},
                   numbers("weights", "weights bytes"),
                   numbers("cache", "cache bytes"),
                   numbers("activations", "activations bytes"),
                   numbers("left", "left bytes")};
  for (std::size_t i = 0; i < plans.best.size(); ++i) {
    const Served& served = plans.best[i];
    table.rows.push_back({number_of(i), bytes_cell(served.memory.weights), bytes_cell(served.memory.cache),
                          bytes_cell(served.memory.activations), bytes_cell(served.left)});
  }
  return table;
}

}  // namespace

Document plan_document(const Search& search, const Plans& plans, const std::optional<DevicePrice>& price,
                       const std::string& engine) {
  Document document;
  const std::int64_t tokens = search.sequences * search.workload.tokens;
  std::string head = fmt::format(
      "{} on {}: steps of {} of {} tokens, {} in all. {} A rank may fill {} of its {}. {} of laying it out {} "
      "compared{}{}.",
      model_text(search), devices_text(search), counted(search.sequences, "sequence"), grouped(search.workload.tokens),
      grouped(tokens), setting_text(search), percent(search.memory_share, 0),
      binary_bytes(search.hardware.profile.memory_bytes), counted(plans.layouts, "way"),
      plans.layouts == 1 ? "was" : "were", plans.across_nodes ? ", with tensor ranks beyond a node" : "",
      engine.empty() ? "" : fmt::format(", of those that {} can do", engine));
  document.parts.emplace_back(Paragraph{head});
  document.parts.emplace_back(plans_table(plans));
  add_table(document, seconds_table(plans));
  add_table(document, memory_table(plans));
  add_table(document, traffic_table(plans));
  add_table(document, reasons_table(plans.best, plans.too_large));
  document.parts.emplace_back(Paragraph{
      "Batches: micro-batches that a rank works through × the sequences of one; again: what the backward pass "
      "computes again; MFU counts every attention score. What data · context ranks exchange of weights and gradients "
      "is taken to run beside the "
      "computing of the pass that it belongs to, the last sum of gradients beside the last backward pass and "
      "gathered weights beside the next forward pass; the rest of it, and all other ranks, are waited for."});
  const bool beyond =
      std::any_of(plans.best.begin(), plans.best.end(), [](const Planned& plan) { return plan.mfu > 1; });
  if (beyond) document.parts.emplace_back(Paragraph{mfu_beyond_peak});
  add_cost(document, search, plans.best, price, "tokens");
  add_left_out(document, plans.left_out);
  add_assumptions(document, plans.assumptions);
  document.json = head_json(search, "train", engine);
  document.json["sequences"] = search.sequences;
  document.json["batch_tokens"] = tokens;
  document.json["plans"] = OrderedJson::array();
  for (const Planned& plan : plans.best) document.json["plans"].push_back(plan_json(plan));
  add_cost(document.json, search, plans.best, price);
  document.json["too_large"] = too_large_json(plans.too_large);
  document.json["layouts"] = plans.layouts;
  document.json["timed"] = plans.timed;
  document.json["compiled"] = plans.compiled;
  document.json["assumptions"] = plans.assumptions;
  return whole(std::move(document));
}

Document serving_document(const Search& search, const ServingPlans& plans, const std::optional<double>& token_seconds,
                          const std::optional<DevicePrice>& price, const std::string& engine) {
  Document document;
  document.parts.emplace_back(Paragraph{fmt::format(
      "{} served on {}: sequences of {} tokens{}. {} A rank may fill {} of its {}.{}", model_text(search),
      devices_text(search), grouped(search.workload.tokens),
      token_seconds ? fmt::format(", a token of each at the latest after {}", duration(*token_seconds)) : "",
      setting_text(search), percent(search.memory_share, 0), binary_bytes(search.hardware.profile.memory_bytes),
      engine.empty() ? "" : fmt::format(" Layouts are those that {} can do.", engine))});
  document.parts.emplace_back(served_table(plans));
  add_table(document, served_memory_table(plans));
  add_table(document, reasons_table(plans.best, plans.too_large));
  document.parts.emplace_back(Paragraph{fmt::format(
      "Sequences: of a replica at a time, all at the end of the context; prompt: the whole context, alone; token: from "
      "one to the next of a sequence; tokens/s: of all replicas. Prompts are worked through in pieces of {} tokens, "
      "which take no time from decoding here.",
      grouped(prompt_chunk))});
  add_cost(document, search, plans.best, price, "output tokens");
  add_left_out(document, plans.left_out);
  add_assumptions(document, plans.assumptions);
  document.json = head_json(search, "serve", engine);
  if (token_seconds) document.json["token_seconds"] = *token_seconds;
  document.json["plans"] = OrderedJson::array();
  for (const Served& served : plans.best) {
    OrderedJson json{{"layout", layout_json(served.workload.layout)},
                     {"replicas", served.replicas},
                     {"sequences", served.sequences},
                     {"memory", memory_json(served.memory)}};
    json["memory"]["left"] = served.left;
    json["prefill_seconds"] = served.prefill_seconds;
    json["token_seconds"] = served.token_seconds;
    json["tokens_per_second"] = served.tokens_per_second;
    if (!served.why_not.empty()) json["why_not"] = served.why_not;
    document.json["plans"].push_back(std::move(json));
  }
  add_cost(document.json, search, plans.best, price);
  document.json["too_large"] = too_large_json(plans.too_large);
  document.json["layouts"] = plans.layouts;
  document.json["compiled"] = plans.compiled;
  document.json["assumptions"] = plans.assumptions;
  return whole(std::move(document));
}

}  // namespace reckon

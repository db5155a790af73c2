#include "report/explain.h"

#include <fmt/format.h>
#include <reckon/ledger.h>

#include <algorithm>

#include "compile/compile.h"
#include "count/cache.h"
#include "count/growth.h"
#include "count/ledger.h"
#include "count/rules.h"
#include "files/numbers.h"
#include "model/sublayers.h"
#include "ops/chosen.h"
#include "report/count.h"
#include "report/describe.h"
#include "report/mermaid.h"
#include "report/steps.h"

namespace reckon {
namespace {

Cell times(const std::optional<double>& factor) { return factor ? factor_cell(*factor) : Cell("–"); }

std::string capitalized(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

std::string phase_text(const Workload& w) {
  const std::string tokens = w.tokens == 1 ? "1 token" : grouped(w.tokens) + " tokens";
  std::string text = w.phase == Phase::forward   ? "a forward pass over " + tokens
                     : w.phase == Phase::prefill ? "the prefill of a cache with " + tokens
                     : w.phase == Phase::decode  ? "decoding " + tokens + " after " + grouped(w.past) + " cached ones"
                                                 : "a training step on " + tokens;
  if (w.batch > 1) text += " in each of " + grouped(w.batch) + " sequences";
  return text;
}

class Page {
 public:
  Page(const Model& model, const Workload& workload)
      : model_(model),
        program_(logical_program(model, workload)),
        ledger_(read_ledger(program_)),
        sections_(steps_of(program_)) {}

  Document write() {
    introduction();
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].stage == Stage::forward) forward_section(i);
    }
    if (ledger_.workload.phase == Phase::train) training();
    totals();
    const std::vector<Growth> doubled = growth(model_, ledger_.workload);
    scaling(doubled);
    const CacheCost cache = full_cache_cost(model_);
    long_contexts(cache);
    document_.csv.push_back(steps_table(ledger_, sections_));
    document_.json = explain_json(model_, ledger_, sections_, doubled, cache);
    return std::move(document_);
  }

 private:
  template <class T>
  void add(T part) {
    document_.parts.emplace_back(std::move(part));
  }

  void chapter(const std::string& title) { add(Heading{fmt::format("{}. {}", ++number_, title)}); }

  void introduction() {
    const Workload& w = ledger_.workload;
    const Count flops = ledger_.total().flops();
    add(Heading{model_.name + ", step by step"});
    add(Paragraph{
        fmt::format("This page follows {} through {}, {} {} wide and {} {} deep, in the order of the data. Every "
                    "number is read off "
                    "the program that computes it: {} parameters, and {} FLOPs in all, of which {} in matrix products.",
                    phase_text(w), model_.name, grouped(model_.d_model), "elements", grouped(ledger_.layers),
                    ledger_.layers == 1 ? "block" : "blocks", grouped(ledger_.parameter_totals.total), grouped(flops),
                    percent(ratio(ledger_.total().matmul, flops)))});
    add(Paragraph{fmt::format(
        "Matmul FLOPs are those of matrix products. A product of m × k by k × n takes 2·m·k·n: k multiplications and k "
        "additions for each of m·n results. {} Element-wise FLOPs are those of norms, softmax, activations and sums, "
        "each "
        "operation counted as one.",
        w.causal != Causal::full ? "Only the attention scores that the mask lets through are counted."
        : is_sparse() ? "Of sparse attention the selected keys are counted; of any other every score, masked ones too."
                      : "Every attention score is counted, masked ones too.")});
    symbols();
    add(Verbatim{flowchart(program_, sections_), "mermaid", false, true});
  }

  bool is_sparse() const {
    return std::any_of(program_.ops.begin(), program_.ops.end(), [](const Op& op) {
      return op.operation == &attend_chosen_operation || op.operation == &attend_entries_operation;
    });
  }

  void symbols() {
    std::vector<Dim> dims = dimensions(ledger_);
    for (const Tensor& tensor : program_.tensors) dims.insert(dims.end(), tensor.shape.begin(), tensor.shape.end());
    // Ones are left out of formulas and shapes, so they need no symbol.
    std::erase_if(
        dims, [](Dim dim) { return dim.symbol == Symbol::none || (dim.size == 1 && dim.symbol != Symbol::layers); });
    const auto size_of = [&](Symbol symbol) {
      const auto found = std::find_if(dims.begin(), dims.end(), [&](Dim dim) { return dim.symbol == symbol; });
      return found == dims.end() ? 0 : found->size;
    };
    const auto one_size = [&](Symbol symbol) {
      return std::all_of(dims.begin(), dims.end(),
                         [&](Dim dim) { return dim.symbol != symbol || dim.size == size_of(symbol); });
    };
    add(symbols_table(dims));
    if (!one_size(Symbol::heads) || !one_size(Symbol::d_head))
      add(Paragraph{"Where all heads together are as wide as the stream, formulas say d for H·dₕ."});
    else if (size_of(Symbol::heads) * size_of(Symbol::d_head) == program_.width.size)
      add(Paragraph{"All heads together are as wide as the stream: where H·dₕ occurs, formulas say d."});
  }

  // ---- forward

  std::string title(std::size_t index) const {
    const Section& section = sections_[index];
    if (!section.in_stack()) return index == 0 ? "From tokens to vectors" : "From vectors to an answer";
    if (section.count() == ledger_.layers)
      return section.count() == 1 ? "The block" : fmt::format("The block, {} times", section.count());
    return fmt::format("The block of layer{} {} ({} of {})", section.count() == 1 ? "" : "s",
                       layer_list(section.layers), section.count(), ledger_.layers);
  }

  // Whether an earlier kind of block has the same step.
  bool seen_before(std::size_t index, const ExplainedStep& step) const {
    const auto same = [&](const ExplainedStep& other) {
      return other.key == step.key && other.text == step.text && other.formulas == step.formulas &&
             other.operands == step.operands;
    };
    return std::any_of(sections_.begin(), sections_.begin() + static_cast<std::ptrdiff_t>(index),
                       [&](const Section& section) {
                         return section.in_stack() && std::any_of(section.steps.begin(), section.steps.end(), same);
                       });
  }

  // "norm → attention → + → norm → feed-forward → +"
  static std::string order_of_parts(const Section& section) {
    std::string text;
    std::optional<NetworkPart> last;
    for (const ExplainedStep& step : section.steps) {
      const NetworkPart part = part_of(step.key.role);
      if (part == last) continue;
      text += (last ? " → " : "") + std::string(name_of(part));
      last = part;
    }
    return text;
  }

  void forward_section(std::size_t index) {
    const Section& section = sections_[index];
    chapter(title(index));
    if (section.in_stack()) add(Paragraph{"In order: " + order_of_parts(section) + "."});
    std::vector<std::string> same;
    int step_number = 0;
    for (const ExplainedStep& step : section.steps) {
      if (section.in_stack() && seen_before(index, step)) {
        if (std::find(same.begin(), same.end(), step.name) == same.end()) same.emplace_back(step.name);
        continue;
      }
      write_step(step, fmt::format("{}.{}", number_, ++step_number));
    }
    if (!same.empty()) {
      add(Paragraph{fmt::format("As in the block above: {}.", fmt::join(same, ", "))});
    }
    if (section.in_stack()) block_sum(section);
  }

  void write_step(const ExplainedStep& step, const std::string& number) {
    add(Heading{number + " " + capitalized(step.name), 2});
    add(Paragraph{step.text});
    if (!step.formulas.empty()) {
      std::string text;
      for (const std::string& formula : step.formulas) text += "    " + formula + "\n";
      add(Verbatim{text, "text", true, true, true});
    }
    Table table{"", {{""}, {"", false, Column::Kind::formula}, {"", false, Column::Kind::formula}, {"", true}}};
    for (const Operand& operand : step.operands) {
      table.rows.push_back({operand.letter, operand.symbols, operand.numbers, ""});
    }
    const auto quantity = [&](const char* name, const Formula& formula) {
      if (formula.value() == 0) return;
      table.rows.push_back(
          {name, formula.symbols(program_.width), formula.numbers(program_.width), grouped(formula.value())});
    };
    quantity("parameters", step.parameters);
    quantity("matmul FLOPs", step.matmul);
    quantity("element-wise FLOPs", step.elementwise);
    add(std::move(table));
  }

  // What a block holds, part by part; then the whole, and all of its kind.
  void block_sum(const Section& section) {
    Table table{
        "The block in sum", {{""}, {"parameters", true}, {"matmul FLOPs", true}, {"element-wise FLOPs", true}}, {}, 1};
    struct Sum {
      NetworkPart part;
      Count parameters, matmul, elementwise;
    };
    std::vector<Sum> sums;
    for (const ExplainedStep& step : section.steps) {
      const NetworkPart part = part_of(step.key.role);
      auto sum = std::find_if(sums.begin(), sums.end(), [&](const Sum& s) { return s.part == part; });
      if (sum == sums.end()) sum = sums.insert(sums.end(), {part, 0, 0, 0});
      sum->parameters += step.parameters.value();
      sum->matmul += step.matmul.value();
      sum->elementwise += step.elementwise.value();
    }
    const auto row = [&](std::string name, Count parameters, Count matmul, Count elementwise) {
      table.rows.push_back({std::move(name), grouped(parameters), grouped(matmul), grouped(elementwise)});
    };
    for (const Sum& sum : sums) {
      const std::string_view name = sum.part == NetworkPart::norm       ? "norms"
                                    : sum.part == NetworkPart::residual ? "residual sums"
                                                                        : name_of(sum.part);
      row(std::string(name), sum.parameters, sum.matmul, sum.elementwise);
    }
    const Count parameters = total(section, Quantity::parameters), matmul = total(section, Quantity::matmul),
                elementwise = total(section, Quantity::elementwise);
    const std::int64_t n = section.count();
    row("one block", parameters / n, matmul / n, elementwise / n);
    if (n > 1) row(fmt::format("all {}", n), parameters, matmul, elementwise);
    table.totals = n > 1 ? 2 : 1;
    add(std::move(table));
  }

  // ---- training

  void training() {
    chapter("Back from the loss to every parameter");
    std::int64_t products = 0, backward_products = 0;
    for (const WorkEntry& entry : ledger_.work) {
      if (entry.each.matmul > 0) (entry.stage == Stage::forward ? products : backward_products) += entry.place.count;
    }
    add(Paragraph{fmt::format(
        "The gradient flows through the same steps from the last to the first. A product y = x·Wᵀ has two gradients, "
        "dx = dy·W for the step before and dW = dyᵀ·x for the parameters, and each costs as much as the product "
        "itself: "
        "{} products forward, {} backward, {:.2f} times the FLOPs.",
        grouped(products), grouped(backward_products), ratio(ledger_.backward.matmul, ledger_.forward.matmul))});
    Table table{"",
                {{"step"},
                 {"times", true},
                 {"matmul forward", true},
                 {"matmul backward", true},
                 {"element-wise forward", true},
                 {"element-wise backward", true}}};
    for (const Section& section : sections_) {
      if (section.stage != Stage::backward) continue;
      for (const ExplainedStep& step : section.steps) {
        const ExplainedStep* forward = forward_step(section, step.key);
        if (forward == nullptr || step.matmul.value() + step.elementwise.value() == 0) continue;
        table.rows.push_back({step.name, grouped(section.count()), grouped(forward->matmul.value()),
                              grouped(step.matmul.value()), grouped(forward->elementwise.value()),
                              grouped(step.elementwise.value())});
      }
    }
    table.rows.push_back({"all, times included", "", grouped(ledger_.forward.matmul), grouped(ledger_.backward.matmul),
                          grouped(ledger_.forward.elementwise), grouped(ledger_.backward.elementwise)});
    table.totals = 1;
    add(std::move(table));
    optimizer();
  }

  const ExplainedStep* forward_step(const Section& backward, const StepKey& key) const {
    for (const Section& section : sections_) {
      if (section.stage != Stage::forward || section.layers != backward.layers) continue;
      for (const ExplainedStep& step : section.steps) {
        if (step.key == key) return &step;
      }
    }
    return nullptr;
  }

  void optimizer() {
    chapter("The optimizer's step");
    Table table{"", {{"step"}, {"why"}, {"FLOPs", true}, {"a parameter", true}}};
    for (const Section& section : sections_) {
      if (section.stage != Stage::optimizer) continue;
      for (const ExplainedStep& step : section.steps) {
        const Count flops = step.elementwise.value();
        table.rows.push_back({step.name, step.text, grouped(flops),
                              fmt::format("{:.2f}", ratio(flops, ledger_.parameter_totals.total))});
      }
    }
    add(std::move(table));
  }

  // ---- where it goes

  void totals() {
    chapter("Where it all goes");
    shares("Parameters", Quantity::parameters);
    shares("Matmul FLOPs", Quantity::matmul);
    const WorkTotals all = ledger_.total();
    add(Paragraph{
        fmt::format("Element-wise work comes to {} FLOPs, {} of all arithmetic. It moves far more bytes per FLOP "
                    "than products do, so it takes a larger share of the time.",
                    grouped(all.elementwise), percent(ratio(all.elementwise, all.flops())))});
  }

  void shares(const char* title, Quantity quantity) {
    add(quantity_table(ledger_, quantity, By::component, title));
    add(Verbatim{pie(title, rows(ledger_, quantity, By::component)), "mermaid", false, true});
  }

  void scaling(const std::vector<Growth>& doubled) {
    chapter("What grows with what");
    add(Paragraph{
        "Each line doubles one size, builds the program again and compares. ×2.00 doubles, ×4.00 goes with the "
        "square, ×1.00 does not notice. A doubled width takes the heads and the feed-forward along."});
    Table table{"",
                {{"doubled"},
                 {"from and to"},
                 {"parameters", true},
                 {"matmul FLOPs", true},
                 {"scores, mixing", true},
                 {"element-wise FLOPs", true},
                 {"full cache", true}}};
    for (const Growth& row : doubled) {
      if (!row.refused.empty()) continue;
      table.rows.push_back({row.what, grouped(row.from) + " → " + grouped(row.to), times(row.parameters),
                            times(row.matmul), times(row.scores), times(row.elementwise), times(row.cache)});
    }
    add(std::move(table));
    for (const Growth& row : doubled) {
      if (!row.refused.empty())
        add(Paragraph{capitalized(row.what) + " cannot simply be doubled: " + row.refused + "."});
    }
  }

  void long_contexts(const CacheCost& cache) {
    chapter("Long contexts");
    if (find<Attention>(model_) == nullptr) {
      add(
          Paragraph{fmt::format("To generate, states of {} bytes ({}) are kept, however long the text is. "
                                "Without attention nothing else grows with the context but the work, in proportion.",
                                grouped(cache.state), binary_bytes(cache.state))});
      return;
    }
    std::string text = fmt::format("To generate, keys and values are kept in a cache: {} bytes a token in bfloat16",
                                   grouped(cache.first_token));
    if (cache.last_token != cache.first_token) {
      text += fmt::format(" at first, {} once the windows are full", grouped(cache.last_token));
    }
    if (cache.state > 0)
      text += fmt::format(", and states of {} bytes, however long the text is", grouped(cache.state));
    add(Paragraph{text + fmt::format(". A full context of {} tokens takes {} bytes ({}).", grouped(model_.context),
                                     grouped(cache.total), binary_bytes(cache.total))});
    add(Paragraph{growth_of_pairs() + " " + crossing()});
  }

  bool windows_everywhere() const {
    bool everywhere = true;
    for_each<Attention>(model_.layers.written(), [&](const Attention& a) { everywhere = everywhere && a.window > 0; });
    return everywhere;
  }

  // What scores and mixing follow in this phase, and counted this way.
  std::string growth_of_pairs() const {
    const Workload& w = ledger_.workload;
    if (w.phase == Phase::decode) {
      return std::string("For each new token, scores and mixing grow in proportion to the tokens before it") +
             (windows_everywhere() ? " until the windows are full" : "") + "; the projections stay as they are.";
    }
    if (w.causal == Causal::exact && windows_everywhere()) {
      return "Once the windows are full, scores and mixing grow in proportion to the tokens, as the projections do.";
    }
    return "Scores and mixing grow with the square of the tokens, the projections in proportion.";
  }

  std::string crossing() const {
    const Rule rule = crossover_rule(model_, ledger_.workload);
    if (!rule.exact) {
      return fmt::format("Here they cost less than the projections at any length (the rule {} says {} tokens).",
                         rule.name, grouped(rule.estimate));
    }
    return fmt::format(
        "From {} tokens on they cost as much as the projections or more (the rule {} says {}); beyond, attention is "
        "what a longer context pays for.",
        grouped(*rule.exact), rule.name, grouped(rule.estimate));
  }

  const Model& model_;
  Program program_;
  Ledger ledger_;
  std::vector<Section> sections_;
  Document document_;
  int number_ = 0;
};

}  // namespace

Document explain(const Model& model, const Workload& workload) { return Page(model, workload).write(); }

}  // namespace reckon

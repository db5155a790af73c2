// The page that explains a network: its sums, its words, its diagrams, its width.
#include "report/explain.h"

#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <regex>
#include <set>

#include "count/cache.h"
#include "count/growth.h"
#include "compile/compile.h"
#include "count/ledger.h"
#include "family_references.h"
#include "files/read_text.h"
#include "model/modify.h"
#include "model/presets.h"
#include "paths.h"
#include "phases.h"
#include "report/describe.h"
#include "report/mermaid.h"
#include "report/steps.h"
#include "report/text.h"
#include "text_fixture.h"

namespace reckon {
namespace {

std::string page(const std::string& model, Format format = Format::table, Workload workload = {}) {
  return render(explain(load_model(model), workload), format, {});
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part;
}

std::string small_model(const std::string& type) { return (family_references::folder() / "tiny" / type).string(); }

std::vector<std::string> presets_and_small_models() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  for (const std::string& type : family_references::found("tiny")) names.push_back(small_model(type));
  return names;
}

const ExplainedStep& find_step(const std::vector<Section>& sections, std::string_view key) {
  for (const Section& section : sections) {
    for (const ExplainedStep& step : section.steps) {
      if (section.stage == Stage::forward && path_of(step.key) == key) return step;
    }
  }
  throw std::runtime_error("no step " + std::string(key));
}

std::vector<Section> steps_of_model(const std::string& name, const Workload& workload = {}) {
  return steps_of(logical_program(load_model(name), workload));
}

void expect_steps_sum_to_ledger(const Model& model, const Workload& workload) {
  const Program program = logical_program(model, workload);
  const Ledger ledger = read_ledger(program);
  Count parameters, matmul, elementwise;
  for (const Section& section : steps_of(program)) {
    parameters += total(section, Quantity::parameters);
    matmul += total(section, Quantity::matmul);
    elementwise += total(section, Quantity::elementwise);
  }
  EXPECT_EQ(parameters, ledger.parameter_totals.total) << model.name;
  EXPECT_EQ(matmul, ledger.total().matmul) << model.name;
  EXPECT_EQ(elementwise, ledger.total().elementwise) << model.name;
}

TEST(Explain, the_steps_add_up_to_the_ledger_for_every_preset_and_type_in_every_phase) {
  for (const std::string& name : presets_and_small_models()) {
    const Model model = load_model(name);
    for (Phase phase : phases_of(model)) expect_steps_sum_to_ledger(model, workload_of(phase));
  }
}

TEST(Explain, the_rotary_table_has_a_row_for_each_token_and_each_cached_one) {
  Workload decode = workload_of(Phase::decode);
  decode.past = 8191;
  expect_contains(page("llama-3-8b", Format::markdown, decode), "| R | S × dₕ | 8,192 × 128 |");
  expect_contains(page("llama-3-8b", Format::markdown), "| R | T × dₕ | 8,192 × 128 |");
}

TEST(Explain, the_steps_add_up_with_cross_attention_and_without_logits) {
  Changes changes;
  changes.cross_attention = true;
  const Model crossed = modify(load_model("gpt2"), changes);
  for (Phase phase : phases_of(crossed)) expect_steps_sum_to_ledger(crossed, workload_of(phase));
  Workload silent;
  silent.logits = Logits::none;
  expect_steps_sum_to_ledger(load_model("llama-2-7b"), silent);
}

TEST(Explain, no_line_of_any_preset_is_wider_than_100_columns) {
  for (const Preset& preset : presets()) {
    for (Phase phase : phases_of(load_model(std::string(preset.name)))) {
      if (phase == Phase::prefill || phase == Phase::decode) continue;
      for (const std::string& line : lines_of(page(std::string(preset.name), Format::table, workload_of(phase)))) {
        EXPECT_LE(display_width(line), 100) << preset.name << ": " << line;
      }
    }
  }
}

// By hand, for d = 64, f = 256, V = 512, T = 32, 2 layers.
TEST(Explain, mini_gpt_shows_the_numbers_of_the_derivation_by_hand) {
  const std::string text = page("mini-gpt");
  for (const char* part : {"V·d    512·64    32,768",           // token embedding
                           "3·d²    3·64²      12,288",         // q, k, v
                           "d²      64²         4,096",         // output
                           "d·f      64·256          16,384",   // up, down
                           "2·T²·d      2·32²·64     131,072",  // scores
                           "2·T·V·d  2·32·512·64  2,097,152",   // head
                           "131,392"}) {
    expect_contains(text, part);
  }
  for (const char* row :
       {"attention +16,384 ", "feed-forward +32,768 ", "norms +128 ", "one block +49,280 ", "all 2 +98,560 "}) {
    EXPECT_TRUE(std::regex_search(text, std::regex(row))) << row;
  }
  expect_contains(text, "512 bytes a token");  // 2 layers · 2 (k, v) · 64 · 2 bytes
  expect_contains(text, "128 tokens");         // T = 2·d
}

TEST(Explain, long_contexts_are_those_of_the_phase) {
  const char* const square = "Scores and mixing grow with the square";
  expect_contains(page("llama-3-8b", Format::markdown), square);
  const Workload decode = workload_of(Phase::decode);
  const std::string text = page("llama-3-8b", Format::markdown, decode);
  EXPECT_EQ(text.find(square), std::string::npos);
  expect_contains(text, "From 5,120 tokens on");
  expect_contains(page("mistral-7b-v0.1", Format::markdown, decode), "less than the projections at any length");
}

TEST(Explain, formulas_say_what_a_layer_really_does) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(find_step(steps_of_model("gpt2"), "attention/query").formulas,
            (Lines{"q = h·W_qᵀ + b_q", "k = h·W_kᵀ + b_k", "v = h·W_vᵀ + b_v"}));
  EXPECT_EQ(find_step(steps_of_model("gpt2"), "head").formulas, (Lines{"z = h·W_eᵀ"}));  // tied
  EXPECT_EQ(find_step(steps_of_model("llama-7b"), "head").formulas, (Lines{"z = h·W_hᵀ"}));
  EXPECT_EQ(find_step(steps_of_model("llama-7b"), "feed_forward/activation").formulas, (Lines{"m = SiLU(g)·u"}));
  EXPECT_EQ(find_step(steps_of_model("bloom-560m"), "attention/softmax").formulas,
            (Lines{"p = softmax(mask(a − slope·distance))"}));
  EXPECT_EQ(find_step(steps_of_model("gpt-oss-20b"), "attention/softmax").formulas,
            (Lines{"p = softmax(mask(a), sink)"}));
  EXPECT_EQ(find_step(steps_of_model("gemma-2-9b"), "attention/norm").formulas,
            (Lines{"h = x / √(mean(x²) + ε)·(1 + γ)"}));
  EXPECT_EQ(find_step(steps_of_model("opt-350m"), "embedding/project").formulas, (Lines{"x ← x·W_iᵀ"}));
}

TEST(Explain, parallel_sublayers_are_said_to_be_parallel) {
  const std::string parallel = "side by side";
  for (const char* name : {"gpt-j-6b", "falcon-7b"}) {  // one norm for both
    EXPECT_NE(find_step(steps_of_model(name), "feed_forward/up").text.find(parallel), std::string::npos) << name;
  }
  EXPECT_NE(find_step(steps_of_model("falcon-40b"), "feed_forward/norm").text.find(parallel), std::string::npos);
  EXPECT_EQ(find_step(steps_of_model("gpt2"), "feed_forward/norm").text.find(parallel), std::string::npos);
  EXPECT_EQ(find_step(steps_of_model("gpt2"), "feed_forward/up").text.find(parallel), std::string::npos);
}

TEST(Explain, every_formula_names_all_its_tensors) {
  for (const std::string& name : presets_and_small_models()) {
    for (Phase phase : {Phase::prefill, Phase::decode}) {
      for (const Section& section : steps_of_model(name, workload_of(phase))) {
        for (const ExplainedStep& step : section.steps) {
          for (const std::string& formula : step.formulas) {
            EXPECT_FALSE(std::regex_search(formula, std::regex("^ |\\( |\\(\\)|  | $|\\[\\]|= ·|\\[,")))
                << name << ": " << formula;
          }
        }
      }
    }
  }
}

// Zamba's shared block reads the stream beside the embedding; neither is cut into heads.
TEST(Explain, what_a_shared_block_reads_is_the_stream_and_what_was_embedded) {
  const std::vector<Section> sections = steps_of_model(small_model("zamba"));
  using Lines = std::vector<std::string>;
  EXPECT_EQ(find_step(sections, "attention/norm").formulas, (Lines{"x′ = [x, x_0]", "h = x′ / √(mean(x′²) + ε)·γ"}));
  expect_contains(find_step(sections, "attention/norm").text, "what was embedded, x_0");
  for (const Section& section : sections)
    for (const ExplainedStep& step : section.steps)
      for (const Operand& operand : step.operands)
        EXPECT_FALSE(operand.letter == "x" && operand.symbols.find("→") != std::string::npos) << step.name;
}

TEST(Explain, alike_layers_are_one_section_and_different_ones_are_apart) {
  const auto blocks = [](const std::string& name) {
    std::vector<std::int64_t> counts;
    for (const Section& section : steps_of_model(name)) {
      if (section.in_stack()) counts.push_back(section.count());
    }
    return counts;
  };
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(blocks("gpt2"), (Counts{12}));
  EXPECT_EQ(blocks("deepseek-v3"), (Counts{3, 58}));  // dense, then mixtures
  EXPECT_EQ(blocks("gemma-2-9b"), (Counts{21, 21}));  // sliding, full
  EXPECT_EQ(blocks("gpt-oss-20b"), (Counts{12, 12}));
}

TEST(Explain, long_lists_of_layers_are_cut) {
  EXPECT_EQ(layer_list({0, 1, 2, 3}), "0–3");
  EXPECT_EQ(layer_list({0, 2, 4}), "0, 2, 4");
  EXPECT_EQ(layer_list({0, 2, 4, 6, 8, 10}), "0, 2, …, 10");
}

// Every edge's nodes are declared, each once; every subgraph ends.
void expect_well_formed_flowchart(const std::string& text, const std::string& name) {
  static const std::regex node("^ +(n\\d+)(\\[\"[^\"]*\"\\]|\\(\\(\"\\+\"\\)\\))$");
  static const std::regex edge("^ +(n\\d+) -->\\|\"[^\"]*\"\\| (n\\d+)$");
  static const std::regex subgraph("^ +subgraph block\\d+\\[\"[^\"]*\"\\]$");
  std::set<std::string> nodes, reached;
  int open = 0;
  const std::vector<std::string> lines = lines_of(text);
  ASSERT_EQ(lines.at(0), "flowchart TD");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::smatch match;
    if (std::regex_match(lines[i], match, node)) {
      EXPECT_TRUE(nodes.insert(match[1]).second) << name << ": " << lines[i];
    } else if (std::regex_match(lines[i], match, edge)) {
      EXPECT_TRUE(nodes.count(match[1]) && nodes.count(match[2])) << name << ": " << lines[i];
      reached.insert(match[1]);
      reached.insert(match[2]);
    } else if (std::regex_match(lines[i], subgraph)) {
      ++open;
    } else {
      EXPECT_EQ(lines[i], "  end") << name;
      --open;
    }
  }
  EXPECT_EQ(open, 0) << name;
  EXPECT_EQ(nodes, reached) << name << ": a node without an edge";
}

TEST(Explain, the_flowchart_of_every_preset_is_well_formed) {
  for (const Preset& preset : presets()) {
    const Model model = load_model(std::string(preset.name));
    for (Phase phase : phases_of(model)) {
      const Program program = logical_program(model, workload_of(phase));
      expect_well_formed_flowchart(flowchart(program, steps_of(program)), std::string(preset.name));
    }
  }
}

TEST(Explain, the_flowchart_follows_the_data) {
  const Program program = logical_program(load_model("mini-gpt"), {});
  EXPECT_EQ(flowchart(program, steps_of(program)),
            "flowchart TD\n"
            "  n0[\"tokens\"]\n"
            "  n1[\"token embedding<br/>32,768 parameters\"]\n"
            "  subgraph block0[\"2 × block: layers 0–1\"]\n"
            "    n2[\"norm<br/>64 parameters\"]\n"
            "    n3[\"attention<br/>16,384 parameters\"]\n"
            "    n4((\"+\"))\n"
            "    n5[\"norm<br/>64 parameters\"]\n"
            "    n6[\"feed-forward<br/>32,768 parameters\"]\n"
            "    n7((\"+\"))\n"
            "  end\n"
            "  n8[\"final norm<br/>64 parameters\"]\n"
            "  n9[\"head\"]\n"
            "  n10[\"logits\"]\n"
            "  n0 -->|\"32\"| n1\n"
            "  n1 -->|\"32 × 64\"| n2\n"
            "  n2 -->|\"32 × 64\"| n3\n"
            "  n1 -->|\"32 × 64\"| n4\n"
            "  n3 -->|\"32 × 64\"| n4\n"
            "  n4 -->|\"32 × 64\"| n5\n"
            "  n5 -->|\"32 × 64\"| n6\n"
            "  n4 -->|\"32 × 64\"| n7\n"
            "  n6 -->|\"32 × 64\"| n7\n"
            "  n7 -->|\"32 × 64\"| n8\n"
            "  n8 -->|\"32 × 64\"| n9\n"
            "  n9 -->|\"32 × 512\"| n10\n");
}

TEST(Explain, markdown_has_the_diagrams_and_the_terminal_does_not) {
  const std::string markdown = page("mini-gpt", Format::markdown), terminal = page("mini-gpt");
  expect_contains(markdown, "```mermaid\nflowchart TD\n");
  expect_contains(markdown, "```mermaid\npie showData title Parameters\n");
  expect_contains(markdown, "\"feed-forward\" : 65536\n");
  EXPECT_EQ(terminal.find("flowchart"), std::string::npos);
  EXPECT_EQ(terminal.find("pie showData"), std::string::npos);
}

TEST(Explain, the_page_in_the_documents_is_what_the_command_writes_today) {
  const std::string stored = read_text(project_folder() + "/docs/explain-mini-gpt.md", 1 << 20);
  EXPECT_EQ(stored,
            "*Written by `reckon explain mini-gpt --format markdown`.*\n\n" + page("mini-gpt", Format::markdown));
}

TEST(Explain, json_gives_each_step_its_formula_shapes_and_costs) {
  const auto json = explain(load_model("mini-gpt"), {}).json;
  EXPECT_EQ(json.at("model"), "mini-gpt");
  bool found = false;
  for (const auto& step : json.at("steps")) {
    if (step.at("path") != "attention/scores") continue;
    found = true;
    EXPECT_EQ(step.at("name"), "scores");
    EXPECT_EQ(step.at("operations").at(0), "scores");
    EXPECT_EQ(step.at("formula").at(0), "a = q·kᵀ / √dₕ");
    EXPECT_EQ(step.at("shapes").at(2).at("numbers"), "4 × 32 × 32");
    EXPECT_EQ(step.at("times"), 2);
    EXPECT_EQ(step.at("flops").at("matmul").at("value"), 131072);
    EXPECT_EQ(step.at("flops").at("matmul").at("formula"), "2·T²·d");
    EXPECT_EQ(step.at("parameters").at("value"), 0);
  }
  EXPECT_TRUE(found);
}

TEST(Explain, csv_is_one_line_for_each_step) {
  const std::vector<std::string> lines = lines_of(page("mini-gpt", Format::csv));
  EXPECT_EQ(lines.size(), 1 + 2 + 14 + 2);  // the head; tokens, embedding; the block; final norm, head
  expect_contains(lines.at(7), "attention/scores,a = q·kᵀ / √dₕ");
  expect_contains(lines.at(7), ",131072,");
}

TEST(Explain, training_goes_back_with_twice_the_products) {
  const std::string text = page("mini-gpt", Format::table, workload_of(Phase::train));
  // Each block has q, k, v, scores, mixing, output, up, down; then the head.
  expect_contains(text, "17 products forward, 34 backward, 2.00 times the");
}

TEST(Growth, doubled_sizes_grow_as_the_terms_do) {
  const std::vector<Growth> rows = growth(load_model("mini-gpt"), {});
  const auto row = [&](const std::string& what) {
    for (const Growth& g : rows) {
      if (g.what == what) return g;
    }
    throw std::runtime_error("no row " + what);
  };
  EXPECT_DOUBLE_EQ(*row("layers").parameters, (131392.0 + 98560) / 131392);
  EXPECT_DOUBLE_EQ(*row("layers").cache, 2);
  EXPECT_DOUBLE_EQ(*row("width").scores, 2);
  EXPECT_DOUBLE_EQ(*row("tokens").scores, 4);
  EXPECT_DOUBLE_EQ(*row("tokens").parameters, 1);
  EXPECT_DOUBLE_EQ(*row("vocabulary").parameters, (131392.0 + 32768) / 131392);
  EXPECT_DOUBLE_EQ(*row("vocabulary").cache, 1);
  EXPECT_DOUBLE_EQ(*row("batch").matmul, 2);
}

TEST(Growth, a_cache_grows_until_its_windows_are_full) {
  // gpt2: 12 layers, a key and a value of 768 each, 2 bytes.
  EXPECT_EQ(full_cache_cost(load_model("gpt2")).first_token, 12 * 2 * 768 * 2);
  EXPECT_EQ(full_cache_cost(load_model("gpt2")).total, 1024 * 12 * 2 * 768 * 2);
  // gemma-2-9b: 42 layers of 8 heads of 256; half of them stop at 4,096 of 8,192.
  const CacheCost gemma = full_cache_cost(load_model("gemma-2-9b"));
  EXPECT_EQ(gemma.first_token, 42 * 2 * 8 * 256 * 2);
  EXPECT_EQ(gemma.last_token, gemma.first_token / 2);
  // deepseek-v3: one latent of 512 and one rotated key of 64 in each of 61 layers.
  EXPECT_EQ(full_cache_cost(load_model("deepseek-v3")).first_token, 61 * (512 + 64) * 2);
}

}  // namespace
}  // namespace reckon

// The small parts of a training run: its settings and metrics, the config.json of a changed model, what is drawn.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "family_references.h"
#include "folder_fixture.h"
#include "model/changed_config.h"
#include "model/load.h"
#include "model/modify.h"
#include "model/presets.h"
#include "model/read.h"
#include "model/sublayers.h"
#include "model/types.h"
#include "report/page_chart.h"
#include "report/text.h"
#include "report/train_view.h"
#include "report/training_page.h"
#include "run/limits.h"
#include "train/metrics.h"
#include "train/settings.h"

namespace reckon {
namespace {

using Metrics = FolderTest;

TEST_F(Metrics, DropsLinesOfLaterStepsAndOneThatWasCutOff) {
  const fs::path path = folder_ / "metrics.jsonl";
  std::ofstream(path) << R"({"kind":"run","step":0})"
                         "\n"
                         R"({"kind":"step","step":1})"
                         "\n"
                         R"({"kind":"step","step":2})"
                         "\n"
                      << R"({"kind":"step","step":3})"
                         "\n"
                         R"({"kind":"st)";
  {
    MetricsFile metrics(path, 2);
    metrics.add({{"kind", "step"}, {"step", 3}, {"new", true}});
  }
  const auto lines = read_metrics(path);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2]["step"], 2);
  EXPECT_EQ(lines[3]["new"], true);
  EXPECT_NE(error_of([&] { read_metrics(folder_ / "none"); }).find("cannot be opened"), std::string::npos);
}

TEST(Settings, ReadBackAsTheyWereWritten) {
  Settings settings;
  settings.text = {"a.txt", "b"};
  settings.schedule = {Schedule::Kind::wsd, 3e-4, 1.0 / 3, 7, 99, 0.5};
  settings.seed = ~std::uint64_t{0};
  settings.beta2 = 0.1 + 0.2;
  const std::string text = to_json(settings).dump();
  EXPECT_EQ(settings_of(nlohmann::ordered_json::parse(text)), settings);
  auto without = to_json(settings);
  without.erase("clip");
  EXPECT_EQ(error_of([&] { settings_of(without); }), "the settings of the run have no \"clip\"");
  EXPECT_TRUE(may_change("save_every"));
  // An old name, in runs that were saved with it.
  auto old = to_json(settings);
  old["recompute"] = "attention";
  EXPECT_EQ(settings_of(old).recompute, "selective");
  Settings named;
  named.recompute = "attention";
  validate(named);
  EXPECT_EQ(to_json(named)["recompute"], "selective");
  EXPECT_FALSE(may_change("lr"));
}

TEST(ChangedConfig, ReadsBackAsTheChangedModelWhateverTheFamilyCallsItsFields) {
  for (const char* name : {"gpt2", "mini-gpt", "llama-3.1-8b", "mixtral-8x7b", "gemma-2-2b", "gpt-neo-125m",
                           "falcon-7b", "qwen3-0.6b", "bloom-560m"}) {
    const Model model = load_model(name);
    Changes changes;
    changes.layers = 2;
    changes.vocab = 256;
    changes.context = 64;
    const Model changed = modify(model, changes);
    const auto config = changed_config(load_described(name).config, changed);
    EXPECT_TRUE(read_config(config, name) == changed) << name;
  }
}

// In the words of its file, also those of layers that no other type has.
TEST(ChangedConfig, ReadsBackWhatWasNotChangedAndWhereOnlyTheContextWas) {
  std::vector<std::string> models;
  for (const std::string& name : family_references::found("tiny"))
    models.push_back((family_references::folder() / "tiny" / name).string());
  for (const Preset& preset : presets()) models.emplace_back(preset.name);
  ASSERT_GT(models.size(), 200u);
  for (const std::string& name : models) {
    SCOPED_TRACE(name);
    const Described described = load_described(name);
    if (!is_trainable(described.model.family)) continue;
    const auto reads_back = [&](const Model& model) {
      Model again = read_config(changed_config(described.config, model), model.name);
      again.notes = model.notes;
      EXPECT_EQ(again, model);
    };
    EXPECT_NO_THROW(reads_back(described.model));
    const std::optional<Rope>& rope = first_attention(described.model).rope;
    using Scaling = Rope::Scaling;  // of which another context is another rotation
    if (rope && (rope->scaling == Scaling::longrope || rope->scaling == Scaling::dynamic)) continue;
    Changes changes;
    changes.context = described.model.context / 2;
    EXPECT_NO_THROW(reads_back(modify(described.model, changes)));
  }
}

TEST(ChangedConfig, KeepsTheEntriesOfLayersThatAreThereAlready) {
  using nlohmann::json;
  const auto changed = [](const char* name, std::int64_t layers) {
    const Described described = load_described((family_references::folder() / "tiny" / name).string());
    Changes changes;
    changes.layers = layers;
    return changed_config(described.config, modify(described.model, changes));
  };
  const json cwm = changed("cwm", 3);  // one more, as the pattern goes on
  EXPECT_EQ(cwm["layer_types"], json({"sliding_attention", "full_attention", "sliding_attention"}));
  const json sparse = changed("deepseek_v32", 3);
  EXPECT_EQ(sparse["layer_types"], json(3, "deepseek_sparse_attention"));
  EXPECT_EQ(sparse["mlp_layer_types"], json({"dense", "sparse", "dense"}));
  const json dense = changed("deepseek_v32", 1);
  EXPECT_EQ(dense["mlp_layer_types"], json::array({"dense"}));
  // A list of numbers, and one that says again what mlp_layer_types says.
  const Described hunyuan = load_described((family_references::folder() / "published/hunyuan_v1_moe.json").string());
  Changes two;
  two.layers = 2;
  const json of_two = changed_config(hunyuan.config, modify(hunyuan.model, two));
  EXPECT_EQ(of_two["moe_topk"], json(2, 8));
  Described exaone = load_described((family_references::folder() / "tiny/exaone_moe").string());
  json is_moe_layer = json::array();
  for (const auto& type : exaone.config["mlp_layer_types"]) is_moe_layer.push_back(type == "sparse");
  exaone.config["is_moe_layer"] = is_moe_layer;
  Changes three;
  three.layers = 3;
  const json of_three = changed_config(exaone.config, modify(exaone.model, three));
  EXPECT_EQ(of_three["is_moe_layer"], json({false, true, false}));
}

TEST(ChangedConfig, SaysTheDenseRoutedAndSharedWidthsOfAMixture) {
  Changes changes;
  changes.layers = 3;
  changes.d_ff = 96;
  changes.d_expert = 32;
  changes.d_shared = 96;
  const Model changed = modify(load_model("deepseek-v2-lite"), changes);
  const auto config = changed_config(load_described("deepseek-v2-lite").config, changed);
  EXPECT_EQ(config["intermediate_size"], 96);
  EXPECT_EQ(config["moe_intermediate_size"], 32);
  EXPECT_EQ(config["n_shared_experts"], 3);
  EXPECT_TRUE(read_config(config, "deepseek-v2-lite") == changed);
  changes.d_shared = 80;  // no multiple of an expert, which is what its config.json can say
  EXPECT_THROW(
      changed_config(load_described("deepseek-v2-lite").config, modify(load_model("deepseek-v2-lite"), changes)),
      UsageError);
}

TEST(ChangedConfig, SaysNanoGptsFormAndRefusesWhatTheFamilyCannotSay) {
  Changes changes;
  changes.d_model = 128;
  changes.heads = 4;
  changes.bias = false;
  const Model changed = modify(load_model("gpt2"), changes);
  const auto config = changed_config(load_described("gpt2").config, changed);
  EXPECT_EQ(config["bias"], false);
  EXPECT_EQ(config["n_inner"], 512);
  EXPECT_TRUE(read_config(config, "gpt2") == changed);
  Changes other;
  other.positions = Changes::PositionKind::rope;
  EXPECT_THROW(changed_config(load_described("gpt2").config, modify(load_model("gpt2"), other)), UsageError);
}

TEST(TrainView, ThePanelFitsItsWidthAndDrawsACurveThatFalls) {
  RunFacts facts{"mini-gpt", 131392, 8, 32, 1, 1 << 20, 1 << 20, 2 << 20, 3 << 20};
  RunState state;
  state.now = {50, 100, 2.5, 1e-3, 0.7, 5000, 4e9, 3.2};
  state.flops_rate = 25e9;
  state.limit = Spread{90e9, 100e9, 213e9};
  state.evaluation = EvaluationReport{40, 2.75, true};
  for (int i = 1; i <= 50; ++i) state.curve.points.emplace_back(i, 6 - 0.07 * i);
  state.curve.marks.emplace_back(40, 2.75);
  state.curve.x_end = 100;
  const auto lines = train_panel(facts, state, {100, false});
  std::string all;
  for (const std::string& line : lines) {
    EXPECT_LE(display_width(line), 100) << line;
    all += line + "\n";
  }
  for (const char* part : {"step 50 of 100", "2.5000", "2.7500 at step 40, the best", "25.0, 25% of 90 to 213"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
  }
  // High at the left, low in the middle, nothing at the right.
  const Curve curve{{{1, 6}, {50, 2}}, {}, 100};
  const auto drawn = curve_lines(curve, 58, 4, false);
  EXPECT_TRUE(drawn[0].substr(drawn[0].find("┤") + 3).starts_with("⠈")) << drawn[0];
  EXPECT_EQ(display_width(drawn[3].substr(drawn[3].find("┤") + 3)), 50);
}

TEST(Limit, IsMeasuredAtOnceAndThenForAHundredthOfTheTime) {
  using namespace std::chrono_literals;
  int pieces = 0;
  Limit limit([&] {
    std::this_thread::sleep_for(2ms);
    return static_cast<double>(++pieces);
  });
  EXPECT_EQ(limit.turn(), 2);  // the first piece only warms up
  EXPECT_EQ(limit.turn(), std::nullopt);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(limit.turn(), std::nullopt);  // 2 ms are more than a hundredth of 100
  const auto begin = std::chrono::steady_clock::now();
  while (!limit.turn() && std::chrono::steady_clock::now() - begin < 30s) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(pieces, 3);
  EXPECT_FALSE(limit.spread());
  EXPECT_FALSE(spread_of({1, 2}));
  const std::optional<Spread> spread = spread_of({7, 1, 4, 5, 3});
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->least, 1);
  EXPECT_EQ(spread->median, 4);
  EXPECT_EQ(spread->most, 7);
}

TEST(TrainingPage, ShowsTheLimitWithItsSpreadWhereItWasMeasuredThreeTimes) {
  std::vector<nlohmann::ordered_json> lines = {
      {{"kind", "run"},
       {"model", "m"},
       {"step_matmul_flops", 1e9},
       {"limit_gflops_per_second", 300},
       {"bytes", {{"weights", 1}, {"gradients", 1}, {"moments", 1}, {"arena", 1}}}},
      {{"kind", "step"}, {"step", 1}, {"loss", 2}, {"gflops_per_second", 50}, {"tokens_per_second", 1}, {"seconds", 1}},
      {{"kind", "limit"}, {"step", 1}, {"gflops_per_second", 90}},
      {{"kind", "limit"}, {"step", 1}, {"gflops_per_second", 210}}};
  EXPECT_EQ(training_page(lines).find("of one large product"), std::string::npos);
  lines.push_back({{"kind", "limit"}, {"step", 1}, {"gflops_per_second", 100}});
  const std::string page = training_page(lines);
  EXPECT_NE(page.find("50% of one large product: 90 to 210"), std::string::npos) << page;
  EXPECT_NE(page.find("measured 3 times in between: 90 to 210 GFLOP/s"), std::string::npos);
}

TEST(TrainingPage, SaysWhereARunDoesNotTellItsSteps) {
  const std::vector<nlohmann::ordered_json> lines = {{{"kind", "run"}, {"model", "m"}, {"bytes", {{"weights", 1}}}},
                                                     {{"kind", "step"}, {"step", 1e300}, {"loss", 2}, {"seconds", 1}}};
  const std::string page = training_page(lines);
  EXPECT_NE(page.find("<b>unknown</b><small>of unknown</small>"), std::string::npos) << page;
}

TEST(TrainView, ThePanelFitsSmallTerminals) {
  RunFacts facts{
      "a-model-with-a-name-that-is-longer-than-a-line", 131392, 8, 32, 1, 1 << 30, 1 << 30, 2 << 20, 3 << 20};
  RunState state;
  state.now = {12'345, 100'000, 2.5, 1e-3, 0.7, 1'234'567, 4e9, 3.2};
  state.rate = 1'234'567;
  state.flops_rate = 25e9;
  state.left_seconds = 7384;
  state.evaluation = EvaluationReport{12'000, 2.75, true};
  for (int i = 1; i <= 50; ++i) state.curve.points.emplace_back(i, 6 - 0.07 * i);
  state.curve.x_end = 100;
  for (const auto& [width, height] : {std::pair{80, 24}, {40, 12}, {60, 15}, {100, 50}, {40, 8}, {40, 4}, {40, 0}}) {
    std::string all;
    const auto lines = train_panel(facts, state, {width, true, false, height});
    EXPECT_TRUE(height == 0 || std::ssize(lines) < height) << lines.size();
    for (const std::string& line : lines) {
      EXPECT_LE(display_width(line), width) << line;
      all += line + "\n";
    }
    EXPECT_NE(all.find("step 12,345 of 100,000"), std::string::npos) << all;
    if (height > 0 && height < 8) continue;
    for (const char* figure : {"2.5000", "2.7500", "1.00e-03", "0.700", "1,234,567", "25.0", "2.00 GiB"})
      EXPECT_NE(all.find(figure), std::string::npos) << figure << "\n" << all;
    EXPECT_EQ(all.find("└") != std::string::npos, height == 0 || height >= 11) << all;  // the curve
    EXPECT_EQ(all.find("activations 3.00 MiB") != std::string::npos, height == 0 || height >= 24) << all;
  }
}

TEST(TrainView, AValidationIsCutNowhere) {
  RunState state;
  state.now = {2400, 100'000, 1.2, 1e-3, 0.7, 5000, 4e9, 3.2};
  state.evaluation = EvaluationReport{2400, 1.1472, true};
  const auto ends = [&](int width, const std::string& text) {
    const auto lines = train_panel({}, state, {width, false, false, 12});
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.ends_with(text); }))
        << width << " " << lines[2];
  };
  ends(100, "validation  1.1472 at step 2,400, the best");
  ends(80, "validation  1.1472 at step 2,400, best");  // 28 columns are left behind the name
  ends(60, "validation 1.1472, best");
  ends(40, "validation 1.1472");
  state.evaluation->best = false;
  ends(80, "validation  1.1472 at step 2,400");
  ends(60, "validation 1.1472");
}

TEST(TrainView, ARowOfTheCurveIsLabelledWithItsValue) {
  const auto drawn = curve_lines({{{1, 7}, {50, 3.5}}, {}, 100}, 40, 3, false);  // ticks at 2, 4, 6 and 8
  EXPECT_TRUE(drawn[0].starts_with("     8 ┤")) << drawn[0];
  EXPECT_TRUE(drawn[1].starts_with("     5 ┤")) << drawn[1];
  EXPECT_TRUE(drawn[2].starts_with("     2 ┤")) << drawn[2];
}

TEST(TrainView, DrawsOverWhatATerminalThatBecameNarrowerMadeOfThePanel) {
  Terminal terminal{80, false, false, 24};
  std::string drawn;
  RunFacts facts;
  facts.name = "mini-gpt";
  TrainView view(
      facts, [&] { return terminal; }, true, [&](const std::string& text) { drawn = text; });
  view.step({1, 100, 2.5, 1e-3, 0.7, 5000, 4e9, 1});
  int up = 0;  // lines of the panel, once those over 40 columns take two
  std::istringstream lines(drawn);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t erased = line.find("\r\x1b[K");
    if (erased != std::string::npos) up += display_width(line.substr(erased + 4)) > 40 ? 2 : 1;
  }
  EXPECT_GT(up, 20);
  terminal = {40, false, false, 12};
  view.evaluation({1, 2.5, true});
  EXPECT_TRUE(drawn.starts_with("\x1b[" + std::to_string(up) + "A")) << up;
  EXPECT_LE(std::count(drawn.begin(), drawn.end(), '\n'), 11);
}

TEST(TrainView, WithoutATerminalThereIsALineOfTheFirstStepOfTheLastAndEveryTenSeconds) {
  std::vector<std::string> lines;
  TrainView view(
      {}, [] { return Terminal{}; }, false, [&](const std::string& text) { lines.push_back(text); });
  const auto step_of = [](const std::string& line) { return line.substr(0, line.find('/')); };
  for (int step = 1; step <= 4000; ++step) view.step({step, 4000, 2.5, 1e-3, 0.7, 5000, 4e9, 7 + step / 128.0});
  view.finish();
  std::vector<std::string> steps;
  for (const std::string& line : lines) steps.push_back(step_of(line));
  const std::vector<std::string> wanted{"step       1", "step   1,281", "step   2,561", "step   3,841", "step   4,000"};
  EXPECT_EQ(steps, wanted);
  EXPECT_EQ(lines[1], "step   1,281/4,000  loss 2.5000  lr 1.00e-03  gradient 0.700  5,000 tokens/s  4.0 GFLOP/s\n");
}

TEST(TrainView, WithoutATerminalEverySlowStepHasALineAndSoHasTheOneThatWasInterrupted) {
  std::string lines;
  TrainView view(
      {}, [] { return Terminal{}; }, false, [&](const std::string& text) { lines += text; });
  for (int step = 1; step <= 3; ++step) view.step({step, 100, 2.5, 1e-3, 0.7, 5000, 4e9, 60.0 * step});
  view.step({4, 100, 2.5, 1e-3, 0.7, 5000, 4e9, 181});
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
  view.finish();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 4);
  EXPECT_NE(lines.find("step       4/100"), std::string::npos) << lines;
}

TEST(PageChart, LeavesOutWhatIsNotFiniteAndEscapesNames) {
  PageChart chart{
      "a <b>", "", true, false, {{"x</script>", "red", PageSeries::Style::line, {{1, 1}, {2, NAN}, {3, 0}, {4, 2}}}}};
  const std::string svg = page_chart(chart);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_NE(svg.find("a &lt;b&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("x</script>"), std::string::npos);
  EXPECT_EQ(page_chart({}), "");
}

TEST(PageChart, HasItsLabelsInTheTextOfThePageSoThatAPhoneDoesNotShrinkThem) {
  const PageChart chart{"t", "", false, true, {{"x", "red", PageSeries::Style::dots, {{1, 1}, {1000, 5}}}}};
  const std::string page = page_chart(chart);
  EXPECT_EQ(page.find("<text"), std::string::npos);
  EXPECT_NE(page.find("preserveAspectRatio=\"none\""), std::string::npos);
  EXPECT_NE(page.find("<span class=\"x\" style=\"left:40.00%\">400</span>"), std::string::npos) << page;
  EXPECT_NE(page.find("<span class=\"x odd\" style=\"left:10.00%\">100</span>"), std::string::npos) << page;
  EXPECT_NE(page.find("<span class=\"y\" style=\"top:0.00%\">5</span>"), std::string::npos) << page;
}

TEST(PageChart, ThinningKeepsTheMean) {
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i < 1000; ++i) points.emplace_back(i, i % 2);
  const auto few = downsampled(points, 100);
  ASSERT_EQ(few.size(), 100u);
  for (const auto& [x, y] : few) EXPECT_DOUBLE_EQ(y, 0.5);
}

}  // namespace
}  // namespace reckon

// Reports: how numbers, tables, CSV, Markdown and charts read.
#include <gtest/gtest.h>

#include "files/numbers.h"
#include "report/chart.h"
#include "report/document.h"
#include "report/text.h"
#include "report/text_plot.h"
#include "text_fixture.h"

namespace reckon {
namespace {

Document document_of(Table table) {
  Document document;
  document.parts.emplace_back(std::move(table));
  return document;
}

Table small_table() {
  return {"Sizes",
          {{"name"}, {"value", true}, {"share", true}},
          {{"a|b", "1,234,567", "31.7%"}, {"say \"hi\", x", "−5", "2.5%"}},
          0,
          {}};
}

TEST(Numbers, AreGroupedByThousands) {
  EXPECT_EQ(grouped(std::int64_t{0}), "0");
  EXPECT_EQ(grouped(std::int64_t{999}), "999");
  EXPECT_EQ(grouped(std::int64_t{1234567}), "1,234,567");
  EXPECT_EQ(grouped(std::int64_t{-1000}), "−1,000");
  EXPECT_EQ(grouped(INT64_MIN), "−9,223,372,036,854,775,808");
}

TEST(Numbers, ThatAreFractionsOrHugeStayShort) {
  EXPECT_EQ(grouped(1536.0), "1,536");
  EXPECT_EQ(grouped(0.25), "0.25");
  EXPECT_EQ(grouped(3.14e23), "3.14e23");
  EXPECT_EQ(grouped(1234.56), "1,235");
  EXPECT_EQ(grouped(0.00001), "1e-5");
}

TEST(Numbers, SharesAndErrorsArePercent) {
  EXPECT_EQ(percent(0.3165), "31.6%");
  EXPECT_EQ(percent(0.5, 0), "50%");
  EXPECT_EQ(signed_percent(-0.3217), "−32.2%");
  EXPECT_EQ(signed_percent(0.004), "+0.4%");
  EXPECT_EQ(signed_percent(-0.0000001), "0.0%");
}

TEST(Numbers, BytesHaveTheUnitOfTheirBase) {
  // 2,127,057,600 parameters of 4 bytes: 8,508,230,400 / 2³⁰ = 7.92, / 10⁹ = 8.51
  EXPECT_EQ(binary_bytes(8508230400), "7.92 GiB");
  EXPECT_EQ(decimal_bytes(8508230400), "8.51 GB");
  EXPECT_EQ(binary_bytes(512), "512 B");
  EXPECT_EQ(binary_bytes(1024), "1.00 KiB");
  EXPECT_EQ(decimal_bytes(999999), "1.00 MB");
}

TEST(Numbers, FlopsAndParametersHaveTheirLetters) {
  EXPECT_EQ(flops(4513336524800.0), "4.513 TFLOP");
  EXPECT_EQ(flops(149522795724800.0), "149.52 TFLOP");
  EXPECT_EQ(compact(124439808), "124.4M");
  EXPECT_EQ(compact(6738415616), "6.74B");
  EXPECT_EQ(compact(1.5e12), "1.5T");
  EXPECT_EQ(compact(999.999e6), "1B");
}

TEST(Text, IsMeasuredByTheColumnsThatItTakes) {
  EXPECT_EQ(display_width("dₕ²·T − 1"), 9);
  EXPECT_EQ(display_width("e\u0301"), 1);  // a combining accent
  EXPECT_EQ(display_width("模型"), 4);
  EXPECT_EQ(justified("dₕ", 4), "dₕ  ");
  EXPECT_EQ(justified("dₕ", 4, true), "  dₕ");
}

TEST(Text, CannotUpsetATerminal) {
  EXPECT_EQ(printable("a\033[2Jb\n"), "a\uFFFD[2Jb\uFFFD");
  EXPECT_EQ(printable("\xff\xc3"), "\uFFFD\uFFFD");
  EXPECT_EQ(printable("dₕ·½"), "dₕ·½");
  EXPECT_EQ(printable_text("a\tb\n\r\033[2J\x7f\u009b1m\x9b"),
            "a\tb\n\uFFFD\uFFFD[2J\uFFFD\uFFFD"
            "1m\uFFFD");
  EXPECT_EQ(printable_text("\u202bשלום\u202c ½"), "\u202bשלום\u202c ½");
}

TEST(Text, WrapsFormulasAtPlusBeforeItWrapsThemAtTimes) {
  EXPECT_EQ(wrap("12·(4·768² + 4·768)", 12, Breaks::formula), (std::vector<std::string>{"12·(4·768²", "+ 4·768)"}));
  EXPECT_EQ(wrap("2·131,072·16,384", 11, Breaks::formula), (std::vector<std::string>{"2·131,072", "·16,384"}));
  EXPECT_EQ(wrap("  one two three", 9, Breaks::words), (std::vector<std::string>{"  one two", "  three"}));
  EXPECT_EQ(wrap("abcdefgh", 3, Breaks::words), (std::vector<std::string>{"abc", "def", "gh"}));
  EXPECT_EQ(wrap("layers.*.experts.gate", 18, Breaks::words), (std::vector<std::string>{"layers.*.experts", ".gate"}));
  EXPECT_EQ(wrap("", 3, Breaks::words), (std::vector<std::string>{""}));
}

TEST(TableText, AlignsColumnsByDisplayWidth) {
  const Table table{"", {{"s"}, {"n", true}}, {{"dₕ", "64"}, {"d", "1,024"}}, 1, {}};
  EXPECT_EQ(render(document_of(table), Format::table, {}),
            "s       n\n"
            "─────────\n"
            "dₕ     64\n"
            "─────────\n"
            "d   1,024\n");
}

TEST(TableText, IsNeverWiderThanTheTerminal) {
  const std::string formula = "L·(2·d² + 2·K·dₕ·d + r_kv·H·(dₙ+dᵥ) + 16,384·7,168·53,248)";
  Table table{"A title that is longer than sixty columns so that it has to be wrapped as well",
              {{"component"}, {"formula", false, Column::Kind::formula}},
              {},
              1,
              {0}};
  for (int i = 0; i < 6; ++i) table.columns.push_back({"number " + std::to_string(i), true});
  table.columns.push_back({"", false, Column::Kind::bar});
  for (int r = 0; r < 3; ++r) {
    std::vector<Cell> row{"a component with a long name", formula};
    for (int i = 0; i < 6; ++i) row.emplace_back("743,110,431,190,548,480");
    row.emplace_back("0.5");
    table.rows.push_back(row);
  }
  for (int width : {40, 60, 80, 100}) {
    const std::string text = render(document_of(table), Format::table, {width, false});
    for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), width) << line;
    EXPECT_NE(text.find("743,110,431,190,548,480"), std::string::npos);  // a number is never cut
  }
}

TEST(TableText, LeavesOutDetailsBeforeItSplits) {
  using Kind = Column::Kind;
  Table table{
      "",
      {{"name"}, {"each", true, Kind::text, false, 2}, {"formula", false, Kind::formula, false, 1}, {"sum", true}},
      {},
      0,
      {}};
  table.rows.push_back({"a name", "1,234,567", "12·1,024·768", "14,814,804"});
  const auto shown = [&](int width) { return lines_of(render(document_of(table), Format::table, {width, false}))[2]; };
  EXPECT_EQ(shown(43), "a name  1,234,567  12·1,024·768  14,814,804");
  EXPECT_EQ(shown(42), "a name  12·1,024·768  14,814,804");
  EXPECT_EQ(shown(31), "a name  14,814,804");
}

TEST(TableText, WrapsAtHyphensAndNarrowsBeforeItSplits) {
  const Table table{"", {{"feed-forward"}, {"a-long-title", true}, {"n", true}}, {{"up-projection", "1", "22"}}, 0, {}};
  EXPECT_EQ(render(document_of(table), Format::table, {19, false}),
            "              a-\n"
            "feed-      long-\n"
            "forward    title  n\n"
            "───────────────────\n"
            "up-            1 22\n"
            "projection\n");
}

TEST(TableText, PartsJoinedColumnsThatHaveNoRoomTogether) {
  const Column::Kind text = Column::Kind::text;
  const Table table{
      "", {{"n"}, {"value", true}, {"share", true, text, true}}, {{"a", "743,110,431,190,548,480", "12.5%"}}, 0, {}};
  EXPECT_EQ(render(document_of(table), Format::table, {26, false}),
            "n                    value\n"
            "──────────────────────────\n"
            "a  743,110,431,190,548,480\n"
            "\n"
            "n  share\n"
            "────────\n"
            "a  12.5%\n");
}

TEST(TableText, DrawsSharesAsBarsInEighths) {
  const Table table{
      "", {{"n"}, {"", false, Column::Kind::bar}}, {{"a", "1"}, {"b", "0.5"}, {"c", "0.0125"}, {"d", "0"}}, 0, {}};
  const std::vector<std::string> lines = lines_of(render(document_of(table), Format::table, {}));
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[2], "a  ██████████");
  EXPECT_EQ(lines[3], "b  █████");
  EXPECT_EQ(lines[4], "c  ▏");
  EXPECT_EQ(lines[5], "d");
}

TEST(TableText, HasColourOnlyWhereAsked) {
  EXPECT_EQ(render(document_of(small_table()), Format::table, {100, false}).find('\033'), std::string::npos);
  EXPECT_NE(render(document_of(small_table()), Format::table, {100, true}).find('\033'), std::string::npos);
  EXPECT_EQ(render(document_of(small_table()), Format::markdown, {100, true}).find('\033'), std::string::npos);
}

TEST(Csv, HasPlainNumbersAndQuotesWhatNeedsIt) {
  EXPECT_EQ(render(document_of(small_table()), Format::csv, {}),
            "name,value,share\r\n"
            "a|b,1234567,0.317\r\n"
            "\"say \"\"hi\"\", x\",-5,0.025\r\n");
}

TEST(Csv, KeepsSpacesOfATextAndHasNoCellsThatAreSetIn) {
  const Document document = document_of(
      {"", {{"name"}, {"text"}}, {{"a", "  two, and one "}, {Cell("b").indent(), " b"}, {"c", "c d"}}, 0, {}});
  EXPECT_EQ(render(document, Format::csv, {}), "name,text\r\na,\"  two, and one \"\r\nb,\" b\"\r\nc,c d\r\n");
  EXPECT_EQ(render(document, Format::markdown, {}),
            "| name | text |\n| --- | --- |\n| a |   two, and one  |\n| &emsp;b |  b |\n| c | c d |\n");
  EXPECT_EQ(lines_of(render(document, Format::table, {})).at(3), "  b    b");
}

TEST(Csv, OfSeveralTablesIsOneRectangle) {
  Document document = document_of(small_table());
  document.parts.emplace_back(Paragraph{"not in CSV"});
  document.parts.emplace_back(Table{"Other",
                                    {{"value", true}, {"more"}, {"", false, Column::Kind::bar}},
                                    {{Cell("7.92 GiB", "8508230400"), "m", "1"}},
                                    0,
                                    {}});
  EXPECT_EQ(render(document, Format::csv, {}),
            "table,name,value,share,more\r\n"
            "Sizes,a|b,1234567,0.317,\r\n"
            "Sizes,\"say \"\"hi\"\", x\",-5,0.025,\r\n"
            "Other,,8508230400,,m\r\n");
}

TEST(Markdown, EscapesPipesAndFencesBlocks) {
  Document document = document_of(small_table());
  document.parts.emplace_back(Verbatim{"graph TD", "mermaid", false, true});
  const std::string text = render(document, Format::markdown, {});
  EXPECT_NE(text.find("| name | value | share |\n| --- | ---: | ---: |\n| a\\|b | 1,234,567 | 31.7% |"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("```mermaid\ngraph TD\n```\n"), std::string::npos) << text;
  EXPECT_EQ(render(document, Format::table, {}).find("graph TD"), std::string::npos);
}

TEST(Json, SurvivesANameThatIsNotUtf8) {
  Document document;
  document.json = {{"model", "\xff"}};
  EXPECT_EQ(render(document, Format::json, {}), "{\n  \"model\": \"\uFFFD\"\n}\n");
}

TEST(Charts, PutTicksAtPowersOnALogarithmicAxis) {
  const Axis axis = axis_of({1024, 16384}, true, 2, 9);
  EXPECT_EQ(axis.ticks, (std::vector<double>{1024, 2048, 4096, 8192, 16384}));
  EXPECT_DOUBLE_EQ(axis.place(4096), 0.5);
  EXPECT_EQ(axis_of({0, 97}, false, 10, 5).ticks, (std::vector<double>{0, 20, 40, 60, 80, 100}));
}

TEST(Charts, AreSelfContainedSvgWithEscapedNames) {
  const Chart chart{"a<b", "context", "FLOPs", true, true, {1, 2, 4}, {{"x & y", {10, 100, 1000}}}};
  const std::string svg = chart_svg(chart);
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
  EXPECT_NE(svg.find("x &amp; y"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_EQ(svg.find("href"), std::string::npos);
  for (const std::string& line : lines_of(chart_text(chart, 80))) EXPECT_LE(display_width(line), 80);
}

TEST(Charts, FitFortyColumnsWithTheirLegend) {
  const Chart chart{"t",
                    "context",
                    "FLOPs",
                    true,
                    true,
                    {1, 2, 4},
                    {{"scores and mixing", {10, 100, 1000}}, {"feed-forward", {1, 2, 3}}, {"projections", {4, 5, 6}}}};
  const std::vector<std::string> lines = lines_of(chart_text(chart, 40));
  EXPECT_EQ(lines[0], "FLOPs   ● scores and mixing");
  EXPECT_EQ(lines[1], "▲ feed-forward   ■ projections");
  for (const std::string& line : lines) EXPECT_LE(display_width(line), 40) << line;
}

TEST(Charts, OfOneValueOrNoneDoNotBreak) {
  const Chart flat{"t", "x", "y", false, true, {5}, {{"s", {0}}}};
  EXPECT_FALSE(chart_text(flat, 60).empty());
  EXPECT_NE(chart_svg(flat).find("</svg>"), std::string::npos);
}

TEST(TextPlot, HasAFrameWithItsLabels) {
  TextPlot plot({{0, "1"}, {1, "8"}}, {{0, "0"}, {1, "10"}}, 25, 3);
  ASSERT_EQ(plot.columns(), 20);
  plot.mark(plot.across(10), 0.5, "●");
  plot.mark(2, 0.5, "●");  // outside
  EXPECT_EQ(plot.framed("x"),
            "10 ┤\n"
            "   │          ●\n"
            " 0 ┤\n"
            "   └┬──────────────────┬\n"
            "    1                  8\n"
            "             x\n");
  EXPECT_EQ(legend_lines("FLOP/s", {"● a", "▲ b"}, 20), "FLOP/s   ● a   ▲ b\n");
  EXPECT_EQ(legend_lines("", {"● a", "▲ b"}, 8), "● a\n▲ b\n");
}

}  // namespace
}  // namespace reckon

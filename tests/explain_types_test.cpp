// Every step of every type's network has an explanation, going forward, decoding and in training.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <map>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "family_references.h"
#include "model/types.h"
#include "network/forward.h"
#include "report/count.h"
#include "report/steps.h"

namespace reckon {
namespace {

TEST(ExplainTypes, EveryStepOfEveryTypeIsExplained) {
  for (const std::string& name : family_references::found("tiny")) {
    SCOPED_TRACE(name);
    const Model model = load_model((family_references::folder() / "tiny" / name).string());
    for (const Phase phase : {Phase::forward, Phase::decode, Phase::train}) {
      if (phase == Phase::train && !is_trainable(model.family)) continue;
      Workload workload = workload_of(phase);
      workload.tokens = phase == Phase::decode ? 1 : 4;
      std::vector<Section> sections;
      EXPECT_NO_THROW(sections = steps_of(logical_program(model, workload)));
      EXPECT_FALSE(sections.empty());
    }
  }
}

// Where a convolution of a tensor is added to it, or what an adapter makes, the two have letters of their own.
TEST(ExplainTypes, NothingIsAddedToItself) {
  bool convolved = false;
  for (const std::string& name : family_references::found("tiny")) {
    SCOPED_TRACE(name);
    const Model model = load_model((family_references::folder() / "tiny" / name).string());
    Workload workload = workload_of(Phase::forward);
    workload.tokens = 4;
    for (const Section& section : steps_of(logical_program(model, workload)))
      for (const ExplainedStep& step : section.steps)
        for (const std::string& formula : step.formulas) {
          const std::size_t arrow = formula.find(" ← "), plus = formula.find(" + ");
          if (arrow == std::string::npos || plus == std::string::npos) continue;
          const std::size_t from = arrow + std::string(" ← ").size();
          if (from <= plus) {
            EXPECT_NE(formula.substr(from, plus - from), formula.substr(plus + 3)) << formula;
          }
          convolved = convolved || formula == "k ← k + c_k";
        }
  }
  EXPECT_TRUE(convolved) << "Inkling's keys";
}

// A symbol that is not the same in all layers is one row with all its sizes.
TEST(ExplainTypes, EverySymbolIsOneRow) {
  for (const std::string& name : family_references::found("tiny")) {
    SCOPED_TRACE(name);
    const Model model = load_model((family_references::folder() / "tiny" / name).string());
    Workload workload = workload_of(Phase::forward);
    workload.tokens = 40;
    std::vector<Dim> dims = dimensions(count(model, workload));
    for (const Tensor& tensor : logical_program(model, workload).tensors)
      for (const Dim& dim : tensor.shape)
        if (dim.symbol != Symbol::none) dims.push_back(dim);
    const Table table = symbols_table(dims);
    std::map<std::string, std::string> sizes;
    for (const std::vector<Cell>& row : table.rows) EXPECT_TRUE(sizes.emplace(row[0].text, row[1].text).second);
    if (name == "inkling_text") {
      EXPECT_EQ(sizes["dₕ"], "6, 8");
      EXPECT_EQ(sizes["V"], "43") << "of which 41 are no padding";
    }
  }
}

}  // namespace
}  // namespace reckon

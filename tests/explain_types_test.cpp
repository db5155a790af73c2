// Every step of every type's network has an explanation, going forward, decoding and in training.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include "compile/compile.h"
#include "family_references.h"
#include "model/types.h"
#include "network/forward.h"
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

}  // namespace
}  // namespace reckon

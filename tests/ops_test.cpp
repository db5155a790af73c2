// Every operation: the shapes it makes, the FLOPs and bytes it costs, and what it says of shapes that do not fit.
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/ledger.h>

#include <algorithm>
#include <map>
#include <set>

#include "op_cases.h"
#include "ops/activate.h"
#include "ops/append.h"
#include "ops/attention.h"
#include "ops/cross_entropy.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/head_matmul.h"
#include "ops/last.h"
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/norm.h"
#include "ops/rope.h"
#include "ops/collectives.h"
#include "ops/table.h"
#include "ops/view.h"
#include "passes/gradient.h"
#include "report/notation.h"

namespace reckon {
namespace {

std::string title(const OpCase& row) {
  return row.operation + (row.variant.empty() ? "" : ", " + row.variant) +
         (row.stage == Stage::backward ? ", backward" : "");
}

std::vector<std::int64_t> sizes(const Shape& shape) {
  std::vector<std::int64_t> out;
  for (const Dim& dim : shape) out.push_back(dim.size);
  return out;
}

TEST(Ops, EveryOperationHasARowInTheTestTable) {
  std::set<std::string_view> tested;
  for (const OpCase& row : op_cases()) tested.insert(row.operation);
  for (const Operation* operation : all_operations()) EXPECT_TRUE(tested.contains(operation->name)) << operation->name;
}

// What lowering and ranks make: no network has them as it is written.
bool is_lowered(const std::string& operation) {
  static const std::set<std::string> lowered = {
      "attend",           "attend_backward", "project",    "grouped_project", "weight_gradient", "narrow",     "widen",
      "all_reduce_start", "all_reduce_wait", "all_reduce", "all_gather",      "reduce_scatter",  "all_to_all", "send",
      "receive",          "copy_to_group",   "own_part",   "keep_alike",      "dequantise",      "quantise"};
  return lowered.contains(operation);
}

TEST(Ops, EveryOperationOfAForwardPassHasAFormulaToExplainIt) {
  // Nothing is computed; training.
  const std::set<std::string> others = {"view",      "dropout", "squared_norm", "adamw",         "sgd",
                                        "adafactor", "muon",    "adam8bit",     "newton_schulz", "muon_step"};
  for (const OpCase& row : op_cases()) {
    if (row.stage != Stage::forward || is_lowered(row.operation) || others.contains(row.operation)) continue;
    const BuiltCase built = build(row);
    EXPECT_NE(Notation(built.program).formula(built.op), "") << title(row);
  }
}

TEST(Ops, EveryOperationWithElementwiseWorkIsUnderALabelInTheRowsOfAReport) {
  for (const OpCase& row : op_cases()) {
    const bool called_so = row.operation == "softmax" || row.operation == "dropout";
    if (row.elementwise == 0 || is_lowered(row.operation) || called_so) continue;
    const BuiltCase built = build(row);
    WorkEntry entry;
    entry.op = row.operation;
    entry.operation = built.op.operation;
    entry.elementwise = built.op.operation->cost(built.program, built.op).elementwise;
    entry.each.elementwise = row.elementwise;
    Ledger ledger;
    ledger.work = {entry};
    EXPECT_NE(rows(ledger, Quantity::elementwise, By::component).at(0).name, row.operation) << title(row);
  }
}

TEST(Ops, NoTwoOperationsShareAName) {
  std::set<std::string_view> names;
  for (const Operation* operation : all_operations())
    EXPECT_TRUE(names.insert(operation->name).second) << operation->name;
}

TEST(Ops, OutputsHaveTheShapesWorkedOutByHand) {
  for (const OpCase& row : op_cases()) {
    SCOPED_TRACE(title(row));
    const BuiltCase built = build(row);
    std::vector<std::vector<std::int64_t>> found;
    for (TensorId id : built.op.outputs) {
      if (id != no_tensor) found.push_back(sizes(built.program[id].shape));
    }
    EXPECT_EQ(found, row.outputs);
  }
}

TEST(Ops, MatmulAndElementwiseFlopsAreThoseWorkedOutByHand) {
  for (const OpCase& row : op_cases()) {
    SCOPED_TRACE(title(row));
    const BuiltCase built = build(row);
    const Cost cost = built.op.operation->cost(built.program, built.op);
    EXPECT_EQ(cost.matmul.value(), row.matmul);
    EXPECT_EQ(cost.elementwise.value(), row.elementwise);
  }
}

TEST(Ops, BytesReadAndWrittenAreThoseWorkedOutByHand) {
  for (const OpCase& row : op_cases()) {
    SCOPED_TRACE(title(row));
    const BuiltCase built = build(row);
    const Cost cost = built.op.operation->cost(built.program, built.op);
    EXPECT_EQ(cost.read, row.read);
    EXPECT_EQ(cost.written, row.written);
    EXPECT_EQ(cost.read_least, row.read_least);
    EXPECT_EQ(cost.sent, row.sent);
    const bool stages = row.operation == "send" || row.operation == "receive";
    const bool bucket = row.operation == "all_reduce_start" || row.operation == "all_reduce_wait";
    const Group ranks = stages ? Group::pipeline : bucket ? Group::data : Group::tensor;
    EXPECT_EQ(cost.group, stages || row.sent > 0 ? ranks : Group::none);
  }
}

// Adafactor goes over a parameter for its moments, for the update and its size, and for the step; Muon's
// iteration has five steps of three products.
TEST(Ops, EveryOpIsLaunchedOnceButForThoseThatOnlyLookAtMemoryInAnotherWayAndOptimizersOfSeveralPasses) {
  for (const OpCase& row : op_cases()) {
    SCOPED_TRACE(title(row));
    const BuiltCase built = build(row);
    const std::map<std::string, std::int64_t> others = {
        {"view", 0}, {"split", 0}, {"adafactor", 3}, {"newton_schulz", 15}};
    const auto found = others.find(row.operation);
    const std::int64_t usual = is_name(built.op) ? 0 : 1;
    EXPECT_EQ(built.op.operation->cost(built.program, built.op).launches,
              found == others.end() ? usual : found->second);
  }
}

TEST(Ops, ComputeInTheWidestTypeOfTheirOperands) {
  const auto precision = [](DType weights, DType activations) {
    Program program;
    program.workload.precision.weights = weights;
    program.workload.precision.activations = activations;
    Builder b(std::move(program));
    linear(b, b.activation("x", {2, 3, 4}), b.parameter({}, Piece::weight, {5, 4}), no_tensor, "y");
    return precision_of(b.program(), b.program().ops[0]);
  };
  EXPECT_EQ(precision(DType::int4, DType::bfloat16), DType::bfloat16);
  EXPECT_EQ(precision(DType::bfloat16, DType::float32), DType::float32);
  EXPECT_EQ(precision(DType::int8, DType::int8), DType::int8);
}

TEST(Ops, BytesFollowTheTypeOfEachTensor) {
  Program program;
  program.workload.precision.weights = DType::int4;
  program.workload.precision.activations = DType::bfloat16;
  Builder b(std::move(program));
  const TensorId x = b.activation("x", {2, 3, 4});
  linear(b, x, b.parameter({}, Piece::weight, {5, 4}), no_tensor, "y");
  const Cost cost = matmul_operation.cost(b.program(), b.program().ops[0]);
  EXPECT_EQ(cost.read, 48 + 10);  // 24 elements of two bytes, 20 of half a byte
  EXPECT_EQ(cost.written, 60);
}

TEST(Ops, AGradientHasTheShapeOfWhatItIsTheGradientOf) {
  for (const OpCase& row : op_cases()) {
    if (row.stage != Stage::backward) continue;
    SCOPED_TRACE(title(row));
    Builder b{Program{}};
    b.program().workload = row.workload;
    const TensorId output = row.build(b);
    b.program().output = output;
    const Differentiated d = gradient(b.finish());
    for (std::size_t id = 0; id < d.gradients.size(); ++id) {
      const Tensor& tensor = d.program.tensors[id];
      if (tensor.kind != TensorKind::parameter || tensor.storage != no_tensor) continue;
      ASSERT_NE(d.gradients[id], no_tensor);
      EXPECT_EQ(sizes(d.program[d.gradients[id]].shape), sizes(tensor.shape));
    }
  }
}

TEST(Ops, WhatIsNeverDifferentiatedSaysSo) {
  Builder b{Program{}};
  const TensorId x = b.parameter({}, Piece::weight, {2, 3, 4});
  const TensorId output = last(b, x, "y");
  b.program().output = output;
  try {
    gradient(b.finish());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[last] cannot be differentiated");
  }
}

struct Misfit {
  void (*build)(Builder&);
  std::string sentence;
};

TensorId of(Builder& b, const Shape& shape) { return b.parameter({}, Piece::weight, shape); }

TEST(Ops, ShapesThatDoNotFitAreRefusedWithASentence) {
  const std::vector<Misfit> misfits = {
      {[](Builder& b) {
         activate(b, {}, of(b, {2, 4}), of(b, {2, 5}), "y");
       },
       "[activate] got 2 × 4 and 2 × 5, expected equal shapes"},
      {[](Builder& b) {
         add(b, of(b, {2, 3, 4}), of(b, {2, 4}), "y");
       },
       "[add] got 2 × 3 × 4 and 2 × 4, expected shapes that agree from the last dimension on"},
      {[](Builder& b) {
         add(b, of(b, {4}), of(b, {3, 4}), "y");
       },
       "[add] got 4 and 3 × 4, expected shapes that agree from the last dimension on"},
      {[](Builder& b) {
         append(b, of(b, {2, 1, 3, 4}), of(b, {2, 4, 3, 4}), 5, "y");
       },
       "[append] got 2 × 1 × 3 × 4 to 2 × 4 × 3 × 4, expected a cache with room and heads alike"},
      {[](Builder& b) {
         scores(b, of(b, {2, 3, 4, 8}), of(b, {2, 5, 3, 8}), {}, "s");
       },
       "[scores] got 2 × 3 × 4 × 8 and 2 × 5 × 3 × 8, expected heads of one width, shared evenly"},
      {[](Builder& b) {
         mix(b, of(b, {2, 4, 3, 5}), of(b, {2, 6, 2, 8}), {}, "o");
       },
       "[mix] got 2 × 4 × 3 × 5 and 2 × 6 × 2 × 8, expected a value for each key, heads shared evenly"},
      {[](Builder& b) {
         cross_entropy(b, of(b, {2, 3, 7}), of(b, {3, 2}), "loss");
       },
       "[cross_entropy] got 2 × 3 × 7 and labels 3 × 2, expected a label for each row"},
      {[](Builder& b) {
         embed(b, of(b, {7}), of(b, {2, 3}), "y");
       },
       "[embed] got 7, expected a table of rows"},
      {[](Builder& b) {
         head_matmul(b, of(b, {2, 3, 4, 5}), of(b, {28, 6}), 0, 4, true, "y");
       },
       "[head_matmul] got 2 × 3 × 4 × 5 and 28 × 6, expected heads as wide as the slice of the weight"},
      {[](Builder& b) {
         last(b, of(b, {3, 4}), "y");
       },
       "[last] got 3 × 4, expected batch × tokens × width"},
      {[](Builder& b) {
         linear(b, of(b, {2, 3, 4}), of(b, {5, 6}), no_tensor, "y");
       },
       "[matmul] got 2 × 3 × 4 and 5 × 6, expected a last dimension that both share"},
      {[](Builder& b) {
         grouped_linear(b, of(b, {3, 2, 4}), of(b, {5, 4}), no_tensor, of(b, {3, 2}), "y");
       },
       "[grouped_matmul] got 3 × 2 × 4 and 5 × 4, expected a last dimension that both share"},
      {[](Builder& b) {
         combine(b, of(b, {3, 2, 4}), of(b, {3, 4}), of(b, {3, 2}), "y");
       },
       "[combine] got 3 × 2 × 4 and 3 × 4, expected a weight for each row"},
      {[](Builder& b) {
         norm(b, {}, of(b, {2, 4}), of(b, {5}), no_tensor, "y");
       },
       "[norm] got a weight of 5 for 2 × 4, expected an equal last dimension"},
      {[](Builder& b) {
         rope(b, of(b, {2, 3, 4, 8}), of(b, {3, 10}), false, "y");
       },
       "[rope] got a table of 3 × 10 for 2 × 3 × 4 × 8, expected no more angles than elements"},
      {[](Builder& b) {
         split(b, of(b, {2, 6}), 2, 3, "a", "b");
       },
       "[split] got 2 × 6 into 2 and 3, expected parts that add up"},
      {[](Builder& b) {
         join(b, of(b, {2, 3}), of(b, {2, 4}), 8, "y");
       },
       "[join] got 2 × 3 and 2 × 4, expected parts that add up to 8"},
      {[](Builder& b) {
         view(b, of(b, {2, 3}), {5});
       },
       "[view] got 2 × 3 as 5, expected as many elements"},
  };
  for (const Misfit& misfit : misfits) {
    Builder b{Program{}};
    try {
      misfit.build(b);
      ADD_FAILURE() << "no error, expected: " << misfit.sentence;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), misfit.sentence);
    }
  }
}

TEST(Pairs, CausalityAndTheWindowLetThroughWhatALoopCounts) {
  for (std::int64_t tokens = 1; tokens <= 6; ++tokens) {
    for (std::int64_t past = 0; past <= 6; ++past) {
      for (std::int64_t window = 0; window <= 8; ++window) {
        std::int64_t pairs = 0;
        for (std::int64_t query = past; query < past + tokens; ++query) {
          for (std::int64_t key = 0; key <= query; ++key) pairs += window == 0 || query - key < window ? 1 : 0;
        }
        EXPECT_EQ(visible_pairs(tokens, past + tokens, {true, window}), pairs)
            << tokens << " " << past << " " << window;
        if (window == 0) continue;
        std::int64_t in_chunks = 0;
        for (std::int64_t query = past; query < past + tokens; ++query) in_chunks += query % window + 1;
        EXPECT_EQ(visible_pairs(tokens, past + tokens, {true, window, true}), in_chunks)
            << tokens << " " << past << " " << window;
      }
    }
  }
  EXPECT_EQ(visible_pairs(1024, 1024, {}), 524800);  // 1024·1025/2
}

TEST(Pairs, MoreThanSixtyThreeBitsOfThemAreCounted) {
  const std::int64_t tokens = std::int64_t{1} << 33;  // 2³³·(2³³ + 1)/2 = 2⁶⁵ + 2³²
  EXPECT_EQ(visible_pairs(tokens, tokens, {}), Count(tokens) * tokens / 2 + (std::int64_t{1} << 32));
}

}  // namespace
}  // namespace reckon

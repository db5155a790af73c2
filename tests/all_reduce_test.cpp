// Where the sums of gradients over ranks stand in a training program.
#include <gtest/gtest.h>

#include "compile/compile.h"
#include "count/ledger.h"
#include "lowering/lower.h"
#include "lowering/regions.h"
#include "model/load.h"
#include "ops/adamw.h"
#include "ops/collectives.h"
#include "passes/all_reduce.h"
#include "passes/expand.h"
#include "tiny_models.h"

#include <map>
#include <set>

namespace reckon {
namespace {

Program training_program(const std::string& name, std::int64_t ranks, std::int64_t bucket) {
  Workload workload = workload_of(Phase::train);
  workload.tokens = 8;
  workload.layout.data = ranks;
  const Model model = load_model((testing_models::tiny_folder() / name).string());
  return expand(sum_over_ranks(lower(logical_program(model, workload), cpu_target), bucket));
}

class AllReduce : public testing::TestWithParam<std::string> {};

TEST_P(AllReduce, BeginsBehindTheLastWriterAndEndsBeforeTheOptimizer) {
  const Program program = training_program(GetParam(), 2, 4096);
  std::set<TensorId> begun, ended, updated;
  std::size_t buckets = 0;
  for (const Op& op : program.ops) {
    const bool start = op.operation == &all_reduce_start_operation, wait = op.operation == &all_reduce_wait_operation;
    if (start) ++buckets;
    for (TensorId id : op.inputs) {
      if (id == no_tensor) continue;
      const TensorId root = placement(program, id).root;
      if (start) {
        EXPECT_TRUE(begun.insert(root).second) << full_name(program[id]) << " is summed twice";
      } else if (wait) {
        EXPECT_TRUE(begun.contains(root) && ended.insert(root).second) << full_name(program[id]);
      } else if (op.stage == Stage::optimizer && program[id].kind == TensorKind::gradient) {
        EXPECT_TRUE(ended.contains(root)) << full_name(program[id]);
        updated.insert(root);
      }
    }
    if (wait) continue;
    for (TensorId id : op.outputs) {
      if (id == no_tensor) continue;
      EXPECT_FALSE(begun.contains(placement(program, id).root)) << op.operation->name;
    }
  }
  EXPECT_EQ(ended, updated);
  EXPECT_GT(buckets, 2u);
}

// A bucket is closed as soon as it holds enough, so without its last op's gradients it holds less.
TEST_P(AllReduce, FillsBucketsInTheOrderOfTheBackwardPass) {
  const Program program = training_program(GetParam(), 2, 4096);
  std::map<TensorId, std::size_t> writer;
  std::size_t last = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.operation == &all_reduce_start_operation) {
      Count before_the_last;
      for (TensorId id : op.inputs) {
        const std::size_t at = writer.at(placement(program, id).root);
        EXPECT_GE(at, last);
        last = at;
      }
      for (TensorId id : op.inputs) {
        if (writer.at(placement(program, id).root) < last) before_the_last += bytes(program[id]);
      }
      EXPECT_LT(before_the_last, 4096);
    }
    if (op.stage == Stage::optimizer) break;
    for (TensorId id : op.outputs) {
      if (id != no_tensor) writer[placement(program, id).root] = i;
    }
  }
}

// All gradients in lines of 64 bytes; a rank sends 3/4 of them as summands and 3/4 as sums.
TEST_P(AllReduce, IsTrafficOfItsLinksAndNotOfMemory) {
  const Ledger alone = read_ledger(training_program(GetParam(), 1, 4096));
  const Program program = training_program(GetParam(), 4, std::int64_t{1} << 40);
  const Ledger four = read_ledger(program);
  std::int64_t gradients = 0;
  for (const Op& op : program.ops) {
    if (op.operation == &adamw_operation)
      gradients += padded(static_cast<std::int64_t>(bytes(program[op.inputs[1]])), 64);
  }
  EXPECT_EQ(four.total().sent, 2 * (gradients * 3 / 4));
  ASSERT_EQ(bytes_by_group(four).size(), 1u);
  EXPECT_EQ(bytes_by_group(four)[0].group, Group::data);
  EXPECT_EQ(bytes_by_group(four)[0].sent, four.total().sent);
  EXPECT_EQ(four.total().read, alone.total().read);
  EXPECT_EQ(four.total().written, alone.total().written);
}

INSTANTIATE_TEST_SUITE_P(Tiny, AllReduce, testing::Values("gpt2", "gpt_oss", "mixtral"));

}  // namespace
}  // namespace reckon

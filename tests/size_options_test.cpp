// Sizes on the command line: 1k wherever tokens, steps or results are counted, and the limits that hold.
#include <gtest/gtest.h>

#include "program_fixture.h"

namespace reckon {
namespace {

class SizeOption : public ProgramTest {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
};

TEST_F(SizeOption, TakesSizesWhereverTokensOrStepsAreCounted) {
  const Json generated = json({"generate", "mini-gpt", "--random", "1", "--ids", "1", "--tokens", "1k", "--context",
                               "2k", "--top-k", "0.5k", "--threads", "1"});
  EXPECT_EQ(generated["ids"].size(), 1024u);
  const Result trained = run({"train", "mini-gpt", "--steps", "0.002k", "--warmup", "0.001k", "--batch", "0.5k",
                              "--vocab", "0.5k", "--tokenizer", "train:0.5k", "--out", path("run")});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Json state = Json::parse(text_of(folder_ / "run/checkpoints/step-000002/training.json"));
  EXPECT_EQ(state["settings"]["warmup"], 1);   // a thousandth of 10³
  EXPECT_EQ(state["settings"]["batch"], 512);  // half of 1,024
}

TEST_F(SizeOption, SaysTheLimitsThatHold) {
  expect_complaint({"count", "gpt2", "--layers", "200k"}, 2,
                   "--layers is 200k; expected a whole number from 1 to 100,000, such as 12 or 16k");
  expect_complaint({"count", "gpt2", "--layers", "many"}, 2,
                   "--layers is 'many'; expected a whole number from 1 to 100,000");
  expect_complaint({"sweep", "gpt2", "--layers", "1..200k"}, 2,
                   "the end of --layers is 200k; expected a whole number from 1 to 100,000");
  expect_complaint({"count", "gpt2", "--vocab", "2B"}, 2,
                   "--vocab is 2B; expected a whole number from 1 to 1,073,741,824");
  expect_complaint({"count", "llama-7b", "--batch", "2T"}, 2,
                   "--batch is 2T; expected a whole number from 1 to 1,099,511,627,776");
  expect_complaint({"generate", "gpt2", "--random", "1", "--ids", "1", "--tokens", "4G"}, 2,
                   "--tokens is 4G; expected a whole number from 1 to 2,147,483,647");
  expect_complaint({"train", "mini-gpt", "--tokenizer", "train:12"}, 2,
                   "--tokenizer train:N is 12; expected a whole number from 257 to 1,073,741,824, such as 16k or 4M");
}

}  // namespace
}  // namespace reckon

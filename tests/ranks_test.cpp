// What two processes do together. Each test here starts two copies of this program under mpirun, which run the test of
// the same name among OneOfTwo; alone, those are skipped.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "folder_fixture.h"
#include "processes/communicator.h"
#include "tiny_models.h"
#include "train/trainer.h"

namespace reckon {
namespace {

constexpr const char* shared_folder = "RECKON_TEST_RANKS";

class TwoRanks : public FolderTest {
 protected:
  // Each of the two leaves a file when it got through.
  void run(const std::string& test) const {
    if (std::system("command -v mpirun > /dev/null") != 0) GTEST_SKIP() << "there is no mpirun";
    const fs::path log = folder_ / "log";
    const std::string command =
        "unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX; OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " +
        std::string(shared_folder) + "=" + folder_.string() +
        " timeout 60 mpirun -n 2 --oversubscribe --bind-to none " + fs::read_symlink("/proc/self/exe").string() +
        " --gtest_filter=OneOfTwo." + test + " > " + log.string() + " 2>&1";
    const int code = std::system(command.c_str());
    if (text_of(log).find("was built without MPI") != std::string::npos) GTEST_SKIP() << "there is no MPI";
    EXPECT_TRUE(fs::exists(folder_ / "done-0") && fs::exists(folder_ / "done-1")) << "exit code " << code << "\n"
                                                                                  << text_of(log);
  }
};

class OneOfTwo : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv(shared_folder) == nullptr) GTEST_SKIP() << "one of two, by TwoRanks";
  }
  // The other is waited for: mpirun ends it when this one leaves in discord.
  static void done(int rank) {
    if (testing::Test::HasFailure()) return;
    const fs::path folder = std::getenv(shared_folder);
    std::ofstream(folder / ("done-" + std::to_string(rank))) << "\n";
    for (int i = 0; i < 1000 && !fs::exists(folder / ("done-" + std::to_string(1 - rank))); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
};

TEST_F(TwoRanks, NothingCanBeAskedOfTheOthersOnceSumsAreAbandoned) {
  run("NothingCanBeAskedOfTheOthersOnceSumsAreAbandoned");
}

TEST_F(OneOfTwo, NothingCanBeAskedOfTheOthersOnceSumsAreAbandoned) {
  Communicator ranks;
  ASSERT_EQ(ranks.size(), 2);
  EXPECT_THROW(ranks.finish_sum(), Error) << "none was begun";
  std::vector<float> values(10, 1.0f);
  ranks.start_sum(values);
  ranks.abandon_sums();
  double number = 1;
  std::byte letter{};
  EXPECT_THROW(ranks.sum({&number, 1}), Error);
  EXPECT_THROW(ranks.broadcast({&letter, 1}), Error);
  EXPECT_THROW(ranks.barrier(), Error);
  EXPECT_THROW(ranks.start_sum(values), Error);
  EXPECT_THROW(ranks.finish_sum(), Error);
  done(ranks.rank());
}

TEST_F(TwoRanks, TheGradientIsThatOfTheMeanOverTheLabelsOfAll) { run("TheGradientIsThatOfTheMeanOverTheLabelsOfAll"); }

// Rank 0 has one label in its two micro-steps, rank 1 all; held against a process that has all rows as one batch.
TEST_F(OneOfTwo, TheGradientIsThatOfTheMeanOverTheLabelsOfAll) {
  Communicator ranks;
  ASSERT_EQ(ranks.size(), 2);
  const std::string folder = (testing_models::tiny_folder() / "gpt2").string();
  const Model model = load_model(folder);
  const auto weights = [&] { return Weights::load(model, folder); };
  constexpr std::int64_t rows = 4, tokens = 6;
  std::vector<std::int32_t> ids, labels;
  for (std::int32_t i = 0; i < rows * tokens; ++i) {
    ids.push_back(i * 7 % 50);
    labels.push_back(i > 0 && i < rows / 2 * tokens ? -1 : i * 11 % 50);
  }
  Trainer alone(model, weights(), {.threads = 1, .batch = rows, .tokens = tokens});
  const double loss = alone.compute_gradient(ids, labels);
  Trainer trainer(model, weights(), {.threads = 1, .batch = 1, .tokens = tokens}, &ranks);
  const std::size_t half = ids.size() / 2, from = ranks.rank() == 0 ? 0 : half;
  EXPECT_NEAR(trainer.compute_gradient(std::span(ids).subspan(from, half), std::span(labels).subspan(from, half)), loss,
              1e-5);
  EXPECT_NEAR(trainer.update({}), alone.update({}), 1e-5);  // the norm of the gradient
  for (std::size_t i = 0; i < alone.tensors().size(); ++i) {
    const auto expected = alone.values(alone.tensors()[i], &TrainedTensor::gradient);
    const auto found = trainer.values(trainer.tensors()[i], &TrainedTensor::gradient);
    for (std::size_t k = 0; k < expected.size(); ++k) ASSERT_NEAR(found[k], expected[k], 1e-5f);
  }
  done(ranks.rank());
}

}  // namespace
}  // namespace reckon

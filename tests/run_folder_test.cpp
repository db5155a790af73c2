// Checkpoint folders are whole or not there, and a changed one is found out.
#include "train/run_folder.h"

#include <gtest/gtest.h>
#include <reckon/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "files/read_text.h"
#include "folder_fixture.h"
#include "train/file_hash.h"

namespace reckon {
namespace {

class RunFolderTest : public FolderTest {
 protected:
  static void put(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

  static fs::path save(RunFolder& run, std::int64_t step) {
    return run.save(step,
                    [&](const fs::path& folder) { put(folder / "weights", "weights of " + std::to_string(step)); },
                    {{"step", step}});
  }

  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> all;
    for (const SavedStep& saved : saved_steps(folder_)) all.push_back(saved.step);
    return all;
  }

  static std::string complaint(const fs::path& checkpoint) {
    return error_of([&] { read_state(checkpoint); });
  }
};

TEST_F(RunFolderTest, ASavedStepReadsBack) {
  RunFolder run(folder_);
  const fs::path folder = save(run, 7);
  EXPECT_EQ(folder.filename(), "step-000007");
  EXPECT_EQ(read_state(folder)["step"], 7);
  EXPECT_EQ(read_text(folder / "weights", 100), "weights of 7");
}

TEST_F(RunFolderTest, TheLastAndTheBestStay) {
  RunFolder run(folder_);
  for (std::int64_t step : {10, 20, 30, 40, 50}) save(run, step);
  run.prune(2, 20);
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{20, 40, 50}));
}

TEST_F(RunFolderTest, AFailureLeavesTheOldCheckpointAndNothingOfTheNew) {
  RunFolder run(folder_);
  const fs::path old = save(run, 5);
  EXPECT_THROW(run.save(6, [](const fs::path&) { throw Error("no space left"); }, {}), Error);
  EXPECT_THROW(run.save(5, [](const fs::path&) { throw Error("no space left"); }, {}), Error);
  EXPECT_EQ(steps(), std::vector<std::int64_t>{5});
  EXPECT_EQ(read_state(old)["step"], 5);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "checkpoints"), fs::directory_iterator()), 1);
}

TEST_F(RunFolderTest, AStepIsReplacedByItsNewState) {
  RunFolder run(folder_);
  save(run, 5);
  run.save(5, [](const fs::path& folder) { put(folder / "weights", "other"); }, {{"step", 5}});
  EXPECT_EQ(read_text(folder_ / "checkpoints/step-000005/weights", 100), "other");
}

TEST_F(RunFolderTest, WhatAKilledProcessLeftIsClearedAway) {
  fs::create_directories(folder_ / "checkpoints/.step-000009.new");
  fs::create_directories(folder_ / "checkpoints/step-9x");  // not ours: it stays, and is no checkpoint
  const RunFolder run(folder_);
  EXPECT_FALSE(fs::exists(folder_ / "checkpoints/.step-000009.new"));
  EXPECT_TRUE(fs::exists(folder_ / "checkpoints/step-9x"));
  EXPECT_TRUE(steps().empty());
}

TEST_F(RunFolderTest, OneProcessAtATime) {
  std::optional<RunFolder> first(std::in_place, folder_);
  EXPECT_THROW(RunFolder second(folder_), Error);
  first.reset();
  EXPECT_NO_THROW(RunFolder third(folder_));
}

TEST_F(RunFolderTest, WhatWasNotThereIsGoneUnlessThereIsSomethingToKeep) {
  const fs::path run = folder_ / "a/b";
  { RunFolder given_up(run); }
  EXPECT_TRUE(fs::is_empty(folder_));
  RunFolder(run).keep();
  EXPECT_TRUE(fs::exists(run / "checkpoints"));
  put(run / "metrics.jsonl", "{}");
  { RunFolder again(run); }
  EXPECT_TRUE(fs::exists(run / "metrics.jsonl"));
  fs::remove_all(run);
  {
    RunFolder saved(run);
    save(saved, 1);
  }
  EXPECT_TRUE(fs::exists(run / "checkpoints/step-000001/training.json"));
}

TEST_F(RunFolderTest, AChangedTruncatedOrMissingFileIsNamed) {
  RunFolder run(folder_);
  const fs::path folder = save(run, 1);
  put(folder / "weights", "weights of 2");
  EXPECT_NE(complaint(folder).find("'weights' was changed since it was written"), std::string::npos);
  put(folder / "weights", "weights");
  EXPECT_NE(complaint(folder).find("'weights' has 7 bytes; 12 were written"), std::string::npos);
  fs::remove(folder / "weights");
  EXPECT_NE(complaint(folder).find("'weights' is missing"), std::string::npos);
}

TEST_F(RunFolderTest, AChangedOrTruncatedStateIsFound) {
  RunFolder run(folder_);
  const fs::path file = save(run, 1) / "training.json";
  const std::string text = read_text(file, 1000);
  std::string changed = text;
  changed.replace(changed.find("\"step\": 1"), 9, "\"step\": 2");
  put(file, changed);
  EXPECT_NE(complaint(file.parent_path()).find("training.json was changed"), std::string::npos);
  put(file, text.substr(0, text.size() / 2));
  EXPECT_NE(complaint(file.parent_path()).find("is not whole"), std::string::npos);
  put(file, "[]");
  EXPECT_NE(complaint(file.parent_path()).find("is not that of a checkpoint"), std::string::npos);
}

TEST_F(RunFolderTest, AFolderThatCannotBeWrittenIsOneSentence) {
  if (::geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
  ::chmod(folder_.c_str(), 0555);
  EXPECT_THROW(RunFolder run(folder_), Error);
  ::chmod(folder_.c_str(), 0755);
}

TEST(FileHash, DependsOnEveryByteAndTheLength) {
  std::vector<std::byte> bytes(100);
  std::set<std::string> seen{hash_of_bytes(bytes)};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = std::byte{1};
    EXPECT_TRUE(seen.insert(hash_of_bytes(bytes)).second) << i;
    bytes[i] = std::byte{0};
  }
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_TRUE(seen.insert(hash_of_bytes(std::span(bytes).first(n))).second) << n;
}

}  // namespace
}  // namespace reckon

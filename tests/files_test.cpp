// Checked arithmetic, mapped files, reading and replacing small files, keys that stand twice.
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "files/atomic_write.h"
#include "files/checked.h"
#include "files/json_document.h"
#include "files/mapped_file.h"
#include "files/quote.h"
#include "files/read_text.h"
#include "folder_fixture.h"

namespace {

namespace fs = std::filesystem;

using reckon::error_of;

TEST(Checked, MultipliesAndAddsUpToTheEndOfTheType) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(reckon::checked_multiply<std::int64_t>(most, 1, "x"), most);
  EXPECT_EQ(reckon::checked_multiply<std::int64_t>(-4, 5, "x"), -20);
  EXPECT_EQ(reckon::checked_add<std::int64_t>(most - 1, 1, "x"), most);
  EXPECT_EQ(reckon::checked_add<std::uint64_t>(~0ull - 1, 1, "x"), ~0ull);
  EXPECT_EQ(reckon::checked_cast<std::int8_t>(-128, "x"), -128);
}

TEST(Checked, NamesWhatOverflows) {
  EXPECT_EQ(error_of([] { (void)reckon::checked_multiply<std::int64_t>(1ll << 62, 2, "the number of parameters"); }),
            "the number of parameters overflows: 4611686018427387904 × 2 is past 9223372036854775807");
  EXPECT_EQ(error_of([] { (void)reckon::checked_add<std::uint64_t>(~0ull, 1, "the end of tensor 't'"); }),
            "the end of tensor 't' overflows: 18446744073709551615 + 1 is past 18446744073709551615");
  EXPECT_EQ(error_of([] { (void)reckon::checked_cast<std::int64_t>(~0ull, "the size"); }),
            "the size overflows: 18446744073709551615 is not between -9223372036854775808 and 9223372036854775807");
}

TEST(Quote, EscapesAndCuts) {
  EXPECT_EQ(reckon::quote("a b"), "'a b'");
  EXPECT_EQ(reckon::quote("a\x1b[0m\n"), "'a\\x1b[0m\\x0a'");
  EXPECT_EQ(reckon::quote(std::string(1000, 'a')), "'" + std::string(120, 'a') + "…' (1000 bytes)");
}

class Files : public testing::Test {
 protected:
  fs::path folder = fs::temp_directory_path() / ("reckon_files_" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
  }
};

TEST_F(Files, MapsAFilesBytes) {
  std::ofstream(folder / "f") << "hello";
  reckon::MappedFile file(folder / "f");
  ASSERT_EQ(file.bytes().size(), 5u);
  EXPECT_EQ(static_cast<char>(file.bytes()[4]), 'o');
  const reckon::MappedFile moved = std::move(file);
  EXPECT_EQ(static_cast<char>(moved.bytes()[0]), 'h');
}

TEST_F(Files, MapsAnEmptyFileToNothing) {
  std::ofstream(folder / "f");
  EXPECT_TRUE(reckon::MappedFile(folder / "f").bytes().empty());
}

TEST_F(Files, MapsNothingButRegularFiles) {
  EXPECT_EQ(error_of([&] { reckon::MappedFile file(folder / "no"); }),
            (folder / "no").string() + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error_of([&] { reckon::MappedFile file{folder}; }),
            folder.string() + ": is not a regular file, so it cannot be mapped");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { reckon::MappedFile file(folder / "pipe"); }),
            (folder / "pipe").string() + ": is not a regular file, so it cannot be mapped");
}

TEST_F(Files, ReadsAFileUpToItsLimit) {
  std::ofstream(folder / "f") << "hello";
  EXPECT_EQ(reckon::read_text(folder / "f", 5), "hello");
  EXPECT_EQ(error_of([&] { reckon::read_text(folder / "f", 4); }),
            (folder / "f").string() + ": is longer than 4 bytes, the most that is read of such a file");
  EXPECT_EQ(error_of([&] { reckon::read_text(folder, 4); }), folder.string() + ": cannot be read: Is a directory");
  EXPECT_EQ(error_of([&] { reckon::read_text("/dev/zero", 100); }),
            "/dev/zero: is longer than 100 bytes, the most that is read of such a file");
}

TEST_F(Files, ReplacesAFileAndLeavesNothingBesideIt) {
  reckon::atomic_write(folder / "f", "one");
  reckon::atomic_write(folder / "f", "two");
  EXPECT_EQ(reckon::read_text(folder / "f", 10), "two");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, KeepsTheModeOfTheFileItReplaces) {
  reckon::atomic_write(folder / "f", "one");
  fs::permissions(folder / "f", fs::perms(0640));
  reckon::atomic_write(folder / "f", "two");
  EXPECT_EQ(fs::status(folder / "f").permissions(), fs::perms(0640));
}

TEST_F(Files, WritesThroughALink) {
  reckon::atomic_write(folder / "f", "one");
  fs::create_symlink("f", folder / "link");
  reckon::atomic_write(folder / "link", "two");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(reckon::read_text(folder / "f", 10), "two");
}

TEST_F(Files, WritesToADeviceWithoutReplacingIt) {
  reckon::atomic_write("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Files, SaysWhyAFileCannotBeWrittenAndLosesNothing) {
  EXPECT_EQ(error_of([&] { reckon::atomic_write(folder, "x"); }),
            folder.string() + ": cannot be written: Is a directory");
  EXPECT_EQ(error_of([&] { reckon::atomic_write(folder / "no" / "f", "x"); }),
            (folder / "no" / "f").string() + ": cannot be written: No such file or directory");
  // A full disk, without one: every write to this device fails so.
  if (fs::exists("/dev/full")) {
    EXPECT_EQ(error_of([&] { reckon::atomic_write("/dev/full", "x"); }),
              "/dev/full: cannot be written: No space left on device");
  }
  if (::geteuid() != 0) {  // root may write anywhere
    reckon::atomic_write(folder / "f", "one");
    fs::permissions(folder, fs::perms(0555));
    EXPECT_EQ(error_of([&] { reckon::atomic_write(folder / "f", "two"); }),
              (folder / "f").string() + ": cannot be written: Permission denied");
    fs::permissions(folder, fs::perms(0755));
    EXPECT_EQ(reckon::read_text(folder / "f", 10), "one");
  }
}

TEST_F(Files, KeepsTheOldTextWhenTheNewOneStopsHalfWay) {
  reckon::atomic_write(folder / "f", "one");
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 1000;
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = error_of([&] { reckon::atomic_write(folder / "f", std::string(5000, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_action);
  EXPECT_EQ(error, (folder / "f").string() + ": cannot be written: File too large");
  EXPECT_EQ(reckon::read_text(folder / "f", 10), "one");
  EXPECT_EQ(entries(), 1u);
}

TEST(RepeatedKeys, AreRefusedByNameInWhicheverObjectTheyStand) {
  const auto error = [](const char* text) { return error_of([&] { reckon::parse_json(text, "c.json"); }); };
  EXPECT_EQ(error(R"({"d": 64, "n": 2, "d": 32})"), "c.json: 'd' is there twice; expected one value of it");
  EXPECT_EQ(error(R"({"a": [{"type": 1, "type": 1}]})"), "c.json: 'type' is there twice; expected one value of it");
  constexpr auto whole = R"({"a":{"d":1},"b":{"d":-1},"d":[{"d":1.5},{"d":[null,true,"x"]}]})";
  EXPECT_EQ(reckon::parse_json(whole, "c.json").dump(), whole);
}

}  // namespace

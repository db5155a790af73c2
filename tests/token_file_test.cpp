// Token files: written, read back, and refused where they are cut or edited.
#include "train/token_file.h"

#include <gtest/gtest.h>
#include <reckon/error.h>

#include <fstream>
#include <numeric>
#include <random>
#include <string>

#include "folder_fixture.h"

namespace reckon {
namespace {

using Ids = std::vector<std::int32_t>;
class TokenFiles : public FolderTest {};

void write(const fs::path& path, const Ids& ids, std::int64_t vocab_size) {
  TokenFileWriter writer(path, vocab_size, 77);
  writer.add(std::span(ids).first(ids.size() / 2));
  writer.add(std::span(ids).subspan(ids.size() / 2));
  writer.commit();
}

Ids all_of(const TokenFile& file) {
  Ids ids(static_cast<std::size_t>(file.size()));
  file.copy(0, file.size(), ids.data());
  return ids;
}

TEST_F(TokenFiles, GiveBackWhatWasWrittenInTwoOrFourBytes) {
  Ids ids(200'000);
  std::iota(ids.begin(), ids.end(), 0);
  for (const std::int64_t vocab_size : {std::int64_t{65536}, std::int64_t{65537}, std::int64_t{200'000}}) {
    Ids some(ids.begin(), ids.begin() + std::min<std::int64_t>(vocab_size, 200'000));
    write(folder_ / "tokens", some, vocab_size);
    const TokenFile file(folder_ / "tokens");
    EXPECT_EQ(fs::file_size(folder_ / "tokens"), 64 + some.size() * (vocab_size <= 65536 ? 2 : 4));
    EXPECT_EQ(file.size(), std::ssize(some));
    EXPECT_EQ(file.vocab_size(), vocab_size);
    EXPECT_EQ(file.tokenizer_hash(), 77u);
    EXPECT_EQ(all_of(file), some);
    Ids window(3);
    file.copy(1000, 3, window.data());
    EXPECT_EQ(window, (Ids{1000, 1001, 1002}));
  }
}

TEST_F(TokenFiles, AreLittleEndianBehindAHeaderOf64Bytes) {
  write(folder_ / "tokens", {1, 0x0203}, 1000);
  const std::string bytes = text_of(folder_ / "tokens");
  EXPECT_EQ(bytes.substr(0, 8), "RCKNTOKS");
  EXPECT_EQ(bytes.substr(8, 8), std::string("\1\0\0\0\2\0\0\0", 8));
  EXPECT_EQ(bytes.substr(24, 8), std::string("\2\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(64), std::string("\1\0\3\2", 4));
}

TEST_F(TokenFiles, AppearOnlyWhenTheyAreWhole) {
  write(folder_ / "tokens", {1, 2, 3}, 10);
  {
    TokenFileWriter writer(folder_ / "tokens", 10);
    writer.add(Ids{4, 5});
    EXPECT_EQ(error_of([&] {
                writer.add(Ids{6, 10});
              }),
              (folder_ / "tokens").string() + ": token 3 has id 10; expected 0 to 9");
  }
  EXPECT_EQ(all_of(TokenFile(folder_ / "tokens")), (Ids{1, 2, 3}));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "nothing is left behind";
}

TEST_F(TokenFiles, ThatAreCutOrEditedAreRefused) {
  const fs::path path = folder_ / "tokens";
  write(path, {1, 2, 3, 4}, 10);
  const std::string whole = text_of(path);
  ASSERT_TRUE(is_token_file(path));
  const auto error_with = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    const std::string error = error_of([&] { all_of(TokenFile(path)); });
    return error.substr(std::min(error.size(), path.string().size() + 2));
  };
  const auto edited = [&](std::size_t at, char byte) {
    std::string bytes = whole;
    bytes[at] = byte;
    return error_with(bytes);
  };
  EXPECT_EQ(error_with(whole), "") << "no error";
  EXPECT_EQ(error_with(whole.substr(0, whole.size() - 2)),
            "has 6 bytes of ids; expected 4 ids of 2 bytes, as its header says");
  EXPECT_EQ(error_with(whole.substr(0, whole.size() - 1)),
            "has 7 bytes of ids; expected 4 ids of 2 bytes, as its header says");
  EXPECT_EQ(error_with(whole + "xx"), "has 10 bytes of ids; expected 4 ids of 2 bytes, as its header says");
  EXPECT_EQ(error_with(whole.substr(0, 20)), "ends within its header: it has 20 bytes; expected 64 or more");
  EXPECT_EQ(error_with("text"), "does not begin with RCKNTOKS; expected a token file");
  EXPECT_FALSE(is_token_file(path));
  EXPECT_EQ(edited(8, 9), "is a token file of version 9; expected 1");
  EXPECT_EQ(edited(12, 3), "has ids of 3 bytes; expected 2 or 4");
  EXPECT_EQ(edited(16, 0), "has a vocabulary of 0 tokens; expected 1 to 2,147,483,647");
  EXPECT_EQ(edited(31, '\x7F'),
            "has 8 bytes of ids; expected 9,151,314,442,816,847,876 ids of 2 bytes, as its header says");
  EXPECT_EQ(edited(68, 10), "token 2 has id 10, past its vocabulary of 10 tokens");
  EXPECT_NE(error_of([&] { TokenFile(folder_ / "none"); }).find("cannot be opened"), std::string::npos);
}

TEST_F(TokenFiles, OfAnyBytesAreReadOrRefused) {
  const fs::path path = folder_ / "tokens";
  write(path, {1, 2, 3, 4}, 10);
  const std::string whole = text_of(path);
  std::mt19937 random(3);
  int read = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole.substr(0, random() % 4 == 0 ? random() % whole.size() : whole.size());
    for (auto edits = random() % 4; edits > 0 && !bytes.empty(); --edits) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    std::ofstream(path, std::ios::binary) << bytes;
    const std::string error = error_of([&] {
      const TokenFile file(path);
      ASSERT_EQ(all_of(file).size(), 4u);
      ++read;
    });
    ASSERT_TRUE(error == "no error" || error.starts_with(path.string())) << error;
  }
  EXPECT_GT(read, 0);
}

TEST_F(TokenFiles, AreNotReadPastTheirEnd) {
  write(folder_ / "tokens", {1, 2, 3}, 10);
  const TokenFile file(folder_ / "tokens");
  Ids out(8);
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{1, 3}, {-1, 1}, {4, 0}, {0, -1}}) {
    EXPECT_NE(error_of([&, first = first, count = count] { file.copy(first, count, out.data()); }), "no error");
  }
  file.copy(3, 0, out.data());
}

}  // namespace
}  // namespace reckon

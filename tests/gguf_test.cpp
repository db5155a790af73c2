// Headers of GGUF files: what is read from good ones, and the sentence for each way in which one can be bad.
#include "files/gguf.h"
#include "folder_fixture.h"
#include "gguf_seeds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <random>
#include <span>

#include "model/boundary_ids.h"
#include "model/read_gguf.h"
#include "text/gguf_tokenizer.h"
#include "text/tokenizer.h"

namespace reckon {
namespace {

TensorFile parse(const std::string& file) { return parse_gguf("t.gguf", std::as_bytes(std::span(file)), file.size()); }

constexpr std::uint32_t f32 = 0, q4_0 = 2;

TEST(Gguf, ReadsPairsOfEveryType) {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufFixture fixture = good_gguf();
    fixture.version = version;
    const nlohmann::json expected = {{"general.architecture", "llama"},
                                     {"u8", 255},
                                     {"i8", -1},
                                     {"u16", 65535},
                                     {"i16", -2},
                                     {"u32", 4294967295u},
                                     {"i32", -3},
                                     {"f32", 0.5},
                                     {"bool", true},
                                     {"no", false},
                                     {"u64", ~std::uint64_t{0}},
                                     {"i64", std::numeric_limits<std::int64_t>::min()},
                                     {"f64", 0.1},
                                     {"tokens", {"a", "", "\xE2\x96\x81the"}},
                                     {"scores", {-1.5, 0.0, 2.0}},
                                     {"types", {1, 3, -6}},
                                     {"none", nlohmann::json::array()}};
    const nlohmann::json pairs = parse(fixture.file()).files.at(0).pairs;
    EXPECT_EQ(pairs, expected);
    // Which type a number has stays known, also of a positive one.
    EXPECT_TRUE(pairs["u8"].is_number_unsigned());
    EXPECT_FALSE(pairs["types"][0].is_number_unsigned());
    EXPECT_TRUE(pairs["scores"][2].is_number_float());
  }
}

TEST(Gguf, ListsTensorsWithTheShapesOfPyTorchInTheOrderOfTheirData) {
  const GgufFixture fixture = good_gguf();
  const TensorFile file = parse(fixture.file());
  EXPECT_EQ(file.files.at(0).data_begin, (fixture.header().size() + 31) / 32 * 32);
  ASSERT_EQ(file.tensors.size(), 3u);
  EXPECT_EQ(file.tensors[0].name, "b");
  EXPECT_EQ(file.tensors[0].dtype, DType::q8_0);
  EXPECT_EQ(file.tensors[0].shape, (std::vector<std::int64_t>{2, 32}));
  EXPECT_EQ(file.tensors[0].elements, 64);
  EXPECT_EQ(file.tensors[0].end, 68u);  // two blocks of 34 bytes
  EXPECT_EQ(file.tensors[1].name, "a");
  EXPECT_EQ(file.tensors[1].begin, 96u);  // 68 rounded up to the alignment
  EXPECT_EQ(file.tensors[1].shape, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(file.tensors[2].elements, 1);
}

TEST(Gguf, TakesTheAlignmentThatTheFileSays) {
  GgufFixture fixture;
  fixture.alignment = 64;
  fixture.pair("general.alignment", 64u);
  fixture.tensor("a", {1}, f32, "aaaa").tensor("b", {1}, f32, "bbbb");
  const TensorFile file = parse(fixture.file());
  EXPECT_EQ(file.files[0].data_begin, 128u);
  EXPECT_EQ(file.tensors[1].begin, 64u);
}

TEST(Gguf, AFileWithoutTensorsMayEndWithItsHeader) {
  const std::string header = GgufFixture().pair("general.architecture", "llama").header();
  ASSERT_NE(header.size() % 32, 0u);
  EXPECT_TRUE(parse(header).tensors.empty());
}

TEST(Gguf, KnowsEveryEncodingItsSizeAndTheRowsThatItDivides) {
  // Numbers, elements and bytes of a block: ggml's own table.
  const struct {
    std::uint32_t type;
    std::int64_t elements;
    std::size_t bytes;
  } encodings[] = {{0, 1, 4},      {1, 1, 2},      {30, 1, 2},     {2, 32, 18},    {3, 32, 20},   {6, 32, 22},
                   {7, 32, 24},    {8, 32, 34},    {20, 32, 18},   {39, 32, 17},   {10, 256, 84}, {11, 256, 110},
                   {12, 256, 144}, {13, 256, 176}, {14, 256, 210}, {23, 256, 136}, {24, 1, 1},    {25, 1, 2},
                   {26, 1, 4},     {27, 1, 8},     {28, 1, 8}};
  for (const auto& [type, elements, bytes] : encodings) {
    GgufFixture fixture;
    fixture.tensor("t", {3 * elements, 5}, type, std::string(15 * bytes, 'x'));
    EXPECT_EQ(parse(fixture.file()).tensors.at(0).end, 15 * bytes) << type;
    if (elements == 1) continue;
    // As many elements as before, but rows end within a block.
    const std::string file = GgufFixture().tensor("t", {5, 3 * elements}, type, std::string(15 * bytes, 'x')).file();
    const std::string sentence = error_of([&] { parse(file); });
    EXPECT_TRUE(sentence.starts_with("t.gguf: tensor 't': 5 elements of ")) << sentence;
  }
}

struct Bad {
  const char* name;
  std::string file;
  std::string sentence;  // after the file's name
};

std::string with_pair(std::uint32_t type, const std::string& value) {
  return GgufFixture().pair("k", type, value).file();
}
std::string with_version(std::uint32_t version) {
  GgufFixture fixture = good_gguf();
  fixture.version = version;
  return fixture.file();
}
std::string shaped(const std::vector<std::int64_t>& ne, std::uint32_t type = f32, std::uint64_t offset = 0) {
  GgufFixture fixture;
  fixture.info("t", ne, type, offset);
  fixture.data = std::string(64, 'x');
  return fixture.file();
}
std::string counted(std::uint64_t tensors, std::uint64_t pairs) {
  GgufFixture fixture;
  fixture.tensor_count = tensors;
  fixture.pair_count = pairs;
  return fixture.header();
}
std::string aligned(std::uint32_t alignment) {
  return GgufFixture().pair("general.alignment", alignment).tensor("t", {1}, f32, "tttt").file();
}
const std::int64_t most = std::numeric_limits<std::int64_t>::max();
const std::string all_ones = raw(~std::uint64_t{0});

const Bad bad_files[] = {
    {"Empty", "", "begins with '', expected GGUF"},
    {"Short", "GGU", "begins with 'GGU', expected GGUF"},
    {"AnotherKind", "PK\x03\x04....", "begins with 'PK\\x03\\x04', expected GGUF"},
    {"OnlyTheMark", "GGUF", "the first 24 bytes: should have 4 bytes, but only 0 bytes follow"},
    {"VersionOne", with_version(1), "is of GGUF version 1, expected 2 or 3"},
    {"VersionZero", with_version(0), "is of GGUF version 0, expected 2 or 3"},
    {"FutureVersion", with_version(4), "is of GGUF version 4, expected 2 or 3"},
    {"ByteSwappedVersion", with_version(0x03000000), "is a big-endian GGUF file, expected a little-endian one"},
    {"ManyPairs", counted(0, 1), "the header: should have 1 pairs, but only 0 bytes follow"},
    {"CountOfPairsTimesSizeOverflows", counted(0, (~std::uint64_t{0}) / 14 + 2),
     "the header: should have 1,317,624,576,693,539,403 pairs, but only 0 bytes follow"},
    {"NegativeCountOfTensors", counted(~std::uint64_t{0}, 0),
     "the header: should have 18,446,744,073,709,551,615 tensors, but only 0 bytes follow"},
    {"CountOfTensorsTimesSizeOverflows", counted(std::uint64_t{1} << 60, 0),
     "the header: should have 1,152,921,504,606,846,976 tensors, but only 0 bytes follow"},
    {"KeyOfLengthAllOnes", GgufFixture{.pairs = all_ones + "k____________", .n_pairs = 1}.header(),
     "pair 0: should have 18,446,744,073,709,551,615 bytes of a string, but only 13 bytes follow"},
    {"EmptyKey", GgufFixture().pair("", 1u).file(), "pair 0: has an empty key"},
    {"LongKey", GgufFixture().pair(std::string(65536, 'k'), 1u).file(),
     "pair 0: has a key of 65,536 bytes, expected at most 65,535"},
    {"KeyTwice", GgufFixture().pair("k", 1u).pair("k", 1u).file(), "pair 'k': appears twice"},
    {"UnknownTypeOfPair", with_pair(13, ""), "pair 'k': type 13 of a value is unknown"},
    {"ABooleanOfTwo", with_pair(7, raw(std::uint8_t{2})), "pair 'k': holds the boolean 2, expected 0 or 1"},
    {"StringOfLengthAllOnes", with_pair(8, all_ones + std::string(24, 'x')),
     "pair 'k': should have 18,446,744,073,709,551,615 bytes of a string, but only 51 bytes follow"},
    {"TokenLongerThanAnInt", with_pair(9, raw(std::uint32_t{8}) + raw(std::uint64_t{1}) + raw(std::uint64_t{1} << 31)),
     "pair 'k': should have 2,147,483,648 bytes of a string, but only 7 bytes follow"},
    {"MoreTokensThanAnInt", with_pair(9, raw(std::uint32_t{8}) + raw((std::uint64_t{1} << 32) + 1)),
     "pair 'k': should have 4,294,967,297 elements of type string, but only 15 bytes follow"},
    {"ArrayTimesSizeOverflows", with_pair(9, raw(std::uint32_t{10}) + raw((std::uint64_t{1} << 61) + 1)),
     "pair 'k': should have 2,305,843,009,213,693,953 elements of type u64, but only 15 bytes follow"},
    {"ArrayOfUnknownType", with_pair(9, raw(std::uint32_t{99}) + all_ones), "pair 'k': type 99 of a value is unknown"},
    {"ArrayOfArrays", with_pair(9, raw(std::uint32_t{9}) + raw(std::uint64_t{1}) + raw(std::uint32_t{0}) + all_ones),
     "pair 'k': is an array of arrays, expected one of numbers, booleans or strings"},
    {"AlignmentZero", aligned(0), "pair 'general.alignment' is 0, expected a power of two"},
    {"AlignmentOfThree", aligned(3), "pair 'general.alignment' is 3, expected a power of two"},
    {"AlignmentPastTheFile", aligned(std::uint32_t{1} << 31),
     "the data should begin at byte 2,147,483,648, but the file has only 100"},
    {"AlignmentOfAnotherType", GgufFixture().pair("general.alignment", 10, raw(std::uint64_t{32})).file(),
     "pair 'general.alignment': is of type u64, expected u32"},
    {"AlignmentAsText", GgufFixture().pair("general.alignment", "32").file(),
     "pair 'general.alignment': is of type string, expected u32"},
    {"EmptyName", GgufFixture().tensor("", {1}, f32, "tttt").file(), "tensor 0: has an empty name"},
    {"LongName", GgufFixture().tensor(std::string(64, 't'), {1}, f32, "tttt").file(),
     "tensor '" + std::string(64, 't') + "': has a name of 64 bytes, expected at most 63"},
    {"NameTwice", GgufFixture().tensor("t", {1}, f32, "tttt").tensor("t", {1}, f32, "tttt").file(),
     "tensor 't' appears twice"},
    {"FiveAxes", shaped({1, 1, 1, 1, 1}), "tensor 't': has 5 axes, expected at most 4"},
    {"ZeroExtent", shaped({0}), "tensor 't': has an extent of 0, expected at least 1"},
    {"NegativeExtent", shaped({4, -1}), "tensor 't': has an extent of -1, expected at least 1"},
    {"NegativeProduct", shaped({most, 2}),
     "tensor 't': shape [2, 9223372036854775807] has more elements than can be counted"},
    {"BytesPadToZero", shaped({4, (std::int64_t{1} << 30) - 1, (std::int64_t{1} << 30) + 1}),
     "tensor 't': shape [1073741825, 1073741823, 4] has more elements than can be counted"},
    {"ExtentsTimesSizeWrap", shaped({std::int64_t{1} << 61}),
     "tensor 't': shape [2305843009213693952] has more elements than can be counted"},
    {"ExtentsTimesSizeWrapToZero", shaped({std::int64_t{1} << 62}),
     "tensor 't': shape [4611686018427387904] has more elements than can be counted"},
    {"RowsThatEndWithinABlock", shaped({16, 2}, q4_0), "tensor 't': 16 elements of q4_0 end within a block of 32"},
    {"RemovedType", shaped({32}, 4), "tensor 't': is in Q4_2, an encoding that reckon does not have"},
    {"EncodingThatWeDoNotHave", shaped({256}, 16), "tensor 't': is in IQ2_XXS, an encoding that reckon does not have"},
    {"UnknownType", shaped({32}, 1000), "tensor 't': type 1000 of a tensor is unknown"},
    {"UnalignedOffset", shaped({1}, f32, 4), "tensor 't': begins at byte 4 of the data, expected a multiple of 32"},
    {"PastTheFile", shaped({17}), "tensor 't' ends at byte 68 of the data, but the file holds only 64"},
    {"OffsetPastTheFile", shaped({1}, f32, 96), "tensor 't' ends at byte 100 of the data, but the file holds only 64"},
    {"OffsetPlusSizeWraps", shaped({16}, f32, ~std::uint64_t{31}),
     "tensor 't': the end of its data overflows: 18446744073709551584 + 64 is past 18446744073709551615"},
    {"Overlap", GgufFixture{.data = std::string(128, 'x')}.info("a", {16}, f32, 0).info("b", {8}, f32, 32).file(),
     "tensor 'b' begins at byte 32 of the data, inside tensor 'a', which ends at 64"},
};

TEST(Gguf, RefusesEachBadFileWithASentenceThatNamesIt) {
  for (const Bad& bad : bad_files) EXPECT_EQ(error_of([&] { parse(bad.file); }), "t.gguf: " + bad.sentence) << bad.name;
}

TEST(Gguf, RefusesEveryRemovedEncodingByItsName) {
  const std::pair<std::uint32_t, std::string> removed[] = {{4, "Q4_2"},        {5, "Q4_3"},       {31, "Q4_0_4_4"},
                                                           {32, "Q4_0_4_8"},   {33, "Q4_0_8_8"},  {36, "IQ4_NL_4_4"},
                                                           {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}};
  for (const auto& [type, name] : removed) {
    const std::string file = shaped({256}, type);
    EXPECT_EQ(error_of([&] { parse(file); }),
              "t.gguf: tensor 't': is in " + name + ", an encoding that reckon does not have");
  }
}

TEST(Gguf, RefusesAFileThatIsCutAtAnyByte) {
  const std::string whole = good_gguf().file();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(error_of([&] { parse(whole.substr(0, length)); }), "no error") << length;
}

// The sum of the padded sizes of these wraps to what the file holds; each alone is past its end.
TEST(Gguf, RefusesTensorsWhoseSizesAddUpByWrapping) {
  GgufFixture fixture;
  for (const char* name : {"a", "b", "c", "d"}) fixture.info(name, {std::int64_t{1} << 60}, f32, 0);
  fixture.data = std::string(64, 'x');
  EXPECT_EQ(error_of([&] { parse(fixture.file()); }),
            "t.gguf: tensor 'a' ends at byte 4611686018427387904 of the data, but the file holds only 64");
}

TEST(Gguf, RefusesAHeaderPastItsLimitWithoutReadingIt) {
  // A file of 8 GB, of which only the first bytes are there.
  std::string start = GgufFixture().pair("k", 9, raw(std::uint32_t{0}) + raw(std::uint64_t{4'000'000'000})).header();
  start.resize(100'000'000);
  EXPECT_EQ(error_of([&] { parse_gguf("t.gguf", std::as_bytes(std::span(start)), 8'000'000'000); }),
            "t.gguf: pair 'k': 4,000,000,000 elements of type u8 end past byte 100,000,000, the most that is read of a "
            "header");
}

std::string with_bytes(std::uint64_t count) {
  return raw(std::uint32_t{0}) + raw(count) + std::string(static_cast<std::size_t>(count), '\0');
}

TEST(Gguf, RefusesMoreElementsOfArraysThanAnyVocabularyHas) {
  EXPECT_EQ(error_of([] { parse(with_pair(9, with_bytes(5'000'001))); }),
            "t.gguf: pair 'k': the arrays up to here have 5,000,001 elements, expected at most 5,000,000");
  const std::string twelve_million_empty(std::size_t{8} * 12'000'000, '\0');
  EXPECT_EQ(error_of([&] {
              parse(with_pair(9, raw(std::uint32_t{8}) + raw(std::uint64_t{12'000'000}) + twelve_million_empty));
            }),
            "t.gguf: pair 'k': the arrays up to here have 12,000,000 elements, expected at most 5,000,000");
  GgufFixture two;
  two.pair("a", 9, with_bytes(2'500'001)).pair("b", 9, with_bytes(2'500'000));
  EXPECT_EQ(error_of([&] { parse(two.file()); }),
            "t.gguf: pair 'b': the arrays up to here have 5,000,001 elements, expected at most 5,000,000");
}

// In KiB, from /proc/self/status.
std::int64_t memory_of_process(const std::string& name) {
  const std::string text = text_of("/proc/self/status");
  return std::stoll(text.substr(text.find(name + ":") + name.size() + 1));
}

using GgufMemory = FolderTest;

// 16 bytes for each element: of 5 million 80 MB, beside the 5 MB of the file. nlohmann-json gives them back by way of a
// stack that doubles as it grows, to 67 and 134 MB.
TEST_F(GgufMemory, TheLongestArraysTakeLittleMemory) {
  const fs::path path = folder_ / "t.gguf";
  GgufFixture fixture;
  fixture.pair("tokenizer.ggml.eos_token_id", 7u).pair("k", 9, with_bytes(5'000'000));
  std::ofstream(path, std::ios::binary) << fixture.file();
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak is counted anew
  const std::int64_t before = memory_of_process("VmRSS");
  EXPECT_EQ(end_of_text_ids(path.string()), std::vector<std::int32_t>{7});
  EXPECT_LT(memory_of_process("VmHWM") - before, 320'000'000 / 1024);
}

// A seed that is refused would teach the fuzz target nothing; of one that is longer than -max_len it would see a part.
TEST(Gguf, SeedsOfTheFuzzTargetAreReadAsAWhole) {
  for (const auto& [name, bytes] : gguf_seeds()) {
    EXPECT_LT(bytes.size(), 16384U) << name;
    const TensorFile file = parse(bytes);
    if (name == "every-type") continue;
    EXPECT_EQ(read_gguf_model(file, name).model.vocab_size, 6);
    EXPECT_EQ(Tokenizer(read_gguf_tokenizer(file.files.front().pairs, name)).size(), 6U) << name;
  }
}

// Thousands of small damages to a good file: each must be read or refused, never anything else.
TEST(Gguf, SurvivesMutatedHeaders) {
  const GgufFixture fixture = good_gguf();
  const std::string whole = fixture.file();
  std::mt19937 random(20240229);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string file = whole;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(std::min(fixture.header().size(), file.size()));
      switch (below(4)) {
        case 0:
          file[at] = static_cast<char>(below(256));
          break;
        case 1:
          file.erase(at, 1 + below(8));
          break;
        case 2:
          file.insert(at, raw(std::uint64_t{below(2)} - 1));
          break;
        default:
          file[at] = static_cast<char>(below(14));
          break;
      }
    }
    refused += error_of([&] { parse(file); }) != "no error";  // anything but reckon::Error fails the test
  }
  EXPECT_GT(refused, 2500);
  EXPECT_LT(refused, 5000);
}

class GgufFolder : public FolderTest {
 protected:
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  static GgufFixture shard(std::uint16_t number, std::uint16_t count, std::int32_t tensors, const std::string& name) {
    GgufFixture fixture;
    if (number == 0) fixture.pair("general.architecture", "llama");
    fixture.pair("split.no", 2, raw(number)).pair("split.count", 2, raw(count));
    fixture.pair("split.tensors.count", 5, raw(tensors));
    fixture.tensor(name, {1}, f32, "....");
    return fixture;
  }
  void write_shards() {
    write("m-00001-of-00003.gguf", shard(0, 3, 3, "a").file());
    write("m-00002-of-00003.gguf", shard(1, 3, 3, "b").file());
    write("m-00003-of-00003.gguf", shard(2, 3, 3, "c").file());
  }
  // Without the folder's name.
  std::string error_at(const std::string& name) {
    std::string text = error_of([&] { read_tensor_file(folder_ / name); });
    const std::string prefix = folder_.string();
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  }
};

TEST_F(GgufFolder, JoinsShardsFromAnyOfThemOrTheirFolder) {
  write_shards();
  for (const std::string name : {"m-00001-of-00003.gguf", "m-00003-of-00003.gguf", ""}) {
    const TensorFile file = read_tensor_file(name.empty() ? folder_ : folder_ / name);
    ASSERT_EQ(file.files.size(), 3u);
    EXPECT_EQ(file.files[0].pairs.at("general.architecture"), "llama");
    ASSERT_EQ(file.tensors.size(), 3u);
    EXPECT_EQ(file.tensors[2].name, "c");
    EXPECT_EQ(file.files[file.tensors[2].file].path.filename(), "m-00003-of-00003.gguf");
    EXPECT_EQ(file.bytes_of(file.tensors[2], file.map()).size(), 4u);
  }
}

TEST_F(GgufFolder, RefusesShardsThatDoNotBelongTogether) {
  write_shards();
  fs::rename(folder_ / "m-00002-of-00003.gguf", folder_ / "other.gguf");
  EXPECT_EQ(error_at("m-00001-of-00003.gguf"), "/m-00002-of-00003.gguf: cannot be opened: No such file or directory");
  EXPECT_EQ(error_at("other.gguf"),
            "/other.gguf: is one of 3 shards, whose name should end in -00002-of-00003.gguf, so that the others are "
            "found");
  write("m-00002-of-00003.gguf", shard(2, 3, 3, "b").file());
  EXPECT_EQ(error_at("m-00001-of-00003.gguf"), "/m-00002-of-00003.gguf: says to be shard 2 of 3, expected 1 of 3");
  write("m-00002-of-00003.gguf", shard(1, 3, 3, "a").file());
  EXPECT_EQ(error_at("m-00001-of-00003.gguf"), "/m-00002-of-00003.gguf: tensor 'a' is in another shard as well");
  write("m-00002-of-00003.gguf", shard(1, 3, 3, "b").tensor("d", {1}, f32, "dddd").file());
  EXPECT_EQ(error_at("m-00001-of-00003.gguf"), "/m-00001-of-00003.gguf: the 3 shards hold 4 tensors, expected 3");
  write("n.gguf", GgufFixture().pair("split.count", "3").file());
  EXPECT_EQ(error_at("n.gguf"), "/n.gguf: pair 'split.count' is no whole number from 0");
  write("n.gguf", shard(9, 3, 3, "a").file());
  EXPECT_EQ(error_at("n.gguf"), "/n.gguf: says to be shard 9 of 3, expected numbers from 0 of at most 99,999 shards");
}

TEST_F(GgufFolder, IsKnownByItsNameOrItsFirstBytesAndAFolderByWhatItHolds) {
  write("weights", good_gguf().file());
  EXPECT_EQ(read_tensor_file(folder_ / "weights").tensors.size(), 3u);
  EXPECT_TRUE(is_tensor_file_name("model.gguf"));
  EXPECT_TRUE(begins_like_tensor_file(good_gguf().file()));
  EXPECT_EQ(error_at("no.gguf"), "/no.gguf: cannot be opened: No such file or directory");
  write("one.gguf", good_gguf().file());
  EXPECT_EQ(read_tensor_file(folder_).tensors.size(), 3u);
  write("two.gguf", good_gguf().file());
  EXPECT_EQ(error_of([&] { read_tensor_file(folder_); }),
            folder_.string() + ": holds 2 GGUF models, expected one; name the file");
}

}  // namespace
}  // namespace reckon

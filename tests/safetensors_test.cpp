// Headers of safetensors files: what is read from good ones, and the sentence for each way in which one can be bad.
#include "files/safetensors.h"
#include "folder_fixture.h"
#include "paths.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <reckon/error.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>

namespace {

namespace fs = std::filesystem;
using reckon::TensorFile;

std::string with_length(std::uint64_t length, const std::string& rest) {
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(length >> (8 * i));
  return file + rest;
}

std::string file_of(const std::string& header, std::size_t data) {
  return with_length(header.size(), header + std::string(data, 'x'));
}

TensorFile parse(const std::string& file) {
  return reckon::parse_safetensors("t.safetensors", std::as_bytes(std::span(file)), file.size());
}

std::string error_of(const std::string& file) {
  return reckon::error_of([&] { parse(file); });
}

const std::string good =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},)"
    R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"none":{"dtype":"F64","shape":[0,5],"data_offsets":[28,28]},)"
    R"("one":{"dtype":"I8","shape":[],"data_offsets":[28,29]}})";

TEST(Safetensors, ListsTensorsInTheOrderOfTheirData) {
  const TensorFile header = parse(file_of(good, 29));
  ASSERT_EQ(header.files.size(), 1u);
  EXPECT_EQ(header.files[0].data_begin, 8 + good.size());
  EXPECT_EQ(header.files[0].size, 8 + good.size() + 29);
  EXPECT_EQ(header.files[0].metadata.at("format"), "pt");
  ASSERT_EQ(header.tensors.size(), 4u);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[0].dtype, reckon::DType::bfloat16);
  EXPECT_EQ(header.tensors[1].name, "b");
  EXPECT_EQ(header.tensors[1].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(header.tensors[1].elements, 6);
  EXPECT_EQ(header.tensors[1].begin, 4u);
  EXPECT_EQ(header.tensors[1].end, 28u);
  EXPECT_EQ(header.tensors[2].name, "none");
  EXPECT_EQ(header.tensors[2].elements, 0);
  EXPECT_EQ(header.tensors[3].elements, 1);  // a scalar
}

TEST(Safetensors, AcceptsAnEmptyHeaderAndPaddingAfterIt) {
  EXPECT_TRUE(parse(file_of("{}", 0)).tensors.empty());
  EXPECT_TRUE(parse(file_of("{}      ", 0)).tensors.empty());
}

TEST(Safetensors, KnowsEveryTypeOfTheFormatAndItsSize) {
  // Bits of each, from the format's own library.
  const std::pair<const char*, int> types[] = {
      {"BOOL", 8},        {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},   {"I8", 8},
      {"F8_E5M2", 8},     {"F8_E4M3", 8},     {"F8_E8M0", 8}, {"I16", 16},    {"U16", 16}, {"F16", 16},
      {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"BF16", 16},   {"I32", 32},    {"U32", 32}, {"F32", 32},
      {"C64", 64},        {"F64", 64},        {"I64", 64},    {"U64", 64}};
  for (const auto& [name, bits] : types) {
    const std::string end = std::to_string(bits);  // 8 elements take as many bytes as one has bits
    const auto header =
        parse(file_of(R"({"t":{"dtype":")" + std::string(name) + R"(","shape":[8],"data_offsets":[0,)" + end + "]}}",
                      static_cast<std::size_t>(bits)));
    const reckon::Encoding& encoding = reckon::encoding_of(header.tensors.at(0).dtype);
    EXPECT_EQ(encoding.stored_name, name);
    EXPECT_EQ(8 * encoding.bytes, bits * encoding.elements);
  }
}

struct Bad {
  const char* name;
  std::string file;
  std::string sentence;  // after the file's name
};

std::string tensor(const std::string& fields, std::size_t data = 4) {
  return file_of(R"({"t":{)" + fields + "}}", data);
}
std::string shaped(const std::string& shape) {
  return tensor(R"("dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,4])");
}
std::string ranged(const std::string& a, const std::string& b, std::size_t data) {
  return file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
                     R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}",
                 data);
}

const Bad bad_files[] = {
    {"Empty", "", "has 0 bytes, expected at least the 8 of a safetensors file"},
    {"Short", "1234567", "has 7 bytes, expected at least the 8 of a safetensors file"},
    {"HeaderPastTheFile", with_length(3, "{}"),
     "the header should have 3 bytes, but only 2 follow: not a safetensors file, or cut short"},
    {"HeaderOfHugeLength", with_length(~0ull, "{}"),
     "the header should have 18,446,744,073,709,551,615 bytes, but only 2 follow: not a safetensors file, or cut "
     "short"},
    {"NoHeader", with_length(0, ""), "the header is not valid JSON at byte 1, near ''"},
    {"NotJson", file_of("hello", 0), "the header is not valid JSON at byte 1, near 'h'"},
    {"CutShort", file_of(R"({"t":{)", 0), "the header is not valid JSON at byte 7, near '\"t\":{'"},
    {"TwoValues", file_of("{}{}", 0), "the header is not valid JSON at byte 3, near '{}{'"},
    {"ZeroByte", file_of(std::string("{}\0{", 4), 0), "the header is not valid JSON at byte 3, which is zero"},
    {"NotUtf8", file_of("{\"\xff\":1}", 0), "the header is not valid JSON at byte 3, near '\"\\xff'"},
    {"AnArray", file_of("[]", 0), "the header is an array, expected an object"},
    {"ANumber", file_of("7", 0), "the header is 7, expected an object"},
    {"Deep", file_of(std::string(1'000'000, '['), 0), "the header is an array, expected an object"},
    {"DeepInside", file_of(R"({"t":)" + std::string(1'000'000, '['), 0), "tensor 't': is an array, expected an object"},
    {"DeepObjects", file_of(R"({"t":{"shape":{"a":{"a":)", 0),
     "tensor 't': shape is an object, expected whole numbers from 0"},
    {"TensorIsANumber", file_of(R"({"t":3})", 0), "tensor 't': is 3, expected an object"},
    {"UnknownType", tensor(R"("dtype":"F33","shape":[1],"data_offsets":[0,4])"), "tensor 't': unknown dtype 'F33'"},
    {"TypeIsANumber", tensor(R"("dtype":3)"), "tensor 't': dtype is 3, expected a string"},
    {"UnknownField", tensor(R"("color":3)"),
     "tensor 't': unknown field 'color', expected dtype, shape and data_offsets"},
    {"NoType", tensor(R"("shape":[1],"data_offsets":[0,4])"), "tensor 't': dtype is missing"},
    {"NoShape", tensor(R"("dtype":"F32","data_offsets":[0,4])"), "tensor 't': shape is missing"},
    {"NoOffsets", tensor(R"("dtype":"F32","shape":[1])"), "tensor 't': data_offsets is missing"},
    {"FieldTwice", tensor(R"("dtype":"F32","dtype":"F32")"), "tensor 't': dtype appears twice"},
    {"NegativeShape", shaped("[-1]"), "tensor 't': shape holds -1, expected whole numbers from 0"},
    {"FractionalShape", shaped("[1.5]"), "tensor 't': shape holds 1.5, expected whole numbers from 0"},
    {"TextInShape", shaped(R"(["1"])"), "tensor 't': shape holds the string '1', expected whole numbers from 0"},
    {"ShapeIsANumber", shaped("1"), "tensor 't': shape is 1, expected whole numbers from 0"},
    {"NestedShape", shaped("[[1]]"), "tensor 't': shape holds an array, expected whole numbers from 0"},
    {"ObjectInShape", shaped("[{}]"), "tensor 't': shape holds an object, expected whole numbers from 0"},
    {"HugeExtent", shaped("[9223372036854775808]"),
     "tensor 't': shape holds 9223372036854775808, expected at most 2^63 − 1"},
    {"ExtentPast64Bits", shaped("[99999999999999999999]"),
     "tensor 't': shape holds 1e+20, expected whole numbers from 0"},
    {"OverflowingShape", shaped("[4294967296,4294967296]"),
     "tensor 't': shape [4294967296, 4294967296] has more elements than can be counted"},
    {"OverflowingBytes", shaped("[4611686018427387904]"),
     "tensor 't': shape [4611686018427387904] has more elements than can be counted"},
    {"WrongSize", shaped("[2]"), "tensor 't': data_offsets span 4 bytes, expected 8 for shape [2] of F32"},
    {"HalfAByte", tensor(R"("dtype":"F4","shape":[1],"data_offsets":[0,1])", 1),
     "tensor 't': 1 elements of float4 end within a block of 2"},
    {"OneOffset", tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0])"),
     "tensor 't': data_offsets has 1 numbers, expected 2"},
    {"ThreeOffsets", tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])"),
     "tensor 't': data_offsets has 3 numbers, expected 2"},
    {"EndBeforeBegin", tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"),
     "tensor 't': data_offsets end at 0, before they begin at 4"},
    {"PastTheFile", tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])", 3),
     "tensor 't' ends at byte 4 of the data, but the file holds only 3"},
    {"TrailingBytes", tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])", 5),
     "the tensors end at byte 4 of the data, but the file holds 5"},
    {"Overlap", ranged("[0,4]", "[2,6]", 6),
     "tensor 'b' begins at byte 2 of the data, inside tensor 'a', which ends at 4"},
    {"SameRange", ranged("[0,4]", "[0,4]", 4),
     "tensor 'b' begins at byte 0 of the data, inside tensor 'a', which ends at 4"},
    {"Hole", ranged("[0,4]", "[6,10]", 10), "tensor 'b' begins at byte 6 of the data, but the one before it ends at 4"},
    {"HoleAtTheStart", ranged("[1,5]", "[5,9]", 9),
     "tensor 'a' begins at byte 1 of the data, but the one before it ends at 0"},
    {"NameTwice",
     file_of(
         R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
         2),
     "tensor 'a' appears twice"},
    {"MetadataTwice", file_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "__metadata__ appears twice"},
    {"MetadataKeyTwice", file_of(R"({"__metadata__":{"k":"1","k":"2"}})", 0), "__metadata__ has the key 'k' twice"},
    {"MetadataOfNumbers", file_of(R"({"__metadata__":{"k":1}})", 0), "__metadata__ holds 1, expected only strings"},
    {"MetadataOfObjects", file_of(R"({"__metadata__":{"k":{}}})", 0),
     "__metadata__ holds an object, expected only strings"},
    {"MetadataIsText", file_of(R"({"__metadata__":"k"})", 0), "__metadata__ holds the string 'k', expected an object"},
    {"NameWithEscapes", file_of("{\"\\u001b[31m\":3}", 0), "tensor '\\x1b[31m': is 3, expected an object"},
};

TEST(Safetensors, RefusesEachBadFileWithASentenceThatNamesIt) {
  for (const Bad& bad : bad_files) EXPECT_EQ(error_of(bad.file), "t.safetensors: " + bad.sentence) << bad.name;
}

TEST(Safetensors, RefusesAHeaderPastTheFormatsLimitWithoutReadingIt) {
  const std::string start = with_length(100'000'001, "{}");
  try {
    reckon::parse_safetensors("t", std::as_bytes(std::span(start)), 1'000'000'000);
    FAIL();
  } catch (const reckon::Error& error) {
    EXPECT_STREQ(error.what(), "t: the header has 100,000,001 bytes, expected at most 100,000,000");
  }
}

TEST(Safetensors, CutsLongNamesInErrors) {
  EXPECT_LT(error_of(file_of("{\"" + std::string(100'000, 'n') + "\":3}", 0)).size(), 300u);
}

// Thousands of small damages to a good file: each must be read or refused, never anything else.
TEST(Safetensors, SurvivesMutatedHeaders) {
  const std::string whole = file_of(good, 29);
  const std::string pieces[] = {"{",
                                "}",
                                "[",
                                "]",
                                ",",
                                ":",
                                "\"",
                                "-",
                                "1e99",
                                "18446744073709551615",
                                "null",
                                "\\u0000",
                                R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"};
  std::mt19937 random(20240229);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string header = good;
    for (std::size_t changes = 1 + below(3); changes > 0 && !header.empty(); --changes) {
      const std::size_t at = below(header.size());
      switch (below(5)) {
        case 0:
          header[at] = static_cast<char>(below(256));
          break;
        case 1:
          header.erase(at, 1 + below(8));
          break;
        case 2:
          header.insert(at, pieces[below(std::size(pieces))]);
          break;
        case 3:
          header[at] = static_cast<char>('0' + below(10));
          break;
        default:
          header = header.substr(0, at);
          break;
      }
    }
    const std::string file = below(10) ? file_of(header, 29) : with_length(below(2 * good.size()), header);
    refused += error_of(file) != "no error";  // anything but reckon::Error fails the test
  }
  EXPECT_GT(refused, 2500);
  EXPECT_LT(refused, 5000);
}

class SafetensorsFolder : public testing::Test {
 protected:
  fs::path folder = fs::temp_directory_path() / ("reckon_safetensors_" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
  }
  void write_index(const std::string& text) { write("model.safetensors.index.json", text); }
  std::string folder_error() {
    try {
      reckon::read_tensor_file(folder);
    } catch (const reckon::Error& error) {
      const std::string text = error.what();
      const std::string prefix = folder.string();
      return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
    }
    return "no error";
  }
  static std::string shard(const std::string& name) {
    return file_of("{\"" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1);
  }
};

TEST_F(SafetensorsFolder, JoinsTheShardsOfAnIndex) {
  write("one.safetensors", shard("a"));
  write("two.safetensors", shard("b"));
  write_index(
      R"({"metadata":{"total_size":2,"more":[[{}]]},"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  const TensorFile header = reckon::read_tensor_file(folder);
  ASSERT_EQ(header.files.size(), 2u);
  ASSERT_EQ(header.tensors.size(), 2u);
  EXPECT_EQ(header.tensors[1].name, "b");
  EXPECT_EQ(header.files[header.tensors[1].file].path.filename(), "two.safetensors");
}

TEST_F(SafetensorsFolder, RefusesIndicesThatDisagreeWithTheirShards) {
  const std::string index = "/model.safetensors.index.json: ";
  write("one.safetensors", shard("a"));
  write("two.safetensors", shard("b"));
  write_index(R"({"weight_map":{"a":"one.safetensors","b":"three.safetensors"}})");
  EXPECT_EQ(folder_error(), "/three.safetensors: cannot be opened: No such file or directory");
  write_index(R"({"weight_map":{"a":"one.safetensors","c":"one.safetensors"}})");
  EXPECT_EQ(folder_error(), index + "tensor 'c' is not in one.safetensors, though the weight_map says so");
  write_index(R"({"weight_map":{"a":"one.safetensors","c":"two.safetensors"}})");
  EXPECT_EQ(folder_error(), index + "tensor 'b' of two.safetensors is not in the weight_map");
  write_index(R"({"weight_map":{"a":"two.safetensors","b":"one.safetensors"}})");
  EXPECT_EQ(folder_error(), index + "tensor 'a' is in one.safetensors, but the weight_map says 'two.safetensors'");
  write_index(R"({"weight_map":{"a":"one.safetensors","a":"one.safetensors"}})");
  EXPECT_EQ(folder_error(), index + "weight_map has 'a' twice");
  write_index(R"({"metadata":{}})");
  EXPECT_EQ(folder_error(), index + "has no weight_map, which says the file of each tensor");
  write_index(R"([])");
  EXPECT_EQ(folder_error(), index + "is an array, expected an object with a weight_map");
  write_index(R"({"weight_map":[]})");
  EXPECT_EQ(folder_error(), index + "weight_map is an array, expected an object");
  write_index(R"({"weight_map":{"a":["one.safetensors"]}})");
  EXPECT_EQ(folder_error(), index + "weight_map of 'a' is an array, expected the name of a file beside the index");
  write_index(std::string(1'000'000, '['));
  EXPECT_EQ(folder_error(), index + "is an array, expected an object with a weight_map");
}

TEST_F(SafetensorsFolder, RefusesShardsOutsideOfTheFolder) {
  for (const std::string name :
       {"../one.safetensors", "/etc/passwd", "..", ".", "", "sub/one.safetensors", "..\\\\x", "a\\u0000.safetensors"}) {
    write_index(R"({"weight_map":{"a":")" + name + "\"}}");
    EXPECT_NE(folder_error().find("expected the name of a file beside the index"), std::string::npos) << name;
  }
}

TEST_F(SafetensorsFolder, DoesNotWaitForAPipe) {
  ASSERT_EQ(::mkfifo((folder / "model.safetensors.index.json").c_str(), 0600), 0);
  EXPECT_EQ(folder_error(), "/model.safetensors.index.json: is not a regular file");
}

TEST_F(SafetensorsFolder, FindsTheOnlyFileOfAFolderAndAsksWhenThereAreSeveral) {
  EXPECT_EQ(folder_error(),
            ": holds 0 safetensors files and 0 indices, expected a model.safetensors or a "
            "model.safetensors.index.json");
  write("weights.safetensors", shard("a"));
  EXPECT_EQ(reckon::read_tensor_file(folder).tensors.size(), 1u);
  write("other.safetensors", shard("a"));
  EXPECT_EQ(folder_error(),
            ": holds 2 safetensors files and 0 indices, expected a model.safetensors or a "
            "model.safetensors.index.json");
}

TEST_F(SafetensorsFolder, SaysThatAFileIsNotThere) {
  try {
    reckon::read_tensor_file(folder / "no.safetensors");
    FAIL();
  } catch (const reckon::Error& error) {
    EXPECT_EQ(error.what(), (folder / "no.safetensors").string() + ": cannot be opened: No such file or directory");
  }
}

TEST_F(SafetensorsFolder, IsWrittenTensorByTensorAsTheFormatSays) {
  const fs::path path = folder / "t.safetensors";
  const std::vector<reckon::TensorToWrite> tensors = {{"b", reckon::DType::float32, {2}},
                                                      {"a", reckon::DType::bfloat16, {1}}};
  const std::string data = "12345678ab";
  const auto bytes = std::as_bytes(std::span(data));
  std::vector<std::size_t> order;
  reckon::write_safetensors(path, tensors, [&](std::size_t i, const reckon::TensorSink& sink) {
    order.push_back(i);
    if (i == 1) return sink(bytes.subspan(8));
    sink(bytes.first(3));  // in two pieces
    sink(bytes.subspan(3, 5));
  });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1}));
  std::string header = R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                       R"("a":{"dtype":"BF16","shape":[1],"data_offsets":[8,10]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::string whole = with_length(header.size(), header + data);
  EXPECT_EQ(reckon::text_of(path), whole);
  // What is not whole leaves the old file.
  EXPECT_EQ(reckon::error_of([&] {
              reckon::write_safetensors(path, tensors,
                                        [&](std::size_t, const reckon::TensorSink& sink) { sink(bytes.first(8)); });
            }),
            path.string() + ": tensor 'a' was given 8 bytes, expected 2");
  EXPECT_EQ(reckon::text_of(path), whole);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST(Safetensors, ReadsTheTinyModels) {
  // By hand: four weights and biases each of norms, attention and feed-forward in 3 layers; two embeddings, one norm.
  const TensorFile header = reckon::read_tensor_file(project_folder() + "/tests/data/tiny/gpt2");
  EXPECT_EQ(header.tensors.size(), 3u * 12 + 4);
  EXPECT_EQ(header.files[0].metadata.at("format"), "pt");
}

}  // namespace

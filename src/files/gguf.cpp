#include "files/gguf.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "files/checked.h"
#include "files/numbers.h"
#include "files/quote.h"

namespace reckon {
namespace {

constexpr std::uint64_t longest_header = 100'000'000;  // five times what the largest vocabularies take
// Of all arrays together: four times what the largest vocabularies take (262,144 tokens with types and scores, 514,906
// merges). Each is an nlohmann::json, of 16 bytes, and strings have as much again and their text behind that.
constexpr std::uint64_t most_elements = 5'000'000;
constexpr std::uint64_t longest_key = 65'535, longest_name = 63;
constexpr std::uint32_t most_axes = 4;

using Type = GgufType;
constexpr std::array<std::uint64_t, 13> least_bytes = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};  // of a value
constexpr std::array<std::string_view, 13> type_names = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                         "bool", "string", "array", "u64", "i64", "f64"};

// Encodings that GGUF has and we don't, by its numbers.
constexpr std::pair<std::uint32_t, std::string_view> other_encodings[] = {
    {9, "Q8_1"},      {15, "Q8_K"},       {16, "IQ2_XXS"},    {17, "IQ2_XS"},    {18, "IQ3_XXS"},  {19, "IQ1_S"},
    {21, "IQ3_S"},    {22, "IQ2_S"},      {29, "IQ1_M"},      {34, "TQ1_0"},     {35, "TQ2_0"},    {40, "NVFP4"},
    {41, "Q1_0"},     {42, "Q2_0"},       {4, "Q4_2"},        {5, "Q4_3"},       {31, "Q4_0_4_4"}, {32, "Q4_0_4_8"},
    {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}};

// Reads the header from its start. Nothing is allocated for a count before as many bytes are known to follow.
class Header {
 public:
  Header(const std::filesystem::path& path, std::span<const std::byte> start, std::uint64_t file_size)
      : where_(path.string()), start_(start.first(std::min<std::size_t>(start.size(), longest_header))) {
    all_.files.push_back({path, file_size, 0, {}, nlohmann::json::object()});
  }

  TensorFile read() {
    TensorFile::File& file = all_.files.front();
    if (start_.size() < 4 || std::memcmp(start_.data(), "GGUF", 4) != 0)
      throw Error(
          fmt::format("{}: begins with {}, expected GGUF", where_,
                      quote({reinterpret_cast<const char*>(start_.data()), std::min<std::size_t>(start_.size(), 4)})));
    at_ = 4;
    within_ = "the first 24 bytes";
    check_version(take<std::uint32_t>());
    const auto tensors = take<std::uint64_t>(), pairs = take<std::uint64_t>();
    // The least that one takes: the length and a byte of the key, a type and a byte of value; the length and a byte of
    // the name, the number of axes, a type and an offset.
    within_ = "the header";
    require(pairs, 8 + 1 + 4 + 1, "pairs");
    require(tensors, 8 + 1 + 4 + 4 + 8, "tensors");
    for (std::uint64_t i = 0; i < pairs; ++i) add_pair(i);
    set_alignment(file.pairs);
    all_.tensors.reserve(static_cast<std::size_t>(tensors));
    for (std::uint64_t i = 0; i < tensors; ++i) add_tensor(i);
    file.data_begin = padded(at_);
    if (all_.tensors.empty()) file.data_begin = std::min(file.data_begin, file.size);  // it may end with the header
    if (file.data_begin > file.size)
      throw Error(fmt::format("{}: the data should begin at byte {}, but the file has only {}", where_,
                              grouped(file.data_begin), grouped(file.size)));
    sort_and_check(all_);
    return std::move(all_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(fmt::format("{}: {}: {}", where_, within_, problem));
  }

  std::uint64_t left() const { return start_.size() - at_; }

  // That `count` things of at least so many bytes can follow.
  void require(std::uint64_t count, std::uint64_t bytes, std::string_view things) const {
    if (count <= left() / bytes) return;
    if (all_.files.front().size > longest_header && start_.size() == longest_header)
      fail(fmt::format("{} {} end past byte {}, the most that is read of a header", grouped(count), things,
                       grouped(longest_header)));
    fail(fmt::format("should have {} {}, but only {} bytes follow", grouped(count), things, grouped(left())));
  }

  const char* take_bytes(std::uint64_t count, std::string_view things = "bytes") {
    require(count, 1, things);
    const char* const found = reinterpret_cast<const char*>(start_.data()) + at_;
    at_ += static_cast<std::size_t>(count);
    return found;
  }

  template <class Number>
  Number take() {
    Number number;
    std::memcpy(&number, take_bytes(sizeof number), sizeof number);
    return number;
  }

  std::string_view take_string() {
    const auto length = take<std::uint64_t>();
    const char* const text = take_bytes(length, "bytes of a string");
    return {text, static_cast<std::size_t>(length)};
  }

  void check_version(std::uint32_t version) const {
    if ((version & 0xFFFF) == 0 && version != 0)
      throw Error(fmt::format("{}: is a big-endian GGUF file, expected a little-endian one", where_));
    if (version != 2 && version != 3)
      throw Error(fmt::format("{}: is of GGUF version {}, expected 2 or 3", where_, version));
  }

  Type take_type() {
    const auto type = take<std::uint32_t>();
    if (type >= type_names.size()) fail(fmt::format("type {} of a value is unknown", type));
    return static_cast<Type>(type);
  }

  nlohmann::json take_value(Type type) {
    switch (type) {
      case Type::u8:
        return take<std::uint8_t>();
      case Type::i8:
        return take<std::int8_t>();
      case Type::u16:
        return take<std::uint16_t>();
      case Type::i16:
        return take<std::int16_t>();
      case Type::u32:
        return take<std::uint32_t>();
      case Type::i32:
        return take<std::int32_t>();
      case Type::f32:
        return take<float>();
      case Type::boolean: {
        const auto byte = take<std::uint8_t>();
        if (byte > 1) fail(fmt::format("holds the boolean {}, expected 0 or 1", byte));
        return byte == 1;
      }
      case Type::string:
        return take_string();
      case Type::array:
        return take_array();
      case Type::u64:
        return take<std::uint64_t>();
      case Type::i64:
        return take<std::int64_t>();
      case Type::f64:
        return take<double>();
    }
    return nullptr;
  }

  nlohmann::json take_array() {
    const Type type = take_type();
    if (type == Type::array) fail("is an array of arrays, expected one of numbers, booleans or strings");
    const auto count = take<std::uint64_t>();
    const auto index = static_cast<std::size_t>(type);
    require(count, least_bytes[index], fmt::format("elements of type {}", type_names[index]));
    elements_ += count;
    if (elements_ > most_elements)
      fail(fmt::format("the arrays up to here have {} elements, expected at most {}", grouped(elements_),
                       grouped(most_elements)));
    nlohmann::json array = nlohmann::json::array();
    auto& elements = array.get_ref<nlohmann::json::array_t&>();
    elements.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) elements.push_back(take_value(type));
    return array;
  }

  void add_pair(std::uint64_t index) {
    within_ = fmt::format("pair {}", index);
    const std::string_view key = take_string();
    if (key.empty()) fail("has an empty key");
    if (key.size() > longest_key)
      fail(fmt::format("has a key of {} bytes, expected at most {}", grouped(key.size()), grouped(longest_key)));
    within_ = "pair " + quote(key);
    const Type type = take_type();
    if (key == alignment_key && type != Type::u32)
      fail(fmt::format("is of type {}, expected u32", type_names[static_cast<std::size_t>(type)]));
    nlohmann::json& pairs = all_.files.front().pairs;
    const auto [entry, is_new] = pairs.get_ref<nlohmann::json::object_t&>().try_emplace(std::string(key));
    if (!is_new) fail("appears twice");
    entry->second = take_value(type);
  }

  void set_alignment(const nlohmann::json& pairs) {
    const auto found = pairs.find(alignment_key);
    if (found == pairs.end()) return;
    alignment_ = found->get<std::uint64_t>();
    if (alignment_ == 0 || (alignment_ & (alignment_ - 1)) != 0)
      throw Error(
          fmt::format("{}: pair {} is {}, expected a power of two", where_, quote(alignment_key), grouped(alignment_)));
  }

  std::uint64_t padded(std::uint64_t bytes) const { return (bytes + alignment_ - 1) & ~(alignment_ - 1); }

  void add_tensor(std::uint64_t index) {
    TensorInfo& tensor = all_.tensors.emplace_back();
    within_ = fmt::format("tensor {}", index);
    tensor.name = take_string();
    if (tensor.name.empty()) fail("has an empty name");
    within_ = "tensor " + quote(tensor.name);
    if (tensor.name.size() > longest_name)
      fail(fmt::format("has a name of {} bytes, expected at most {}", grouped(tensor.name.size()), longest_name));
    const auto axes = take<std::uint32_t>();
    if (axes > most_axes) fail(fmt::format("has {} axes, expected at most {}", grouped(axes), most_axes));
    for (std::uint32_t axis = 0; axis < axes; ++axis) {
      const auto extent = take<std::int64_t>();
      if (extent < 1) fail(fmt::format("has an extent of {}, expected at least 1", extent));
      tensor.shape.insert(tensor.shape.begin(), extent);  // the file begins with the contiguous axis
    }
    set_encoding(tensor, take<std::uint32_t>());
    tensor.begin = take<std::uint64_t>();
    if (tensor.begin % alignment_ != 0)
      fail(fmt::format("begins at byte {} of the data, expected a multiple of {}", grouped(tensor.begin),
                       grouped(alignment_)));
    try {
      tensor.end = checked_add(tensor.begin, measure(tensor), "the end of its data");
      row_bytes(tensor.dtype, axes == 0 ? 1 : tensor.shape.back());  // blocks don't reach from row to row
    } catch (const Error& problem) {
      fail(problem.what());
    }
  }

  void set_encoding(TensorInfo& tensor, std::uint32_t type) const {
    if (const auto dtype = gguf_dtype(type)) {
      tensor.dtype = *dtype;
      return;
    }
    for (const auto& [number, name] : other_encodings)
      if (number == type) fail(fmt::format("is in {}, an encoding that reckon does not have", name));
    fail(fmt::format("type {} of a tensor is unknown", type));
  }

  static constexpr const char* alignment_key = "general.alignment";
  std::string where_, within_;  // the file; what of it is being read
  std::span<const std::byte> start_;
  std::size_t at_ = 0;
  std::uint64_t elements_ = 0;  // of the arrays so far
  std::uint64_t alignment_ = gguf_alignment;
  TensorFile all_;
};

}  // namespace

TensorFile parse_gguf(const std::filesystem::path& path, std::span<const std::byte> start, std::uint64_t file_size) {
  return Header(path, start, file_size).read();
}

}  // namespace reckon

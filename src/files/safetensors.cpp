#include "files/safetensors.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "files/descriptor.h"
#include "files/json_events.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "files/read_text.h"

namespace reckon {
namespace {

constexpr std::uint64_t longest_header = 100'000'000;  // the limit of the format's own library

// Takes the events of {"__metadata__": {…}, "name": {"dtype": …, "shape": […], "data_offsets": [b, e]}, …}.
class HeaderEvents final : public JsonEvents {
 public:
  HeaderEvents(std::string file, TensorFile& header) : file_(std::move(file)), header_(header) {}

  void open_object() override {
    if (depth_ == 0 || (depth_ == 1 && !in_array_)) {
      ++depth_;
      return;
    }
    fail_value("an object");
  }

  void open_array() override {
    if (depth_ == 0) throw Error(file_ + ": the header is an array, expected an object");
    if (depth_ != 2 || in_array_ || in_metadata_ || field_ == dtype) fail_value("an array");
    in_array_ = true;
    offsets_ = 0;
  }

  void close() override {
    if (in_array_) {
      in_array_ = false;
      if (field_ == offsets && offsets_ != 2) fail(fmt::format("data_offsets has {} numbers, expected 2", offsets_));
      return;
    }
    --depth_;
    if (depth_ == 1 && !in_metadata_) finish_tensor();
    in_metadata_ = false;
  }

  void key(std::string& name) override {
    if (depth_ == 1) {
      in_metadata_ = name == "__metadata__";
      if (!in_metadata_) {
        header_.tensors.emplace_back().name = std::move(name);
        seen_ = {};
      } else if (std::exchange(had_metadata_, true)) {
        throw Error(file_ + ": __metadata__ appears twice");
      }
    } else if (in_metadata_) {
      const auto [entry, is_new] = header_.files.back().metadata.try_emplace(name);
      if (!is_new) throw Error(fmt::format("{}: __metadata__ has the key {} twice", file_, quote(name)));
      metadata_value_ = &entry->second;
    } else {
      const auto found = std::find(field_names.begin(), field_names.end(), name);
      if (found == field_names.end())
        fail(fmt::format("unknown field {}, expected dtype, shape and data_offsets", quote(name)));
      field_ = static_cast<Field>(found - field_names.begin());
      if (std::exchange(seen_[field_], true)) fail(fmt::format("{} appears twice", name));
    }
  }

  void scalar(const JsonScalar& value) override {
    if (depth_ == 0) throw Error(fmt::format("{}: the header is {}, expected an object", file_, describe(value)));
    if (depth_ == 1) fail_value(describe(value));
    if (in_metadata_ || field_ == dtype) {
      const auto* text = std::get_if<std::string_view>(&value);
      if (!text) fail_value(describe(value));
      if (in_metadata_) {
        *metadata_value_ = *text;
        return;
      }
      const auto found = safetensors_dtype(*text);
      if (!found) fail(fmt::format("unknown dtype {}", quote(*text)));
      header_.tensors.back().dtype = *found;
    } else {
      const auto* number = std::get_if<std::uint64_t>(&value);
      if (!in_array_ || !number) fail_value(describe(value));
      if (field_ == shape)
        header_.tensors.back().shape.push_back(as_extent(*number));
      else
        add_offset(*number);
    }
  }

 private:
  enum Field : std::size_t { dtype, shape, offsets };
  static constexpr std::array<std::string_view, 3> field_names = {"dtype", "shape", "data_offsets"};

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(fmt::format("{}: tensor {}: {}", file_, quote(header_.tensors.back().name), problem));
  }

  // A value of the wrong kind, wherever the reader stands.
  [[noreturn]] void fail_value(const std::string& found) const {
    if (in_metadata_)
      throw Error(fmt::format("{}: __metadata__ holds {}, expected {}", file_, found,
                              depth_ == 1 ? "an object" : "only strings"));
    if (depth_ == 1) fail(fmt::format("is {}, expected an object", found));
    if (field_ == dtype) fail(fmt::format("dtype is {}, expected a string", found));
    fail(
        fmt::format("{} {} {}, expected whole numbers from 0", field_names[field_], in_array_ ? "holds" : "is", found));
  }

  std::int64_t as_extent(std::uint64_t number) const {
    if (!std::in_range<std::int64_t>(number)) fail(fmt::format("shape holds {}, expected at most 2^63 − 1", number));
    return static_cast<std::int64_t>(number);
  }

  void add_offset(std::uint64_t number) {
    if (offsets_ == 0) header_.tensors.back().begin = number;
    if (offsets_ == 1) header_.tensors.back().end = number;
    ++offsets_;
  }

  void finish_tensor() {
    for (const Field field : {dtype, shape, offsets})
      if (!seen_[field]) fail(fmt::format("{} is missing", field_names[field]));
    TensorInfo& tensor = header_.tensors.back();
    if (tensor.end < tensor.begin)
      fail(fmt::format("data_offsets end at {}, before they begin at {}", tensor.end, tensor.begin));
    std::uint64_t bytes = 0;
    try {
      bytes = measure(tensor);
    } catch (const Error& problem) {
      fail(problem.what());
    }
    if (tensor.end - tensor.begin != bytes)
      fail(fmt::format("data_offsets span {} bytes, expected {} for shape {} of {}", grouped(tensor.end - tensor.begin),
                       grouped(bytes), bracketed(tensor.shape), encoding_of(tensor.dtype).stored_name));
  }

  std::string file_;
  TensorFile& header_;
  int depth_ = 0;  // open objects
  bool in_array_ = false;
  bool in_metadata_ = false, had_metadata_ = false;
  std::string* metadata_value_ = nullptr;
  Field field_ = dtype;
  std::array<bool, 3> seen_ = {};  // fields of the current tensor
  int offsets_ = 0;
};

// The format has each byte of data belong to a tensor.
void check_no_gaps(const TensorFile& all) {
  const TensorFile::File& file = all.files.back();
  std::uint64_t end = 0;
  for (const TensorInfo& tensor : all.tensors) {
    if (tensor.begin != end)
      throw Error(fmt::format("{}: tensor {} begins at byte {} of the data, but the one before it ends at {}",
                              file.path.string(), quote(tensor.name), tensor.begin, end));
    end = tensor.end;
  }
  if (end != file.size - file.data_begin)
    throw Error(fmt::format("{}: the tensors end at byte {} of the data, but the file holds {}", file.path.string(),
                            grouped(end), grouped(file.size - file.data_begin)));
}

std::uint64_t header_length(const std::string& where, std::span<const std::byte> start, std::uint64_t file_size) {
  if (file_size < 8 || start.size() < 8)
    throw Error(fmt::format("{}: has {} bytes, expected at least the 8 of a safetensors file", where, file_size));
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | std::to_integer<std::uint64_t>(start[static_cast<std::size_t>(i)]);
  if (length > file_size - 8)
    throw Error(
        fmt::format("{}: the header should have {} bytes, but only {} follow: not a safetensors file, or cut "
                    "short",
                    where, grouped(length), grouped(file_size - 8)));
  if (length > longest_header)
    throw Error(fmt::format("{}: the header has {} bytes, expected at most {}", where, grouped(length),
                            grouped(longest_header)));
  return length;
}

}  // namespace

bool is_safetensors_name(std::string_view name) {
  return name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
}

// The length of the header in 8 bytes, the last of which are zero, and the header in JSON.
bool begins_like_safetensors(std::string_view start) {
  return start.size() > 8 && start.substr(5, 4) == std::string_view("\0\0\0{", 4);
}

TensorFile parse_safetensors(const std::filesystem::path& path, std::span<const std::byte> start,
                             std::uint64_t file_size) {
  const std::string where = path.string();
  const std::uint64_t length = header_length(where, start, file_size);
  if (length > start.size() - 8)
    throw Error(fmt::format("{}: {} bytes were read, expected the header's {}", where, grouped(start.size()),
                            grouped(8 + length)));
  TensorFile header;
  header.files.push_back({path, file_size, 8 + length, {}});
  HeaderEvents events(where, header);
  read_json({reinterpret_cast<const char*>(start.data()) + 8, static_cast<std::size_t>(length)}, where + ": the header",
            events);
  sort_and_check(header);
  check_no_gaps(header);
  return header;
}

TensorFile read_safetensors_file(const std::filesystem::path& path) {
  const std::string where = path.string();
  std::error_code problem;
  const auto size = std::filesystem::file_size(path, problem);
  if (problem) throw file_error(path, "cannot be opened", problem.value());
  const auto first = [&](std::size_t count) {
    const std::optional<std::string> text = read_start(path, count);
    if (!text) throw file_error(path, "cannot be opened");
    if (text->size() < count) throw Error(fmt::format("{}: cannot be read past byte {}", where, text->size()));
    const auto bytes = std::as_bytes(std::span(*text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  const std::uint64_t length = header_length(where, first(size < 8 ? static_cast<std::size_t>(size) : 8), size);
  const std::vector<std::byte> start = first(static_cast<std::size_t>(8 + length));
  return parse_safetensors(path, start, size);
}

}  // namespace reckon

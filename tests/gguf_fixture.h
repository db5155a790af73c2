// A writer of small GGUF files for tests, which writes whatever it is told, sound or not.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reckon {

// The bytes of a number as they lie in a file.
template <class Number>
std::string raw(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}
inline std::string raw_string(std::string_view text) { return raw(std::uint64_t{text.size()}) + std::string(text); }

struct GgufFixture {
  std::uint32_t version = 3;
  std::optional<std::uint64_t> tensor_count = {}, pair_count = {};  // instead of the true ones
  std::uint64_t alignment = 32;                                     // of the data; no pair says so by itself
  std::string pairs = {}, infos = {}, data = {};
  std::uint64_t n_pairs = 0, n_tensors = 0;

  // The types of pairs: u8 0, i8 1, u16 2, i16 3, u32 4, i32 5, f32 6, bool 7, string 8, array 9, u64 10, i64 11,
  // f64 12.
  GgufFixture& pair(std::string_view key, std::uint32_t type, const std::string& value) {
    pairs += raw_string(key) + raw(type) + value;
    ++n_pairs;
    return *this;
  }
  GgufFixture& pair(std::string_view key, std::string_view text) { return pair(key, 8, raw_string(text)); }
  GgufFixture& pair(std::string_view key, const char* text) { return pair(key, std::string_view(text)); }
  GgufFixture& pair(std::string_view key, std::uint32_t number) { return pair(key, 4, raw(number)); }
  GgufFixture& pair(std::string_view key, float number) { return pair(key, 6, raw(number)); }
  GgufFixture& pair(std::string_view key, bool value) { return pair(key, 7, raw(std::uint8_t{value})); }
  template <class Number>
  GgufFixture& array(std::string_view key, std::uint32_t type, const std::vector<Number>& numbers) {
    std::string value = raw(type) + raw(std::uint64_t{numbers.size()});
    for (const Number number : numbers) value += raw(number);
    return pair(key, 9, value);
  }
  GgufFixture& array(std::string_view key, const std::vector<std::string>& strings) {
    std::string value = raw(std::uint32_t{8}) + raw(std::uint64_t{strings.size()});
    for (const std::string& text : strings) value += raw_string(text);
    return pair(key, 9, value);
  }

  // Only what the header says of a tensor; `ne` begins with the contiguous axis.
  GgufFixture& info(std::string_view name, const std::vector<std::int64_t>& ne, std::uint32_t type,
                    std::uint64_t offset) {
    infos += raw_string(name) + raw(static_cast<std::uint32_t>(ne.size()));
    for (const std::int64_t extent : ne) infos += raw(extent);
    infos += raw(type) + raw(offset);
    ++n_tensors;
    return *this;
  }
  // With its data, behind those of the tensors before it.
  GgufFixture& tensor(std::string_view name, const std::vector<std::int64_t>& ne, std::uint32_t type,
                      std::string_view bytes) {
    pad(data);
    info(name, ne, type, data.size());
    data += bytes;
    return *this;
  }

  std::string header() const {
    return "GGUF" + raw(version) + raw(tensor_count.value_or(n_tensors)) + raw(pair_count.value_or(n_pairs)) + pairs +
           infos;
  }
  std::string file() const {
    std::string all = header();
    pad(all);
    return all + data;
  }

 private:
  void pad(std::string& bytes) const { bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, '\0'); }
};

}  // namespace reckon

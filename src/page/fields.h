// The fields of a request, each with a sentence for what it is not.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "page/page.h"

namespace reckon::page {

class Fields {
 public:
  // An object; `of` is what it is called in sentences: "encode", "sampling".
  Fields(const Json& json, std::string of);

  // A UsageError names a field that is none of these.
  void expect(const std::vector<std::string>& known) const;

  bool has(const std::string& key) const;  // null is as if it were not there
  // A UsageError where one is missing or of another kind; with `otherwise`, it may be missing.
  std::string text(const std::string& key) const;
  double number(const std::string& key) const;
  double number(const std::string& key, double otherwise) const { return has(key) ? number(key) : otherwise; }
  static constexpr std::int64_t any = (std::int64_t{1} << 53) - 1;  // what a browser's numbers hold exactly
  std::int64_t whole(const std::string& key, std::int64_t least, std::int64_t most = any) const;
  std::int64_t whole(const std::string& key, std::int64_t least, std::int64_t most, std::int64_t otherwise) const {
    return has(key) ? whole(key, least, most) : otherwise;
  }
  bool answer(const std::string& key, bool otherwise) const;
  std::vector<std::string> texts(const std::string& key) const;  // none where it is missing
  std::vector<std::int32_t> ids(const std::string& key) const;
  const Json& object(const std::string& key) const;

 private:
  const Json& at(const std::string& key, const char* expected) const;
  [[noreturn]] void refuse(const std::string& key, const Json& found, const std::string& expected) const;

  const Json& json_;
  std::string of_;
};

// What a handle in a field names; a UsageError where it is of another kind.
std::shared_ptr<const Tokenizer> tokenizer_of(const Page& page, const Fields& fields, const std::string& key);
std::shared_ptr<Training> training_of(const Page& page, const Fields& fields, const std::string& key);
std::shared_ptr<Generating> generating_of(const Page& page, const Fields& fields, const std::string& key);

}  // namespace reckon::page

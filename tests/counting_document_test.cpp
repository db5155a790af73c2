// docs/counting.md says what each operation costs; here each of its rows is held against the operation itself.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

#include "op_cases.h"
#include "ops/table.h"
#include "paths.h"

namespace reckon {
namespace {

struct DocumentRow {
  std::string matmul, elementwise;  // "2·p·m", "5·p − 2·r"
};
using Document = std::map<std::pair<std::string, std::string>, DocumentRow>;  // by operation and variant

std::string trimmed(std::string text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '`')) text.erase(0, 1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '`')) text.pop_back();
  return text;
}

// The rows `| operation | variant | matmul | element-wise | formula |` of every table that starts with those columns.
Document read_document() {
  std::ifstream file(project_folder() + "/docs/counting.md");
  Document document;
  bool in_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| operation | variant |")) {
      in_table = true;
      std::getline(file, line);  // the rule below the head
      continue;
    }
    if (!line.starts_with("|")) in_table = false;
    if (!in_table) continue;
    std::vector<std::string> cells;
    std::size_t begin = 1;
    for (std::size_t end; (end = line.find('|', begin)) != std::string::npos; begin = end + 1) {
      cells.push_back(trimmed(line.substr(begin, end - begin)));
    }
    if (cells.size() != 5) throw std::logic_error("a row of docs/counting.md has no five cells: " + line);
    const bool fresh = document.try_emplace({cells[0], cells[1]}, DocumentRow{cells[2], cells[3]}).second;
    if (!fresh) throw std::logic_error("docs/counting.md has two rows of " + cells[0] + ", " + cells[1]);
  }
  return document;
}

// Values an expression of + − · ( ), whole numbers and one-letter symbols.
class Expression {
 public:
  Expression(std::string text, const std::map<std::string, std::int64_t>& symbols)
      : text_(std::move(text)), symbols_(symbols) {}

  std::int64_t value() {
    const std::int64_t result = sum();
    if (at_ != text_.size()) fail();
    return result;
  }

 private:
  bool take(std::string_view token) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    return true;
  }
  std::int64_t sum() {
    std::int64_t result = product();
    for (;;) {
      if (take("+")) {
        result += product();
      } else if (take("−")) {
        result -= product();
      } else {
        return result;
      }
    }
  }
  std::int64_t product() {
    std::int64_t result = factor();
    while (take("·")) result *= factor();
    return result;
  }
  std::int64_t factor() {
    if (take("(")) {
      const std::int64_t result = sum();
      if (!take(")")) fail();
      return result;
    }
    take("");
    std::size_t end = at_;
    while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end]))) ++end;
    if (end > at_) {
      const std::int64_t number = std::stoll(text_.substr(at_, end - at_));
      at_ = end;
      return number;
    }
    const auto found = symbols_.find(text_.substr(at_, 1));
    if (found == symbols_.end()) fail();
    ++at_;
    return found->second;
  }
  [[noreturn]] void fail() const {
    throw std::logic_error("cannot value '" + text_ + "' from byte " + std::to_string(at_) + " on");
  }

  std::string text_;
  std::size_t at_ = 0;
  const std::map<std::string, std::int64_t>& symbols_;
};

TEST(CountingDocument, HasARowForEveryOperation) {
  std::set<std::string> documented;
  for (const auto& [key, row] : read_document()) documented.insert(key.first);
  for (const Operation* operation : all_operations()) {
    EXPECT_TRUE(documented.contains(std::string(operation->name))) << operation->name;
  }
}

TEST(CountingDocument, SaysWhatTheOperationsCost) {
  const Document document = read_document();
  for (const OpCase& row : op_cases()) {
    SCOPED_TRACE(row.operation + ", " + row.variant);
    const auto found = document.find({row.operation, row.variant});
    if (found == document.end()) {
      ADD_FAILURE() << "docs/counting.md has no such row";
      continue;
    }
    const BuiltCase built = build(row);
    const Cost cost = built.op.operation->cost(built.program, built.op);
    EXPECT_EQ(Expression(found->second.matmul, row.symbols).value(), cost.matmul.value());
    EXPECT_EQ(Expression(found->second.elementwise, row.symbols).value(), cost.elementwise.value());
  }
}

TEST(CountingDocument, HasNoRowThatIsNotChecked) {
  std::set<std::pair<std::string, std::string>> checked;
  for (const OpCase& row : op_cases()) checked.insert({row.operation, row.variant});
  for (const auto& [key, row] : read_document()) EXPECT_TRUE(checked.contains(key)) << key.first << ", " << key.second;
}

}  // namespace
}  // namespace reckon

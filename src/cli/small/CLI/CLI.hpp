// CLI11 for the page's counting module: what src/cli uses of it, with the same results and the same errors, but without
// help texts, which nobody reads there. CLI11 itself would be a quarter of the module.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {

using results_t = std::vector<std::string>;

// A help text: never kept, so that the linker drops it.
struct Help {
  template <class Text>
  Help(const Text&) {}  // NOLINT: implicit
};

class ParseError : public std::runtime_error {
 public:
  ParseError(std::string name, const std::string& what) : std::runtime_error(what), name_(std::move(name)) {}
  const std::string& get_name() const { return name_; }

 private:
  std::string name_;
};
struct CallForHelp : ParseError {
  CallForHelp() : ParseError("CallForHelp", "") {}
};
struct CallForVersion : ParseError {
  explicit CallForVersion(const std::string& version) : ParseError("CallForVersion", version) {}
};

// Gives what is wrong with a value, or nothing; may change it.
class Validator {
 public:
  template <class Check>
  Validator(Check check, Help) : check_(std::move(check)) {}
  std::string operator()(std::string& value) const { return check_(value); }

 private:
  std::function<std::string(std::string&)> check_;
};

class Option {
 public:
  enum class Takes { nothing, one, many };
  using Read = std::function<bool(const results_t&)>;
  Option(std::string name, Read read, Takes takes) : name_(std::move(name)), read_(std::move(read)), takes_(takes) {}

  Option* type_name(std::string_view type) { return is_text_ = type == "TEXT", this; }
  Option* group(Help) { return this; }
  Option* required() { return required_ = true, this; }
  Option* transform(Validator validator) { return validators_.insert(validators_.begin(), std::move(validator)), this; }
  template <class Check>
  Option* check(Check check) {
    if constexpr (std::is_same_v<Check, Validator>)
      validators_.push_back(std::move(check));
    else
      validators_.emplace_back(std::move(check), "");
    return this;
  }

  std::size_t count() const { return results_.size(); }
  const std::string& get_name() const { return name_; }
  const std::string& get_single_name() const { return name_; }
  std::string get_type_name() const { return is_text_ ? "TEXT" : ""; }
  int get_expected_max() const { return takes_ == Takes::nothing ? 0 : 1; }
  std::vector<std::string> get_lnames() const {
    return is_positional() ? std::vector<std::string>() : std::vector<std::string>{name_.substr(2)};
  }

  bool is_positional() const { return name_.front() != '-'; }
  bool is_flag() const { return takes_ == Takes::nothing; }
  bool has_room() const { return takes_ == Takes::many || results_.empty(); }
  bool is_missing() const { return required_ && results_.empty(); }
  void add(std::string value) { results_.push_back(std::move(value)); }
  void run() {
    for (std::string& value : results_) {
      for (const Validator& validator : validators_)
        if (const std::string wrong = validator(value); !wrong.empty())
          throw ParseError("ValidationError", name_ + ": " + wrong);
    }
    if (takes_ == Takes::one && results_.size() > 1) throw ParseError("ArgumentMismatch", name_ + ": expected 1");
    if (!read_(results_)) throw ParseError("ConversionError", "Could not convert: " + name_ + " = " + results_.front());
  }

 private:
  std::string name_;
  Read read_;
  Takes takes_;
  bool required_ = false, is_text_ = false;
  std::vector<Validator> validators_;
  results_t results_;
};

class App {
 public:
  App(Help, std::string name, App* parent = nullptr) : name_(std::move(name)), parent_(parent) {
    help_ = add_flag_callback(
        "--help", [] {}, "");
  }

  App* add_subcommand(const std::string& name, Help) {
    return commands_.emplace_back(std::make_unique<App>("", name, this)).get();
  }
  template <class Value>
  Option* add_option(std::string name, Value&& value, Help) {
    using Plain = std::remove_cvref_t<Value>;
    if constexpr (std::is_invocable_v<Plain, const results_t&>)
      return add(std::move(name), std::forward<Value>(value), Option::Takes::one);
    else if constexpr (std::is_same_v<Plain, std::vector<std::string>>)
      return add(
          std::move(name), [&value](const results_t& given) { return value = given, true; }, Option::Takes::many);
    else
      return add(
          std::move(name), [&value](const results_t& given) { return convert(given.front(), value); },
          Option::Takes::one);
  }
  template <class Value, class Read>
  Option* add_option_function(std::string name, Read read, Help) {
    const auto converted = [read = std::move(read)](const results_t& given) {
      Value value{};
      if (!convert(given.front(), value)) return false;
      read(value);
      return true;
    };
    return add(std::move(name), converted, Option::Takes::one);
  }
  template <class Call>
  Option* add_flag_callback(std::string name, Call call, Help) {
    const auto read = [call = std::move(call)](const results_t& given) {
      if (given.front() != "true") return false;
      call();
      return true;
    };
    return add(std::move(name), read, Option::Takes::nothing);
  }
  Option* add_flag(std::string name, bool& value, Help help) {
    return add_flag_callback(
        std::move(name), [&value] { value = true; }, help);
  }

  void callback(std::function<void()> call) { callback_ = std::move(call); }
  void preparse_callback(std::function<void(std::size_t)> call) { before_ = std::move(call); }
  void set_version_flag(Help, std::string version, Help) { version_ = std::move(version); }
  void set_help_flag(Help, Help) {}
  void require_subcommand(int) {}
  void group(Help) {}
  void footer(Help) {}
  struct Formatter {
    void column_width(int) {}
    void label(Help, Help) {}
  };
  Formatter* get_formatter() { return &formatter_; }
  std::string help(Help = "") const { return "Its options: `" + name_ + " --help` in a terminal.\n"; }

  const std::string& get_name() const { return name_; }
  std::string get_group() const { return "Commands"; }
  const App* get_parent() const { return parent_; }
  const Option* get_help_ptr() const { return help_; }
  std::vector<App*> get_subcommands() const { return parsed_ ? std::vector<App*>{parsed_} : std::vector<App*>(); }
  template <class Filter>
  std::vector<App*> get_subcommands(Filter filter) {
    std::vector<App*> found;
    for (const auto& command : commands_)
      if (filter(command.get())) found.push_back(command.get());
    return found;
  }
  template <class Filter>
  std::vector<const App*> get_subcommands(Filter filter) const {
    std::vector<const App*> found;
    for (const auto& command : commands_)
      if (filter(command.get())) found.push_back(command.get());
    return found;
  }
  std::vector<Option*> get_options() const {
    std::vector<Option*> all;
    for (const auto& option : options_) all.push_back(option.get());
    return all;
  }
  Option* get_option_no_throw(std::string_view name) const {
    for (const auto& option : options_)
      if (option->get_name() == name) return option.get();
    return nullptr;
  }
  Option* get_option(std::string_view name) const { return get_option_no_throw(name); }
  // Words that are nobody's; `recurse`: of the command, too.
  std::vector<std::string> remaining(bool recurse) const {
    std::vector<std::string> words = remaining_;
    if (recurse && parsed_) words.insert(words.end(), parsed_->remaining_.begin(), parsed_->remaining_.end());
    return words;
  }

  // The words lie from the last to the first.
  void parse(std::vector<std::string> words) {
    while (!words.empty()) {
      const std::string word = take(words);
      if (!version_.empty() && word == "--version") throw CallForVersion(version_);
      if (word == "--help" || word == "-h") {
        help_->add("true");
        continue;
      }
      for (const auto& command : commands_)
        if (command->name_ == word) parsed_ = command.get();
      if (parsed_) {
        if (parsed_->before_) parsed_->before_(words.size());
        parsed_->parse_words(words);
      } else {
        remaining_.push_back(word);
      }
    }
    if (parsed_) parsed_->run_options();
    if (help_->count() > 0 || (parsed_ && parsed_->help_->count() > 0)) throw CallForHelp();
    if (!parsed_) throw ParseError("RequiredError", "A subcommand is required");
    for (const auto& option : parsed_->options_)
      if (option->is_missing()) throw ParseError("RequiredError", option->get_name() + " is required");
    if (!remaining(true).empty()) throw ParseError("ExtrasError", "");
    parsed_->callback_();
  }

 private:
  static bool convert(const std::string& text, std::string& value) { return value = text, true; }
  template <class Number>
  static bool convert(const std::string& text, Number& value) {
    char* end = nullptr;
    if constexpr (std::is_floating_point_v<Number>)
      value = static_cast<Number>(std::strtod(text.c_str(), &end));
    else
      value = static_cast<Number>(std::strtoll(text.c_str(), &end, 10));
    return !text.empty() && *end == '\0';
  }
  static std::string take(std::vector<std::string>& words) {
    std::string word = std::move(words.back());
    words.pop_back();
    return word;
  }

  Option* add(std::string name, Option::Read read, Option::Takes takes) {
    return options_.emplace_back(std::make_unique<Option>(std::move(name), std::move(read), takes)).get();
  }

  void parse_words(std::vector<std::string>& words) {
    bool only_arguments = false;
    while (!words.empty()) {
      std::string word = take(words);
      if (!only_arguments && word == "--") {
        only_arguments = true;
      } else if (!only_arguments && word == "-h") {
        help_->add("true");
      } else if (!only_arguments && word.size() > 1 && word.front() == '-') {
        const std::size_t equals = word.find('=');
        Option* const option = get_option_no_throw(std::string_view(word).substr(0, equals));
        if (option == nullptr) {
          remaining_.push_back(std::move(word));
        } else if (equals < word.size() - 1) {  // `--layers=` takes the next word, as CLI11 has it
          option->add(word.substr(equals + 1));
        } else if (option->is_flag()) {
          option->add("true");
        } else if (words.empty()) {
          throw ParseError("ArgumentMismatch", option->get_name() + ": 1 required missing");
        } else {
          option->add(take(words));
        }
      } else {
        Option* argument = nullptr;
        for (const auto& option : options_)
          if (argument == nullptr && option->is_positional() && option->has_room()) argument = option.get();
        argument != nullptr ? argument->add(std::move(word)) : remaining_.push_back(std::move(word));
      }
    }
  }
  void run_options() {
    for (const auto& option : options_)
      if (option->count() > 0) option->run();
  }

  std::string name_, version_;
  App* parent_;
  App* parsed_ = nullptr;
  Option* help_;
  std::vector<std::unique_ptr<App>> commands_;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::string> remaining_;
  std::function<void()> callback_;
  std::function<void(std::size_t)> before_;
  Formatter formatter_;
};

}  // namespace CLI

#include "text/write_gguf_tokenizer.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>

#include "text/gguf_tokenizer.h"
#include "text/tokenizer_json.h"

namespace reckon {
namespace {

enum Kind : std::int32_t { normal = 1, unknown, control, user_defined, unused, byte };

const std::string prefix = "tokenizer.ggml.";

// How a text is cut before anything is merged.
std::string splitting(const TokenizerSpec& spec) {
  TokenizerSpec only;
  only.tokens = {"a"};
  only.normalizers = spec.normalizers;
  only.pre_tokenizers = spec.pre_tokenizers;
  only.ignore_merges = spec.ignore_merges;
  return write_tokenizer_json(only);
}

// The name of a splitter that cuts as this tokenizer does.
std::string splitter_name(const TokenizerSpec& spec) {
  const std::string wanted = splitting(spec);
  for (const std::string& name : gguf_splitters()) {
    const nlohmann::json pairs = {{prefix + "model", "gpt2"},
                                  {prefix + "pre", name},
                                  {prefix + "tokens", {"a"}},
                                  {prefix + "merges", nlohmann::json::array()},
                                  {prefix + "add_bos_token", false}};
    if (splitting(read_gguf_tokenizer(pairs, name)) == wanted) return name;
  }
  throw Error("the tokenizer cuts a text in a way that GGUF files have no name for");
}

// Of the ids of the model's tokens.
std::vector<GgufPair> boundary_pairs(std::optional<TokenId> bos, const std::vector<TokenId>& ends,
                                     std::int64_t vocab_size) {
  std::vector<GgufPair> pairs;
  const auto add = [&](const char* name, TokenId id) {
    pairs.push_back(gguf_pair(fmt::format("{}{}_token_id", prefix, name), static_cast<std::uint32_t>(id)));
  };
  if (bos && *bos < vocab_size) add("bos", *bos);
  std::vector<const char*> names{"eom", "eot", "eos"};  // that end messages, turns and texts
  for (const TokenId id : ends)
    if (id < vocab_size && !names.empty()) {
      add(names.back(), id);
      names.pop_back();
    }
  return pairs;
}

class Writer {
 public:
  Writer(const TokenizerSpec& spec, std::int64_t vocab_size) : spec_(spec) {
    const auto size = static_cast<std::size_t>(vocab_size);
    if (spec.tokens.size() > size)
      throw Error(fmt::format("the tokenizer has {} tokens, more than the model's {}", spec.tokens.size(), vocab_size));
    for (std::size_t i = 0; i < size; ++i) {
      const bool has = i < spec.tokens.size() && !spec.tokens[i].empty();
      texts_.push_back(has ? spec.tokens[i] : fmt::format("[PAD{}]", i));
      kinds_.push_back(has ? normal : unused);
    }
    for (const AddedToken& token : spec.added_tokens) {
      if (static_cast<std::size_t>(token.id) >= size)
        throw Error(fmt::format("the tokenizer has the id {}, past the model's {} tokens", token.id, vocab_size));
      texts_[static_cast<std::size_t>(token.id)] = token.content;
      kinds_[static_cast<std::size_t>(token.id)] = token.special ? control : user_defined;
    }
  }

  std::vector<GgufPair> write(std::optional<TokenId> bos, std::vector<TokenId> ends) {
    if (is_byte_level(spec_))
      byte_level();
    else
      sentencepiece();
    add("tokens", texts_);
    add("token_type", kinds_);
    if (!spec_.before.empty()) bos = spec_.before.front();
    if (!spec_.after.empty()) {
      ends.erase(std::remove(ends.begin(), ends.end(), spec_.after.front()), ends.end());
      ends.insert(ends.begin(), spec_.after.front());
    }
    if (spec_.before.size() > 1 || spec_.after.size() > 1)
      throw Error("the tokenizer puts several tokens before or behind a text, which GGUF files cannot say");
    for (GgufPair& pair : boundary_pairs(bos, ends, std::ssize(texts_))) pairs_.push_back(std::move(pair));
    add("add_bos_token", !spec_.before.empty());
    add("add_eos_token", !spec_.after.empty());
    return std::move(pairs_);
  }

 private:
  void add(const std::string& name, nlohmann::json value) {
    pairs_.push_back(gguf_pair(prefix + name, std::move(value)));
  }

  const std::string& text(TokenId id) const { return spec_.tokens[static_cast<std::size_t>(id)]; }

  void byte_level() {
    add("model", "gpt2");
    add("pre", splitter_name(spec_));
    std::vector<std::string> merges;
    for (const TokenMerge& merge : spec_.merges) merges.push_back(text(merge.left) + " " + text(merge.right));
    add("merges", std::move(merges));
  }

  // Tokens have scores there, and two are merged to the one of the best: the earlier a merge stands, the better.
  void sentencepiece() {
    bool space_prefix = false;
    for (const Normalizer& step : spec_.normalizers) {
      const auto* prepend = std::get_if<Prepend>(&step);
      const auto* replace = std::get_if<Replace>(&step);
      const bool known = prepend != nullptr ? prepend->text == space
                                            : replace != nullptr && replace->from == " " && replace->to == space;
      if (!known) refuse();
      space_prefix |= prepend != nullptr;
    }
    for (const PreTokenizer& step : spec_.pre_tokenizers) {
      const auto* metaspace = std::get_if<Metaspace>(&step);
      if (metaspace == nullptr || metaspace->replacement != space || metaspace->split) refuse();
      space_prefix |= metaspace->prepending != Metaspace::Prepending::never;
    }
    std::vector<double> scores(texts_.size(), -static_cast<double>(spec_.merges.size()) - 1);
    for (std::size_t i = spec_.merges.size(); i-- > 0;)
      scores[static_cast<std::size_t>(spec_.merges[i].product)] = -static_cast<double>(i);
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const bool is_byte = texts_[i].size() == 6 && texts_[i].starts_with("<0x") && texts_[i].ends_with(">");
      if (spec_.byte_fallback && is_byte) kinds_[i] = byte;
      if (!spec_.unk_token.empty() && texts_[i] == spec_.unk_token) {
        kinds_[i] = unknown;
        add("unknown_token_id", static_cast<std::uint32_t>(i));
      }
      if (kinds_[i] != normal) scores[i] = 0;
    }
    add("model", "llama");
    add("pre", "default");
    add("scores", std::move(scores));
    add("add_space_prefix", space_prefix);
  }

  [[noreturn]] static void refuse() {
    throw Error("the tokenizer is neither byte-level nor SentencePiece's, the kinds that GGUF files are written with");
  }

  static constexpr const char* space = "▁";
  const TokenizerSpec& spec_;
  std::vector<std::string> texts_;
  std::vector<std::int32_t> kinds_;
  std::vector<GgufPair> pairs_;
};

}  // namespace

std::vector<GgufPair> gguf_tokenizer(const TokenizerSpec& spec, std::int64_t vocab_size, std::optional<TokenId> bos,
                                     const std::vector<TokenId>& ends) {
  return Writer(spec, vocab_size).write(bos, ends);
}

std::vector<GgufPair> no_gguf_tokenizer(std::int64_t vocab_size, std::optional<TokenId> bos,
                                        const std::vector<TokenId>& ends) {
  std::vector<GgufPair> pairs = boundary_pairs(bos, ends, vocab_size);
  pairs.push_back(gguf_pair(prefix + "model", "none"));
  return pairs;
}

}  // namespace reckon

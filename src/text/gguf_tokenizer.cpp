#include "text/gguf_tokenizer.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "files/numbers.h"
#include "files/quote.h"
#include "text/scored_merges.h"
#include "text/vocabulary.h"

namespace reckon {
namespace {

using Json = nlohmann::json;

// How a text is cut, by the names that converters give (llama.cpp's table of them), and what goes with it.
struct Pre {
  std::string_view name;
  std::vector<PreTokenizer> (*steps)();
  bool nfc = false;            // the text is composed first
  bool adds_bos = false;       // where the file does not say
  bool ignore_merges = false;  // a piece that is a token stays whole
};

template <Splitter splitter>
std::vector<PreTokenizer> whole() {
  if (splitter == Splitter::gpt2) return {ByteLevel{false, true}};
  return {RegexSplit{splitter}, ByteLevel{false, false}};
}

std::vector<PreTokenizer> digits_and_gpt2() { return {Digits{true}, ByteLevel{false, true}}; }

std::vector<PreTokenizer> falcon() {
  return {Punctuation{true}, ByteLevel{false, true}, Digits{false}, RegexSplit{Splitter::three_digits}};
}

std::vector<PreTokenizer> deepseek_llm() {
  using enum Splitter;
  return {RegexSplit{line_breaks}, RegexSplit{deepseek_letters}, RegexSplit{deepseek_signs},
          RegexSplit{last_spaces}, RegexSplit{deepseek_scripts}, Digits{true},
          ByteLevel{false, false}};
}

std::vector<PreTokenizer> deepseek_coder() {
  using enum Splitter;
  return {RegexSplit{line_breaks},
          RegexSplit{coder_letters},
          RegexSplit{coder_punctuation},
          RegexSplit{deepseek_scripts},
          Digits{true},
          ByteLevel{false, false}};
}

std::vector<PreTokenizer> deepseek_v3_steps() {
  using enum Splitter;
  return {RegexSplit{three_numbers}, RegexSplit{deepseek_v3_scripts}, RegexSplit{deepseek_v3}, ByteLevel{false, false}};
}

const Pre pres[] = {
    {"bloom", whole<Splitter::bloom>},
    {"codeshell", digits_and_gpt2},
    {"command-r", digits_and_gpt2, true},
    {"dbrx", whole<Splitter::cl100k>},
    {"deepseek-coder", deepseek_coder},
    {"deepseek-llm", deepseek_llm},
    {"deepseek-r1-qwen", whole<Splitter::qwen2>},
    {"deepseek-v3", deepseek_v3_steps},
    {"falcon", falcon},
    {"gpt-2", whole<Splitter::gpt2>},
    {"gpt-4o", whole<Splitter::o200k>},
    {"llama-bpe", whole<Splitter::cl100k>, false, true, true},
    {"llama-v3", whole<Splitter::cl100k>, false, true, true},
    {"llama3", whole<Splitter::cl100k>, false, true, true},
    {"llama4", whole<Splitter::o200k>},
    {"mpt", whole<Splitter::gpt2>, true},
    {"olmo", whole<Splitter::gpt2>, true},
    {"phi-2", whole<Splitter::gpt2>},
    {"qwen2", whole<Splitter::qwen2>, true},
    {"refact", digits_and_gpt2},
    {"smaug-bpe", whole<Splitter::cl100k>},
    {"smollm", digits_and_gpt2},
    {"stablelm2", whole<Splitter::qwen2>},
    {"starcoder", digits_and_gpt2},
    {"tekken", whole<Splitter::tekken>, false, true, true},
};

enum class Kind { normal = 1, unknown, control, user_defined, unused, byte };

constexpr std::size_t longest_token = 1024;     // bytes, of SentencePiece, whose trainer makes 16 characters at most
constexpr std::size_t most_merges = 4'000'000;  // seven times what the 262,144 of Gemma 3 have

class Reader {
 public:
  Reader(const Json& pairs, const std::string& file) : pairs_(pairs), file_(file) {}

  TokenizerSpec read() {
    const Json* model = find("model");
    if (model == nullptr || *model == "none") throw Error(fmt::format("{}: there is no tokenizer in this file", file_));
    if (!model->is_string() || (*model != "gpt2" && *model != "llama")) fail("model", "gpt2 or llama");
    read_tokens();
    if (*model == "gpt2")
      read_byte_level();
    else
      read_sentencepiece();
    return std::move(spec_);
  }

 private:
  const Json* find(const std::string& name) const {
    const auto found = pairs_.find("tokenizer.ggml." + name);
    return found == pairs_.end() ? nullptr : &*found;
  }

  [[noreturn]] void fail(const std::string& name, const std::string& expected) const {
    const Json* found = find(name);
    const std::string what = found == nullptr     ? "missing"
                             : found->is_array()  ? fmt::format("an array of {}", found->size())
                             : found->is_string() ? quote(found->get_ref<const std::string&>())
                                                  : found->dump().substr(0, 40);
    throw Error(fmt::format("{}: tokenizer.ggml.{} is {}; expected {}", file_, name, what, expected));
  }

  // An array with an element for each token, or nothing where it may be missing.
  const Json* for_each_token(const std::string& name, bool needed) const {
    const Json* found = find(name);
    if (found == nullptr && !needed) return nullptr;
    if (found == nullptr || !found->is_array() || found->size() < texts_.size())
      fail(name, fmt::format("an array of {}, one for each token", texts_.size()));
    return found;
  }

  void read_tokens() {
    const Json* tokens = find("tokens");
    if (tokens == nullptr || !tokens->is_array() || tokens->empty()) fail("tokens", "an array of strings");
    for (const Json& token : *tokens) {
      if (!token.is_string()) fail("tokens", "an array of strings");
      texts_.push_back(token.get_ref<const std::string&>());
    }
    kinds_.assign(texts_.size(), Kind::normal);
    if (const Json* types = for_each_token("token_type", false)) {
      for (std::size_t i = 0; i < texts_.size(); ++i) {
        const Json& type = (*types)[i];
        if (!type.is_number_integer()) fail("token_type", "an array of numbers from 1 to 6");
        const auto number = type.get<std::int64_t>();
        if (number < 0 || number > 6) fail("token_type", "an array of numbers from 1 to 6");
        kinds_[i] = number == 0 ? Kind::normal : static_cast<Kind>(number);
      }
    }
    listed_.file = file_;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const bool special = kinds_[i] == Kind::control || kinds_[i] == Kind::unknown;
      const bool added = special || kinds_[i] == Kind::user_defined;
      if (added && !texts_[i].empty())
        spec_.added_tokens.push_back({.id = static_cast<TokenId>(i), .content = texts_[i], .special = special});
      // Of what is found before anything is merged, only the unknown token is one that merging gives, too.
      if (!added || kinds_[i] == Kind::unknown) {
        const std::string text = texts_[i].empty() ? fmt::format("[EMPTY_{}]", i) : texts_[i];
        listed_.tokens.emplace_back(text, static_cast<std::int64_t>(i));
      } else if (texts_[i].empty()) {
        listed_.tokens.emplace_back(fmt::format("[EMPTY_{}]", i), static_cast<std::int64_t>(i));
      }
    }
  }

  // Of a token that the file, or the kind of tokenizer, names.
  std::optional<TokenId> special(const std::string& name, std::optional<TokenId> fallback) const {
    const Json* found = find(name);
    if (found == nullptr) {
      if (fallback && static_cast<std::size_t>(*fallback) >= texts_.size()) return std::nullopt;
      return fallback;
    }
    if (found->is_number_integer() && found->get<std::int64_t>() == -1) return std::nullopt;
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() >= texts_.size())
      fail(name, fmt::format("an id below {}, the number of tokens", texts_.size()));
    return found->get<TokenId>();
  }

  bool flag(const std::string& name, bool fallback) const {
    const Json* found = find(name);
    if (found == nullptr) return fallback;
    if (!found->is_boolean()) fail(name, "true or false");
    return found->get<bool>();
  }

  // Tokens around a text.
  void surround(std::optional<TokenId> bos, bool adds_bos, std::optional<TokenId> eos) {
    bos = special("bos_token_id", bos);
    eos = special("eos_token_id", eos);
    for (const char* other : {"eot_token_id", "eom_token_id", "unknown_token_id", "seperator_token_id",
                              "padding_token_id", "mask_token_id"})
      special(other, std::nullopt);
    if (flag("add_bos_token", adds_bos)) {
      if (!bos) fail("bos_token_id", "a token's id, because add_bos_token is true");
      spec_.before.push_back(*bos);
    }
    if (flag("add_eos_token", false)) {
      if (!eos) fail("eos_token_id", "a token's id, because add_eos_token is true");
      spec_.after.push_back(*eos);
    }
  }

  void read_byte_level() {
    if (find("pre") == nullptr)
      fail("pre", "the name of a splitter: without it nobody knows how the model's texts were split");
    const Json& name = *find("pre");
    const auto pre = std::find_if(std::begin(pres), std::end(pres), [&](const Pre& each) { return name == each.name; });
    if (pre == std::end(pres)) fail("pre", fmt::format("one of {}", fmt::join(gguf_splitters(), ", ")));
    if (pre->nfc) spec_.normalizers.emplace_back(Nfc{});
    spec_.pre_tokenizers = pre->steps();
    spec_.decoders.emplace_back(ByteLevelDecoder{});
    spec_.ignore_merges = pre->ignore_merges;
    const Json* merges = find("merges");
    if (merges == nullptr || !merges->is_array()) fail("merges", "an array of strings");
    for (std::size_t i = 0; i < merges->size(); ++i) {
      const Json& merge = (*merges)[i];
      // Both halves have a byte at least, and the first may begin with a space.
      const std::string& text = merge.is_string() ? merge.get_ref<const std::string&>() : file_;
      const std::size_t space = merge.is_string() ? text.find(' ', 1) : std::string::npos;
      if (space == std::string::npos || space + 1 == text.size())
        throw Error(fmt::format("{}: tokenizer.ggml.merges[{}] is {}; expected two tokens with a space between them",
                                file_, i, merge.is_string() ? quote(text) : merge.dump().substr(0, 40)));
      listed_.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
    }
    surround(11, pre->adds_bos, 11);
    set_vocabulary(std::move(listed_), spec_);
  }

  // Of tokens with scores.
  void list_merges(const Json& scores) {
    std::vector<ScoredToken> scored;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (kinds_[i] != Kind::normal) continue;
      if (texts_[i].size() > longest_token)
        fail("tokens", fmt::format("at most {} bytes in each, but that of id {} has {}", grouped(longest_token), i,
                                   grouped(texts_[i].size())));
      if (!scores[i].is_number()) fail("scores", "an array of numbers");
      if (!std::isfinite(scores[i].get<double>()))
        throw Error(fmt::format("{}: tokenizer.ggml.scores[{}] is {}; expected a finite number", file_, i,
                                scores[i].get<double>()));
      scored.push_back({static_cast<TokenId>(i), texts_[i], scores[i].get<double>()});
    }
    std::optional<std::vector<TokenMerge>> merges = scored_merges(std::move(scored), most_merges);
    if (!merges)
      fail("tokens",
           fmt::format("tokens that at most {} pairs of others make, but these have more", grouped(most_merges)));
    listed_.merges_of_ids = std::move(*merges);
  }

  void read_sentencepiece() {
    list_merges(*for_each_token("scores", true));
    const bool prefix = flag("add_space_prefix", true);
    const std::string space = "▁";
    if (prefix) spec_.normalizers.emplace_back(Prepend{space});
    spec_.normalizers.emplace_back(Replace{" ", space});
    spec_.decoders = {Replace{space, " "}, ByteFallback{}, Fuse{}};
    if (prefix) spec_.decoders.emplace_back(Strip{" ", 1, 0});
    spec_.byte_fallback = std::any_of(kinds_.begin(), kinds_.end(), [](Kind kind) { return kind == Kind::byte; });
    spec_.fuse_unk = true;
    if (const std::optional<TokenId> unknown = special("unknown_token_id", 0);
        unknown && kinds_[static_cast<std::size_t>(*unknown)] == Kind::unknown)
      spec_.unk_token = texts_[static_cast<std::size_t>(*unknown)];
    surround(1, true, 2);
    strip_behind_phi3();
    set_vocabulary(std::move(listed_), spec_);
  }

  // Of Phi-3's special tokens all but three take the white space behind them, which the format cannot say.
  void strip_behind_phi3() {
    const auto architecture = pairs_.find("general.architecture");
    if (architecture == pairs_.end() || *architecture != "phi3") return;
    for (AddedToken& token : spec_.added_tokens)
      token.rstrip = token.content != "<unk>" && token.content != "<s>" && token.content != "<|endoftext|>";
  }

  const Json& pairs_;
  const std::string& file_;
  std::vector<std::string> texts_;
  std::vector<Kind> kinds_;
  ListedVocabulary listed_;
  TokenizerSpec spec_;
};

}  // namespace

TokenizerSpec read_gguf_tokenizer(const Json& pairs, const std::string& file) { return Reader(pairs, file).read(); }

std::vector<std::string> gguf_splitters() {
  std::vector<std::string> names;
  for (const Pre& each : pres) names.emplace_back(each.name);
  return names;
}

}  // namespace reckon

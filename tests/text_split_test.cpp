// The splitters against PCRE2, which runs the published regular expressions as they stand, and against pieces that
// follow from those expressions by hand.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <gtest/gtest.h>
#include <pcre2.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "text/byte_level.h"
#include "text/gguf_tokenizer.h"
#include "text/split.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace {

using reckon::Splitter;
using Pieces = std::vector<std::string>;

constexpr Splitter every_splitter[] = {Splitter::gpt2, Splitter::cl100k, Splitter::qwen2, Splitter::o200k,
                                       Splitter::tekken};

// Those that match parts of a text.
std::vector<Splitter> matching_splitters() {
  std::vector<Splitter> all;
  for (std::size_t i = std::size(every_splitter); i < reckon::splitter_count; ++i)
    all.push_back(static_cast<Splitter>(i));
  return all;
}

Pieces pieces_of(Splitter splitter, std::string_view text) {
  Pieces pieces;
  reckon::split(splitter, text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

class Regex {
 public:
  // Of characters, or of bytes.
  explicit Regex(std::string_view pattern, bool characters = true)
      : code_(compile(pattern, characters), pcre2_code_free),
        data_(pcre2_match_data_create(1, nullptr), pcre2_match_data_free) {
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
  }

  Pieces pieces_of(const std::string& text) const {
    Pieces pieces;
    for (std::size_t at = 0; at < text.size();) {
      const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                    PCRE2_ANCHORED, data_.get(), nullptr);
      EXPECT_GT(found, 0) << "the expression does not cover the text";
      if (found <= 0) break;
      const std::size_t end = pcre2_get_ovector_pointer(data_.get())[1];
      if (end == at) break;
      pieces.push_back(text.substr(at, end - at));
      at = end;
    }
    return pieces;
  }

  // Matches, and what lies between them.
  Pieces isolated(const std::string& text) const {
    Pieces pieces;
    std::size_t at = 0;
    while (at < text.size()) {
      const int found =
          pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, 0, data_.get(), nullptr);
      if (found <= 0) break;
      const PCRE2_SIZE* place = pcre2_get_ovector_pointer(data_.get());
      if (place[0] > at) pieces.push_back(text.substr(at, place[0] - at));
      pieces.push_back(text.substr(place[0], place[1] - place[0]));
      at = place[1];
    }
    if (at < text.size()) pieces.push_back(text.substr(at));
    return pieces;
  }

 private:
  static pcre2_code* compile(std::string_view pattern, bool characters) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                     characters ? PCRE2_UTF | PCRE2_UCP : 0, &error, &offset, nullptr);
    EXPECT_NE(code, nullptr) << "error " << error << " at " << offset;
    return code;
  }
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code_;
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data_;
};

std::string utf8(char32_t point) {
  std::string text;
  reckon::append_utf8(text, point);
  return text;
}

// PCRE2 10.42 knows Unicode 14; what came later is unassigned to it. And it alone counts U+180E as a space, which
// Unicode took out in 6.3.
bool is_the_same_to_pcre2(char32_t point) {
  static const Regex assigned(R"(\P{Cn}|)");
  if (point >= 0xD800 && point < 0xE000) return false;
  const bool newer = reckon::class_of(point) != reckon::CharClass::other && assigned.pieces_of(utf8(point)).empty();
  return !newer && point != 0x180E;
}

TEST(Splitters, ClassEveryCharacterOfUnicodeAsPcre2Does) {
  using enum reckon::CharClass;
  const struct {
    const char* pattern;
    reckon::CharClasses set;
  } sets[] = {{R"([\p{Lu}\p{Lt}]|)", reckon::classes_of(upper)},
              {R"(\p{Ll}|)", reckon::classes_of(lower)},
              {R"([\p{Lm}\p{Lo}]|)", reckon::classes_of(letter)},
              {R"(\p{M}|)", reckon::classes_of(mark)},
              {R"(\p{P}|)", reckon::punctuation_chars},
              {R"(\p{S}|)", reckon::sign_chars},
              {R"(\p{N}|)", reckon::number_chars},
              {R"(\s|)", reckon::space_chars}};
  for (const auto& [pattern, set] : sets) {
    const Regex regex(pattern);
    int wrong = 0, newer = 0;
    for (char32_t point = 0; point <= 0x10FFFF; ++point) {
      const bool ours = reckon::is_in(reckon::class_of(point), set);
      if ((point >= 0xD800 && point < 0xE000) || ours != regex.pieces_of(utf8(point)).empty()) continue;
      ++(is_the_same_to_pcre2(point) ? wrong : newer);
    }
    EXPECT_EQ(wrong, 0) << pattern;
    EXPECT_LT(newer, 5000) << pattern;
  }
}

// Every kind of character, the ends of their ranges, and those that the expressions name.
const std::vector<std::string> hard_characters = {
    " ",   " ",    " ",          "\n",     "\r",     "\t",     "\u00A0", "\u0085", "\u2003", "\u3000", "\u2028",
    "'",   "'",    "s",          "S",      "t",      "T",      "m",      "d",      "l",      "L",      "r",
    "e",   "v",    "V",          "E",      "\u017F", "\u212A", "a",      "Z",      "é",      "É",      "\u01C5",
    "ʰ",   "ª",    "中",         "文",     "\u0301", "\u0903", "\u20DD", "0",      "1",      "9",      "²",
    "½",   "Ⅷ",    "٣",          "_",      "-",      "/",      "/",      "!",      "。",     "🙂",   "👩",
    "‍", "🏽", "\U000E0100", "\u200B", "\uFEFF", "\x01",   "<",      "|",      "\uFFFD", "\u0378"};

void expect_same_pieces(const std::vector<std::pair<Splitter, Regex>>& regexes, const std::string& text) {
  for (const auto& [splitter, regex] : regexes) {
    ASSERT_EQ(pieces_of(splitter, text), regex.pieces_of(text)) << static_cast<int>(splitter) << ": " << text;
  }
}

std::vector<std::pair<Splitter, Regex>> every_regex() {
  std::vector<std::pair<Splitter, Regex>> regexes;
  for (const Splitter splitter : every_splitter) {
    for (const std::string_view pattern : reckon::patterns_of(splitter)) regexes.emplace_back(splitter, Regex(pattern));
  }
  return regexes;
}

TEST(Splitters, CutMixturesOfHardCharactersAsPcre2Does) {
  const auto regexes = every_regex();
  std::mt19937 random(1);
  for (int round = 0; round < 40000; ++round) {
    std::string text;
    for (std::size_t n = random() % 14; n > 0; --n) {
      const std::string& character = hard_characters[random() % hard_characters.size()];
      for (std::size_t repeat = random() % 4 ? 1 : 1 + random() % 5; repeat > 0; --repeat) text += character;
    }
    ASSERT_NO_FATAL_FAILURE(expect_same_pieces(regexes, text));
  }
}

TEST(Splitters, CutOutWhatPcre2Matches) {
  // BLOOM's expression has a set inside a set, which PCRE2 does not know.
  const std::string bloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
  std::vector<std::pair<Splitter, Regex>> regexes;
  for (const Splitter splitter : matching_splitters())
    for (const std::string_view pattern : reckon::patterns_of(splitter))
      regexes.emplace_back(splitter, Regex(splitter == Splitter::bloom ? bloom : pattern));
  std::vector<std::string> characters = hard_characters;
  for (const char* further : {"(",      ")",  "[",  "…", "，", "।", "！", "‘", "～", "龥", "龦", "ࠀ", "가",
                              "\uD7FF", "ひ", "ヿ", "Ԁ", "ƻ",  "ʔ", "𐐀",  "$", "+",  "¢",  "«",  "2"})
    characters.emplace_back(further);
  std::mt19937 random(5);
  for (int round = 0; round < 40000; ++round) {
    std::string text;
    for (std::size_t n = random() % 14; n > 0; --n) {
      const std::string& character = characters[random() % characters.size()];
      for (std::size_t repeat = random() % 4 ? 1 : 1 + random() % 5; repeat > 0; --repeat) text += character;
    }
    for (const auto& [splitter, regex] : regexes)
      ASSERT_EQ(pieces_of(splitter, text), regex.isolated(text)) << static_cast<int>(splitter) << ": " << text;
  }
}

// The expressions that llama.cpp (src/llama-vocab.cpp, llm_tokenizer_bpe) applies one after another for a name of
// tokenizer.ggml.pre, in their original form where it gives that beside an adapted one. Two differ from the
// tokenizer.json that the models were published with, where digits are cut as here: deepseek-llm's one by one, and
// falcon's, in GPT-2's alphabet for bytes, from all else. The vocabularies have no merges that could tell.
constexpr const char* digit_bytes = "[0-9\xB2\xB3\xB9\xBC\xBD\xBE]+";
const struct {
  std::vector<const char*> pres;
  std::vector<const char*> expressions;
} published_splits[] = {
    {{"bloom"}, {R"re( ?[^(\s|.,!?…。，、।۔،)]+)re"}},
    {{"codeshell", "command-r", "refact", "smollm", "starcoder"},
     {R"re(\p{N})re", R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))re"}},
    {{"dbrx", "llama-bpe", "llama-v3", "llama3", "smaug-bpe"},
     {R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"}},
    {{"deepseek-coder"},
     {R"re([\r\n])re", R"re(\s?\p{L}+)re", R"re(\s?\p{P}+)re", R"re([一-龥ࠀ-一가-퟿]+)re", R"re(\p{N})re"}},
    {{"deepseek-llm"},
     {R"re([\r\n])re",
      R"re(\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+)re",
      R"re(\s?[!-/:-~！-／：-～‘-‟　-。]+)re", R"re(\s+$)re", R"re([一-龥ࠀ-一가-퟿]+)re", R"re(\p{N})re"}},
    {{"deepseek-r1-qwen", "qwen2", "stablelm2"},
     {R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"}},
    {{"deepseek-v3"},
     {R"re(\p{N}{1,3})re", R"re([一-龥぀-ゟ゠-ヿ]+)re",
      R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"}},
    {{"falcon"},
     {R"re([\p{P}\$\+<=>\^~\|`]+)re", R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))re",
      digit_bytes, R"re([0-9][0-9][0-9])re"}},
    {{"gpt-2", "mpt", "olmo", "phi-2"},
     {R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))re"}},
    {{"gpt-4o", "llama4"},
     {R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"}},
    {{"tekken"},
     {R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"}},
};

// Every piece of the text is a token: so a tokenizer that leaves pieces whole says which it makes.
Pieces pieces_of(reckon::TokenizerSpec spec, const std::string& text) {
  spec.normalizers.clear();
  spec.merges.clear();
  spec.before.clear();
  spec.ignore_merges = true;
  std::set<std::string> substrings;
  for (std::size_t begin = 0; begin < text.size(); ++begin)
    for (std::size_t size = 1; begin + size <= text.size(); ++size)
      substrings.insert(reckon::byte_level_text(text.substr(begin, size)));
  spec.tokens.assign(substrings.begin(), substrings.end());
  Pieces pieces;
  for (const reckon::TokenId id : reckon::Tokenizer(spec).encode(text))
    pieces.push_back(reckon::byte_level_bytes(spec.tokens[static_cast<std::size_t>(id)]).value());
  return pieces;
}

TEST(GgufSplitters, ApplyTheirExpressionsInTheOrderThatLlamaCppDoes) {
  std::vector<std::string> texts = {"Hello, w\u00F6rld 1234567!\n\n  don't  WE'LL $12.50 = 3+4",
                                    "x1 23 456 7890 12\u00B2 \u4E2D\u6587123\u3042 a_b  ",
                                    "\r\n def f(x):\t# 99%  \u00E9\u00C9 ...  \n"};
  std::mt19937 random(6);
  while (texts.size() < 60) {
    std::string text;
    while (text.size() < 24) {
      const std::string& character = hard_characters[random() % hard_characters.size()];
      for (std::size_t repeat = random() % 4 ? 1 : 1 + random() % 4; repeat > 0; --repeat) text += character;
      if (random() % 3 == 0) text += std::to_string(random() % 10000);
    }
    texts.push_back(text);
  }
  std::vector<std::string> tested;
  for (const auto& [pres, expressions] : published_splits) {
    std::vector<Regex> regexes;
    bool characters = true;
    for (const char* expression : expressions)
      regexes.emplace_back(expression, characters &= expression != digit_bytes);
    for (const char* pre : pres) {
      tested.emplace_back(pre);
      const reckon::TokenizerSpec spec =
          reckon::read_gguf_tokenizer({{"tokenizer.ggml.model", "gpt2"},
                                       {"tokenizer.ggml.pre", pre},
                                       {"tokenizer.ggml.tokens", {"a", "b"}},
                                       {"tokenizer.ggml.merges", nlohmann::json::array()},
                                       {"tokenizer.ggml.bos_token_id", 0u}},
                                      "x.gguf");
      for (const std::string& text : texts) {
        Pieces expected{text};
        for (const Regex& regex : regexes) {
          Pieces cut;
          for (const std::string& piece : expected)
            for (std::string& part : regex.isolated(piece)) cut.push_back(std::move(part));
          expected = std::move(cut);
        }
        ASSERT_EQ(pieces_of(spec, text), expected) << pre << ": " << text;
      }
    }
  }
  std::sort(tested.begin(), tested.end());
  EXPECT_EQ(tested, reckon::gguf_splitters());
}

TEST(Splitters, TakeTimeThatGrowsWithTheTextAndNoFaster) {
  const std::string spaces(1 << 20, ' '), newlines(1 << 20, '\n');
  for (const Splitter splitter : matching_splitters())
    for (const std::string& text : {spaces + "x", newlines, std::string(1 << 20, 'x'), std::string(1 << 20, '1')})
      EXPECT_FALSE(pieces_of(splitter, text).empty());
}

TEST(Splitters, CutRandomUnicodeAsPcre2Does) {
  const auto regexes = every_regex();
  std::mt19937 random(2);
  const char32_t planes[] = {0x80, 0x250, 0x800, 0x3100, 0x10000, 0x20000, 0x110000};
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    while (text.size() < 60) {
      const char32_t point = random() % planes[random() % std::size(planes)];
      if (is_the_same_to_pcre2(point)) text += utf8(point);
      if (random() % 4 == 0) text += hard_characters[random() % hard_characters.size()];
    }
    ASSERT_NO_FATAL_FAILURE(expect_same_pieces(regexes, text));
  }
}

TEST(Splitters, TreatEachInvalidByteAsAReplacementCharacterAndKeepIt) {
  std::mt19937 random(3);
  const std::string bytes = "\x80\xBF\xC0\xC3\xE2\xED\xA0\xF0\x9F\xF4\x90\xFF ab1\n'";
  for (int round = 0; round < 20000; ++round) {
    std::string broken, replaced;
    for (std::size_t n = random() % 12; n > 0; --n) broken += bytes[random() % bytes.size()];
    std::vector<std::size_t> place = {0};  // of each byte of `replaced`, plus one for its end, in `broken`
    for (std::size_t at = 0; at < broken.size();) {
      const reckon::Utf8Char c = reckon::utf8_char(broken.data() + at, broken.data() + broken.size());
      replaced += c.valid ? broken.substr(at, c.length) : "\uFFFD";
      at += c.length;
      place.resize(replaced.size() + 1, at);
      place.back() = at;
    }
    for (const Splitter splitter : every_splitter) {
      std::vector<std::size_t> ends, expected;
      std::size_t at = 0;
      for (const std::string& piece : pieces_of(splitter, broken)) ends.push_back(at += piece.size());
      at = 0;
      for (const std::string& piece : pieces_of(splitter, replaced)) expected.push_back(place[at += piece.size()]);
      ASSERT_EQ(ends, expected) << testing::PrintToString(broken);
    }
  }
}

TEST(Splitters, LeaveTheLastSpaceOfARunToTheWord) {
  EXPECT_EQ(pieces_of(Splitter::gpt2, "a  b\n\n c  "), (Pieces{"a", " ", " b", "\n\n", " c", "  "}));
  EXPECT_EQ(pieces_of(Splitter::cl100k, "a  b\n\n c  \n "), (Pieces{"a", " ", " b", "\n\n", " c", "  \n", " "}));
}

TEST(Splitters, DifferInContractionsDigitsAndCase) {
  const std::string text = "WE'LL CamelCase's 12345";
  EXPECT_EQ(pieces_of(Splitter::gpt2, text), (Pieces{"WE", "'", "LL", " CamelCase", "'s", " 12345"}));
  EXPECT_EQ(pieces_of(Splitter::cl100k, text), (Pieces{"WE", "'LL", " CamelCase", "'s", " ", "123", "45"}));
  EXPECT_EQ(pieces_of(Splitter::qwen2, text), (Pieces{"WE", "'LL", " CamelCase", "'s", " ", "1", "2", "3", "4", "5"}));
  EXPECT_EQ(pieces_of(Splitter::o200k, text), (Pieces{"WE'LL", " Camel", "Case's", " ", "123", "45"}));
}

TEST(Splitters, AreKnownByTheirPatterns) {
  for (std::size_t i = 0; i < reckon::splitter_count; ++i) {
    for (const std::string_view pattern : reckon::patterns_of(static_cast<Splitter>(i))) {
      EXPECT_EQ(reckon::splitter_of_pattern(pattern), static_cast<Splitter>(i));
    }
  }
  EXPECT_EQ(reckon::splitter_of_pattern(R"(\w+|\s+)"), std::nullopt);
}

TEST(SafeCut, LeavesThePiecesOfBothSidesAsTheyWere) {
  std::mt19937 random(4);
  int cuts = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::size_t n = random() % 30; n > 0; --n) text += hard_characters[random() % hard_characters.size()];
    if (round % 3 == 0 && !text.empty()) text[random() % text.size()] = static_cast<char>(random());
    const std::size_t from = random() % (text.size() + 1);
    const std::size_t cut = reckon::safe_cut(text, from);
    ASSERT_GE(cut, from);
    ASSERT_LE(cut, text.size());
    cuts += cut < text.size();
    for (const Splitter splitter : every_splitter) {
      Pieces both = pieces_of(splitter, text.substr(0, cut));
      for (std::string& piece : pieces_of(splitter, text.substr(cut))) both.push_back(std::move(piece));
      ASSERT_EQ(both, pieces_of(splitter, text));
    }
  }
  EXPECT_GT(cuts, 5000);
}

}  // namespace

#include "text/vocab_merges.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include "files/quote.h"
#include "text/json_tree.h"

namespace reckon {

TokenizerSpec parse_vocab_merges(std::string_view vocab, const std::string& vocab_file, std::string_view merges,
                                 const std::string& merges_file) {
  ListedVocabulary listed{vocab_file, read_token_ids(vocab, vocab_file), {}};
  for (std::size_t number = 1; !merges.empty(); ++number) {
    const std::size_t end = merges.find('\n');
    std::string_view line = merges.substr(0, end);
    merges.remove_prefix(end == std::string_view::npos ? merges.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      throw Error(fmt::format("{}: line {} is {}; expected two tokens with a space between them", merges_file, number, quote(line)));
    }
    listed.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  TokenizerSpec spec;
  for (const auto& [token, id] : listed.tokens) {
    if (token == "<|endoftext|>") spec.added_tokens.push_back({static_cast<TokenId>(id), token, true, false, false, false, false});
  }
  spec.pre_tokenizers.emplace_back(ByteLevel{false, true});
  spec.decoders.emplace_back(ByteLevelDecoder{});
  set_vocabulary(std::move(listed), spec);
  return spec;
}

}  // namespace reckon

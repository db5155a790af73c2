// From text to ids: added tokens are taken out, the rest is normalized, cut into pieces, and each piece is merged.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/merges.h"
#include "text/piece_cache.h"
#include "text/spec.h"
#include "text/token_index.h"

namespace reckon {

// All that encoding needs, made once from a spec and then only read.
struct EncodingPlan {
  explicit EncodingPlan(const TokenizerSpec& spec);

  bool byte_level, fuse_unk, ignore_merges;
  TokenId unk;
  TokenIndex index;
  std::array<TokenId, 256> byte_symbols;  // byte level: the token of a byte. Characters: that of an ASCII character
  std::array<TokenId, 256> fallback;      // <0x00> …; all no_token without byte_fallback
  Merges merges;
  AddedTokenFinder added, added_normalized;
  std::vector<Normalizer> normalizers;
  std::vector<PreTokenizer> steps;
  // What the steps leave is cut once more before each of these that does not follow another. For a text without a
  // splitter whose words begin with ▁, if no token has ▁ behind something else: no merge reaches over such a cut, so
  // the ids are those of the whole. Empty: no cuts.
  std::string cut_before;

  void append_symbols(std::string_view piece, std::vector<TokenId>& symbols) const;
  std::string normalized(std::string_view text) const;
};

// A part of a text between added tokens, or an added token.
struct Segment {
  TokenId added = no_token;
  std::string_view text;  // without an added token; points into the text that was given or into `normalized`
  std::shared_ptr<const std::string> normalized;
  bool at_start = false;   // of the whole text
  bool continued = false;  // the rest of a segment that was cut: gets no prefix of its own
};

// The state of one thread.
class Encoder {
 public:
  explicit Encoder(const EncodingPlan& plan) : plan_(plan) {}

  void encode(const Segment& segment, std::vector<TokenId>& out);

 private:
  void pre_tokenize(std::string_view text, std::size_t step, const Segment& segment, std::vector<TokenId>& out);
  void encode_piece(std::string_view piece, std::vector<TokenId>& out);
  void merge_piece(std::string_view piece, std::vector<TokenId>& out);

  const EncodingPlan& plan_;
  PieceCache cache_;
  Merger merger_;
  std::vector<TokenId> symbols_;
};

// The segments of a text in order. Without `special`, the text of special tokens is ordinary.
std::vector<Segment> segments_of(const EncodingPlan& plan, std::string_view text, bool special);

// Cuts long segments where that changes no id, into parts of about `length` bytes.
void cut_long_segments(const EncodingPlan& plan, std::size_t length, std::vector<Segment>& segments);

}  // namespace reckon

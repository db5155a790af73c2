// The embedded text: simple English stories from a grammar of our own (train/story_tables.h), as long as wanted and
// the same on every platform; and a check of sentences by the same grammar, for what a model writes that learned from
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reckon {

// Whole stories, each a line with an empty one behind it: the first of this seed that have `bytes` bytes together. A
// longer text of the same seed begins with a shorter one.
std::string stories(std::uint64_t seed, std::int64_t bytes);

// Whether the grammar can write this sentence. Pronouns must agree with the names in it.
bool is_story_sentence(std::string_view sentence);

// Cuts a text at the ends of its sentences: behind . ! or ?, and quotes that close there, where a line ends or where a
// space and then a capital or a quote follow. What comes behind the last end is no sentence.
std::vector<std::string_view> sentences_of(std::string_view text);

// The share of a text's complete sentences that the grammar can write; 0 if there is none. A text that begins within a
// sentence (with no capital and no quote) is judged from the next one on.
double accepted_share(std::string_view text);

}  // namespace reckon

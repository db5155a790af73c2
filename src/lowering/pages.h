// Sequences with a position of their own, and a cache in pages: what lets texts of different lengths run together.
#pragma once

#include "lowering/target.h"
#include "program/program.h"

namespace reckon {

// Of a prefill or decode program: adds `starts`, the position of each sequence's first new token, as an input of every
// op that asks for positions, and a table of pages for each kind of cache, and lays caches out by it: page by page,
// within a page head by head, so that the keys of one head follow each other. A page holds `target.page_tokens` tokens
// of every layer. What is windowed lies in one page, a ring, which the table names again and again.
Program page_caches(Program program, const Target& target);

}  // namespace reckon

// What lowering and planning know of a backend: plain data, so that a program for any target can be made, counted and
// planned on any machine. No speeds, which belong to hardware profiles: calibrating must not change a program.
#pragma once

#include <cstdint>
#include <string_view>

namespace reckon {

struct Target {
  std::string_view name;
  std::int64_t alignment = 1;    // bytes; a tensor's place in an arena is a multiple of it
  std::int64_t query_block = 0;  // tokens whose queries attend together: keys that none of them sees are skipped
  std::int64_t page_tokens = 0;  // tokens in a page of the cache; 0: a sequence's lies in one piece
  // Products of up to so many rows give each row the same bits: as many sequences decode together.
  std::int64_t few_rows = 1;

  bool views = false;   // an op may read and write a part of another's memory; else each tensor has its own
  bool narrow = false;  // trains in bfloat16
  bool ranks = false;   // trains in several processes
  bool masks = false;   // dropout keeps what it drew for the backward pass; else it is drawn again
  // Products with weights in GGUF's blocks multiply integers, and read activations in 8 bits; else weights are decoded.
  bool integer_products = false;
  bool tiles = false;  // products and attention run in tiles, which count the bytes that they read and write

  // What is made one op of several. Without any, a program runs as it is written.
  struct Fusions {
    bool epilogues = false;    // products with what follows: multiplier, residual sum
    bool activations = false;  // …and the activation
    bool attention = false;    // scores, softmax and mixing, and their gradients, in one pass over the keys
    bool in_place = false;     // rotations and sums over what nobody reads any more
    bool operator==(const Fusions&) const = default;
  } fusions;

  bool operator==(const Target&) const = default;
};

constexpr Target cpu_target{.name = "cpu",
                            .alignment = 64,  // a line of the cache
                            .query_block = 64,
                            .page_tokens = 512,
                            .few_rows = 16,
                            .views = true,
                            .narrow = true,
                            .ranks = true,
                            .integer_products = true,
                            .tiles = true,
                            .fusions = {.epilogues = true, .activations = true, .attention = true, .in_place = true}};

// A GPU with what is usual on one: products by cuBLAS, which adds a bias and a sum but has no activation, streamed
// attention, caches in small pages.
constexpr Target gpu_target{.name = "gpu",
                            .alignment = 512,  // of the caching allocator that PyTorch has
                            .query_block = 128,
                            .page_tokens = 16,
                            .few_rows = 16,
                            .views = true,
                            .ranks = true,
                            .fusions = {.epilogues = true, .attention = true, .in_place = true}};

// What Korthikanti et al. 2022 (arXiv 2205.05198) count: nothing fused, attention's scores written out,
// masks of dropout kept.
constexpr Target megatron_target{
    .name = "megatron", .alignment = 1, .views = true, .ranks = true, .masks = true, .fusions = {}};

constexpr Target reference_target{.name = "reference", .alignment = 8, .fusions = {}};

}  // namespace reckon

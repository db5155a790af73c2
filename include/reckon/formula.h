// A count together with the formula behind it: a sum of products of named dimensions, such as 4·d² + 2·d·f.
// Costs and parameters are written as formulas once, by the program; their value and their text come from here.
#pragma once

#include <reckon/count.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace reckon {

// What a dimension is. The order is the order of factors in a printed product.
enum class Symbol : std::uint8_t {
  none,
  layers,
  batch,
  tokens,
  keys,          // tokens that a query may look at: past + new
  causal_pairs,  // (query, key) pairs that causality lets through
  window_pairs,  // …and a sliding window too
  encoder_tokens,
  past,
  positions,  // rows of the position table
  vocabulary,
  d_embedding,
  experts,
  active_experts,
  heads,
  kv_heads,
  d_head,
  d_value,
  heads_width,  // heads · d_head, where it is not d
  kv_width,     // kv_heads · d_head
  value_width,
  query_rank,
  kv_rank,
  d_nope,
  d_rope,
  latent_query,    // heads · (d_nope + d_rope)
  latent_kv_down,  // kv_rank + d_rope
  latent_kv_up,    // heads · (d_nope + d_value)
  d_model,
  d_ff,
  d_expert,
  d_shared,
  d_inner,     // of a recurrence: its values
  d_state,     // …a key or a query
  conv_width,  // …tokens of its short convolution
  lora_rank,
};

std::string_view symbol_text(Symbol symbol);     // "d"
std::string_view symbol_meaning(Symbol symbol);  // "d_model, the width of the residual stream"

struct Dim {
  std::int64_t size = 1;
  Symbol symbol = Symbol::none;
  std::int32_t parts = 1;  // how many ranks share it out: the symbol stands for size · parts
  constexpr Dim() = default;
  constexpr Dim(std::int64_t size_, Symbol symbol_ = Symbol::none, std::int32_t parts_ = 1)
      : size(size_), symbol(symbol_), parts(parts_) {}
  bool operator==(const Dim&) const = default;
};

// coefficient · factor · factor … / divisor: one rank of eight has d·f/8 of a matrix.
struct Term {
  static constexpr int capacity = 8;
  Count coefficient = 1;
  std::array<Dim, capacity> factors{};
  std::int64_t divisor = 1;  // 1 or more
  int size = 0;

  Term() = default;
  explicit Term(Count coefficient_) : coefficient(coefficient_) {}
  Term& times(Dim dim);
  Term& over(std::int64_t parts);
  Count value() const;  // rounded down where it is not whole
};

class Formula {
 public:
  Formula() = default;
  Formula(const Term& product) : terms_{product} {}
  Formula(Count coefficient, std::initializer_list<Dim> factors);

  Formula& operator+=(const Formula& other);
  Formula& operator*=(Dim dim);
  Count value() const;  // of the whole sum, rounded down
  bool empty() const { return terms_.empty(); }
  const std::vector<Term>& terms() const { return terms_; }

  // The like terms collected, in symbols ("4·d²") and in numbers ("4·768²"). `width` is d_model: heads · d_head
  // is written d where the two are equal.
  std::string symbols(Dim width = {}) const;
  std::string numbers(Dim width = {}) const;
  // The symbols that occur, for a legend.
  std::vector<Dim> dimensions(Dim width = {}) const;

 private:
  Formula collected(Dim width) const;
  std::vector<Term> terms_;
};

}  // namespace reckon

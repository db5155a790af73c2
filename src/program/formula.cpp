// Formulas: their value with checked arithmetic, and their text.
#include <reckon/formula.h>
#include <reckon/error.h>

#include "files/checked.h"
#include "files/numbers.h"

#include <algorithm>
#include <string>
#include <utility>

namespace reckon {
namespace {

struct SymbolName {
  std::string_view text, meaning;
};

// In the order of the enumeration.
constexpr SymbolName names[] = {
    {"", ""},
    {"L", "layers"},
    {"B", "batch: sequences at once"},
    {"T", "tokens per sequence"},
    {"S", "keys that a query looks at (past + new tokens)"},
    {"½T(T+1)", "pairs of query and key that causality lets through"},
    {"pairs", "pairs of query and key that causality and the window let through"},
    {"Tₑ", "tokens of the encoder"},
    {"P", "tokens already in the cache"},
    {"C", "rows of the position table"},
    {"V", "vocabulary"},
    {"dₑ", "width of the embedding table"},
    {"E", "experts"},
    {"k", "experts active per token"},
    {"H", "query heads"},
    {"K", "key/value heads"},
    {"dₕ", "width of a head"},
    {"dᵥ", "width of a value head"},
    {"H·dₕ", "width of all query heads"},
    {"K·dₕ", "width of all key/value heads"},
    {"H·dᵥ", "width of all value heads"},
    {"r_q", "rank of the query latent"},
    {"r_kv", "rank of the key/value latent"},
    {"dₙ", "part of a head without position"},
    {"dᵣ", "part of a head with rotary position"},
    {"H·(dₙ+dᵣ)", "width of all latent query heads"},
    {"(r_kv+dᵣ)", "width of the cached latent"},
    {"H·(dₙ+dᵥ)", "width of the rebuilt keys and values"},
    {"d", "d_model, the width of the residual stream"},
    {"f", "d_ff, the width of the feed-forward"},
    {"fₑ", "width of one expert"},
    {"fₛ", "width of the shared expert"},
    {"dᵢ", "width of a recurrence: of its values"},
    {"N", "width of a key or query of a recurrence"},
    {"w", "tokens that a short convolution sees"},
    {"r", "rank of the adapters"},
};

std::string exponent(int power) {
  static constexpr std::string_view digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  return power == 1 ? std::string() : std::string(digits[power]);
}

// "4·d²/3": the coefficient (unless it is 1), then each run of equal factors as a power, then the divisor.
template <class Text>
std::string product_text(const Term& product, Text text) {
  std::string out;
  const Count coefficient = product.coefficient < 0 ? -product.coefficient : product.coefficient;
  if (coefficient != 1 || product.size == 0) out = grouped(coefficient);
  for (int i = 0; i < product.size;) {
    int j = i;
    while (j < product.size && product.factors[j] == product.factors[i]) ++j;
    if (!out.empty()) out += "·";
    std::string factor(text(product.factors[i]));
    const bool composite = j - i > 1 && factor.find("·") != std::string::npos;
    out += (composite ? "(" + factor + ")" : factor) + exponent(j - i);
    i = j;
  }
  if (product.divisor != 1) out += "/" + grouped(product.divisor);
  return out;
}

template <class Text>
std::string sum_text(const std::vector<Term>& terms, Text text) {
  if (terms.empty()) return "0";
  std::string out;
  for (const Term& term : terms) {
    if (out.empty()) {
      out = (term.coefficient < 0 ? "−" : "") + product_text(term, text);
    } else {
      out += (term.coefficient < 0 ? " − " : " + ") + product_text(term, text);
    }
  }
  return out;
}

bool in_order(const Dim& a, const Dim& b) { return a.symbol != b.symbol ? a.symbol < b.symbol : a.size < b.size; }

Count common_factor(Count a, Count b) {
  while (b != 0) a = std::exchange(b, a - a / b * b);
  return a < 0 ? -a : a;
}

void reduce(Term& term) {
  if (term.divisor == 1) return;
  const Count common = common_factor(term.coefficient, term.divisor);
  term.coefficient = term.coefficient / common;
  term.divisor = static_cast<std::int64_t>(term.divisor / common);
}

// a/b + c/d of two products that are alike but for their coefficients.
void add_alike(Term& sum, const Term& other) {
  if (sum.divisor == other.divisor) {
    sum.coefficient += other.coefficient;
  } else {
    sum.coefficient = sum.coefficient * other.divisor + other.coefficient * sum.divisor;
    sum.over(other.divisor);
  }
  reduce(sum);
}

Count numerator(const Term& term) {
  Count value = term.coefficient;
  for (int i = 0; i < term.size; ++i) value *= term.factors[i].size;
  return value;
}

Count rounded_down(Count value, Count divisor) {
  const Count quotient = value / divisor;
  return quotient * divisor > value ? quotient - 1 : quotient;
}

// A dimension that ranks share out is the whole of it, and a divisor.
Term with_whole_dimensions(Term product) {
  for (int i = 0; i < product.size; ++i) {
    Dim& factor = product.factors[i];
    if (factor.parts == 1 || factor.symbol == Symbol::none) continue;
    product.over(factor.parts);
    factor = {checked_multiply(factor.size, std::int64_t{factor.parts}, "a dimension"), factor.symbol};
  }
  return product;
}

// Literals go into the coefficient, ones go away, heads · d_head becomes d where they are equal.
Term canonical(const Term& given, Dim width) {
  const Term product = with_whole_dimensions(given);
  Term out(product.coefficient);
  out.divisor = product.divisor;
  int heads = -1, d_head = -1;
  for (int i = 0; i < product.size; ++i) {
    if (product.factors[i].symbol == Symbol::heads) heads = i;
    if (product.factors[i].symbol == Symbol::d_head) d_head = i;
  }
  const bool plain =
      heads >= 0 && d_head >= 0 && Count(product.factors[heads].size) * product.factors[d_head].size == width.size;
  for (int i = 0; i < product.size; ++i) {
    Dim factor = product.factors[i];
    if (plain && i == heads) factor = width;
    if (plain && i == d_head) continue;
    if (factor.symbol == Symbol::none) {
      out.coefficient *= factor.size;
    } else if (factor.size != 1) {
      out.times(factor);
      Dim* const added = out.factors.data() + out.size - 1;
      std::rotate(std::upper_bound(out.factors.data(), added, factor, in_order), added, added + 1);
    }
  }
  reduce(out);
  return out;
}

bool alike(const Term& a, const Term& b) {
  return a.size == b.size && std::equal(a.factors.begin(), a.factors.begin() + a.size, b.factors.begin());
}

}  // namespace

std::string_view symbol_text(Symbol symbol) { return names[static_cast<int>(symbol)].text; }
std::string_view symbol_meaning(Symbol symbol) { return names[static_cast<int>(symbol)].meaning; }

Term& Term::times(Dim dim) {
  if (size == capacity) throw Error("a product of more than eight dimensions");
  factors[size++] = dim;
  return *this;
}

Term& Term::over(std::int64_t parts) {
  divisor = checked_multiply(divisor, parts, "the divisor of a formula");
  return *this;
}

Count Term::value() const { return divisor == 1 ? numerator(*this) : rounded_down(numerator(*this), divisor); }

Formula::Formula(Count coefficient, std::initializer_list<Dim> factors) {
  Term product(coefficient);
  for (const Dim& dim : factors) product.times(dim);
  terms_.push_back(product);
}

Formula& Formula::operator+=(const Formula& other) {
  terms_.insert(terms_.end(), other.terms_.begin(), other.terms_.end());
  return *this;
}

Formula& Formula::operator*=(Dim dim) {
  for (Term& term : terms_) term.times(dim);
  return *this;
}

Count Formula::value() const {
  Count sum, parts = 1;  // sum / parts
  for (const Term& term : terms_) {
    if (parts != term.divisor) {
      const Count more = term.divisor / common_factor(parts, term.divisor);
      sum *= more;
      parts *= more;
    }
    sum += parts == 1 ? numerator(term) : numerator(term) * (parts / term.divisor);
  }
  return parts == 1 ? sum : rounded_down(sum, parts);
}

Formula Formula::collected(Dim width) const {
  Formula out;
  for (const Term& term : terms_) {
    const Term simple = canonical(term, width);
    auto same = std::find_if(out.terms_.begin(), out.terms_.end(), [&](const Term& p) { return alike(p, simple); });
    if (same == out.terms_.end()) {
      out.terms_.push_back(simple);
    } else {
      add_alike(*same, simple);
    }
  }
  std::erase_if(out.terms_, [](const Term& p) { return p.coefficient == 0; });
  return out;
}

std::string Formula::symbols(Dim width) const {
  return sum_text(collected(width).terms_, [](Dim d) { return symbol_text(d.symbol); });
}

std::string Formula::numbers(Dim width) const {
  return sum_text(collected(width).terms_, [](Dim d) { return grouped(d.size); });
}

std::vector<Dim> Formula::dimensions(Dim width) const {
  std::vector<Dim> found;
  const Formula simple = collected(width);
  for (const Term& term : simple.terms_) {
    for (int i = 0; i < term.size; ++i) {
      if (std::find(found.begin(), found.end(), term.factors[i]) == found.end()) found.push_back(term.factors[i]);
    }
  }
  return found;
}

}  // namespace reckon

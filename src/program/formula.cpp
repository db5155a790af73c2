// Formulas: their value with checked arithmetic, and their text.
#include <reckon/formula.h>
#include <reckon/error.h>

#include "files/numbers.h"

#include <algorithm>
#include <string>

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
};

std::string exponent(int power) {
  static constexpr std::string_view digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  return power == 1 ? std::string() : std::string(digits[power]);
}

// "4·d²": the coefficient (unless it is 1), then each run of equal factors as a power.
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

// Literals go into the coefficient, ones go away, heads · d_head becomes d where they are equal.
Term canonical(const Term& product, Dim width) {
  Term out(product.coefficient);
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

Count Term::value() const {
  Count value = coefficient;
  for (int i = 0; i < size; ++i) value *= factors[i].size;
  return value;
}

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
  Count sum;
  for (const Term& term : terms_) sum += term.value();
  return sum;
}

Formula Formula::collected(Dim width) const {
  Formula out;
  for (const Term& term : terms_) {
    const Term simple = canonical(term, width);
    auto same = std::find_if(out.terms_.begin(), out.terms_.end(), [&](const Term& p) { return alike(p, simple); });
    if (same == out.terms_.end()) {
      out.terms_.push_back(simple);
    } else {
      same->coefficient += simple.coefficient;
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

// Formulas: what they are worth, how they read, and what happens past 2¹²⁷.
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/formula.h>

namespace reckon {
namespace {

constexpr Dim d{768, Symbol::d_model}, f{3072, Symbol::d_ff}, layers{12, Symbol::layers}, tokens{1024, Symbol::tokens},
    batch{1, Symbol::batch}, heads{12, Symbol::heads}, d_head{64, Symbol::d_head};

TEST(Formula, IsWorthTheSumOfItsProducts) {
  Formula formula(4, {d, d});
  formula += Formula(2, {d, f});
  formula += Formula(-1, {d});
  EXPECT_EQ(formula.value(), 4 * 768 * 768 + 2 * 768 * 3072 - 768);
  EXPECT_EQ(Formula().value(), 0);
  EXPECT_EQ(Formula(7, {}).value(), 7);
}

TEST(Formula, TimesADimensionMultipliesEveryTerm) {
  Formula formula(4, {d, d});
  formula += Formula(2, {d});
  formula *= layers;
  EXPECT_EQ(formula.value(), 12 * (4 * 768 * 768 + 2 * 768));
}

TEST(Formula, OfAShardHasADivisor) {
  const auto part = [](Count coefficient, std::int64_t parts) {
    return Formula(Term(coefficient).times(d).times(f).over(parts));
  };
  EXPECT_EQ(part(1, 8).value(), 768 * 3072 / 8);
  EXPECT_EQ(part(1, 8).symbols(), "d·f/8");
  EXPECT_EQ(part(1, 8).numbers(), "768·3,072/8");
  EXPECT_EQ(part(4, 8).symbols(), "d·f/2");
  EXPECT_EQ(part(8, 8).symbols(), "d·f");
  EXPECT_EQ(Formula(Term(3).over(8)).symbols(), "3/8");
}

TEST(Formula, AddsFractionsExactly) {
  Formula sum(Term(7).over(3));
  sum += Formula(Term(7).over(6));
  EXPECT_EQ(sum.value(), 3);  // 21/6, not 2 + 1
  sum += Formula(Term(1).over(2));
  EXPECT_EQ(sum.value(), 4);
  EXPECT_EQ(sum.symbols(), "4");
  EXPECT_EQ(Formula(Term(-1).over(2)).value(), -1);
}

TEST(Formula, ReadsAsAPersonWouldWriteIt) {
  EXPECT_EQ(Formula(4, {d, d}).symbols(), "4·d²");
  EXPECT_EQ(Formula(4, {d, d}).numbers(), "4·768²");
  EXPECT_EQ(Formula(1, {d}).symbols(), "d");
  EXPECT_EQ(Formula(1, {tokens, d}).numbers(), "1,024·768");
  EXPECT_EQ(Formula(7, {}).symbols(), "7");
  EXPECT_EQ(Formula().symbols(), "0");
}

TEST(Formula, PutsFactorsInOneOrderHoweverTheyCame) {
  EXPECT_EQ(Formula(2, {f, d, tokens, layers}).symbols(), "2·L·T·d·f");
}

TEST(Formula, CollectsLikeTermsAndDropsThoseThatCancel) {
  Formula formula(1, {d, f});
  formula += Formula(2, {f, d});
  formula += Formula(5, {d});
  formula += Formula(-5, {d});
  EXPECT_EQ(formula.symbols(), "3·d·f");
  EXPECT_EQ(formula.numbers(), "3·768·3,072");
}

TEST(Formula, KeepsDimensionsOfOneSymbolAndTwoSizesApart) {
  Formula formula(1, {d, Dim(64, Symbol::d_ff)});
  formula += Formula(1, {d, Dim(128, Symbol::d_ff)});
  EXPECT_EQ(formula.terms().size(), 2u);
  EXPECT_EQ(formula.numbers(), "768·64 + 768·128");
}

TEST(Formula, WritesADifferenceWithAMinus) {
  Formula formula(5, {d});
  formula += Formula(-2, {tokens});
  EXPECT_EQ(formula.symbols(), "5·d − 2·T");
}

TEST(Formula, LeavesOutFactorsOfOneAndMultipliesNumbersWithoutANameIntoTheCoefficient) {
  EXPECT_EQ(Formula(2, {batch, tokens, d, Dim(3)}).symbols(), "6·T·d");
}

TEST(Formula, WritesTheWidthForAllHeadsTogetherWhereTheTwoAreEqual) {
  const Formula formula(2, {heads, d_head, tokens});
  EXPECT_EQ(formula.symbols(d), "2·T·d");
  EXPECT_EQ(formula.symbols(Dim(1024, Symbol::d_model)), "2·T·H·dₕ");
  EXPECT_EQ(formula.symbols(), "2·T·H·dₕ");
}

TEST(Formula, PutsAPowerOfACompositeSymbolInParentheses) {
  const Dim width(1024, Symbol::heads_width);
  EXPECT_EQ(Formula(1, {width, width}).symbols(), "(H·dₕ)²");
  EXPECT_EQ(Formula(1, {d, width}).symbols(), "H·dₕ·d");
}

TEST(Formula, NamesTheDimensionsThatOccur) {
  Formula formula(1, {d, f});
  formula += Formula(1, {f, tokens, batch});
  EXPECT_EQ(formula.dimensions(), (std::vector<Dim>{d, f, tokens}));
}

TEST(Formula, EverySymbolHasATextAndAMeaning) {
  for (int s = 1; s <= static_cast<int>(Symbol::d_shared); ++s) {
    EXPECT_FALSE(symbol_text(static_cast<Symbol>(s)).empty()) << s;
    EXPECT_FALSE(symbol_meaning(static_cast<Symbol>(s)).empty()) << s;
  }
  EXPECT_EQ(symbol_text(Symbol::d_model), "d");
  EXPECT_EQ(symbol_text(Symbol::d_shared), "fₛ");
}

TEST(Formula, IsExactUpTo127BitsAndAnErrorBeyond) {
  const Dim large{std::int64_t{1} << 42, Symbol::tokens};
  EXPECT_EQ(to_string(Formula(1, {large, large, large}).value()), "85070591730234615865843651857942052864");  // 2¹²⁶
  EXPECT_EQ(Formula(3, {large, large, large}).numbers(), "3·4,398,046,511,104³");
  EXPECT_THROW(Formula(2, {large, large, large}).value(), Overflow);
  Formula sum(1, {large, large, large});
  sum += sum;
  EXPECT_THROW(sum.value(), Overflow);
}

TEST(Formula, CollectsLiteralsPast64BitsIntoOneCoefficient) {
  const Dim literal{std::int64_t{1} << 40};
  EXPECT_EQ(Formula(1, {literal, literal, d}).symbols(), "1,208,925,819,614,629,174,706,176·d");
}

TEST(Term, HoldsEightFactorsAndRefusesANinth) {
  Term product(1);
  for (int i = 0; i < 8; ++i) product.times(2);
  EXPECT_EQ(product.value(), 256);
  EXPECT_THROW(product.times(2), Error);
}

}  // namespace
}  // namespace reckon

// Attributes of ops: each operation's own struct, checked when an op is written and when it is read.
#include <gtest/gtest.h>
#include <reckon/error.h>

#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/rope.h"
#include "ops/view.h"
#include "program/builder.h"

namespace reckon {
namespace {

template <class A, class Given>
concept Emittable = requires(Builder& b, const OperationOf<A>& operation, const Given& given) {
  b.emit(operation, {}, {}, given);
};
template <class A>
concept EmittableWithout = requires(Builder& b, const OperationOf<A>& operation) {
  b.emit(operation, {}, {});
};

TEST(Attributes, AnOpOfOneOperationCannotBeWrittenWithTheAttributesOfAnother) {
  EXPECT_TRUE((Emittable<RopeAttributes, RopeAttributes>));
  EXPECT_FALSE((Emittable<RopeAttributes, NormAttributes>));
  EXPECT_FALSE((Emittable<ScaleAttributes, SoftcapAttributes>));
  EXPECT_FALSE((Emittable<NoAttributes, ScaleAttributes>));
  EXPECT_TRUE(EmittableWithout<NoAttributes>);
  EXPECT_FALSE(EmittableWithout<ScaleAttributes>);
}

Op scaled(double factor) { return Op(scale_operation, {}, {}, {factor}, {}, Stage::forward); }

TEST(Attributes, AnOpGivesItsAttributesToWhoAsksForThoseOfItsOperation) {
  const Op op = scaled(0.5), copy = op;
  EXPECT_EQ(op.attributes<ScaleAttributes>().factor, 0.5);
  EXPECT_EQ(copy.attributes<ScaleAttributes>().factor, 0.5);
  try {
    op.attributes<SoftcapAttributes>();
    FAIL() << "an op gave out what it does not have";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[scale] was asked for the attributes of another operation");
  }
  const Op without(view_operation, {}, {}, {}, {}, Stage::forward);
  EXPECT_THROW(without.attributes<ScaleAttributes>(), Error);
}

TEST(Attributes, AreTheSameWhereTypeAndValuesAre) {
  EXPECT_TRUE(scaled(0.5).same_attributes(scaled(0.5)));
  EXPECT_FALSE(scaled(0.5).same_attributes(scaled(0.25)));
  EXPECT_FALSE(scaled(0.5).same_attributes(Op(softcap_operation, {}, {}, {0.5}, {}, Stage::forward)));
}

}  // namespace
}  // namespace reckon

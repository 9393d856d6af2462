// What follows from a list of fields: validation and order.
#include "templates/base/fields.h"

#include <gtest/gtest.h>

#include <cmath>

#include "templates/base/rules.h"

namespace mmtune {
namespace {

struct Inner {
  double time_us = 0;
  int count = 0;

  static constexpr void fields(auto&& visit) {
    visit("time_us", &Inner::time_us, rule::amount);
    visit("count", &Inner::count, rule::not_negative, rule::Within{0, 9});
  }
  std::string_view contradiction() const { return count > time_us ? "count: over time_us" : ""; }
};

struct Outer {
  std::string name;
  Inner inner;
  std::vector<Inner> list;

  static constexpr void fields(auto&& visit) {
    visit("name", &Outer::name, rule::name);
    visit("inner", &Outer::inner);
    visit("list", &Outer::list);
  }
};

struct Forgetful {
  int listed = 0;
  std::string forgotten;

  static constexpr void fields(auto&& visit) { visit("listed", &Forgetful::listed); }
};

static_assert(kListsAllMembers<Inner> && kListsAllMembers<Outer>);
static_assert(!kListsAllMembers<Forgetful>);

TEST(Fields, AFaultIsNamedByItsPath) {
  EXPECT_EQ(fault_of(Outer{"x", {2, 1}, {{1, 1}}}), "");
  EXPECT_EQ(fault_of(Outer{"", {-1, 1}, {}}), "name: empty") << "the first one";
  EXPECT_EQ(fault_of(Outer{"x", {std::nan(""), 1}, {}}), "inner.time_us: negative or no finite number");
  EXPECT_EQ(fault_of(Outer{"x", {20, -1}, {}}), "inner.count: negative or no number");
  EXPECT_EQ(fault_of(Outer{"x", {20, 10}, {}}), "inner.count: out of range") << "every rule is asked";
  EXPECT_EQ(fault_of(Outer{"x", {1, 2}, {}}), "inner.count: over time_us") << "right one by one";
  EXPECT_EQ(fault_of(Outer{"x", {}, {{}, {-1, 0}}}), "list: time_us: negative or no finite number");
}

TEST(Fields, RecordsAreOrderedByTheirFieldsInTurn) {
  const Inner least{1, 5};
  EXPECT_TRUE(compare(least, least) == 0);
  EXPECT_TRUE(compare(least, Inner{2, 1}) < 0);
  EXPECT_TRUE(compare(least, Inner{1, 4}) > 0);
}

}  // namespace
}  // namespace mmtune

// Lists of fields. A type that is stored or sent lists its fields once, beside its members:
//
//     struct Timing {
//       double median_us = 0;
//       int samples = 0;
//
//       static constexpr void fields(auto&& visit) {
//         visit("median_us", &Timing::median_us, rule::amount);
//         visit("samples", &Timing::samples, rule::not_negative);
//       }
//     };
//
// Columns, bound parameters, reading, validation, the order of merging and the messages between processes follow from
// the list. A name is the column in db/schema.sql and the key in a message: frozen once it is stored. A field may be a
// record itself. A rule is a function of the value that says what is wrong with it, and nothing of a right one
// (templates/base/rules.h). What is wrong between fields that are right one by one says an optional member function
// `std::string_view contradiction() const`.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mmtune {

struct IgnoreField {
  constexpr void operator()(const auto&...) const {}
};

/// A type with a list of its fields.
template <class T>
concept Record = requires {
  T::fields(IgnoreField{});
};

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;

/// The type of the member that a pointer to member leads to.
template <class Owner, class Value>
Value value_type(Value Owner::*);

namespace counting {

struct AnyValue {
  template <class T>
  constexpr operator T() const;
};

template <class T, std::size_t... i>
constexpr bool takes(std::index_sequence<i...>) {
  return requires { T{(static_cast<void>(i), AnyValue{})...}; };
}

template <class T, std::size_t count = 0>
constexpr std::size_t member_count() {
  if constexpr (takes<T>(std::make_index_sequence<count + 1>())) return member_count<T, count + 1>();
  return count;
}

template <Record T>
constexpr std::size_t field_count() {
  std::size_t count = 0;
  T::fields([&count](const auto&...) { ++count; });
  return count;
}

}  // namespace counting

/// Whether an aggregate has as many fields as members, so that none of them is forgotten, but for members that are
/// neither stored nor sent.
template <Record T, std::size_t unlisted = 0>
inline constexpr bool kListsAllMembers = counting::field_count<T>() + unlisted == counting::member_count<T>();

/// What is wrong with the record, as "timing.q1_us: negative"; empty if nothing is.
template <Record T>
std::string fault_of(const T& record);

/// The same for lists of records, and for the value of one field by its rules.
template <class T, class... Rules>
std::string fault_of_value(const T& value, const Rules&... rules) {
  if constexpr (Record<T>) {
    return fault_of(value);
  } else if constexpr (kIsList<T>) {
    for (const auto& item : value) {
      if (std::string fault = fault_of_value(item, rules...); !fault.empty()) return fault;
    }
    return "";
  } else {
    std::string_view fault;
    ((fault = fault.empty() ? rules(value) : fault), ...);
    return std::string(fault);
  }
}

template <Record T>
std::string fault_of(const T& record) {
  std::string fault;
  T::fields([&](std::string_view name, auto member, const auto&... rules) {
    if (!fault.empty()) return;
    fault = fault_of_value(record.*member, rules...);
    if (fault.empty()) return;
    // Not inserted: g++ 12 warns of a copy that is not there (gcc.gnu.org/PR105329).
    fault = std::string(name).append(Record<decltype(value_type(member))> ? "." : ": ").append(fault);
  });
  if constexpr (requires { record.contradiction(); }) {
    if (fault.empty()) fault = record.contradiction();
  }
  return fault;
}

/// The order by the fields, in the order of their list.
template <Record T>
std::partial_ordering compare(const T& a, const T& b) {
  std::partial_ordering order = std::partial_ordering::equivalent;
  T::fields([&](std::string_view, auto member, const auto&...) {
    if (order != 0) return;
    if constexpr (Record<decltype(value_type(member))>) {
      order = compare(a.*member, b.*member);
    } else {
      order = a.*member <=> b.*member;
    }
  });
  return order;
}

}  // namespace mmtune

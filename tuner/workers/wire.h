// Values as text and back: what processes send each other, and records of whatever has a list of its fields.
//
// A value is its length in bytes, a colon and the bytes: "5:graph". A number is written in decimal digits, an enum as
// its number, a bool as 0 or 1. A list is its values one after another; a record its fields in their order, each as
// name, "=" and value: "33:family=4:simtconfig=9:BM=64 TN=8". Nothing else is a message, and nothing in it can make the
// reader use more memory or a deeper stack than the type that it reads.
#pragma once

#include <fmt/format.h>
#include <mmtune/error.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "templates/base/fields.h"

namespace mmtune {

/// What was read is not what is expected.
class WireError : public Error {
 public:
  explicit WireError(std::string_view what);
};

namespace wire {

/// Takes a message apart from left to right. Throws WireError.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }

  /// The bytes of the next value; they live as long as the text.
  std::string_view value();

  /// The name of the next field, and the "=" behind it.
  void name(std::string_view name);

  /// There is nothing left.
  void end() const;

 private:
  std::string_view rest_;
};

// The whole text is one number of this type.
bool parse_bool(std::string_view text);
double parse_real(std::string_view text);
template <class T>
T parse_integer(std::string_view text);

void append(std::string& text, std::string_view bytes);

template <class T>
void write(std::string& text, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    append(text, value);
  } else if constexpr (std::is_enum_v<T>) {
    append(text, fmt::format("{}", static_cast<int>(value)));
  } else if constexpr (std::is_arithmetic_v<T>) {
    append(text, std::is_same_v<T, bool> ? (value ? "1" : "0") : fmt::format("{}", value));
  } else {
    std::string body;
    if constexpr (Record<T>) {
      T::fields([&](std::string_view name, auto member, const auto&...) {
        body.append(name).append("=");
        write(body, value.*member);
      });
    } else {
      for (const auto& item : value) write(body, item);
    }
    append(text, body);
  }
}

template <class T>
void read(std::string_view bytes, T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    value = bytes;
  } else if constexpr (std::is_same_v<T, bool>) {
    value = parse_bool(bytes);
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(parse_integer<int>(bytes));
  } else if constexpr (std::is_floating_point_v<T>) {
    value = parse_real(bytes);
  } else if constexpr (std::is_integral_v<T>) {
    value = parse_integer<T>(bytes);
  } else {
    Parser parser(bytes);
    if constexpr (Record<T>) {
      T::fields([&](std::string_view name, auto member, const auto&...) {
        parser.name(name);
        read(parser.value(), value.*member);
      });
      parser.end();
    } else {
      value.clear();
      while (!parser.done()) read(parser.value(), value.emplace_back());
    }
  }
}

}  // namespace wire

template <class T>
std::string encode(const T& value) {
  std::string text;
  wire::write(text, value);
  return text;
}

/// Throws WireError for what encode() does not write, and for values that break the rules of their fields.
template <class T>
T decode(std::string_view text) {
  T value{};
  wire::Parser parser(text);
  wire::read(parser.value(), value);
  parser.end();
  if (const std::string fault = fault_of_value(value); !fault.empty()) throw WireError(fault);
  return value;
}

}  // namespace mmtune

// Reading JSON (RFC 8259) that other programs wrote.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mmtune {

/// A value with what it contains. NaN and infinities, which Python writes, are numbers too.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  ///< the members in the order of the text

  Json() = default;
  template <class Value>
  explicit Json(Value value) : value_(std::move(value)) {}

  /// Throws UsageError that says what is wrong in which line; `what` names the text.
  static Json parse(std::string_view text, std::string_view what);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }

  /// Null where the value is of another type.
  const bool* flag() const { return std::get_if<bool>(&value_); }
  const double* number() const { return std::get_if<double>(&value_); }
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }

  /// The first member of this name; null if there is none, or this is no object.
  const Json* find(std::string_view name) const;

  /// The value as it is written, without blanks: it tells values apart.
  std::string written() const;

 private:
  std::variant<std::monostate, bool, double, std::string, Array, Object> value_;
};

/// The text as a JSON string, in quotes.
std::string json_string(std::string_view text);

}  // namespace mmtune

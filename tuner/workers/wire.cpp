#include "tuner/workers/wire.h"

#include <cstddef>
#include <cstdint>

#include "templates/base/parsed_number.h"

namespace mmtune {

WireError::WireError(std::string_view what) : Error(fmt::format("not a message of mmtune: {}", what)) {}

namespace wire {
namespace {

template <class T>
T parse_number(std::string_view text) {
  const auto number = parsed_number<T>(text);
  if (!number) throw WireError("no number, or out of range");
  return *number;
}

}  // namespace

std::string_view Parser::value() {
  const auto colon = rest_.find(':');
  const auto length = parse_number<std::size_t>(rest_.substr(0, colon));
  rest_.remove_prefix(colon == std::string_view::npos ? rest_.size() : colon + 1);
  if (length > rest_.size()) throw WireError("it is cut off");
  const std::string_view bytes = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return bytes;
}

void Parser::name(std::string_view name) {
  if (!rest_.starts_with(name) || !rest_.substr(name.size()).starts_with('=')) {
    throw WireError(fmt::format("no {}", name));
  }
  rest_.remove_prefix(name.size() + 1);
}

void Parser::end() const {
  if (!rest_.empty()) throw WireError("more than is expected");
}

bool parse_bool(std::string_view text) {
  if (text != "0" && text != "1") throw WireError("neither 0 nor 1");
  return text == "1";
}

double parse_real(std::string_view text) { return parse_number<double>(text); }

template <>
int parse_integer<int>(std::string_view text) {
  return parse_number<int>(text);
}

template <>
std::int64_t parse_integer<std::int64_t>(std::string_view text) {
  return parse_number<std::int64_t>(text);
}

void append(std::string& text, std::string_view bytes) { text.append(fmt::format("{}:", bytes.size())).append(bytes); }

}  // namespace wire

}  // namespace mmtune

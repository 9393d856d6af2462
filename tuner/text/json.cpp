#include "tuner/text/json.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/base/printable.h"

namespace mmtune {
namespace {

constexpr int kDeepest = 64;  // the most arrays and objects in one another
constexpr double kJsonInfinity = std::numeric_limits<double>::infinity();

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void append_utf8(std::string& text, std::uint32_t code) {
  const auto byte = [&](std::uint32_t bits) { text += static_cast<char>(bits); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      byte(0xe0 | code >> 12);
    } else {
      byte(0xf0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3f));
    }
    byte(0x80 | (code >> 6 & 0x3f));
  }
  byte(0x80 | (code & 0x3f));
}

std::string written_number(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{}", number);
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view what) : all_(text), left_(text), what_(what) {}

  Json whole() {
    Json value = parse_value(0);
    skip_blanks();
    if (!left_.empty()) fail("more follows after the end of the value");
    return value;
  }

 private:
  [[noreturn]] void fail(std::string_view cause) const {
    const auto read = all_.substr(0, all_.size() - left_.size());
    const auto line = 1 + std::count(read.begin(), read.end(), '\n');
    throw UsageError(
        fmt::format("{} is no JSON: {} in line {}; name a file that its program has finished", what_, cause, line));
  }

  void skip_blanks() {
    while (!left_.empty() && is_blank(left_.front())) left_.remove_prefix(1);
  }

  bool take(std::string_view word) {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }

  void expect(std::string_view word) {
    skip_blanks();
    if (left_.empty()) fail("the text ends too early");
    if (!take(word)) fail(fmt::format("'{}' is missing", word));
  }

  Json parse_value(int depth) {
    skip_blanks();
    if (left_.empty()) fail("the text ends too early");
    if (depth > kDeepest) fail("values are nested too deeply");
    if (take("{")) return parse_object(depth);
    if (take("[")) return parse_array(depth);
    if (left_.front() == '"') return Json(parse_string());
    if (take("null")) return {};
    if (take("true")) return Json(true);
    if (take("false")) return Json(false);
    return Json(parse_number());
  }

  Json parse_object(int depth) {
    Json::Object members;
    skip_blanks();
    while (!take("}")) {
      if (!members.empty()) expect(",");
      skip_blanks();
      std::string name = parse_string();
      expect(":");
      Json value = parse_value(depth + 1);
      members.emplace_back(std::move(name), std::move(value));
      skip_blanks();
    }
    return Json(std::move(members));
  }

  Json parse_array(int depth) {
    Json::Array values;
    skip_blanks();
    while (!take("]")) {
      if (!values.empty()) expect(",");
      values.push_back(parse_value(depth + 1));
      skip_blanks();
    }
    return Json(std::move(values));
  }

  double parse_number() {
    if (take("NaN")) return std::numeric_limits<double>::quiet_NaN();
    if (take("Infinity")) return kJsonInfinity;
    if (take("-Infinity")) return -kJsonInfinity;
    double value = 0;
    const bool begins = left_.front() == '-' || (left_.front() >= '0' && left_.front() <= '9');
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
    if (!begins || error == std::errc::invalid_argument) fail("there is no value");
    if (error == std::errc::result_out_of_range) fail("a number is out of range");
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    return value;
  }

  std::string parse_string() {
    expect("\"");
    std::string text;
    for (;;) {
      const auto plain = std::min(left_.find_first_of("\"\\\n"), left_.size());
      text += left_.substr(0, plain);
      left_.remove_prefix(plain);
      if (take("\"")) return text;
      if (!take("\\")) fail("a text has no end");
      parse_escape(text);
    }
  }

  void parse_escape(std::string& text) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (take("u")) return append_utf8(text, parse_code_point());
    const auto letter = left_.empty() ? std::string_view::npos : kLetters.find(left_.front());
    if (letter == std::string_view::npos) fail("an escape is unknown");
    left_.remove_prefix(1);
    text += kMeanings[letter];
  }

  /// A character beyond the first plane is written as two, of which the second follows.
  std::uint32_t parse_code_point() {
    constexpr std::uint32_t kReplacement = 0xfffd;
    const std::uint32_t first = parse_hex();
    if (first < 0xd800 || first > 0xdfff) return first;
    if (first > 0xdbff || !take("\\u")) return kReplacement;
    const std::uint32_t second = parse_hex();
    if (second < 0xdc00 || second > 0xdfff) return kReplacement;
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }

  std::uint32_t parse_hex() {
    constexpr std::size_t kDigits = 4;
    std::uint32_t value = 0;
    const char* const begin = left_.data();
    const char* const end = begin + std::min(kDigits, left_.size());
    if (std::from_chars(begin, end, value, 16).ptr != begin + kDigits) fail("an escape is unknown");
    left_.remove_prefix(kDigits);
    return value;
  }

  std::string_view all_;
  std::string_view left_;
  std::string_view what_;
};

}  // namespace

Json Json::parse(std::string_view text, std::string_view what) { return Parser(text, what).whole(); }

const Json* Json::find(std::string_view name) const {
  if (object() == nullptr) return nullptr;
  for (const auto& [key, value] : *object()) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string Json::written() const {
  std::string list;
  const auto add = [&](std::string_view name, const Json& value) {
    list += fmt::format("{}{}{}", list.empty() ? "" : ",", name, value.written());
  };
  if (flag() != nullptr) return *flag() ? "true" : "false";
  if (number() != nullptr) return written_number(*number());
  if (text() != nullptr) return json_string(*text());
  if (array() != nullptr) {
    for (const Json& each : *array()) add("", each);
    return '[' + list + ']';
  }
  if (object() != nullptr) {
    for (const auto& [name, value] : *object()) add(json_string(name) + ':', value);
    return '{' + list + '}';
  }
  return "null";
}

std::string json_string(std::string_view text) {
  constexpr char32_t kReplacement = 0xfffd;
  std::string quoted = "\"";
  while (!text.empty()) {
    const Character first = first_character(text);
    if (first.value == '"' || first.value == '\\') quoted += '\\';
    if (first.valid && !is_control(first.value)) {
      quoted += text.substr(0, first.bytes);
    } else {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(first.valid ? first.value : kReplacement));
    }
    text.remove_prefix(first.bytes);
  }
  return quoted + '"';
}

}  // namespace mmtune

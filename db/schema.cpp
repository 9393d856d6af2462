#include "db/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "templates/base/letters.h"

namespace mmtune {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";

/// Words, numbers, quoted texts and single characters, without blanks and comments.
std::vector<std::string_view> tokens_of(std::string_view sql) {
  std::vector<std::string_view> tokens;
  while (!sql.empty()) {
    std::size_t size = 1;
    bool counts = true;
    if (kBlanks.find(sql[0]) != kBlanks.npos) {
      counts = false;
    } else if (sql.starts_with("--")) {
      size = std::min(sql.size(), sql.find('\n'));
      counts = false;
    } else if (sql[0] == '\'' || sql[0] == '"') {
      const auto end = sql.find(sql[0], 1);
      size = end == std::string_view::npos ? sql.size() : end + 1;
    } else if (is_of_name(sql[0])) {
      size = static_cast<std::size_t>(std::find_if_not(sql.begin(), sql.end(), is_of_name) - sql.begin());
    }
    if (counts) tokens.push_back(sql.substr(0, size));
    sql.remove_prefix(size);
  }
  return tokens;
}

/// The statements of a script, each as its tokens.
std::vector<std::vector<std::string_view>> statements_of(std::string_view script) {
  std::vector<std::vector<std::string_view>> statements(1);
  for (const std::string_view token : tokens_of(script)) {
    if (token == ";") {
      statements.emplace_back();
    } else {
      statements.back().push_back(token);
    }
  }
  statements.pop_back();  // Nothing follows the last semicolon.
  return statements;
}

/// "table" of CREATE TABLE.
std::string kind_of(const std::vector<std::string_view>& statement) {
  std::string kind(statement.size() > 2 ? statement[1] : "");
  std::transform(kind.begin(), kind.end(), kind.begin(), lower);
  return kind;
}

/// The statement cut into what stands before its first list, the items of the list, and the rest. Those of a table come
/// in a fixed order.
std::vector<std::string> canonical(const std::vector<std::string_view>& statement) {
  std::vector<std::string> parts(1);  // what stands before the list, its items, and what stands behind it
  int depth = 0;
  bool behind = false;
  for (const std::string_view token : statement) {
    const bool opens = !behind && token == "(" && depth++ == 0;
    const bool closes = !behind && token == ")" && --depth == 0;
    if (opens || closes || (depth == 1 && token == ",")) parts.emplace_back();
    parts.back().append(token) += ' ';
    behind = behind || closes;
  }
  for (std::string& part : parts) {
    if (part.starts_with("( ") || part.starts_with(", ")) part.erase(0, 2);
  }
  if (kind_of(statement) == "table") std::sort(parts.begin() + 1, parts.end());
  return parts;
}

/// The text from its first token to its last, all of which are parts of one text.
std::string_view statement_text(const std::vector<std::string_view>& statement) {
  const char* end = statement.back().data() + statement.back().size();
  return {statement.front().data(), static_cast<std::size_t>(end - statement.front().data())};
}

}  // namespace

Schema::Schema(std::string_view script) {
  for (const auto& statement : statements_of(script)) {
    if (statement.size() <= 2) continue;
    objects_[fmt::format("{} {}", kind_of(statement), statement[2])] = {statement_text(statement),
                                                                        canonical(statement)};
  }
}

std::string Schema::fault_of(Database& database) const {
  static const Schema kStatistics(
      "CREATE TABLE sqlite_stat1(tbl,idx,stat); CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample);");
  std::size_t found = 0;
  Rows rows = database.query("SELECT type, name, sql FROM sqlite_schema");
  while (rows.next()) {
    const std::string_view type = rows.text(0).value_or("");
    const std::string_view name = rows.text(1).value_or("");
    const std::string_view sql = rows.text(2).value_or("");
    if (type == "index" && rows.is_null(2)) continue;  // It is an index of a constraint.
    const std::string object = fmt::format("{} {}", type, name);
    const bool is_statistics = kStatistics.objects_.contains(object);
    const auto& expected = is_statistics ? kStatistics.objects_ : objects_;
    const auto ours = expected.find(object);
    if (ours == expected.end()) return fmt::format("holds the {} \"{}\", which no mmtune writes", type, name);
    if (sql != ours->second.text && canonical(tokens_of(sql)) != ours->second.parts) {
      return fmt::format("its {} is not that of this format", object);
    }
    if (!is_statistics) ++found;
  }
  return found == objects_.size() ? "" : "tables or indices are missing";
}

}  // namespace mmtune

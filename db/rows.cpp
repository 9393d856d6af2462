#include "db/rows.h"

#include <mmtune/error.h>

#include "db/image.h"

namespace mmtune {

void Reader::read_image(std::string& image) {
  image.clear();
  if (rows_.is_null(column_)) {
    ++column_;
  } else {
    const auto stored = rows_.blob(column_++);
    image = take(stored ? image_of(*stored) : std::nullopt);
  }
}

void Reader::read_settings(std::string& settings) {
  const int column = column_++;
  if (const auto bytes = rows_.blob(column)) {
    settings = take(settings_text(*bytes));
  } else {
    const auto text = rows_.text(column);
    settings = take(text && !settings_bytes(*text) ? std::optional<std::string>(*text) : std::nullopt);
  }
}

void refuse_row(const Database& database, std::string_view table, std::string_view fault) {
  throw DatabaseError(
      fmt::format("database {}: {} not written: {}; correct it and write again", database.path(), table, fault));
}

}  // namespace mmtune

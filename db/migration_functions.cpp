// Functions that steps between versions call: SQL cannot take texts apart.
#include <sqlite3.h>

#include "db/sqlite.h"
#include "db/tables.h"

namespace mmtune {
namespace {

using Context = sqlite3_context*;
using Values = sqlite3_value**;

std::string_view argument(Values values) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  if (bytes == nullptr) return "";
  return {bytes, static_cast<std::size_t>(sqlite3_value_bytes(values[0]))};
}

void give(Context context, std::string_view text) {
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void hash(Context context, int /*count*/, Values values) {
  const std::string_view text = argument(values);
  const auto bytes = hash_bytes(text);
  if (!bytes) return give(context, text);
  sqlite3_result_blob64(context, bytes->data(), bytes->size(), SQLITE_TRANSIENT);
}

void parameters(Context context, int /*count*/, Values values) {
  give(context, kernel_row("", argument(values), "").family.parameters);
}

void settings(Context context, int /*count*/, Values values) {
  give(context, kernel_row("", argument(values), "").settings);
}

void stored_settings(Context context, int /*count*/, Values values) {
  const std::string_view text = argument(values);
  const auto bytes = settings_bytes(text);
  if (!bytes) return give(context, text);
  sqlite3_result_blob64(context, bytes->data(), bytes->size(), SQLITE_TRANSIENT);
}

}  // namespace

void Database::add_migration_functions() {
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
  const auto add = [&](const char* name, auto* function) {
    const int code = sqlite3_create_function_v2(handle_, name, 1, kFlags, nullptr, function, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(code);
  };
  add("mmtune_hash", hash);
  add("mmtune_parameters", parameters);
  add("mmtune_settings", settings);
  add("mmtune_stored_settings", stored_settings);
}

}  // namespace mmtune

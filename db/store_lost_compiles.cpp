#include <algorithm>

#include "db/store_impl.h"

namespace mmtune {

void Store::put_lost_compile(const LostCompile& lost) {
  static const std::string find = fmt::format(
      "SELECT losses, limit_ms FROM lost_compile WHERE source_hash ="
      " :source_hash AND target = :target AND nvrtc = :nvrtc");
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  Transaction transaction(database, Transaction::Kind::write);
  LostCompile row = lost;
  row.losses = 1;
  row.last = utc_now();
  {
    Rows before = database.query(find, Named{"source_hash", Hash{lost.source_hash}}, Named{"target", lost.target},
                                 Named{"nvrtc", lost.nvrtc});
    if (before.next()) {
      row.losses += static_cast<int>(std::clamp<std::int64_t>(before.integer(0).value_or(0), 0, 1'000'000));
      row.limit_ms = std::max(row.limit_ms, before.real(1).value_or(0));
    }
  }
  write_row(database, row);
  transaction.commit();
}

std::vector<LostCompile> Store::lost_compiles() {
  static const std::string statement = fmt::format("SELECT {}{} ORDER BY family, config, source_hash, target, nvrtc",
                                                   sql::columns<LostCompile>(), sql::from<LostCompile>());
  const std::lock_guard lock(impl_->mutex);
  return valid_rows<LostCompile>(impl_->database->query(statement));
}

std::optional<LostCompile> Store::find_lost_compile(const std::string& source_hash, const std::string& target,
                                                    const std::string& nvrtc) {
  static const std::string statement =
      fmt::format("SELECT {}{} WHERE source_hash = :source_hash AND target = :target AND nvrtc = :nvrtc",
                  sql::columns<LostCompile>(), sql::from<LostCompile>());
  const std::lock_guard lock(impl_->mutex);
  Rows rows = impl_->database->query(statement, Named{"source_hash", Hash{source_hash}}, Named{"target", target},
                                     Named{"nvrtc", nvrtc});
  return rows.next() ? valid_row<LostCompile>(rows) : std::nullopt;
}

}  // namespace mmtune

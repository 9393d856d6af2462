// Memory for SQLite in fuzzers, where the sanitizer's allocations would take a third of the time.
#pragma once

#include <cstddef>

namespace mmtune::fuzz {

/// Makes SQLite, which nothing may have used before, take its memory from one block, one piece behind the other.
/// Pieces that are given back and what lies between pieces are poisoned, so that the address sanitizer finds their use.
/// For one thread.
void serve_sqlite();

/// The block is used again after an input, which must have given back what it took.
class SqliteMemory {
 public:
  SqliteMemory();
  ~SqliteMemory();
  SqliteMemory(const SqliteMemory&) = delete;
  SqliteMemory& operator=(const SqliteMemory&) = delete;

 private:
  std::size_t before_;
  std::size_t pieces_;
};

}  // namespace mmtune::fuzz

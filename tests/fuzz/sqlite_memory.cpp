#include "tests/fuzz/sqlite_memory.h"

#include <sanitizer/asan_interface.h>
#include <sqlite3.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/fuzz/fuzz.h"

namespace mmtune::fuzz {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 30;  // an amount of addresses: pages that are not touched cost nothing
constexpr std::size_t kUnit = 16;                     // alignment; what stands before a piece, and what lies behind it

char* block = nullptr;
std::size_t taken = 0;
std::size_t pieces = 0;

/// The way in which memory is taken says nothing of the input.
#define MMTUNE_UNTRACED __attribute__((no_sanitize("coverage")))

MMTUNE_UNTRACED std::size_t rounded(std::size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

/// Stands before the piece.
MMTUNE_UNTRACED std::size_t& size_of(void* piece) {
  return *reinterpret_cast<std::size_t*>(static_cast<char*>(piece) - kUnit);
}

MMTUNE_UNTRACED void* take(int bytes) {
  const std::size_t size = rounded(static_cast<std::size_t>(bytes));
  if (kBlock - taken < size + 2 * kUnit) return nullptr;
  char* piece = block + taken + kUnit;
  ASAN_UNPOISON_MEMORY_REGION(piece - kUnit, kUnit + size);
  ASAN_POISON_MEMORY_REGION(piece + size, kUnit);
  size_of(piece) = size;
  taken += size + 2 * kUnit;
  ++pieces;
  return piece;
}

MMTUNE_UNTRACED void give_back(void* piece) {
  if (piece == nullptr) return;
  ASAN_POISON_MEMORY_REGION(piece, size_of(piece));
  --pieces;
}

MMTUNE_UNTRACED int bytes_of(void* piece) { return piece == nullptr ? 0 : static_cast<int>(size_of(piece)); }

MMTUNE_UNTRACED void* resize(void* piece, int bytes) {
  void* larger = take(bytes);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, piece, std::min(size_of(piece), size_of(larger)));
  give_back(piece);
  return larger;
}

MMTUNE_UNTRACED int round_up(int bytes) { return static_cast<int>(rounded(static_cast<std::size_t>(bytes))); }
int begin(void*) { return SQLITE_OK; }
void end(void*) {}

}  // namespace

void serve_sqlite() {
  constexpr int kLazily = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* pages = mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, kLazily, -1, 0);
  require(pages != MAP_FAILED, "there is memory for SQLite");
  block = static_cast<char*>(pages);
  static sqlite3_mem_methods methods{take, give_back, resize, bytes_of, round_up, begin, end, nullptr};
  const bool is_served = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK &&
                         sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK &&
                         sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK;
  require(is_served, "nothing has used SQLite before");
}

SqliteMemory::SqliteMemory() : before_(taken), pieces_(pieces) {}

SqliteMemory::~SqliteMemory() {
  require(pieces == pieces_, "SQLite's memory is given back");
  taken = before_;
}

}  // namespace mmtune::fuzz

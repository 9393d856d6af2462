#include "tests/db/faulty_vfs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>

namespace mmtune::test {

/// SQLite's view of an open file; the real one's structure follows it in memory.
struct FaultyFile {
  sqlite3_file base;
  FaultyVfs* vfs;
  std::string* path;

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }

  /// Notes what stands in [offset, offset + size) and behind, before it changes.
  void note(std::int64_t offset, std::int64_t size) {
    sqlite3_int64 end = 0;
    real()->pMethods->xFileSize(real(), &end);
    std::string before(static_cast<std::size_t>(std::clamp<std::int64_t>(end - offset, 0, size)), '\0');
    if (!before.empty()) real()->pMethods->xRead(real(), before.data(), static_cast<int>(before.size()), offset);
    vfs->unsynced_.push_back({*path, offset, before, end});
  }
};

namespace {

FaultyFile& self(sqlite3_file* file) { return *reinterpret_cast<FaultyFile*>(file); }

}  // namespace

/// The functions that SQLite calls.
struct FaultyVfsCalls {
  static FaultyVfs& owner(sqlite3_vfs* vfs) { return *static_cast<FaultyVfs*>(vfs->pAppData); }
  static sqlite3_vfs* real(sqlite3_vfs* vfs) { return owner(vfs).real_; }

  static int close(sqlite3_file* file) {
    const int code = self(file).real()->pMethods->xClose(self(file).real());
    delete self(file).path;
    return code;
  }
  static int read(sqlite3_file* file, void* to, int size, sqlite3_int64 offset) {
    return self(file).real()->pMethods->xRead(self(file).real(), to, size, offset);
  }
  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
    auto* real_file = self(file).real();
    self(file).note(offset, size);
    if (const int code = self(file).vfs->next(SQLITE_IOERR_WRITE); code != SQLITE_OK) {
      real_file->pMethods->xWrite(real_file, from, size / 2, offset);
      return code;
    }
    return real_file->pMethods->xWrite(real_file, from, size, offset);
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    constexpr std::int64_t kAll = 1 << 30;
    self(file).note(size, kAll);
    if (const int code = self(file).vfs->next(SQLITE_IOERR_TRUNCATE); code != SQLITE_OK) return code;
    return self(file).real()->pMethods->xTruncate(self(file).real(), size);
  }
  static int sync(sqlite3_file* file, int flags) {
    if (const int code = self(file).vfs->next(SQLITE_IOERR_FSYNC); code != SQLITE_OK) return code;
    self(file).vfs->forget(*self(file).path);
    return self(file).real()->pMethods->xSync(self(file).real(), flags);
  }
  static int size(sqlite3_file* file, sqlite3_int64* size) {
    return self(file).real()->pMethods->xFileSize(self(file).real(), size);
  }
  static int lock(sqlite3_file* file, int kind) { return self(file).real()->pMethods->xLock(self(file).real(), kind); }
  static int unlock(sqlite3_file* file, int kind) {
    return self(file).real()->pMethods->xUnlock(self(file).real(), kind);
  }
  static int check_reserved(sqlite3_file* file, int* reserved) {
    return self(file).real()->pMethods->xCheckReservedLock(self(file).real(), reserved);
  }
  static int control(sqlite3_file* file, int operation, void* argument) {
    return self(file).real()->pMethods->xFileControl(self(file).real(), operation, argument);
  }
  static int sector_size(sqlite3_file* file) { return self(file).real()->pMethods->xSectorSize(self(file).real()); }
  static int characteristics(sqlite3_file* file) {
    return self(file).real()->pMethods->xDeviceCharacteristics(self(file).real());
  }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* flags_out) {
    static const sqlite3_io_methods methods = {
        1,       close,          read,    write,       truncate,        sync,    size,    lock,
        unlock,  check_reserved, control, sector_size, characteristics, nullptr, nullptr, nullptr,
        nullptr, nullptr,        nullptr};
    auto* opened = new (file) FaultyFile{{nullptr}, &owner(vfs), nullptr};
    const int code = real(vfs)->xOpen(real(vfs), name, opened->real(), flags, flags_out);
    if (opened->real()->pMethods == nullptr) return code;
    opened->base.pMethods = &methods;
    opened->path = new std::string(name == nullptr ? "" : name);
    return code;
  }
  static int remove(sqlite3_vfs* vfs, const char* name, int sync_directory) {
    if (const int code = owner(vfs).next(SQLITE_IOERR_DELETE); code != SQLITE_OK) return code;
    owner(vfs).forget(name);
    return real(vfs)->xDelete(real(vfs), name, sync_directory);
  }
  static int access(sqlite3_vfs* vfs, const char* name, int flags, int* result) {
    return real(vfs)->xAccess(real(vfs), name, flags, result);
  }
  static int full_name(sqlite3_vfs* vfs, const char* name, int size, char* full) {
    return real(vfs)->xFullPathname(real(vfs), name, size, full);
  }
  static int randomness(sqlite3_vfs* vfs, int size, char* bytes) {
    return real(vfs)->xRandomness(real(vfs), size, bytes);
  }
  static int sleep(sqlite3_vfs* vfs, int us) { return real(vfs)->xSleep(real(vfs), us); }
  static int time(sqlite3_vfs* vfs, double* now) { return real(vfs)->xCurrentTime(real(vfs), now); }
  static int last_error(sqlite3_vfs* vfs, int size, char* text) {
    return real(vfs)->xGetLastError(real(vfs), size, text);
  }
};

FaultyVfs::FaultyVfs() : real_(sqlite3_vfs_find(nullptr)) {
  vfs_.iVersion = 1;
  vfs_.szOsFile = static_cast<int>(sizeof(FaultyFile)) + real_->szOsFile;
  vfs_.mxPathname = real_->mxPathname;
  vfs_.zName = "faulty";
  vfs_.pAppData = this;
  vfs_.xOpen = FaultyVfsCalls::open;
  vfs_.xDelete = FaultyVfsCalls::remove;
  vfs_.xAccess = FaultyVfsCalls::access;
  vfs_.xFullPathname = FaultyVfsCalls::full_name;
  vfs_.xRandomness = FaultyVfsCalls::randomness;
  vfs_.xSleep = FaultyVfsCalls::sleep;
  vfs_.xCurrentTime = FaultyVfsCalls::time;
  vfs_.xGetLastError = FaultyVfsCalls::last_error;
  sqlite3_vfs_register(&vfs_, 1);
}

FaultyVfs::~FaultyVfs() {
  sqlite3_vfs_register(real_, 1);
  sqlite3_vfs_unregister(&vfs_);
}

void FaultyVfs::fail_at(int operation, Fault fault) {
  operations_ = 0;
  fail_at_ = operation;
  fault_ = fault;
  unsynced_.clear();
}

int FaultyVfs::next(int io_error) {
  ++operations_;
  const bool fails = fault_ == Fault::power_cut ? failed() : operations_ == fail_at_;
  if (!fails) return SQLITE_OK;
  return fault_ == Fault::disk_full ? SQLITE_FULL : io_error;
}

void FaultyVfs::forget(const std::string& path) {
  std::erase_if(unsynced_, [&](const Unsynced& write) { return write.path == path; });
}

void FaultyVfs::cut_power(std::mt19937& random) {
  for (; !unsynced_.empty(); unsynced_.pop_back()) {
    const Unsynced& write = unsynced_.back();
    if (random() % 2 == 0 || !std::filesystem::exists(write.path)) continue;
    std::fstream file(write.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(write.offset);
    file.write(write.before.data(), static_cast<std::streamsize>(write.before.size()));
    file.close();
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(write.path));
    if (size > write.size_before) std::filesystem::resize_file(write.path, static_cast<std::size_t>(write.size_before));
  }
  heal();
}

}  // namespace mmtune::test

#include "runtime/base/dump.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "runtime/base/env.h"
#include "runtime/base/log.h"

namespace mmtune {
namespace {

struct KindName {
  std::string_view word;       ///< the word in MMTUNE_DUMP
  std::string_view extension;  ///< the extension of the file
};

/// The kinds, in the order of Dump::Kind.
constexpr std::array<KindName, 4> kKinds = {{{"src", "cu"}, {"ptx", "ptx"}, {"log", "log"}, {"cubin", "cubin"}}};

/// Follows no link: names can be foretold, and the directory may be one that others write to. False with errno.
bool write_file(const std::string& path, std::string_view contents) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  if (file < 0) return false;
  bool written = true;
  while (written && !contents.empty()) {
    const auto count = write(file, contents.data(), contents.size());
    written = count > 0 || (count < 0 && errno == EINTR);
    if (count > 0) contents.remove_prefix(static_cast<std::size_t>(count));
  }
  return close(file) == 0 && written;
}

}  // namespace

Dump Dump::from_environment() {
  Dump dump;
  dump.directory_ = env::get("MMTUNE_DUMP_DIR").value_or(".");
  std::istringstream words(env::get("MMTUNE_DUMP").value_or(""));
  for (std::string word; std::getline(words, word, ',');) {
    const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&word](const KindName& k) { return k.word == word; });
    if (kind == kKinds.end())
      throw UsageError(fmt::format("MMTUNE_DUMP: \"{}\" is none of src, ptx, log, cubin", word));
    dump.kinds_ |= 1u << (kind - kKinds.begin());
  }
  return dump;
}

bool Dump::wants(Kind kind) const { return (kinds_ >> static_cast<unsigned>(kind) & 1u) != 0; }

void Dump::write(Kind kind, const Source& source, std::string_view contents) const {
  if (!wants(kind)) return;
  const std::string name =
      fmt::format("{}-{}.{}", source.name, source.hash, kKinds[static_cast<std::size_t>(kind)].extension);
  const auto path = std::filesystem::path(directory_) / name;
  if (write_file(path, contents)) return;
  log::warning("{}: cannot be written: {}; check MMTUNE_DUMP_DIR", path.string(), std::strerror(errno));
}

}  // namespace mmtune

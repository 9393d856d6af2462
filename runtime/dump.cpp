#include "runtime/dump.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/env.h"
#include "runtime/log.h"

namespace mmtune {

namespace {

struct KindName {
  std::string_view word;       ///< in MMTUNE_DUMP
  std::string_view extension;  ///< of the file
};

/// In the order of Dump::Kind.
constexpr std::array<KindName, 4> kKinds = {{{"src", "cu"}, {"ptx", "ptx"}, {"log", "log"}, {"cubin", "cubin"}}};

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
  std::ofstream file(path, std::ios::binary);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  if (!file.flush()) log::warning("{}: cannot be written; check MMTUNE_DUMP_DIR", path.string());
}

}  // namespace mmtune

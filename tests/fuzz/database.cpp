// A database with damage anywhere. The input is a list of patches: three bytes for the place in the file, one for the
// number of bytes, these bytes. A patch without bytes cuts the file there.
#include "tests/fuzz/database.h"

MMTUNE_FUZZER(database) {
  using namespace mmtune;
  constexpr std::size_t kHeader = 4;
  std::string bytes = fuzz::sample().bytes();
  const fuzz::SqliteMemory memory;
  auto patches = fuzz::text_of(data, size);
  while (patches.size() >= kHeader && !bytes.empty()) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(patches[i]); };
    const std::size_t place = (byte(0) | byte(1) << 8U | byte(2) << 16U) % bytes.size();
    const std::string_view patch = patches.substr(kHeader, byte(3));
    if (patch.empty()) {
      bytes.resize(place);
    } else {
      bytes.replace(place, std::min(patch.size(), bytes.size() - place), patch);
    }
    patches.remove_prefix(kHeader + patch.size());
  }
  fuzz::use_database(bytes, fuzz::text_of(data, size));
  return 0;
}

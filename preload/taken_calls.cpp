#include "preload/taken_calls.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "preload/real.h"

namespace mmtune {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kCalled = R_X86_64_JUMP_SLOT, kTaken = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr std::uint32_t kCalled = R_AARCH64_JUMP_SLOT, kTaken = R_AARCH64_GLOB_DAT;
#else
constexpr std::uint32_t kCalled = ~0U, kTaken = ~0U;
#endif

using TableEntry = std::atomic<void*>;

/// A loaded library.
struct Loaded {
  std::string path;
  ElfW(Addr) base;
  std::span<const ElfW(Phdr)> headers;
};

struct Search {
  std::string_view prefix;
  std::vector<Loaded> found;
};

/// A callback of dl_iterate_phdr. The loader is locked meanwhile, so that nothing is done but to look.
int note(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const std::string_view path = info->dlpi_name;
  if (path.substr(path.rfind('/') + 1).starts_with(search.prefix)) {
    search.found.push_back({std::string(path), info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum}});
  }
  return 0;
}

/// The parts of a library's dynamic section that name its entries.
class Tables {
 public:
  explicit Tables(const Loaded& library) : base_(library.base) {
    for (const auto& header : library.headers) {
      if (header.p_type == PT_DYNAMIC) read(reinterpret_cast<const ElfW(Dyn)*>(base_ + header.p_vaddr));
    }
  }

  /// visit(name, entry) for every function or object that the library takes from others.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [first, bytes] : {calls_, others_}) {
      const auto* relocations = reinterpret_cast<const ElfW(Rela)*>(first);
      for (std::size_t i = 0; i < bytes / sizeof(ElfW(Rela)); ++i) {
        const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(relocations[i].r_info));
        if (type != kCalled && type != kTaken) continue;
        const auto* symbols = reinterpret_cast<const ElfW(Sym)*>(symbols_);
        const char* names = reinterpret_cast<const char*>(names_);
        visit(names + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name,
              reinterpret_cast<TableEntry*>(base_ + relocations[i].r_offset));
      }
    }
  }

 private:
  struct Relocations {
    ElfW(Addr) first = 0;
    std::size_t bytes = 0;
  };

  void read(const ElfW(Dyn) * section) {
    // glibc has made addresses of offsets; other loaders leave them.
    const auto address = [&](const ElfW(Dyn) & at) { return at.d_un.d_ptr + (at.d_un.d_ptr < base_ ? base_ : 0); };
    for (const ElfW(Dyn)* at = section; at->d_tag != DT_NULL; ++at) {
      if (at->d_tag == DT_SYMTAB) symbols_ = address(*at);
      if (at->d_tag == DT_STRTAB) names_ = address(*at);
      if (at->d_tag == DT_JMPREL) calls_.first = address(*at);
      if (at->d_tag == DT_PLTRELSZ) calls_.bytes = at->d_un.d_val;
      if (at->d_tag == DT_RELA) others_.first = address(*at);
      if (at->d_tag == DT_RELASZ) others_.bytes = at->d_un.d_val;
    }
  }

  ElfW(Addr) base_, symbols_ = 0, names_ = 0;
  Relocations calls_, others_;
};

/// Whether the loader has made this page read-only, which it then is again. A page of which only a part is to be, where
/// pages are larger than the linker knew, the loader leaves to what is written behind that.
bool is_sealed(const Loaded& library, std::uintptr_t page, std::uintptr_t page_bytes) {
  for (const auto& header : library.headers) {
    const ElfW(Addr) begin = (library.base + header.p_vaddr) & ~(page_bytes - 1);
    const ElfW(Addr) end = library.base + header.p_vaddr + header.p_memsz;
    if (header.p_type == PT_GNU_RELRO && page >= begin && page + page_bytes <= end) return true;
  }
  return false;
}

bool point(const Loaded& library, TableEntry* entry, void* function) {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(entry) & ~(page_bytes - 1);
  void* const page = reinterpret_cast<void*>(address);
  const bool seals = is_sealed(library, address, page_bytes);
  if (seals && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  entry->store(function, std::memory_order_release);
  if (seals) mprotect(page, page_bytes, PROT_READ);
  return true;
}

}  // namespace

int take_calls(std::string_view prefix, std::span<const OwnFunction> functions) {
  Search search{prefix, {}};
  dl_iterate_phdr(note, &search);
  int taken = 0;
  for (const Loaded& library : search.found) {
    void* const handle = dlopen(library.path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) continue;
    Tables(library).for_each([&](const char* name, TableEntry* entry) {
      for (const OwnFunction& own : functions) {
        if (std::strcmp(own.name, name) != 0) continue;
        prefer_functions_of(handle);
        taken += point(library, entry, own.address) ? 1 : 0;
      }
    });
  }
  return taken;
}

}  // namespace mmtune

#include "preload/real.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <string>
#include <string_view>

namespace mmtune {
namespace {

std::atomic<void*> preferred = nullptr;

/// A library that is loaded, by the name that the loader knows it by; null if it is not. What is loaded stays: cuBLAS
/// is never closed by a program that is about to call it.
void* loaded(const char* name) { return dlopen(name, RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL); }

struct Wanted {
  std::string_view prefix;  ///< "libcublas.so"
  std::string path;
};

/// A callback of dl_iterate_phdr, which stops at the first loaded file whose name begins as is wanted.
int look_at(dl_phdr_info* info, std::size_t, void* data) {
  auto& wanted = *static_cast<Wanted*>(data);
  const std::string_view path = info->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(wanted.prefix)) return 0;
  wanted.path = path;
  return 1;
}

void* find_loaded(std::string_view prefix) {
  constexpr std::array kMajorVersions = {"13", "12", "11"};
  for (const char* version : kMajorVersions) {
    if (void* library = loaded((std::string(prefix) + "." + version).c_str())) return library;
  }
  Wanted wanted{prefix, ""};
  dl_iterate_phdr(look_at, &wanted);
  return wanted.path.empty() ? nullptr : loaded(wanted.path.c_str());
}

}  // namespace

void prefer_functions_of(void* library) { preferred.store(library, std::memory_order_release); }

void* find_real(const char* name) {
  if (void* const library = preferred.load(std::memory_order_acquire)) {
    if (void* const function = dlsym(library, name)) return function;
  }
  if (void* next = dlsym(RTLD_NEXT, name)) return next;
  const bool is_lt = std::string_view(name).starts_with("cublasLt");
  void* library = find_loaded(is_lt ? "libcublasLt.so" : "libcublas.so");
  return library == nullptr ? nullptr : dlsym(library, name);
}

}  // namespace mmtune

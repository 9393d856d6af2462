// The types behind the opaque handles of C.
#pragma once

#include <mmtune/error.h>
#include <mmtune/mmtune.h>
#include <mmtune/mmtune_c.h>

#include <string>
#include <string_view>

struct mmtune_library {
  mmtune::Library library;
};

namespace mmtune {

/// The object of a pointer that must not be null. Throws UsageError naming it if it is null.
template <class T>
T& required(T* pointer, std::string_view name) {
  if (pointer == nullptr) throw UsageError(std::string(name) + ": null pointer");
  return *pointer;
}

}  // namespace mmtune

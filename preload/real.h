// The functions of the cuBLAS that the program itself has loaded.
#pragma once

#include <atomic>

namespace mmtune {

/// The address of a function of libcublas or libcublasLt; null if neither is loaded. Looked for behind this library in
/// the order of the loader, then in the libraries of these names that are loaded, however a program loaded them.
/// Nothing is loaded for it.
void* find_real(const char* name);

/// From now on find_real() looks first for what the library behind this handle of dlopen() and those that it was linked
/// with have.
void prefer_functions_of(void* library);

/// One of these functions. Thread safe; found when it is called for the first time.
template <class Function>
class Real {
 public:
  /// `name` must live as long.
  explicit constexpr Real(const char* name) : name_(name) {}

  /// Null if no cuBLAS is loaded.
  Function* get() {
    Function* known = function_.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    known = reinterpret_cast<Function*>(find_real(name_));
    function_.store(known, std::memory_order_release);
    return known;
  }

 private:
  const char* name_;
  std::atomic<Function*> function_ = nullptr;
};

}  // namespace mmtune

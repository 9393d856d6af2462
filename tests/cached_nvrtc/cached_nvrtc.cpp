// Stands in for NVRTC where tests run the whole program: asks NVRTC, and keeps what it has compiled in files, since
// many tests compile the same sources. Functions that are not here are found in NVRTC, which this library is linked
// with.
#include <dlfcn.h>
#include <nvrtc.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "templates/base/hash.h"
#include "test_paths.h"

namespace {

namespace fs = std::filesystem;

/// NVRTC's own function of a name that is taken here.
template <class Function>
Function* own(const char* name) {
  static void* const library = dlopen(MMTUNE_NVRTC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}

/// The log, the machine code and the PTX of a source that compiles.
enum Part { kLog, kCubin, kPtx };
using Results = std::array<std::string, 3>;

struct State {
  mmtune::ContentHash key;         ///< of all that decides the results
  std::optional<Results> results;  ///< once it has compiled
};

State& state_of(nvrtcProgram program) {
  static std::mutex mutex;
  static std::map<nvrtcProgram, State> states;  // never erased from: a program in the same place begins anew
  const std::lock_guard lock(mutex);
  return states[program];
}

std::optional<Results> read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<std::size_t, 3> sizes{};
  for (std::size_t& size : sizes) file >> size;
  file.get();
  Results results;
  for (std::size_t i = 0; i < sizes.size() && file; ++i) {
    results[i].resize(sizes[i]);
    file.read(results[i].data(), static_cast<std::streamsize>(sizes[i]));
  }
  return file ? std::optional(results) : std::nullopt;
}

/// Several processes may write the same at the same time.
void write(const fs::path& path, const Results& results) {
  fs::path unfinished = path;
  unfinished += '_' + std::to_string(getpid()) + '_' + std::to_string(reinterpret_cast<std::uintptr_t>(&results));
  std::error_code none;
  fs::create_directories(path.parent_path(), none);
  std::ofstream file(unfinished, std::ios::binary);
  for (const std::string& result : results) file << result.size() << ' ';
  for (const std::string& result : results) file << result;
  file.close();
  if (file) {
    fs::rename(unfinished, path, none);
  } else {
    fs::remove(unfinished, none);
  }
}

std::string fetch(nvrtcProgram program, const char* get_size, const char* get) {
  std::size_t size = 0;
  own<decltype(nvrtcGetProgramLogSize)>(get_size)(program, &size);
  std::string result(size, '\0');
  own<decltype(nvrtcGetProgramLog)>(get)(program, result.data());
  return result;
}

nvrtcResult size_of(nvrtcProgram program, Part part, std::size_t* size, const char* name) {
  const auto& results = state_of(program).results;
  if (!results) return own<decltype(nvrtcGetProgramLogSize)>(name)(program, size);
  *size = (*results)[part].size();
  return NVRTC_SUCCESS;
}

nvrtcResult copy_of(nvrtcProgram program, Part part, char* target, const char* name) {
  const auto& results = state_of(program).results;
  if (!results) return own<decltype(nvrtcGetProgramLog)>(name)(program, target);
  (*results)[part].copy(target, (*results)[part].size());
  return NVRTC_SUCCESS;
}

}  // namespace

extern "C" {

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int count,
                               const char* const* headers, const char* const* names) {
  const nvrtcResult result =
      own<decltype(nvrtcCreateProgram)>("nvrtcCreateProgram")(program, source, name, count, headers, names);
  int major = 0, minor = 0;
  nvrtcVersion(&major, &minor);
  mmtune::ContentHash key;
  key.add(std::to_string(major)).add(std::to_string(minor)).add(source).add(name);
  for (int i = 0; i < count; ++i) key.add(headers[i]).add(names[i]);
  if (result == NVRTC_SUCCESS) state_of(*program) = {key, std::nullopt};
  return result;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  State& state = state_of(program);
  for (int i = 0; i < count; ++i) state.key.add(options[i]);
  const fs::path path = fs::path(MMTUNE_CACHED_NVRTC_FOLDER) / "programs" / state.key.hex();
  state.results = read(path);
  if (state.results) return NVRTC_SUCCESS;
  const nvrtcResult result = own<decltype(nvrtcCompileProgram)>("nvrtcCompileProgram")(program, count, options);
  if (result != NVRTC_SUCCESS) return result;
  state.results = {fetch(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog"),
                   fetch(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN"),
                   fetch(program, "nvrtcGetPTXSize", "nvrtcGetPTX")};
  write(path, *state.results);
  return result;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  return size_of(program, kLog, size, "nvrtcGetProgramLogSize");
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  return copy_of(program, kLog, log, "nvrtcGetProgramLog");
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  return size_of(program, kCubin, size, "nvrtcGetCUBINSize");
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) {
  return copy_of(program, kCubin, cubin, "nvrtcGetCUBIN");
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size) {
  return size_of(program, kPtx, size, "nvrtcGetPTXSize");
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* ptx) { return copy_of(program, kPtx, ptx, "nvrtcGetPTX"); }
}

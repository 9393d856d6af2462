#include "runtime/gpu/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <nvrtc.h>

#include <algorithm>
#include <chrono>
#include <clocale>
#include <cmath>
#include <filesystem>
#include <mutex>

#include "runtime/base/dump.h"
#include "runtime/base/dynamic_library.h"
#include "runtime/base/env.h"

namespace mmtune {
namespace {

using CancelCallback = int (*)(void* payload, void* reserved);

std::vector<std::string> candidates() {
  if (auto file = env::get("MMTUNE_NVRTC")) return {*file};
  const std::vector<std::string> names = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  std::vector<std::string> files;
  for (const std::string& directory : env::cuda_library_directories()) {
    for (const std::string& name : names) files.push_back((std::filesystem::path(directory) / name).string());
  }
  files.insert(files.end(), names.begin(), names.end());
  return files;
}

/// NVRTC opens libnvrtc-builtins by its bare name, which the loader may not find. Once loaded from beside libnvrtc, it
/// is found by that name.
void load_builtins(const std::string& nvrtc, const std::string& version) {
  const auto file = std::filesystem::path(nvrtc).parent_path() / ("libnvrtc-builtins.so." + version);
  if (std::filesystem::exists(file)) dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// Before 12.7, compiling could leave the process with another locale. Such versions compile one program at a time,
/// and the locale is put back.
class LocaleGuard {
 public:
  explicit LocaleGuard(std::mutex& mutex) : lock_(mutex), saved_(std::setlocale(LC_ALL, nullptr)) {}
  ~LocaleGuard() { std::setlocale(LC_ALL, saved_.c_str()); }
  LocaleGuard(const LocaleGuard&) = delete;
  LocaleGuard& operator=(const LocaleGuard&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  std::string saved_;
};

int poll_cancelled(void* payload, void*) { return (*static_cast<const std::function<bool()>*>(payload))() ? 1 : 0; }

}  // namespace

struct Nvrtc::Api {
  decltype(&::nvrtcGetErrorString) error_string = nullptr;
  decltype(&::nvrtcVersion) get_version = nullptr;
  decltype(&::nvrtcGetNumSupportedArchs) arch_count = nullptr;
  decltype(&::nvrtcGetSupportedArchs) archs = nullptr;
  decltype(&::nvrtcCreateProgram) create = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy = nullptr;
  decltype(&::nvrtcCompileProgram) compile = nullptr;
  decltype(&::nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) log = nullptr;
  decltype(&::nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&::nvrtcGetCUBIN) cubin = nullptr;
  decltype(&::nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&::nvrtcGetPTX) ptx = nullptr;
  nvrtcResult (*set_flow_callback)(nvrtcProgram, CancelCallback, void*) = nullptr;  ///< null before 12.8

  int version = 0;  ///< the version as 100 * major + minor
  CompileFor compile_for = CompileFor::speed;
  Dump dump;
  mutable std::mutex one_at_a_time;  ///< the lock that LocaleGuard asks for

  explicit Api(const DynamicLibrary& library);

  void check(nvrtcResult result, const char* call) const {
    if (result != NVRTC_SUCCESS) throw DeviceError(fmt::format("{} failed: {}", call, error_string(result)));
  }

  /// A text or binary that NVRTC first tells the size of.
  template <class GetSize, class Get>
  std::string fetch(nvrtcProgram program, GetSize get_size, Get get) const {
    std::size_t size = 0;
    check(get_size(program, &size), "NVRTC: size of a result");
    std::string bytes(size, '\0');
    if (size > 0) check(get(program, bytes.data()), "NVRTC: fetching a result");
    return bytes;
  }

  std::vector<std::string> options(const CompileTarget& target) const;
  nvrtcResult run(nvrtcProgram program, const CompileTarget& target, const std::function<bool()>& cancelled) const;
};

Nvrtc::Api::Api(const DynamicLibrary& library) {
  const auto bind = [&library](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.require(symbol));
  };
  bind(error_string, "nvrtcGetErrorString");
  bind(get_version, "nvrtcVersion");
  bind(arch_count, "nvrtcGetNumSupportedArchs");
  bind(archs, "nvrtcGetSupportedArchs");
  bind(create, "nvrtcCreateProgram");
  bind(destroy, "nvrtcDestroyProgram");
  bind(compile, "nvrtcCompileProgram");
  bind(log_size, "nvrtcGetProgramLogSize");
  bind(log, "nvrtcGetProgramLog");
  bind(cubin_size, "nvrtcGetCUBINSize");
  bind(cubin, "nvrtcGetCUBIN");
  bind(ptx_size, "nvrtcGetPTXSize");
  bind(ptx, "nvrtcGetPTX");
  set_flow_callback = reinterpret_cast<decltype(set_flow_callback)>(library.find("nvrtcSetFlowCallback"));
}

std::vector<std::string> Nvrtc::Api::options(const CompileTarget& target) const {
  // IEEE arithmetic, so that one error bound holds for every kernel: contraction, but no flushing, no approximation.
  std::vector<std::string> options = {"--gpu-architecture=" + target.name,
                                      "--std=c++20",
                                      "--fmad=true",
                                      "--ftz=false",
                                      "--prec-div=true",
                                      "--prec-sqrt=true",
                                      "--ptxas-options=-v"};
  // A cached result would come without its log.
  if (version >= 1209) options.push_back("--no-cache");
  // Textures, launches from kernels and the CUDA runtime's types, which no kernel has, are not even read.
  if (version >= 1300 && compile_for == CompileFor::diagnosis) {
    options.insert(options.end(), {"--Ofast-compile=mid", "--minimal"});
  }
  return options;
}

nvrtcResult Nvrtc::Api::run(nvrtcProgram program, const CompileTarget& target,
                            const std::function<bool()>& cancelled) const {
  if (cancelled && set_flow_callback != nullptr) {
    check(set_flow_callback(program, poll_cancelled, const_cast<std::function<bool()>*>(&cancelled)),
          "nvrtcSetFlowCallback");
  }
  const std::vector<std::string> texts = options(target);
  std::vector<const char*> arguments;
  for (const std::string& text : texts) arguments.push_back(text.c_str());
  const auto compile_now = [&] { return compile(program, static_cast<int>(arguments.size()), arguments.data()); };
  if (version >= 1207) return compile_now();
  const LocaleGuard guard(one_at_a_time);
  return compile_now();
}

Nvrtc Nvrtc::load(CompileFor what) {
  const DynamicLibrary library = DynamicLibrary::open(
      "NVRTC", candidates(), "install the CUDA toolkit 12 or later, or set MMTUNE_NVRTC to the file of libnvrtc");
  const auto api = std::make_shared<Api>(library);
  int major = 0;
  int minor = 0;
  api->check(api->get_version(&major, &minor), "nvrtcVersion");
  api->version = 100 * major + minor;
  api->compile_for = what;
  api->dump = Dump::from_environment();

  Nvrtc nvrtc;
  nvrtc.path_ = library.path();
  nvrtc.version_ = fmt::format("{}.{}", major, minor);
  load_builtins(nvrtc.path_, nvrtc.version_);
  int count = 0;
  api->check(api->arch_count(&count), "nvrtcGetNumSupportedArchs");
  nvrtc.supported_.resize(static_cast<std::size_t>(count));
  if (count > 0) api->check(api->archs(nvrtc.supported_.data()), "nvrtcGetSupportedArchs");
  std::sort(nvrtc.supported_.begin(), nvrtc.supported_.end());
  nvrtc.api_ = api;
  return nvrtc;
}

namespace {

/// Whether ptxas made asynchronous multiplications of warpgroups wait for each other, which it only mentions.
bool serializes_wgmma(std::string_view log) {
  return log.find("wgmma.mma_async instructions are serialized") != std::string_view::npos;
}

/// Results that speak of the source, or of a wish to stop, rather than of the installation.
bool blames_source(nvrtcResult result) {
  constexpr int kCancelled = 16;  // NVRTC_ERROR_CANCELLED; older headers lack it
  return result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_INTERNAL_ERROR ||
         result == NVRTC_ERROR_OUT_OF_MEMORY || result == NVRTC_ERROR_PROGRAM_CREATION_FAILURE ||
         static_cast<int>(result) == kCancelled;
}

}  // namespace

Compilation Nvrtc::compile(const Source& source, const TemplateFiles& files, const CompileTarget& target,
                           const std::function<bool()>& cancelled) const {
  const auto start = std::chrono::steady_clock::now();
  std::vector<const char*> names;
  std::vector<const char*> headers;
  for (const auto& [name, text] : files.device_headers()) {
    names.push_back(name.c_str());
    headers.push_back(text.c_str());
  }
  api_->dump.write(Dump::Kind::src, source, source.text);

  nvrtcProgram program = nullptr;
  api_->check(api_->create(&program, source.text.c_str(), (source.name + ".cu").c_str(), static_cast<int>(names.size()),
                           headers.data(), names.data()),
              "nvrtcCreateProgram");
  const auto destroy = [this](nvrtcProgram p) { api_->destroy(&p); };
  const std::unique_ptr<std::remove_pointer_t<nvrtcProgram>, decltype(destroy)> owner(program, destroy);

  const nvrtcResult result = api_->run(program, target, cancelled);
  Compilation compilation;
  compilation.log = api_->fetch(program, api_->log_size, api_->log);
  while (!compilation.log.empty() && compilation.log.back() == '\0') compilation.log.pop_back();
  if (result == NVRTC_SUCCESS) {
    compilation.cubin = api_->fetch(program, api_->cubin_size, api_->cubin);
    compilation.code_hash = hash_machine_code(compilation.cubin);
    compilation.kernels = parse_resource_report(compilation.log);
    if (api_->dump.wants(Dump::Kind::ptx)) compilation.ptx = api_->fetch(program, api_->ptx_size, api_->ptx);
    if (serializes_wgmma(compilation.log)) compilation.cubin.clear();
  } else {
    compilation.log += fmt::format("nvrtcCompileProgram for {}: {}\n", target.name, api_->error_string(result));
  }
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  compilation.compile_ms = std::round(taken.count());
  api_->dump.write(Dump::Kind::ptx, source, compilation.ptx);
  api_->dump.write(Dump::Kind::log, source, compilation.log);
  api_->dump.write(Dump::Kind::cubin, source, compilation.cubin);
  if (result != NVRTC_SUCCESS && !blames_source(result)) {
    throw DeviceError(fmt::format("{} cannot compile for {}: {}", path_, target.name, compilation.log));
  }
  return compilation;
}

}  // namespace mmtune

#include "tests/shim/program.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "test_paths.h"
#include "tests/shim/product.h"

extern char** environ;  // NOLINT: POSIX wants it declared

namespace mmtune::shim {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  if (!(file << text)) throw Error(fmt::format("{}: cannot be written", path.string()));
}

/// A folder of this process; removed at its end unless a report ends it.
class Folder {
 public:
  Folder() : path_((fs::path(MMTUNE_SHIM_FOLDER) / "XXXXXX").string()), owner_(getpid()) {
    fs::create_directories(MMTUNE_SHIM_FOLDER);
    if (mkdtemp(path_.data()) == nullptr) throw Error(fmt::format("{}: cannot be created", path_));
  }
  ~Folder() {
    std::error_code none;
    if (getpid() == owner_) fs::remove_all(path_, none);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path path() const { return path_; }

 private:
  std::string path_;
  pid_t owner_;
};

/// The instructions of tensor cores and of the warps that drive them; they run by stand-ins for the headers that have
/// them, and not where another text does.
constexpr std::string_view kBeyond[] = {"wgmma",    "tcgen05",   "mma.sync",  "ldmatrix",
                                        "stmatrix", "movmatrix", "setmaxnreg"};

std::string without_comments(std::string_view text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    kept += text.substr(at, std::min(text.find("//", at), end) - at);
    at = end;
  }
  return kept;
}

/// Whether a text has this instruction, with what may follow its name.
bool has_instruction(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];  // part of a longer name, or of a file's
    const bool begins = std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '.' && before != '/';
    if (begins && text.substr(at + name.size(), 1) == ".") return true;
  }
  return false;
}

/// Makes every declaration of dynamic shared memory, "extern __shared__ T NAME[];" in a line of its own, a macro that
/// asks the machine for it.
void replace_dynamic_shared(std::string& text) {
  constexpr std::string_view kDeclaration = "extern __shared__ ";
  for (std::size_t at = text.find(kDeclaration); at != text.npos; at = text.find(kDeclaration, at)) {
    const std::size_t begin = text.find_last_not_of(' ', at - 1) + 1, end = text.find('\n', at);
    if (text[begin - 1] != '\n' || end < 3 || text.substr(end - 3, 3) != "[];") {
      throw Error("extern __shared__: the declaration is no line that ends with []");
    }
    const std::size_t name = text.rfind(' ', end) + 1;
    const std::string macro =
        fmt::format("#define {} (::mmtune::shim::dynamic_shared())", text.substr(name, end - 3 - name));
    text.replace(begin, end - begin, macro);
    at = begin + macro.size();
  }
}

/// The source with what the host needs around it: dynamic shared memory is asked from the machine, and every kernel
/// gets a function that calls it.
std::string host_text(const Source& source, const LaunchPlan& plan) {
  std::string rendered = source.text;
  replace_dynamic_shared(rendered);
  std::string text = "#include \"shim.h\"\n";
  text += fmt::format("#line 1 \"{}\"\n{}\n", source.name, rendered);
  std::set<std::string> kernels;
  for (const LaunchStep& step : plan.steps) kernels.insert(step.kernel);
  for (const std::string& kernel : kernels) {
    text += fmt::format(
        "extern \"C\" __attribute__((visibility(\"default\"))) void call_{0}(void** arguments, int count) {{\n"
        "  mmtune::shim::call({0}, arguments, count);\n}}\n",
        kernel);
  }
  return text;
}

/// Throws Error with what the compiler said.
void compile(const fs::path& source, const fs::path& library, const fs::path& headers) {
  std::vector<std::string> words = {
      MMTUNE_SHIM_COMPILER, "-std=c++20", "-Og", "-g1", "-fPIC", "-shared", "-nostdlib",
      // What is not in it is in this program, and one library's symbols must not stand in for another's.
      "-fvisibility=hidden",
      // Vectors are read where elements were written.
      "-fno-strict-aliasing", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
      // Calls of the address sanitizer instead of its instructions: a twentieth less time to compile and run
      "--param=asan-instrumentation-with-call-threshold=0",
      // gcc's word on an old change of its ABI
      "-Wno-psabi",
      // The machine's own headers come before others.
      std::string("-I") + MMTUNE_SOURCE_DIR + "/tests/shim/device", "-I" + headers.string(), "-I" MMTUNE_SHIM_HEADERS,
      source.string(), "-o", library.string()};
  // Checks that name their faults take a quarter of the time to compile, and a seventh of the rest those of addresses
  // that the address sanitizer finds when they are used.
  if (std::getenv("MMTUNE_TEST_NAME_FAULTS") == nullptr) {
    words.emplace_back("-fsanitize-undefined-trap-on-error");
    words.emplace_back("-fno-sanitize=null,object-size,pointer-overflow");
  }
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  const std::string log = library.string() + ".log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw Error(fmt::format("{}: cannot be started", words[0]));
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw Error(fmt::format("{}: does not compile for the host\n{}", source.string(), read_file(log)));
}

}  // namespace

std::string beyond_the_host(const Source& source, const TemplateFiles& files) {
  std::string text = source.text;
  for (const std::string& header : included_headers(source.text, files)) {
    if (!fs::exists(fs::path(MMTUNE_SOURCE_DIR) / "tests/shim/device" / header))
      text += files.device_headers().at(header);
  }
  text = without_comments(text);
  for (const std::string_view name : kBeyond) {
    if (has_instruction(text, name)) return fmt::format("{} cannot run on the host: the GPU suite covers it", name);
  }
  return "";
}

Program::Program(const Source& source, const LaunchPlan& plan, const TemplateFiles& files) {
  if (const std::string reason = beyond_the_host(source, files); !reason.empty()) throw Error(reason);
  static const Folder folder;
  static int count = 0;
  const fs::path own = folder.path() / fmt::format("{}_{}", source.name, ++count);
  const fs::path text = own / "kernel.cpp";
  const fs::path library = own / "kernel.so";
  const fs::path headers = own / "headers";
  const auto& of_tree = kernel_sources().device_headers();
  for (const auto& [header, content] : files.device_headers()) {
    const auto found = of_tree.find(header);
    if (found == of_tree.end() || found->second != content) write_file(headers / header, content);
  }
  write_file(text, host_text(source, plan));
  compile(text, library, headers);
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw Error(fmt::format("{}: {}", library.string(), dlerror()));
}

Program::Kernel Program::kernel(const std::string& name) const {
  void* const found = dlsym(library_, ("call_" + name).c_str());
  if (found == nullptr) throw Error(fmt::format("{}: the source has no such kernel", name));
  return reinterpret_cast<Kernel>(found);
}

}  // namespace mmtune::shim

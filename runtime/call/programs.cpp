#include "runtime/call/programs.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <exception>

#include "runtime/base/log.h"

namespace mmtune {

std::string Programs::stored(const std::string& binary_hash) const {
  if (const auto kept = kept_.find(binary_hash); kept != kept_.end()) return kept->second;
  std::exception_ptr unreadable;
  for (const std::string& database : databases_) {
    try {
      auto binary = Store::open(database, OpenMode::read_only, &budget_).find_binary(binary_hash);
      if (binary) return std::move(binary->cubin);
    } catch (const DatabaseError&) {
      unreadable = std::current_exception();
    }
  }
  if (unreadable) std::rethrow_exception(unreadable);
  throw DatabaseError(
      fmt::format("database {}: has no machine code of binary {}; tune again, or merge a database that has it",
                  fmt::join(databases_, ", "), binary_hash));
}

std::string Programs::compile(const Choice& choice, const Problem& problem) {
  const Nvrtc& compiler = nvrtc();
  const CompileTarget target = compile_target(device_, compiler.supported());
  const Source source =
      render(files_, *choice.family, problem, choice.config, choice.plan, target.compute_capability, choice.fusion);
  return compiled(compiler, target, source,
                  fmt::format("{} {}{}{} for {} {}", choice.family->name(), choice.config.text(),
                              choice.fusion.is_empty() ? "" : " with ", to_string(choice.fusion),
                              to_string(problem.precision), to_string(problem.layout)));
}

std::string Programs::compile_finish(const Problem& problem, const Fusion& fusion) {
  const Nvrtc& compiler = nvrtc();
  const CompileTarget target = compile_target(device_, compiler.supported());
  const Source source = render_finish(files_, problem, target.compute_capability, fusion);
  return compiled(compiler, target, source, fmt::format("{} for {}", to_string(fusion), to_string(problem.precision)));
}

/// The machine code of a source. `what` names the program in messages.
std::string Programs::compiled(const Nvrtc& compiler, const CompileTarget& target, const Source& source,
                               const std::string& what) const {
  Compilation compilation = compiler.compile(source, files_, target);
  if (!compilation.ok())
    throw Error(fmt::format("{}: does not compile for {}: {}", what, target.name, compilation.log));
  log::info("compiled {} in {:.0f} ms", what, compilation.compile_ms);
  return std::move(compilation.cubin);
}

const Nvrtc& Programs::nvrtc() {
  const std::lock_guard lock(mutex_);
  if (!nvrtc_) nvrtc_.emplace(Nvrtc::load());
  return *nvrtc_;
}

}  // namespace mmtune

// The way from a configuration to what NVRTC gets: named constants and types, then the family's kernel.cu, then nothing
// else.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "templates/base/fields.h"
#include "templates/base/hash.h"
#include "templates/family/family.h"
#include "templates/problem/fusion.h"

namespace mmtune {

/// Kernel sources by their path relative to the repository: "templates/families/simt/kernel.cu". Immutable.
class TemplateFiles {
 public:
  /// The files embedded at build time.
  static const TemplateFiles& embedded();

  /// The files of a source tree's root directory, read now. Throws Error naming the directory if it holds none.
  static TemplateFiles from_directory(const std::string& root);

  explicit TemplateFiles(std::map<std::string, std::string> files);

  /// The texts of all files, by path.
  const std::map<std::string, std::string>& texts() const { return files_; }

  /// The text of a file. Throws Error naming the path if it does not exist.
  std::string_view text(const std::string& path) const;

  /// Every device header ("mmtune/numeric.cuh" → text), as NVRTC's in-memory headers.
  const std::map<std::string, std::string>& device_headers() const { return device_headers_; }

 private:
  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> device_headers_;
};

/// The names of all device headers that a text can include, directly or through others.
std::set<std::string> included_headers(std::string_view text, const TemplateFiles& files);

/// A rendered program. `hash` covers the text and the device headers it can include, so that an edited kernel's old
/// results stop matching by themselves. It holds for all extents: only precision, layout, alignment and what the launch
/// does not say of the configuration enter it.
struct Source {
  std::string name;  ///< "simt": program name in NVRTC's messages is the #line path
  std::string text;
  std::string hash;  ///< 32 hexadecimal digits

  static constexpr void fields(auto&& visit) {
    visit("name", &Source::name);
    visit("text", &Source::text);
    visit("hash", &Source::hash);
  }
};
static_assert(kListsAllMembers<Source>);

/// What every rendered source without an epilogue calls the types of a precision, one a line: InputA, InputB, Output,
/// Accumulator, Scalar.
std::string type_names(Precision precision);

/// Renders a complete, legal configuration. `plan` is the family's for it, whose constants are rendered; `target` is
/// the compute capability that will be compiled for (ARCH in the kernel). With an
/// epilogue or loaded scalars, the program does what these say to every result before it is rounded, and its alpha and
/// beta are those of KernelScalar (runtime/gpu/arguments.h); for a batch, its addresses are those of KernelAddress. The
/// plan of a program for a batch must be one that can_batch(). Thread safe.
Source render(const TemplateFiles& files, const Family& family, const Problem& problem, const Config& config,
              const LaunchPlan& plan, int target, const Fusion& fusion = {});

/// The hashes that render() gives many sources of the same files, without their texts. Not thread safe.
class SourceHashes {
 public:
  /// The files must live as long.
  explicit SourceHashes(const TemplateFiles& files) : files_(files) {}

  /// Arguments as for render().
  std::string hash(const Family& family, const Problem& problem, const Config& config, const LaunchPlan& plan,
                   int target);

 private:
  /// What all sources of a family end with: the kernel, whose bytes are counted with what stands before it, and
  /// headers.
  struct Ending {
    std::size_t kernel_bytes;
    RepeatedBytes bytes;
  };
  Ending& ending_of(const Family& family, const std::string& prologue);

  const TemplateFiles& files_;
  std::map<const Family*, Ending> endings_;
};

/// How C gets an epilogue after a plain product: one step, for the problem's m and n.
LaunchPlan finish_plan(const Problem& problem);

/// The program of that plan. `fusion` is not empty. Thread safe.
Source render_finish(const TemplateFiles& files, const Problem& problem, int target, const Fusion& fusion);

}  // namespace mmtune

// Whether stored programs are those that would be rendered now: hashes of many sources, without their texts.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "templates/base/hash.h"
#include "templates/family/render.h"

namespace mmtune {

/// The hashes that render() gives sources of the same files. Not thread safe.
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

}  // namespace mmtune

// From a proposed point to a program that can be judged, and to the row that its trial becomes.
#pragma once

#include "db/trial.h"
#include "runtime/nvrtc.h"
#include "tuner/lanes/lane.h"
#include "tuner/search/strategy.h"

namespace mmtune {

/// A proposed point, rendered for a problem.
struct Attempt {
  Point point;
  Candidate candidate;
  TrialKey key;
};

/// What all candidates of a session have in common. Immutable.
class Preparation {
 public:
  Preparation(TemplateFiles files, DeviceSpec device, CompileTarget target, Evidence evidence, std::string nvrtc)
      : files_(std::move(files)),
        device_(std::move(device)),
        target_(std::move(target)),
        evidence_(evidence),
        nvrtc_(std::move(nvrtc)) {}

  const TemplateFiles& files() const { return files_; }
  const DeviceSpec& device() const { return device_; }
  const CompileTarget& target() const { return target_; }
  Evidence evidence() const { return evidence_; }
  const std::string& nvrtc() const { return nvrtc_; }

  Source source(const Family& family, const Problem& problem, const Config& config) const;
  Attempt attempt(const Problem& problem, const Point& point) const;

  /// Whether this program still makes a stored trial's source; false for a family or configuration that it lacks.
  bool makes(const TrialKey& key) const;

  /// What the database keeps of a successful compilation.
  Binary binary(const Compilation& compilation) const;

  /// The trial of an attempt before anything came of it.
  Trial trial(const Attempt& attempt, const Environment& environment) const;

  /// The same once it has a binary: what that needs of an SM. Where it needs more than there is, the outcome says so.
  Trial trial(const Attempt& attempt, const Environment& environment, const Binary& binary) const;

 private:
  TemplateFiles files_;
  DeviceSpec device_;
  CompileTarget target_;
  Evidence evidence_;
  std::string nvrtc_;  ///< version of the compiler
};

/// The families of these names; without names all that compete. Throws UsageError for an unknown one.
std::vector<const Family*> searched_families(const std::vector<std::string>& names);

}  // namespace mmtune

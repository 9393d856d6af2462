// Makes a program of a candidate, and the row that its trial becomes.
#pragma once

#include "db/trial.h"
#include "runtime/gpu/nvrtc.h"
#include "tuner/lanes/program.h"

namespace mmtune {

class CurrentSources;

/// What all programs of a session have in common. Immutable.
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
  ProblemKey key(const Problem& problem) const { return {key_of(device_), problem, evidence_}; }
  const std::string& nvrtc() const { return nvrtc_; }

  /// The hash of a candidate's source, without its text. `hashes` are of files().
  std::string source_hash(const Problem& problem, const Candidate& candidate, SourceHashes& hashes) const;
  /// The program of a candidate, not yet compiled.
  Program program(const Problem& problem, const Candidate& candidate) const;

  /// Whether this program still makes a stored trial's source; false for a family or configuration that it lacks.
  bool makes(const TrialKey& key) const;
  /// The same with hashes that are kept, for many trials: `sources` are of device() and files().
  bool makes(const TrialKey& key, CurrentSources& sources) const;

  /// What the database keeps of a successful compilation.
  Binary binary(const Compilation& compilation) const;

  /// The same of a program that is compiled here, by the compiler of nvrtc(). Throws Error with its words.
  Binary compiled(const Program& program, const Nvrtc& nvrtc) const;

  /// The trial of a program that has no binary.
  Trial trial(const Program& program, const Environment& environment) const;

  /// The trial of a program before it is launched: what it needs of an SM. Where that is more than there is, the
  /// outcome says so.
  Trial compiled_trial(const Program& program, const Environment& environment) const;

 private:
  TemplateFiles files_;
  DeviceSpec device_;
  CompileTarget target_;
  Evidence evidence_;
  std::string nvrtc_;  ///< the version of the compiler
};

}  // namespace mmtune

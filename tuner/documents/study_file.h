// The file that a study's rows are written to as soon as they are known, so that a run that was interrupted goes on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/documents/study.h"

namespace mmtune {

/// Rows of study_rows() as CSV. For one writer.
class StudyFile {
 public:
  /// Reads the rows of an existing file. Throws UsageError where it is no such file, Error where it cannot be written.
  explicit StudyFile(std::string path);

  /// The result of the same case on the same GPU, if the file has one with a time.
  std::optional<StudyResult> find(const StudyCase& what, const std::string& gpu) const;

  /// Writes a row. Throws Error.
  void add(const StudyResult& result);

 private:
  void end_last_line() const;

  std::string path_;
  std::vector<std::vector<std::string>> rows_;  ///< the fields of the rows
};

}  // namespace mmtune

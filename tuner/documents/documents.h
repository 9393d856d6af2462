// The measurements of five course documents about matrix multiplication with CUDA, as cases that any GPU can repeat:
//   s0  a homework, Tesla K20c, fp32           s1  a thread-coarsening study, GeForce GT 740M, int32
//   s2  a lecture, Tesla P100, fp32            s3  slides about tiles and their edges, no GPU named
//   s4  a recitation, GeForce GTX 1080, fp32
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "templates/problem/problem.h"

namespace mmtune {

/// One cell of a document's table, and what runs for it here.
struct StudyCase {
  std::string document;  ///< "s0"
  std::string table;     ///< "baseline by size": unique within the document
  std::string row;       ///< "1000"
  std::string column;    ///< "baseline": the document's name of the kernel, as a rule
  Problem problem;
  std::string family;  ///< a kernel family; kHostFamily: a loop on one core of the host; kTunedFamily: the best known
  std::string config;  ///< the complete configuration; of a loop on the host its name
  std::optional<double> published_kernel_ms = {};
  std::optional<double> published_total_ms = {};  ///< the time with allocation and copies
};

inline constexpr std::string_view kHostFamily = "host";
inline constexpr std::string_view kTunedFamily = "tuned";

struct StudyDocument {
  std::string_view name;  ///< "s0"
  std::string_view title;
  std::string_view gpu;  ///< the GPU of its figures; empty: none is named
};

const std::vector<StudyDocument>& study_documents();

/// All cases of a document in the order of its tables, then the tuned kernels of the same problems.
std::vector<StudyCase> study_cases(std::string_view document);

}  // namespace mmtune

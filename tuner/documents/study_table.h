// The results of a study: as rows for programs, as the documents lay them out, as charts, and what they say of each
// document's conclusion.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/documents/study.h"
#include "tuner/text/chart.h"
#include "tuner/text/report.h"

namespace mmtune {

/// The columns are document,table,row,column,precision,m,n,k,family,config,origin,kernel_ms,total_ms,gflops,
/// published_kernel_ms,published_total_ms,published_gflops,gpu,note; gflops are of the kernel's time, of the total
/// where only that was published.
Table study_rows(const std::vector<StudyResult>& results);

/// The tables of a document with their headings: a line for each row of the original, and for each of its columns the
/// published time and the one found here in ms, with a "*" where it was extrapolated. Where totals were published they
/// follow.
std::vector<std::pair<std::string, Table>> study_layout(const std::vector<StudyResult>& results,
                                                        std::string_view document);

/// One line: the document's conclusion, and whether it holds for these results. Empty where they lack what it is about.
std::string study_conclusion(const std::vector<StudyResult>& results, std::string_view document);

/// GFLOP/s against what a document varies, of each table of more than one row: as published, found here, and of the
/// tuned kernels for the same problems.
std::vector<Chart> study_charts(const std::vector<StudyResult>& results, std::string_view document);

/// The documents' analyses without a run: blocks on an SM (s1), loads and operations of a tile (s3); for the document's
/// GPU and for this one.
std::vector<std::pair<std::string, Table>> study_analyses(std::string_view document, const DeviceSpec& device);

}  // namespace mmtune

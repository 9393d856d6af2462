// What a report shows, as named tables of one JSON object. The page (tuner/report/page) draws them and is given nothing
// else.
//
// {"trials": {"columns": ["device", …], "rows": [[0, …], …]}, …}, with these tables:
//   about      one row: the program, the database, how many trials it has
//   devices    the GPUs, with the limits that a roofline needs; other tables name a GPU by its row
//   peaks      of each GPU and precision, in TFLOP/s
//   problems   the products; named by their row, as families of parameters are
//   shapes     families with the names of their parameters, as configurations list them
//   trials     in the order in which they were stored, with `order`, the place among all of the GPU's for the problem
//   winners    the decisions, with what explains them: floors, occupancy, shares of the time by the model
//   curves     of each block of a winner on a GPU the warps of an SM against threads, registers and shared memory, as
//              "amount warps amount warps …": where the warps change, and the last amount
//   files      texts of CSV files: results of `bench` and of studies
#pragma once

#include <string>
#include <vector>

#include "db/trial.h"
#include "tuner/tune/validity.h"

namespace mmtune {

struct ReportFile {
  std::string kind;  ///< "bench" or "study"
  std::string name;
  DeviceKey device;  ///< the GPU that it was measured on
  std::string text;
};

struct ReportContent {
  std::string database;
  std::vector<Winner> winners;  ///< the decisions, one for each GPU and problem
  std::vector<State> states;    ///< the states, one for each winner
  std::vector<Trial> trials;    ///< the trials in the order in which they were stored
  std::vector<ReportFile> files;
};

/// The trials of a page that are less than a megabyte.
inline constexpr std::size_t kMostReportTrials = 10'000;

/// The content with at most `most` trials (and one for each that was the best so far): of more, the fastest half of
/// those that may be shown and an even sample of the others.
std::string report_json(const ReportContent& content, std::size_t most = kMostReportTrials);

}  // namespace mmtune

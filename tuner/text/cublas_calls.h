// What became of a program's calls of cuBLAS under `mmtune run`: the file that the stand-in leaves, and its summary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mmtune {

/// A row of the file: calls of one shape and fate.
struct CublasCalls {
  std::string shape;   ///< "fp32 nn 4096x64x1024 bias+relu"; empty: calls that were passed on without a shape
  std::string reason;  ///< why they were passed on; empty: they were served
  std::int64_t calls = 0;
  std::int64_t products = 0;
  double us = 0;     ///< the expected time of mmtune's kernel, for one product
  double ratio = 0;  ///< how many times as long cuBLAS takes; 0: not compared
};

/// Rows of several processes one after the other; damaged ones are left out. Nothing if there is no such file. Throws
/// what read_text_file() throws.
std::vector<CublasCalls> read_cublas_calls(const std::string& path);

/// Lines for people: how many calls were served, what time that is expected to have saved, and why the others were
/// passed on, the shapes with most calls by name.
std::vector<std::string> summary_of(const std::vector<CublasCalls>& all);

}  // namespace mmtune

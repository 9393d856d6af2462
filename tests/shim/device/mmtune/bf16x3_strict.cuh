// Stands in for templates/device/bf16x3_strict.cuh: the same, but a finite sum must not have been NaN before. What is
// not there yet is NaN on the simulated machine, and would be mended unseen.
#pragma once

#include "calls.h"

#define StrictSums SumsWithoutPlanes
#include_next "mmtune/bf16x3_strict.cuh"
#undef StrictSums

struct StrictSums {
  SumsWithoutPlanes sums;

  Accumulator at(i64 row, i64 column) const {
    const Accumulator sum = sums.at(row, column);
    if (sum - sum == 0) mmtune::shim::complain("a sum was NaN that is finite");
    return sum;
  }
};

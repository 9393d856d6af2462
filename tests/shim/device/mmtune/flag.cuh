// Stands in for templates/device/flag.cuh: the same names and meanings, on the simulated machine.
#pragma once

#include "mmtune/numeric.cuh"

inline void raise_flag(u32* flag) {
  *flag = 1;
  mmtune::shim::raise_flag();
}

inline void await_flag(const u32* flag) {
  if (*flag == 0) mmtune::shim::await_flag(flag);
}

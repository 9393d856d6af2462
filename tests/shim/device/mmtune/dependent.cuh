// Stands in for templates/device/dependent.cuh: the same names and meanings, on the simulated machine.
#pragma once

inline void launch_dependents() {}  // the machine starts dependents as early as it can anyway

inline void wait_for_previous() { mmtune::shim::wait_for_previous(); }

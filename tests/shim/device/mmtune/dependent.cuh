// Stands in for templates/device/dependent.cuh: the same names and meanings, on the simulated machine.
#pragma once

inline void launch_dependents() { mmtune::shim::launch_dependents(); }

inline void wait_for_previous() { mmtune::shim::wait_for_previous(); }

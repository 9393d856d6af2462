// Steps of a plan that overlap (LaunchStep::overlaps_previous; sm_90 and later): one lets the next start early, and
// that one waits where it first needs what was done before it. On older GPUs nothing overlaps and both do nothing.
//
// The wait is for the step before alone. It is one for all steps before, and what comes after a plan may rely on all of
// them, because every step waits: at least one of its blocks, and every block before it touches what an earlier step
// reads or writes. Such memory is no `const __restrict__` argument, which would promise that it is never written
// meanwhile. Needs the rendered constant ARCH.
#pragma once

// Lets the blocks of the next step start, beside the last blocks of this one, once every block has called it or ended.
// What was written before need not be visible to them. PTX ISA: griddepcontrol.launch_dependents.
__device__ __forceinline__ void launch_dependents() {
  if constexpr (ARCH >= 90) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Waits until the step before has finished and what it wrote is visible; then costs nothing any more.
// PTX ISA: griddepcontrol.wait.
__device__ __forceinline__ void wait_for_previous() {
  if constexpr (ARCH >= 90) asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Steps that overlap (LaunchStep::overlaps_previous; sm_90 and later): each lets the next one start early, and that one
// waits where it first needs what was done before it. On older GPUs nothing overlaps and both do nothing.
//
// The first step of a plan may start before what precedes the call on the stream has finished, a kernel of the
// application or another call. It waits before it reads or writes global memory, and lets nothing start before it has
// waited, so that later steps may read operands at once. It may prefetch into L2 before: what is written meanwhile
// reaches L2 as well.
//
// The wait is for the step before alone. It is one for all steps before, and what comes after a plan may rely on all of
// them, because every step waits: at least one of its blocks, and every block before it touches what an earlier step
// reads or writes. Kernels that overlap have no `__restrict__` arguments: those promise that nothing else writes the
// memory meanwhile, so that it could be read before the wait. Needs the rendered constant ARCH.
//
// A step whose blocks call launch_dependents() while they compute lets blocks of the next one, which may be another
// call's, crowd onto the SMs that have room beside them, while others stay idle: where several blocks fit an SM, the
// last step does not call it. Blocks of what follows then start when all of its own have ended, which is still earlier
// than without overlap.
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

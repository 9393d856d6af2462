// A worker without GPU and NVRTC that does, in a real process, what candidates do at their worst.
//
// Its faults are a text, "FAULT@CANDIDATE;FAULT@CANDIDATE;…", which tests put into MMTUNE_TEST_FAULTS. CANDIDATE is a
// family with its configuration, "tiled TILE=8 UNROLL=2", or * for all. FAULT is, while a candidate runs,
//   hang, abort, segfault, exit, garbage, endless, deep, wrong, late_nan, memory, lost, refused,
//   incorrect, spoils (which makes everything incorrect that comes later in its process),
//   sometimes (it aborts), sometimes_wrong (it is incorrect): by chance, every fifth time,
//   varies (it is right, but its bits are others every time),
//   impatient (no fault of its own: it is too slow as soon as there is a faster one),
// in a race with the candidate
//   race_hang, race_abort, race_memory, race_refused,
//   race_incorrect, race_varies: as above, but only after the rounds,
//   race_again_incorrect: the same for a candidate that has raced before, as "race_log" knows,
// for its problem ("begin_abort@fp32 nn 64x64x64")
//   begin_hang, begin_abort,
// while its source compiles
//   compile_hang, compile_abort, compile_segfault, compile_garbage, compile_refused,
//   compile_memory (needs 2 GiB), compile_alike (to the same machine code as all others with this fault),
// or, for *, while a process starts
//   gpus_hang, open_hang (of a GPU), load_hang (of NVRTC).
// "dead@FILE": everything aborts from the first fault on, "miscounts@FILE": is incorrect, "gone@FILE": and no process
// can open the GPU any more; FILE remembers that there was one.
// "meet@FILE": the first candidate on a GPU ends only when another GPU has one too. "alone@FILE": candidates take a
// while and abort if another one runs on the same GPU at that time. "log@FILE": a line for each candidate that is run,
// "compile_log@FILE": for each source that is compiled, "open_log@FILE": for each process that opens a GPU,
// "race_log@FILE": for each that races, "samples_log@FILE": for each problem that begins, with the most samples of a
// screening. "driver@VERSION": of the pretended driver. "uuid@UUID": of the pretended GPU; several of them are several
// GPUs. "compile_ms@500": what each source takes to compile, "launch_ms@20": each candidate on the GPU, "race_ms@300":
// each race.
#pragma once

#include <string>

#include "tuner/workers/worker.h"

namespace mmtune::test {

WorkerParts faulty_parts(const std::string& faults);

/// The GPU that it pretends to be.
DeviceSpec pretended_gpu();

/// The time that a candidate without a fault is pretended to take.
double pretended_us(const std::string& candidate);

}  // namespace mmtune::test

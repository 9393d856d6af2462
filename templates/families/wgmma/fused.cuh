// The overloads for finish() of wgmma_finish.cuh and what belongs to it, for the sums of this family.
#include "mmtune/wgmma_multiply.cuh"
#include "mmtune/wgmma_fused.cuh"

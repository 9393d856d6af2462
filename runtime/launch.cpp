#include "runtime/launch.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>

#include "runtime/arguments.h"

namespace mmtune {

namespace {

constexpr int kPortableCluster = 8;  // blocks; larger ones must be asked for

/// Raises the function's limits to the largest of all steps that run it.
void raise_limits(CUfunction function, const std::string& kernel, const LaunchPlan& plan) {
  int smem_bytes = 0;
  std::int64_t cluster = 1;
  for (const LaunchStep& step : plan.steps) {
    if (step.kernel != kernel) continue;
    smem_bytes = std::max(smem_bytes, step.smem_bytes);
    cluster = std::max(cluster, cluster_blocks(step));
  }
  // Asked for even below 48 KiB, since static shared memory counts towards that limit too.
  if (smem_bytes > 0) {
    check(cuda().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, smem_bytes),
          fmt::format("allowing {} {} bytes of dynamic shared memory", kernel, smem_bytes).c_str());
  }
  if (cluster > kPortableCluster) {
    check(cuda().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
          fmt::format("allowing {} clusters of {} blocks", kernel, cluster).c_str());
  }
}

void encode(CUtensorMap& map, const TensorMapLayout& layout) {
  constexpr std::array<cuuint32_t, 5> kDense = {1, 1, 1, 1, 1};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses of the GPU are integers everywhere else
  MMTUNE_CUDA(cuTensorMapEncodeTiled(&map, layout.type, layout.rank, reinterpret_cast<void*>(layout.address),
                                     layout.extents.data(), layout.strides.data(), layout.box.data(), kDense.data(),
                                     CU_TENSOR_MAP_INTERLEAVE_NONE, layout.swizzle, layout.l2_promotion, layout.fill));
}

void launch_step(CUfunction function, const LaunchStep& step, KernelArguments& arguments, CUstream stream) {
  std::array<CUlaunchAttribute, 3> attributes{};
  unsigned attribute_count = 0;
  if (cluster_blocks(step) > 1) {
    CUlaunchAttribute& cluster = attributes[attribute_count++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {static_cast<unsigned>(step.cluster.x), static_cast<unsigned>(step.cluster.y),
                                static_cast<unsigned>(step.cluster.z)};
  }
  if (step.resident) {
    CUlaunchAttribute& cooperative = attributes[attribute_count++];
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
  }
  if (step.overlaps_previous) {
    CUlaunchAttribute& overlap = attributes[attribute_count++];
    overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap.value.programmaticStreamSerializationAllowed = 1;
  }

  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(step.grid.x);
  config.gridDimY = static_cast<unsigned>(step.grid.y);
  config.gridDimZ = static_cast<unsigned>(step.grid.z);
  config.blockDimX = static_cast<unsigned>(step.block.x);
  config.blockDimY = static_cast<unsigned>(step.block.y);
  config.blockDimZ = static_cast<unsigned>(step.block.z);
  config.sharedMemBytes = static_cast<unsigned>(step.smem_bytes);
  config.hStream = stream;
  config.attrs = attributes.data();
  config.numAttrs = attribute_count;

  const CUresult result = cuda().cuLaunchKernelEx(&config, function, arguments.addresses(step).data(), nullptr);
  if (result == CUDA_SUCCESS) return;
  check(result,
        fmt::format("launching {} with grid {}x{}x{}, block {}x{}x{}, cluster {}x{}x{}, {} bytes of shared memory",
                    step.kernel, step.grid.x, step.grid.y, step.grid.z, step.block.x, step.block.y, step.block.z,
                    step.cluster.x, step.cluster.y, step.cluster.z, step.smem_bytes)
            .c_str());
}

}  // namespace

LoadedKernel::LoadedKernel(const std::string& cubin, const LaunchPlan& plan) : module_(load_module(cubin)) {
  for (const LaunchStep& step : plan.steps) {
    const CUfunction function = find_function(module_, step.kernel);
    raise_limits(function, step.kernel, plan);
    functions_.push_back(function);
  }
}

void launch(const LoadedKernel& kernel, const LaunchPlan& plan, const Problem& problem, const Operands& operands,
            CUstream stream) {
  check_operands(plan, problem, operands);
  if (problem.m == 0 || problem.n == 0) return;
  Problem run = problem;
  Operands given = operands;
  unify_empty_product(run, given);

  KernelArguments arguments(plan, run, given, encode);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    launch_step(kernel.function(i), plan.steps[i], arguments, stream);
  }
}

}  // namespace mmtune

#include "runtime/gpu/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "runtime/gpu/current_context.h"

namespace mmtune {
namespace {

constexpr int kPortableCluster = 8;  // the number of blocks up to which a cluster need not be asked for

/// Raises the function's limits to the largest of all steps that run it.
void raise_limits(CUfunction function, const std::string& kernel, const LaunchPlan& plan) {
  int smem_bytes = 0;
  std::int64_t cluster = 1;
  for (const LaunchStep& step : plan.steps) {
    if (step.kernel != kernel) continue;
    smem_bytes = std::max(smem_bytes, step.smem_bytes);
    cluster = std::max(cluster, cluster_blocks(step));
  }
  // The limit is raised even below 48 KiB, since static shared memory counts towards it too.
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
  MMTUNE_CUDA(cuTensorMapEncodeTiled(&map, layout.type, layout.rank, reinterpret_cast<void*>(layout.address),
                                     layout.extents.data(), layout.strides.data(), layout.box.data(), kDense.data(),
                                     CU_TENSOR_MAP_INTERLEAVE_NONE, layout.swizzle, layout.l2_promotion, layout.fill));
}

/// A step as the driver takes it.
class LaunchConfig {
 public:
  explicit LaunchConfig(const LaunchStep& step) {
    if (cluster_blocks(step) > 1) {
      CUlaunchAttribute& cluster = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
      cluster.value.clusterDim = {static_cast<unsigned>(step.cluster.x), static_cast<unsigned>(step.cluster.y),
                                  static_cast<unsigned>(step.cluster.z)};
    }
    if (step.resident) add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).value.cooperative = 1;
    if (step.overlaps_previous && cuda().overlaps) {
      add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION).value.programmaticStreamSerializationAllowed = 1;
    }
    driver.gridDimX = static_cast<unsigned>(step.grid.x);
    driver.gridDimY = static_cast<unsigned>(step.grid.y);
    driver.gridDimZ = static_cast<unsigned>(step.grid.z);
    driver.blockDimX = static_cast<unsigned>(step.block.x);
    driver.blockDimY = static_cast<unsigned>(step.block.y);
    driver.blockDimZ = static_cast<unsigned>(step.block.z);
    driver.sharedMemBytes = static_cast<unsigned>(step.smem_bytes);
    driver.attrs = attributes_.data();
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  CUlaunchConfig driver{};

 private:
  CUlaunchAttribute& add(CUlaunchAttributeID id) {
    CUlaunchAttribute& attribute = attributes_[driver.numAttrs++];
    attribute.id = id;
    return attribute;
  }

  std::array<CUlaunchAttribute, 3> attributes_{};
};

/// The blocks along x of the clusters that the GPU holds at once, where blocks take turns; else, or where the driver
/// cannot say, any number.
std::int64_t most_blocks(CUfunction function, const LaunchStep& step) {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  if (!step.takes_turns || cluster_blocks(step) == 1) return kAny;
  constexpr unsigned kManyClusters = 1 << 16;  // The kernel runs in other grids too.
  LaunchConfig config(step);
  config.driver.gridDimX = kManyClusters * static_cast<unsigned>(step.cluster.x);
  int clusters = 0;
  const CUresult result = cuda().cuOccupancyMaxActiveClusters(&clusters, function, &config.driver);
  return result == CUDA_SUCCESS && clusters > 0 ? clusters * step.cluster.x : kAny;
}

void launch_step(CUfunction function, const LaunchStep& step, std::int64_t blocks, std::int64_t products,
                 KernelArguments& arguments, CUstream stream) {
  LaunchConfig config(step);
  config.driver.gridDimX = static_cast<unsigned>(blocks);
  config.driver.gridDimZ *= static_cast<unsigned>(products);
  config.driver.hStream = stream;
  const CUresult result = cuda().cuLaunchKernelEx(&config.driver, function, arguments.addresses(step).data(), nullptr);
  if (result == CUDA_SUCCESS) return;
  check(result,
        fmt::format("launching {} with grid {}x{}x{}, block {}x{}x{}, cluster {}x{}x{}, {} bytes of shared memory",
                    step.kernel, blocks, step.grid.y, step.grid.z * products, step.block.x, step.block.y, step.block.z,
                    step.cluster.x, step.cluster.y, step.cluster.z, step.smem_bytes)
            .c_str());
}

}  // namespace

LoadedKernel::LoadedKernel(const std::string& cubin, const LaunchPlan& plan) : module_(load_module(cubin)) {
  MMTUNE_CUDA(cuCtxGetCurrent(&context_));
  for (const LaunchStep& step : plan.steps) {
    const CUfunction function = find_function(module_, step.kernel);
    raise_limits(function, step.kernel, plan);
    steps_.push_back({function, most_blocks(function, step)});
  }
}

LoadedKernel::~LoadedKernel() {
  if (!module_) return;
  const CurrentContext own(context_);
  module_.reset();
}

std::int64_t LoadedKernel::blocks(const LaunchPlan& plan, std::size_t step) const {
  return std::min(plan.steps[step].grid.x, steps_[step].most_blocks);
}

std::int64_t products_at_once(const LaunchPlan& plan, std::int64_t workspace_bytes) {
  constexpr std::int64_t kMostLayers = 65535;  // a grid's limit: CUDA C++ Programming Guide, "Compute Capabilities"
  const std::int64_t step = plan.workspace.step_bytes();
  return step == 0 ? kMostLayers : std::clamp<std::int64_t>(workspace_bytes / step, 1, kMostLayers);
}

std::int64_t batch_workspace_bytes(const LaunchPlan& plan, std::int64_t products) {
  return plan.workspace.bytes() + (products - 1) * plan.workspace.step_bytes();
}

void launch(const LoadedKernel& kernel, const LaunchPlan& plan, const Problem& problem, const Operands& operands,
            CUstream stream) {
  check_operands(plan, problem, operands);
  if (problem.m == 0 || problem.n == 0) return;
  Problem run = problem;
  Operands given = operands;
  unify_empty_product(run, given);

  const std::int64_t products = given.batch ? given.batch->products : 1;
  KernelArguments arguments(plan, run, given, encode);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    launch_step(kernel.function(i), plan.steps[i], kernel.blocks(plan, i), products, arguments, stream);
  }
}

}  // namespace mmtune

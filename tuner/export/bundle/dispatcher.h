// Matrix products of certain sizes with tuned kernels: this file and the .cubin files beside it need nothing but the
// CUDA driver and C++17. Written by `mmtune export`.
//
//     const mmtune_bundle::Bundle bundle("directory/of/this/file");          // in a CUDA context
//     mmtune_bundle::Operands operands{a, lda, b, ldb, c, ldc};
//     if (const auto* product = mmtune_bundle::find("fp32", "nn", m, n, k, operands)) {
//       operands.workspace = memory_of(product->workspace_bytes);
//       bundle.run(*product, operands, stream);                              // returns without waiting
//     }
//
// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C, row-major; "nt" says that B is stored as B[n,k].
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mmtune_bundle {

/// Device addresses, and elements between two stored rows.
struct Operands {
  CUdeviceptr a = 0;
  std::int64_t lda = 0;
  CUdeviceptr b = 0;
  std::int64_t ldb = 0;
  CUdeviceptr c = 0;
  std::int64_t ldc = 0;
  double alpha = 1;
  double beta = 0;
  CUdeviceptr workspace = 0;  ///< the address, aligned to 256 bytes; calls that may run at the same time need one each
};

enum class Kind { operand, ld, extent, scalar, slice, map, number };
enum class Scalar { fp32, fp64, int32 };

/// An argument of a kernel: a number, or which one of its kind.
struct Argument {
  Kind kind;
  std::int64_t value;
};

struct Step {
  const char* kernel;
  unsigned grid[3], block[3], cluster[3];
  unsigned smem_bytes;
  bool is_cooperative;
  bool takes_turns;  ///< whether blocks take turns: fewer do the same; no more clusters run than the GPU holds
  bool overlaps_previous;
  std::vector<Argument> arguments;
};

struct Dimension {
  std::uint64_t extent;
  std::uint32_t box;
  std::int64_t stride_bytes, stride_rows;
};

struct Map {
  Argument base;
  CUtensorMapDataType type;
  std::int64_t element_bytes;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion l2_promotion;
  CUtensorMapFloatOOBfill fill;
  std::vector<Dimension> dimensions;
};

struct Product {
  const char *precision, *layout;
  std::int64_t m, n, k;
  const char* cubin;          ///< the name of the file
  std::int64_t bytes[3];      ///< the bytes of an element of A, B, C
  std::int64_t alignment[3];  ///< the alignment of addresses and rows of A, B, C in bytes
  Scalar scalar;
  std::size_t workspace_bytes;
  std::vector<std::int64_t> slices;  ///< the offsets within the workspace in bytes; -1: empty
  std::vector<Map> maps;
  std::vector<Step> steps;
};

/// All products of the bundle.
const std::vector<Product>& products();

/// The product of this size whose kernel suits these addresses and leading dimensions; null if there is none.
inline const Product* find(const std::string& precision, const std::string& layout, std::int64_t m, std::int64_t n,
                           std::int64_t k, const Operands& operands) {
  const auto suits = [](CUdeviceptr address, std::int64_t ld_bytes, std::int64_t alignment) {
    return address % static_cast<CUdeviceptr>(alignment) == 0 && ld_bytes % alignment == 0;
  };
  for (const Product& p : products()) {
    if (p.precision == precision && p.layout == layout && p.m == m && p.n == n && p.k == k &&
        suits(operands.a, operands.lda * p.bytes[0], p.alignment[0]) &&
        suits(operands.b, operands.ldb * p.bytes[1], p.alignment[1]) &&
        suits(operands.c, operands.ldc * p.bytes[2], p.alignment[2])) {
      return &p;
    }
  }
  return nullptr;
}

inline void check(CUresult result, const char* call) {
  const char* name = nullptr;
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &name);
  throw std::runtime_error(std::string(call) + ": " + (name != nullptr ? name : "unknown error"));
}

/// The kernels, loaded in the context that is current. Use from any thread; it must end before the context does.
class Bundle {
 public:
  /// Throws std::runtime_error for a file that is missing or cannot be loaded on this GPU.
  explicit Bundle(const std::string& directory) {
    for (const Product& product : products()) {
      CUmodule& module = modules_[product.cubin];
      if (module == nullptr)
        check(cuModuleLoadData(&module, read(directory + "/" + product.cubin).data()), product.cubin);
      for (const Step& step : product.steps) add(product, step, module);
    }
  }
  ~Bundle() {
    for (const auto& module : modules_) cuModuleUnload(module.second);
  }
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  /// Enqueues the product, which find() has returned for these operands. A and B must be valid also where alpha is 0.
  void run(const Product& product, const Operands& operands, CUstream stream) const {
    Values values(product, operands);
    for (const Step& step : product.steps) launch(step, values, stream);
  }

 private:
  /// What arguments point to.
  struct Values {
    Values(const Product& product, const Operands& o)
        : addresses{o.a, o.b, o.c}, lds{o.lda, o.ldb, o.ldc}, extents{product.m, product.n, product.k} {
      if (o.alpha == 0) extents[2] = 0;  // A and B are not read.
      set(scalars[0], product.scalar, o.alpha);
      set(scalars[1], product.scalar, o.beta);
      for (const std::int64_t offset : product.slices) {
        slices.push_back(offset < 0 ? 0 : o.workspace + static_cast<CUdeviceptr>(offset));
      }
      maps.resize(product.maps.size());
      for (std::size_t i = 0; i < maps.size(); ++i) encode(maps[i], product.maps[i]);
    }

    static void set(unsigned char (&bytes)[8], Scalar type, double value) {
      const auto as_float = static_cast<float>(value);
      const auto as_int = type == Scalar::int32 ? static_cast<std::int32_t>(value) : 0;
      if (type == Scalar::fp32) std::memcpy(bytes, &as_float, sizeof as_float);
      if (type == Scalar::fp64) std::memcpy(bytes, &value, sizeof value);
      if (type == Scalar::int32) std::memcpy(bytes, &as_int, sizeof as_int);
    }

    void encode(CUtensorMap& map, const Map& spec) {
      cuuint64_t size[5] = {}, strides[5] = {};
      cuuint32_t box[5] = {}, dense[5] = {1, 1, 1, 1, 1};
      const bool is_operand = spec.base.kind == Kind::operand;
      const auto index = static_cast<std::size_t>(spec.base.value);
      for (std::size_t i = 0; i < spec.dimensions.size(); ++i) {
        const Dimension& d = spec.dimensions[i];
        size[i] = d.extent;
        box[i] = d.box;
        const std::int64_t row = is_operand ? lds[index] * spec.element_bytes : 0;
        if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(d.stride_bytes + d.stride_rows * row);
      }
      CUdeviceptr base = is_operand ? addresses[index] : slices[index];
      bool is_empty = false;
      for (const Dimension& d : spec.dimensions) is_empty = is_empty || d.extent == 0;
      if (is_empty) {  // Nothing goes through it, but the driver wants something valid.
        base = addresses[2] / 16 * 16;
        for (cuuint64_t& extent : size) extent = 1;
        for (cuuint64_t& stride : strides) stride = 16;
      }
      check(cuTensorMapEncodeTiled(&map, spec.type, static_cast<cuuint32_t>(spec.dimensions.size()),
                                   reinterpret_cast<void*>(base), size, strides, box, dense,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, spec.swizzle, spec.l2_promotion, spec.fill),
            "cuTensorMapEncodeTiled");
    }

    void* pointer(const Argument& argument) {
      const auto index = static_cast<std::size_t>(argument.value);
      switch (argument.kind) {
        case Kind::operand:
          return &addresses[index];
        case Kind::ld:
          return &lds[index];
        case Kind::extent:
          return &extents[index];
        case Kind::scalar:
          return &scalars[index];
        case Kind::slice:
          return &slices[index];
        case Kind::map:
          return &maps[index];
        case Kind::number:
          break;
      }
      return const_cast<std::int64_t*>(&argument.value);
    }

    CUdeviceptr addresses[3];
    std::int64_t lds[3], extents[3];
    unsigned char scalars[2][8] = {};
    std::vector<CUdeviceptr> slices;
    std::vector<CUtensorMap> maps;
  };

  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.empty()) throw std::runtime_error(path + ": cannot be read; it belongs beside the bundle's header");
    return bytes;
  }

  void add(const Product& product, const Step& step, CUmodule module) {
    CUfunction& function = functions_[&step];
    check(cuModuleGetFunction(&function, module, step.kernel), product.cubin);
    unsigned& most = most_[function];
    if (step.smem_bytes > most) {
      most = step.smem_bytes;
      check(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(most)),
            step.kernel);
    }
    if (step.cluster[0] * step.cluster[1] * step.cluster[2] > 8) {
      check(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1), step.kernel);
    }
    unsigned& blocks = blocks_[&step] = step.grid[0];
    int clusters = 0;
    const LaunchConfig config(step);
    if (step.takes_turns && cuOccupancyMaxActiveClusters(&clusters, function, &config.driver) == CUDA_SUCCESS &&
        clusters > 0) {
      blocks = std::min(blocks, static_cast<unsigned>(clusters) * step.cluster[0]);
    }
  }

  /// A step as the driver takes it.
  struct LaunchConfig {
    explicit LaunchConfig(const Step& step) {
      if (step.cluster[0] * step.cluster[1] * step.cluster[2] > 1) {
        add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim = {step.cluster[0], step.cluster[1], step.cluster[2]};
      }
      if (step.is_cooperative) add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
      if (step.overlaps_previous) {
        add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION).programmaticStreamSerializationAllowed = 1;
      }
      driver.gridDimX = step.grid[0], driver.gridDimY = step.grid[1], driver.gridDimZ = step.grid[2];
      driver.blockDimX = step.block[0], driver.blockDimY = step.block[1], driver.blockDimZ = step.block[2];
      driver.sharedMemBytes = step.smem_bytes;
      driver.attrs = attributes;
    }
    LaunchConfig(const LaunchConfig&) = delete;
    LaunchConfig& operator=(const LaunchConfig&) = delete;

    CUlaunchAttributeValue& add(CUlaunchAttributeID id) {
      attributes[driver.numAttrs].id = id;
      return attributes[driver.numAttrs++].value;
    }

    CUlaunchAttribute attributes[3] = {};
    CUlaunchConfig driver = {};
  };

  void launch(const Step& step, Values& values, CUstream stream) const {
    LaunchConfig config(step);
    config.driver.gridDimX = blocks_.at(&step);
    config.driver.hStream = stream;
    std::vector<void*> arguments;
    for (const Argument& argument : step.arguments) arguments.push_back(values.pointer(argument));
    check(cuLaunchKernelEx(&config.driver, functions_.at(&step), arguments.data(), nullptr), step.kernel);
  }

  std::map<std::string, CUmodule> modules_;
  std::map<const Step*, CUfunction> functions_;
  std::map<const Step*, unsigned> blocks_;  ///< the number of blocks along x
  std::map<CUfunction, unsigned> most_;     ///< the most dynamic shared memory in bytes
};

}  // namespace mmtune_bundle

#include "tests/shim/launch.h"

#include <fmt/format.h>
#include <mmtune/error.h>
#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

namespace mmtune::shim {
namespace {

constexpr std::size_t kAlignment = 256;

int swizzle_bytes(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
      return 0;
    case CU_TENSOR_MAP_SWIZZLE_32B:
      return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B:
      return 64;
    case CU_TENSOR_MAP_SWIZZLE_128B:
      return 128;
    default:
      throw Error("tensor map: the simulated machine swizzles 16-byte chunks only");
  }
}

/// What cuTensorMapEncodeTiled demands (CUDA driver API, tensor map object management).
void check_as_driver(const TensorMapLayout& layout) {
  const auto must = [](bool holds, const char* rule) {
    if (!holds) throw Error(fmt::format("tensor map: the driver wants {}", rule));
  };
  constexpr cuuint64_t kStrideEnd = cuuint64_t{1} << 40;
  must(layout.rank >= 1 && layout.rank <= layout.extents.size(), "one to five dimensions");
  must(layout.address % 16 == 0, "an address at a multiple of 16");
  for (cuuint32_t d = 0; d < layout.rank; ++d) {
    must(layout.extents.at(d) >= 1 && layout.extents.at(d) <= cuuint64_t{1} << 32, "extents from 1 to 2^32");
    must(layout.box.at(d) >= 1 && layout.box.at(d) <= 256, "a box of 1 to 256 elements each way");
    if (d == 0) continue;
    const cuuint64_t stride = layout.strides.at(d - 1);
    must(stride % 16 == 0 && stride < kStrideEnd, "strides of multiples of 16 bytes, below 2^40");
  }
  const int row_bytes = static_cast<int>(layout.box[0]) * layout.element_bytes;
  const int span = swizzle_bytes(layout.swizzle);
  must(row_bytes % 16 == 0, "a box of whole 16 bytes");
  must(span == 0 || row_bytes <= span, "rows of a box within their swizzle");
}

void encode(CUtensorMap& map, const TensorMapLayout& layout) {
  check_as_driver(layout);
  BoxMap box;
  box.address = reinterpret_cast<unsigned char*>(layout.address);
  box.rank = static_cast<unsigned char>(layout.rank);
  box.element_bytes = static_cast<unsigned char>(layout.element_bytes);
  box.swizzle_bytes = static_cast<short>(swizzle_bytes(layout.swizzle));
  box.fills_with_nan = layout.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  for (cuuint32_t d = 0; d < layout.rank; ++d) {
    box.extents[d] = static_cast<long long>(layout.extents.at(d));
    box.box[d] = static_cast<short>(layout.box.at(d));
    box.strides[d] = d == 0 ? layout.element_bytes : static_cast<long long>(layout.strides.at(d - 1));
  }
  static_assert(sizeof(box) <= sizeof(map));
  std::memcpy(&map, &box, sizeof(box));
}

/// The operands of a call before what precedes it on the stream has written them: NaN, or -1, until then.
class Unwritten {
 public:
  Unwritten(const Problem& problem, const Operands& operands) {
    const PrecisionTraits& types = traits(problem.precision);
    const std::int64_t products = operands.batch ? operands.batch->products : 1;
    const Addresses steps = operands.batch ? operands.batch->step_bytes : Addresses{};
    for (std::int64_t i = 0; i < products; ++i) {
      const auto of_product = [&](CUdeviceptr first, CUdeviceptr step) {
        return first + static_cast<CUdeviceptr>(i) * step;
      };
      add(of_product(operands.a, steps.a), stored_a(problem), operands.ld.a, types.a.bytes);
      add(of_product(operands.b, steps.b), stored_b(problem), operands.ld.b, types.b.bytes);
      add(of_product(operands.c, steps.c), stored_c(problem), operands.ld.c, types.c.bytes);
    }
    for (const Row& row : rows_) std::memset(row.address, 0xff, row.bytes.size());
  }

  void write() const {
    for (const Row& row : rows_) std::copy(row.bytes.begin(), row.bytes.end(), row.address);
  }

 private:
  struct Row {
    char* address;
    std::vector<char> bytes;
  };

  void add(CUdeviceptr address, const StoredShape& shape, std::int64_t ld, int element_bytes) {
    if (shape.columns == 0) return;
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      char* const first = reinterpret_cast<char*>(address) + row * ld * element_bytes;
      rows_.push_back({first, {first, first + shape.columns * element_bytes}});
    }
  }

  std::vector<Row> rows_;
};

}  // namespace

Memory::Memory(std::size_t bytes) : bytes_(bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, bytes) != 0) throw std::bad_alloc();
  data_ = static_cast<char*>(memory);
  std::memset(data_, 0xff, bytes);
}

Memory::~Memory() { std::free(data_); }

MatrixMemory::MatrixMemory(const test::HostMatrix& matrix)
    : matrix_(matrix), memory_(matrix.used_bytes().second - matrix.used_bytes().first) {
  const auto begin = static_cast<std::ptrdiff_t>(matrix.used_bytes().first);
  const std::vector<char> image = matrix.image();
  std::copy_n(image.begin() + begin, memory_.bytes(), memory_.data());
  const auto [rows, columns] = matrix.shape();
  const auto element = static_cast<std::size_t>(matrix.element_bytes());
  const std::size_t offset = matrix.offset_bytes() - matrix.used_bytes().first;
  __asan_poison_memory_region(memory_.data(), offset);
  if (columns == 0) return;
  for (std::int64_t row = 0; row + 1 < rows; ++row) {
    const std::size_t end = offset + static_cast<std::size_t>(row * matrix.ld() + columns) * element;
    __asan_poison_memory_region(memory_.data() + end, static_cast<std::size_t>(matrix.ld() - columns) * element);
  }
}

std::vector<char> MatrixMemory::image() const {
  __asan_unpoison_memory_region(memory_.data(), memory_.bytes());
  std::vector<char> image = matrix_.image();
  std::copy_n(memory_.data(), memory_.bytes(), image.begin() + static_cast<std::ptrdiff_t>(matrix_.used_bytes().first));
  return image;
}

void launch(const Program& program, const LaunchPlan& plan, const Problem& problem, const Operands& operands,
            Order order, const std::string& what) {
  if (const std::string fault = plan_fault(plan); !fault.empty()) throw Error(fmt::format("{}: {}", what, fault));
  check_operands(plan, problem, operands);
  if (problem.m == 0 || problem.n == 0) return;
  Problem run = problem;
  Operands given = operands;
  unify_empty_product(run, given);

  KernelArguments arguments(plan, run, given, encode);
  std::optional<Unwritten> unwritten;
  const std::function<void(std::size_t)> run_until = [&](std::size_t end) {
    if (end == 0) {
      if (unwritten) unwritten->write();
      return;
    }
    const LaunchStep& step = plan.steps[end - 1];
    const auto previous = [&] { run_until(end - 1); };
    if (!step.overlaps_previous) previous();
    const Program::Kernel kernel = program.kernel(step.kernel);
    // Later steps start when the first one has waited, and so may read operands at once.
    if (end == 1 && step.overlaps_previous) unwritten.emplace(run, given);
    auto addresses = arguments.addresses(step);
    const auto count = static_cast<int>(addresses.size());
    LaunchStep layers = step;
    if (given.batch) layers.grid.z *= static_cast<int>(given.batch->products);
    Launch launch{layers, [&] { kernel(addresses.data(), count); }, order, what};
    launch.is_first = end == 1;
    if (step.overlaps_previous) launch.previous = previous;
    shim::run(launch);
  };
  run_until(plan.steps.size());
}

}  // namespace mmtune::shim

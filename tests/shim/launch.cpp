#include "tests/shim/launch.h"

#include <fmt/format.h>
#include <mmtune/error.h>
#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "templates/dtype.h"

namespace mmtune::shim {

namespace {

constexpr std::size_t kAlignment = 256;

/// What cuTensorMapEncodeTiled demands (CUDA driver API, tensor map object management).
void check_as_driver(const TensorMapLayout& layout, int element_bytes) {
  const auto must = [](bool holds, const char* rule) {
    if (!holds) throw Error(fmt::format("tensor map: the driver wants {}", rule));
  };
  constexpr cuuint64_t kRowBytes = cuuint64_t{1} << 40;
  must(layout.address % 16 == 0, "an address at a multiple of 16");
  must(layout.row_bytes % 16 == 0 && layout.row_bytes < kRowBytes, "rows at multiples of 16 bytes, below 2^40");
  for (const int i : {0, 1}) {
    must(layout.extents[i] >= 1 && layout.extents[i] <= cuuint64_t{1} << 32, "extents from 1 to 2^32");
    must(layout.box[i] >= 1 && layout.box[i] <= 256, "a box of 1 to 256 elements each way");
  }
  must(layout.box[0] * static_cast<unsigned>(element_bytes) % 16 == 0, "a box of whole 16 bytes");
  must(layout.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE, "nothing, but the simulated machine no swizzle");
}

void encode(CUtensorMap& map, const TensorMapLayout& layout, int element_bytes) {
  check_as_driver(layout, element_bytes);
  BoxMap box;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver writes addresses as integers
  box.address = reinterpret_cast<const unsigned char*>(layout.address);
  box.rows = static_cast<long long>(layout.extents[1]);
  box.columns = static_cast<long long>(layout.extents[0]);
  box.row_bytes = static_cast<long long>(layout.row_bytes);
  box.box_rows = static_cast<int>(layout.box[1]);
  box.box_columns = static_cast<int>(layout.box[0]);
  box.element_bytes = element_bytes;
  static_assert(sizeof(box) <= sizeof(map));
  std::memcpy(&map, &box, sizeof(box));
}

bool uses(const LaunchPlan& plan, Arg arg) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [arg](const LaunchStep& step) {
    return std::find(step.args.begin(), step.args.end(), arg) != step.args.end();
  });
}

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
  check_operands(plan, problem, operands);
  if (problem.m == 0 || problem.n == 0) return;
  Problem run = problem;
  Operands given = operands;
  unify_empty_product(run, given);

  KernelArguments arguments(run, given);
  const PrecisionTraits& types = traits(problem.precision);
  if (uses(plan, Arg::map_a)) encode(arguments.map_a(), tensor_map_a(plan, run, given), types.a.bytes);
  if (uses(plan, Arg::map_b)) encode(arguments.map_b(), tensor_map_b(plan, run, given), types.b.bytes);
  const std::function<void(std::size_t)> run_until = [&](std::size_t end) {
    if (end == 0) return;
    const LaunchStep& step = plan.steps[end - 1];
    const auto previous = [&] { run_until(end - 1); };
    if (!step.overlaps_previous) previous();
    const Program::Kernel kernel = program.kernel(step.kernel);
    std::vector<void*> addresses = arguments.addresses(step);
    const auto count = static_cast<int>(addresses.size());
    Launch launch{step, [&] { kernel(addresses.data(), count); }, order, what};
    if (step.overlaps_previous) launch.previous = previous;
    shim::run(launch);
  };
  run_until(plan.steps.size());
}

}  // namespace mmtune::shim

// The way from a launch plan to the simulated machine: what runtime/gpu/launch.h is for a GPU.
#pragma once

#include <string>
#include <vector>

#include "runtime/gpu/arguments.h"
#include "tests/operands.h"
#include "tests/shim/machine.h"
#include "tests/shim/program.h"

namespace mmtune::shim {

/// Memory of exactly so many bytes, at a multiple of 256 and filled with NaN; the address sanitizer watches its ends.
class Memory {
 public:
  explicit Memory(std::size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(data_); }

 private:
  char* data_ = nullptr;
  std::size_t bytes_;
};

/// A matrix in memory that ends with its last element. Gaps between the rows may not be touched, as far as the address
/// sanitizer can tell: in whole multiples of 8 bytes.
class MatrixMemory {
 public:
  explicit MatrixMemory(const test::HostMatrix& matrix);

  /// The address of the first element.
  CUdeviceptr address() const { return memory_.address() + matrix_.offset_bytes() - matrix_.used_bytes().first; }

  /// The image of what the memory holds. From then on gaps may be touched.
  std::vector<char> image() const;

 private:
  const test::HostMatrix& matrix_;
  Memory memory_;
};

/// Runs the plan's steps, as launch() of runtime/gpu/launch.h does, after something on the stream that writes the
/// operands, which a first step that overlaps it must wait for; `what` is named in reports. Throws UsageError as that
/// does, and Error for a plan with a fault or a tensor map that the driver would refuse.
void launch(const Program& program, const LaunchPlan& plan, const Problem& problem, const Operands& operands,
            Order order, const std::string& what);

}  // namespace mmtune::shim

// Operands for tests on a GPU.
#pragma once

#include <vector>

#include "runtime/gpu/driver.h"
#include "tests/operands.h"
#include "tests/upload.h"

namespace mmtune::test {

/// The device has its values from upload() on.
class Matrix : public HostMatrix {
 public:
  using HostMatrix::HostMatrix;

  CUdeviceptr address() const { return memory_.address() + offset_bytes(); }

  void upload() {
    const std::vector<char> values = image();
    if (memory_.bytes() != values.size()) memory_ = DeviceBuffer(values.size());
    test::upload(memory_.address(), values.data(), values.size());
  }

  /// The image of what the device has now.
  std::vector<char> download() const {
    std::vector<char> values(memory_.bytes());
    MMTUNE_CUDA(cuMemcpyDtoH(values.data(), memory_.address(), values.size()));
    return values;
  }

 private:
  DeviceBuffer memory_;
};

}  // namespace mmtune::test

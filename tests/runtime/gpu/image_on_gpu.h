// A matrix of the host in a GPU's memory, with the gaps and guards around it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/gpu/driver.h"
#include "tests/operands.h"
#include "tests/upload.h"

namespace mmtune::test {

/// Needs a current context. Errors of the driver are thrown as DeviceError.
class ImageOnGpu {
 public:
  /// `offset_bytes`: where the first element stands in the image.
  ImageOnGpu(const std::vector<char>& image, std::uintptr_t offset_bytes)
      : offset_bytes_(offset_bytes), memory_(image.size()) {
    upload(memory_.address(), image.data(), image.size());
  }
  explicit ImageOnGpu(const HostMatrix& matrix) : ImageOnGpu(matrix.image(), matrix.offset_bytes()) {}

  /// The address of the first element.
  CUdeviceptr address() const { return memory_.address() + offset_bytes_; }
  void* pointer() const { return reinterpret_cast<void*>(address()); }

  /// The image as it is now, when everything that was launched has ended.
  std::vector<char> image() const {
    std::vector<char> image(memory_.bytes());
    MMTUNE_CUDA(cuCtxSynchronize());
    MMTUNE_CUDA(cuMemcpyDtoH(image.data(), memory_.address(), image.size()));
    return image;
  }

 private:
  std::uintptr_t offset_bytes_;
  DeviceBuffer memory_;
};

}  // namespace mmtune::test

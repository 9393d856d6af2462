#include "runtime/device_query.h"

#include <fmt/format.h>

#include <array>

#include "runtime/driver.h"

namespace mmtune {

namespace {

/// "GPU-5e0e1ffa-…", as nvidia-smi writes it.
std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

class Attributes {
 public:
  explicit Attributes(CUdevice device) : device_(device) {}
  int operator()(CUdevice_attribute attribute) const {
    int value = 0;
    MMTUNE_CUDA(cuDeviceGetAttribute(&value, attribute, device_));
    return value;
  }

 private:
  CUdevice device_;
};

void read_identity(DeviceSpec& spec, CUdevice device) {
  std::array<char, 256> name{};
  MMTUNE_CUDA(cuDeviceGetName(name.data(), static_cast<int>(name.size()), device));
  spec.name = name.data();
  CUuuid uuid{};
  MMTUNE_CUDA(cuDeviceGetUuid(&uuid, device));
  spec.uuid = uuid_text(uuid);
  spec.installed = true;
}

void read_limits(DeviceSpec& spec, const Attributes& attribute) {
  spec.cc_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  spec.cc_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  spec.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  spec.warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  spec.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  spec.max_threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  spec.max_blocks_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  spec.max_registers_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  spec.max_registers_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  spec.smem_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  spec.smem_per_block_optin = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  spec.smem_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  spec.smem_reserved_per_block = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  // The driver tells whether clusters can be launched; 8 blocks is what every such GPU allows without opting in.
  spec.max_cluster_size = attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) != 0 ? 8 : 1;
}

void read_memory(DeviceSpec& spec, const Attributes& attribute, CUdevice device) {
  std::size_t bytes = 0;
  MMTUNE_CUDA(cuDeviceTotalMem(&bytes, device));
  spec.memory_bytes = static_cast<std::int64_t>(bytes);
  spec.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  spec.core_clock_mhz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000;
  const double transfers_per_second = 2.0 * 1e3 * attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);  // double data rate
  spec.memory_bandwidth_gb_s = transfers_per_second * attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8 / 1e9;
}

}  // namespace

DeviceSpec query_device(int ordinal) {
  const CUdevice device = device_at(ordinal);
  const Attributes attribute(device);
  DeviceSpec spec;
  read_identity(spec, device);
  read_limits(spec, attribute);
  read_memory(spec, attribute, device);
  return spec;
}

}  // namespace mmtune

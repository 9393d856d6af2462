#include "runtime/gpu/device_query.h"

#include <fmt/format.h>

#include <array>

#include "runtime/gpu/driver.h"

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
  constexpr double kPerClock = 2;  // the transfers of a double data rate
  const double transfers_per_second = kPerClock * 1e3 * attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  spec.memory_bandwidth_gb_s = transfers_per_second * attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8 / 1e9;
}

/// How the value of an attribute reads.
enum class Reading { number, kilohertz, yes_or_no };

struct NamedAttribute {
  const char* name;
  CUdevice_attribute attribute;
  Reading reading = Reading::number;
  const char* unit = "";
};

// The properties in the order of the device query that comes with the toolkit's samples.
constexpr NamedAttribute kProperties[] = {
    {"memory clock", CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, Reading::kilohertz, "MHz"},
    {"memory bus width", CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, Reading::number, "bits"},
    {"constant memory", CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, Reading::number, "bytes"},
    {"most persisting L2", CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, Reading::number, "bytes"},
    {"most threads along x", CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
    {"most threads along y", CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
    {"most threads along z", CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
    {"most blocks along x", CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
    {"most blocks along y", CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
    {"most blocks along z", CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
    {"most pitch of a copy", CU_DEVICE_ATTRIBUTE_MAX_PITCH, Reading::number, "bytes"},
    {"texture alignment", CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, Reading::number, "bytes"},
    {"most width of a 2-D texture", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH},
    {"most height of a 2-D texture", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT},
    {"copy engines", CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
    {"time limit for kernels", CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, Reading::yes_or_no},
    {"integrated GPU", CU_DEVICE_ATTRIBUTE_INTEGRATED, Reading::yes_or_no},
    {"maps host memory", CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, Reading::yes_or_no},
    {"ECC", CU_DEVICE_ATTRIBUTE_ECC_ENABLED, Reading::yes_or_no},
    {"unified addressing (UVA)", CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, Reading::yes_or_no},
    {"managed memory", CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, Reading::yes_or_no},
    {"compute preemption", CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, Reading::yes_or_no},
    {"cooperative launch", CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, Reading::yes_or_no},
    {"concurrent kernels", CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, Reading::yes_or_no},
    {"fp32 to fp64 rate", CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO},
    {"TCC driver", CU_DEVICE_ATTRIBUTE_TCC_DRIVER, Reading::yes_or_no},
    {"PCI domain", CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID},
    {"PCI bus", CU_DEVICE_ATTRIBUTE_PCI_BUS_ID},
    {"PCI device", CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID},
    {"compute mode", CU_DEVICE_ATTRIBUTE_COMPUTE_MODE},
};

std::string text_of(int value, Reading reading) {
  if (reading == Reading::yes_or_no) return value != 0 ? "yes" : "no";
  return fmt::format("{}", reading == Reading::kilohertz ? value / 1000 : value);
}

}  // namespace

std::vector<DeviceProperty> query_properties(int ordinal) {
  const Attributes attribute(device_at(ordinal));
  std::vector<DeviceProperty> properties;
  for (const NamedAttribute& each : kProperties) {
    properties.push_back({each.name, text_of(attribute(each.attribute), each.reading), each.unit});
  }
  const DriverVersion driver = driver_version();
  properties.push_back({"CUDA version of the driver", driver.cuda, ""});
  if (!driver.release.empty()) properties.push_back({"release of the driver", driver.release, ""});
  return properties;
}

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

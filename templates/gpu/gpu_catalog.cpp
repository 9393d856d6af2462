#include "templates/gpu/gpu_catalog.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>

#include "templates/base/letters.h"
#include "templates/base/names.h"
#include "templates/gpu/architectures.h"

namespace mmtune {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kGiB = 1024 * kMiB;

/// What a product adds, from its vendor's data sheet.
struct Product {
  std::string_view key;
  std::string_view name;
  int cc;
  int sm_count;
  std::int64_t l2_bytes;
  std::int64_t memory_bytes;
  int core_clock_mhz;
  double memory_bandwidth_gb_s;
};

// Ascending by compute capability, then by key.
constexpr std::array kProducts{
    Product{"gt740m", "GeForce GT 740M", 30, 2, 256 * kKiB, 2 * kGiB, 980, 28.8},
    Product{"k20c", "Tesla K20c", 35, 13, 1280 * kKiB, 5 * kGiB, 706, 208},
    Product{"p100", "Tesla P100-SXM2-16GB", 60, 56, 4 * kMiB, 16 * kGiB, 1480, 732},
    Product{"gtx1080", "NVIDIA GeForce GTX 1080", 61, 20, 2 * kMiB, 8 * kGiB, 1733, 320},
    Product{"v100", "Tesla V100-SXM2-16GB", 70, 80, 6 * kMiB, 16 * kGiB, 1530, 900},
    Product{"t4", "Tesla T4", 75, 40, 4 * kMiB, 16 * kGiB, 1590, 320},
    Product{"a100", "NVIDIA A100-SXM4-80GB", 80, 108, 40 * kMiB, 80 * kGiB, 1410, 2039},
    Product{"rtx3090", "NVIDIA GeForce RTX 3090", 86, 82, 6 * kMiB, 24 * kGiB, 1695, 936},
    Product{"l4", "NVIDIA L4", 89, 58, 48 * kMiB, 24 * kGiB, 2040, 300},
    Product{"l40s", "NVIDIA L40S", 89, 142, 96 * kMiB, 48 * kGiB, 2520, 864},
    Product{"rtx4090", "NVIDIA GeForce RTX 4090", 89, 128, 72 * kMiB, 24 * kGiB, 2520, 1008},
    Product{"h100", "NVIDIA H100 80GB HBM3", 90, 132, 50 * kMiB, 80 * kGiB, 1980, 3350},
    Product{"h200", "NVIDIA H200", 90, 132, 50 * kMiB, 141 * kGiB, 1980, 4800},
    Product{"b200", "NVIDIA B200", 100, 148, 126 * kMiB, 180 * kGiB, 1965, 8000},
    Product{"rtx5090", "NVIDIA GeForce RTX 5090", 120, 170, 96 * kMiB, 32 * kGiB, 2407, 1792},
};

// Under the sanitizers g++ 12 takes no comparison with a null pointer for a constant.
static_assert(std::all_of(kProducts.begin(), kProducts.end(),
                          [](const Product& product) { return nearest_architecture(product.cc).cc == product.cc; }),
              "a GPU of the catalogue has a compute capability that templates/gpu/architectures.h has no row for");

DeviceSpec specification(const Product& product) {
  const Architecture& limits = *find_architecture(product.cc);
  DeviceSpec spec;
  spec.name = product.name;
  spec.cc_major = product.cc / 10;
  spec.cc_minor = product.cc % 10;
  spec.sm_count = product.sm_count;
  spec.max_threads_per_block = 1024;
  spec.max_threads_per_sm = limits.threads_per_sm;
  spec.max_blocks_per_sm = limits.blocks_per_sm;
  spec.max_registers_per_block = 65536;
  spec.max_registers_per_sm = 65536;
  spec.max_registers_per_thread = limits.registers_per_thread;
  spec.smem_per_block = 48 * kKiB;
  spec.smem_per_block_optin = limits.smem_per_block_kib * kKiB;
  spec.smem_per_sm = limits.smem_per_sm_kib * kKiB;
  spec.smem_reserved_per_block = limits.smem_reserved_kib * kKiB;
  spec.l2_bytes = product.l2_bytes;
  spec.memory_bytes = product.memory_bytes;
  spec.core_clock_mhz = product.core_clock_mhz;
  spec.memory_bandwidth_gb_s = product.memory_bandwidth_gb_s;
  spec.max_cluster_size = limits.max_cluster_size;
  return spec;
}

}  // namespace

const std::vector<CatalogEntry>& gpu_catalog() {
  static const std::vector<CatalogEntry> catalog = [] {
    std::vector<CatalogEntry> entries;
    for (const Product& product : kProducts) entries.push_back({product.key, specification(product)});
    return entries;
  }();
  return catalog;
}

const DeviceSpec& catalog_gpu(std::string_view key) {
  std::vector<std::string_view> known;
  for (const CatalogEntry& entry : gpu_catalog()) {
    if (equal_ignoring_case(entry.key, key)) return entry.spec;
    known.push_back(entry.key);
  }
  throw UsageError(fmt::format("GPU model '{}' is not in the catalogue; {}", key, known_names(key, known)));
}

}  // namespace mmtune

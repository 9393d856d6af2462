// Tensor maps for the tensor memory accelerator (sm_90 and later) as data; runtime/gpu/arguments.h makes of them what
// the driver takes. Limits: CUDA driver API, cuTensorMapEncodeTiled.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "templates/plan/arg.h"

namespace mmtune {

/// What the accelerator takes elements for. It moves bits as they are; the other formats are for reductions, which add,
/// for NaN beyond the edge, and tf32, which rounds fp32 to the nearest value that tensor cores read.
enum class MapFormat : std::uint8_t { bits8, bits16, bits32, bits64, i32, f16, bf16, f32, tf32, f64 };

int element_bytes(MapFormat format);
bool is_floating_point(MapFormat format);

/// The format that moves elements of 1, 2, 4 or 8 bytes as they are.
MapFormat bits_format(int element_bytes);

/// The distance of two neighbours along a dimension: bytes, and rows of the operand that the map is over, whose leading
/// dimension only the call knows.
struct MapStride {
  std::int64_t bytes = 0;
  std::int64_t rows = 0;

  friend bool operator==(const MapStride&, const MapStride&) = default;
};

struct MapDimension {
  std::int64_t extent = 0;  ///< elements; where one is 0, nothing is read or written through the map
  int box = 0;              ///< elements of a box, 1 to 256
  MapStride stride = {};    ///< a multiple of 16 bytes; not of the first dimension, whose elements lie side by side

  friend bool operator==(const MapDimension&, const MapDimension&) = default;
};

/// A tensor of up to five dimensions over an operand or a slice of the workspace, moved in boxes. What lies outside of
/// it arrives as zeros and is not written.
struct TensorMapSpec {
  std::string_view name;                      ///< a literal, for messages
  Arg base = {};                              ///< the address of the first element: an Arg::operand or Arg::slice
  MapFormat format = MapFormat::bits32;       ///< the format of an element
  std::vector<MapDimension> dimensions = {};  ///< one to five, the contiguous one first
  int swizzle_bytes = 0;  ///< 0, 32, 64 or 128: the XOR pattern of 16-byte chunks in shared memory, as wide as a box
  bool fills_with_nan = false;   ///< whether what lies outside arrives as NaN
  int l2_promotion_bytes = 128;  ///< the bytes that L2 fetches at least: 0, 64, 128 or 256

  friend bool operator==(const TensorMapSpec&, const TensorMapSpec&) = default;
};

/// Whether the tensor has no elements, so that nothing is read or written through the map.
bool is_empty(const TensorMapSpec& map);

}  // namespace mmtune

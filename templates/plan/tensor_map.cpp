#include "templates/plan/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace mmtune {

int element_bytes(MapFormat format) {
  switch (format) {
    case MapFormat::bits8:
      return 1;
    case MapFormat::bits16:
    case MapFormat::f16:
    case MapFormat::bf16:
      return 2;
    case MapFormat::bits32:
    case MapFormat::i32:
    case MapFormat::f32:
    case MapFormat::tf32:
      return 4;
    case MapFormat::bits64:
    case MapFormat::f64:
      return 8;
  }
  throw std::logic_error("unknown format of a tensor map");
}

bool is_floating_point(MapFormat format) { return format >= MapFormat::f16; }

MapFormat bits_format(int element_bytes) {
  switch (element_bytes) {
    case 1:
      return MapFormat::bits8;
    case 2:
      return MapFormat::bits16;
    case 4:
      return MapFormat::bits32;
    case 8:
      return MapFormat::bits64;
  }
  throw std::logic_error(fmt::format("a tensor map cannot have elements of {} bytes", element_bytes));
}

bool is_empty(const TensorMapSpec& map) {
  return std::any_of(map.dimensions.begin(), map.dimensions.end(),
                     [](const MapDimension& dimension) { return dimension.extent == 0; });
}

}  // namespace mmtune

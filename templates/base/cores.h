// How many threads or processes can work at once.
#pragma once

#include <optional>
#include <string_view>

namespace mmtune {

/// The processor cores that this process may use: those of its affinity mask, as batch systems set it, and of these no
/// more than the time that its container may use. At least 1.
int usable_cores();

/// The cores that the file cpu.max of a control group allows, rounded up: "250000 100000", in microseconds, are three
/// (Linux, Documentation/admin-guide/cgroup-v2.rst). None without a limit, and for a text that is not understood.
std::optional<int> cores_of_quota(std::string_view cpu_max);

}  // namespace mmtune

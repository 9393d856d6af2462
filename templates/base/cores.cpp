#include "templates/base/cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

namespace mmtune {

std::optional<int> cores_of_quota(std::string_view cpu_max) {
  std::istringstream text{std::string(cpu_max)};
  double quota_us = 0;
  double period_us = 0;
  if (!(text >> quota_us >> period_us) || !(quota_us > 0) || !(period_us > 0)) return std::nullopt;
  const double cores = quota_us / period_us;
  if (cores >= std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(cores) + (cores > static_cast<int>(cores) ? 1 : 0);
}

int usable_cores() {
  int cores = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t allowed;
  // The call fails on machines with more cores than the set has room for, which are then all counted.
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) cores = CPU_COUNT(&allowed);
  std::string line;
  std::getline(std::ifstream("/sys/fs/cgroup/cpu.max"), line);  // a container sees its own group as the root
  if (const auto quota = cores_of_quota(line)) cores = std::min(cores, *quota);
  return std::max(1, cores);
}

}  // namespace mmtune

#include "tuner/commands/described_device.h"

#include <fmt/format.h>

#include "db/store.h"
#include "runtime/call/databases.h"
#include "tuner/text/sizes.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

StoredGpuQuery stored_gpus(const Options& options) {
  return [&options] {
    StoredGpus stored{database_path(options), {}};
    if (database_exists(stored.database)) stored.keys = Store::open(stored.database, OpenMode::read_only).devices();
    return stored;
  };
}

}  // namespace

DeviceChoice described_device(const Options& options) {
  return choose_described_device(options.device, stored_gpus(options));
}

std::vector<DeviceChoice> described_devices(const Options& options) {
  return choose_described_devices(options.device, stored_gpus(options));
}

std::string tune_options(const DeviceChoice& device, const Options& options, const Problem& problem) {
  std::string text;
  if (options.device != "auto") {
    text += fmt::format("--device {} ", options.device);
  } else if (const CatalogEntry* model = catalog_entry(key_of(device.spec)); model != nullptr && device.ordinal < 0) {
    text += fmt::format("--device model:{} ", model->key);
  }
  text += "--sizes " + to_string(size_of(problem));
  if (problem.precision != kDefaultPrecision) text += fmt::format(" --precision {}", to_string(problem.precision));
  if (problem.layout != Layout::nn) text += fmt::format(" --layout {}", to_string(problem.layout));
  if (problem.invariant) text += " --invariant";
  return text + database_words(options.database);
}

}  // namespace mmtune

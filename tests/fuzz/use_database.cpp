#include <array>
#include <numeric>

#include "runtime/choose/dispatch.h"
#include "tests/fuzz/database.h"

/// What an input frees is a few megabytes, so that no more than that has to be kept to find a use of it; the
/// sanitizer's usual quarter of a gigabyte lies in no cache. And where memory was taken matters only once something is
/// found: then ASAN_OPTIONS, which comes after this, asks for it.
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=16:malloc_context_size=1"; }

namespace mmtune::fuzz {
namespace {

void read(Store& store) {
  for (const Trial& trial : store.trials()) require(fault_of(trial).empty(), "trials are valid");
  for (const Winner& winner : store.winners()) {
    require(fault_of(winner.trial).empty() && winner.candidates >= 0, "winners are valid");
    require(winner.binary.hash.empty() || fault_of(winner.binary).empty(), "winners' binaries are valid");
  }
  for (const DeviceKey& device : store.devices()) require(fault_of(device).empty(), "devices are valid");
  for (const Suspect& suspect : store.suspects()) {
    require(fault_of(suspect).empty(), "suspects are valid");
  }
  const Trial& known = SampleDatabase::known();
  const Binary binary = test::sample_binary(0);
  if (const auto trial = store.find(known.key)) require(trial->key.config == known.key.config, "finds what is asked");
  store.find_winner(known.key.problem_key());
  store.find_twins(known.key, binary.hash);
  store.find_binary(binary.hash);
  store.find_compiled(known.key.source_hash, binary.target);
}

/// What the library makes of it: kernels for sizes that are tuned, near a tuned one, and absurd.
void dispatch(Store& store) {
  static CurrentSources sources(SampleDatabase::gpu(), TemplateFiles::embedded());
  const DispatchTable table(SampleDatabase::gpu(), load_kernels(store, sources));
  for (const std::int64_t m : {std::int64_t{1}, std::int64_t{512}, std::int64_t{1} << 40}) {
    const Choice choice = table.choose(packed_problem(Precision::fp32, Layout::nn, m, 256, 1024));
    require(choice.family != nullptr && !choice.plan.steps.empty(), "there is always something to run");
  }
}

void merge(Store& store) {
  Store clean = Store::open_image(sample().empty(), OpenMode::read_write);
  allow<DatabaseError>([&] { clean.merge_from(store, ForeignCode::take); });
  require(clean.check().faults.empty(), "what is merged is sound");
}

void write(Store& store) {
  const Trial& trial = SampleDatabase::known();
  const Binary binary = test::sample_binary(0);
  const bool sound = store.check().faults.empty();
  store.put(trial, &binary);
  require(!sound || store.find(trial.key), "what is put into a sound database is found");
  store.put_winner(trial.key, "search", 3);
  for (const TrialKey& culprit : store.settle(trial.environment.device_uuid, "next-boot")) {
    require(fault_of(culprit).empty(), "culprits are valid");
  }
  PruneRules rules;
  rules.failed = rules.predicted = rules.set_aside = rules.stale_sources = true;
  rules.live_sources = {trial.key.source_hash};
  const std::int64_t counted = store.count_prunable(rules).trials;
  require(store.prune(rules).trials == counted || !sound, "what is counted is removed");
}

}  // namespace

void use_database(std::string_view bytes, std::string_view input) {
  constexpr std::array<void (*)(Store&), 4> kUses{read, dispatch, merge, write};
  const auto use = std::accumulate(input.begin(), input.end(), input.size()) % kUses.size();
  allow<DatabaseError>([&] {
    Store store = Store::open_image(bytes, kUses[use] == write ? OpenMode::read_write : OpenMode::read_only);
    kUses[use](store);
  });
}

}  // namespace mmtune::fuzz

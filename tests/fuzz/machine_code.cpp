// What the compiler gives: its report of resources, and cubins, which also come from databases.
#include "db/machine_code.h"

#include "tests/fuzz/fuzz.h"

MMTUNE_FUZZER(machine_code) {
  using namespace mmtune;
  const std::string text(fuzz::text_of(data, size));
  for (const KernelResources& kernel : parse_resource_report(text)) {
    fuzz::require(
        kernel.registers >= 0 && kernel.spill_bytes >= 0 && kernel.stack_bytes >= 0 && kernel.static_smem_bytes >= 0,
        "resources are amounts");
  }
  const std::string hash = hash_machine_code(text);
  fuzz::require(hash.size() == 32 && hash.find_first_not_of("0123456789abcdef") == std::string::npos, "a hash");
  fuzz::require(hash == hash_machine_code(text), "the same code has the same hash");
  return 0;
}

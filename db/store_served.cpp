// Reading all decisions for a GPU, which an application waits for when it starts.
#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "db/device_key.h"
#include "db/store_impl.h"
#include "db/whole_tables.h"

namespace mmtune {
namespace {

/// One row for each decision; devices first, then winners by their primary key, so that the trials' index is walked in
/// its order.
const std::string& select_served() {
  static const std::string statement = fmt::format(
      "SELECT {}, winner.evidence, trial.median_us, winner.cublas_ratio, winner.kernel_id, trial.binary_hash"
      " FROM device CROSS JOIN winner ON winner.device_id = device.id CROSS JOIN problem ON problem.id ="
      " winner.problem_id CROSS JOIN trial ON {} AND trial.outcome = 0 WHERE {}",
      sql::columns<Problem>(), sql::same<TrialKey>("winner", "trial"), sql::matches<DeviceKey>());
  return statement;
}

constexpr std::size_t kMostTimes = 16384;  // the most times, the latest of each kernel: reading one takes microseconds
constexpr std::size_t kMostOfOne = 512;

/// The latest trials of a kernel that have a time, by walking the index of kernels back.
const std::string& select_times() {
  static const std::string statement = fmt::format(
      "SELECT {}, trial.median_us FROM trial CROSS JOIN problem ON problem.id = trial.problem_id WHERE"
      " trial.kernel_id = :kernel AND trial.device_id = :device AND trial.evidence = :evidence"
      " AND trial.binary_hash = :binary_hash AND trial.outcome IN (0, 9) ORDER BY trial.id DESC LIMIT :most",
      sql::columns<Problem>());
  return statement;
}

/// Adds as many times of the kernel as are asked for, the latest.
void add_times(Database& database, std::int64_t device_id, const ServedKernel& kernel, std::uint32_t kernel_id,
               Evidence evidence, std::size_t number, std::size_t most, std::vector<ServedTime>& times) {
  if (kernel.binary.hash.empty()) return;
  Rows rows =
      database.query(select_times(), Named{"kernel", kernel_id}, Named{"device", device_id},
                     Named{"evidence", evidence}, Named{"binary_hash", Hash{kernel.binary.hash}}, Named{"most", most});
  while (rows.next()) {
    ServedTime time;
    Reader reader(rows);
    reader.read(time.problem);
    reader.read(time.median_us);
    time.kernel = number;
    if (reader.valid() && is_time(time.median_us) && fault_of(time.problem).empty()) times.push_back(time);
  }
}

/// The kernels that decisions name, each looked at once.
class ServedKernels {
 public:
  ServedKernels(Database& database, const DeviceKey& device) : database_(database), device_(device), limit_(device) {}

  /// Whether any kernel can take this time.
  bool is_possible(const Problem& problem, double median_us) const { return median_us >= limit_.least_us(problem); }

  /// The number of the kernel that a decision names; nothing if no mmtune writes what is stored of it. The size must be
  /// sound.
  std::optional<std::size_t> number_of(std::uint32_t id, const ServedSize& size, std::string_view binary_hash) {
    const auto found = numbers_.find(place_of(id, size.problem));
    if (found != numbers_.end()) return found->second;
    return numbers_.emplace(place_of(id, size.problem), add(id, size, binary_hash)).first->second;
  }

  std::uint32_t id_of(std::size_t kernel) const { return ids_[kernel]; }
  std::size_t size() const { return kernels_.size(); }
  const ServedKernel& operator[](std::size_t kernel) const { return kernels_[kernel]; }
  std::vector<ServedKernel> take() { return std::move(kernels_); }

 private:
  /// A place for each row, precision, layout and alignment.
  static std::uint64_t place_of(std::uint32_t id, const Problem& problem) {
    const auto bits = [](int align) {
      return static_cast<std::uint64_t>(std::countr_zero(static_cast<unsigned>(align)));
    };
    const Alignment& align = problem.align;
    return std::uint64_t{id} << 32 | static_cast<std::uint64_t>(problem.precision) << 16 |
           static_cast<std::uint64_t>(problem.invariant) << 14 | static_cast<std::uint64_t>(problem.layout) << 12 |
           bits(align.a) << 8 | bits(align.b) << 4 | bits(align.c);
  }

  std::optional<std::size_t> add(std::uint32_t id, const ServedSize& size, std::string_view binary_hash) {
    static const std::string statement =
        fmt::format("SELECT {}{} WHERE kernel.id = :id", sql::columns<KernelRow>(), sql::from<KernelRow>());
    Rows rows = database_.query(statement, Named{"id", id});
    const auto row = rows.next() ? valid_row<KernelRow>(rows) : std::nullopt;
    if (!row) return std::nullopt;
    const TrialKey key{device_, size.problem, row->family.family_name, row->config(), row->source_hash, size.evidence};
    if (!fault_of(key).empty()) return std::nullopt;
    kernels_.push_back({key.family, key.config, key.source_hash, code_of(database_, key.source_hash, binary_hash)});
    ids_.push_back(id);
    return kernels_.size() - 1;
  }

  Database& database_;
  const DeviceKey& device_;
  SpeedLimit limit_;
  std::unordered_map<std::uint64_t, std::optional<std::size_t>> numbers_;
  std::vector<ServedKernel> kernels_;
  std::vector<std::uint32_t> ids_;
};

bool stands_before(const ServedSize& x, const ServedSize& y) {
  const auto rank = [](const ServedSize& size) {
    const Problem& p = size.problem;
    return std::tuple(p.precision, p.layout, p.m, p.n, p.k, -p.align.a, -p.align.b, -p.align.c, p.invariant,
                      size.evidence);
  };
  return rank(x) < rank(y);
}

/// Adds the size that is decided, if no value is spoilt, with the kernel of this row.
void add_size(std::uint32_t kernel_id, std::string_view binary_hash, ServedSize size, ServedKernels& kernels,
              std::vector<ServedSize>& sizes) {
  if (!kernels.is_possible(size.problem, size.median_us)) return;
  const auto kernel = kernels.number_of(kernel_id, size, binary_hash);
  if (!kernel) return;
  size.kernel = *kernel;
  sizes.push_back(size);
}

/// The evidence of the times that count for each kernel, by sizes in their final order: a measured decision makes the
/// measured ones count.
std::vector<Evidence> evidence_of(const std::vector<ServedSize>& sizes, std::size_t kernels) {
  std::vector<Evidence> evidence(kernels, Evidence::predicted);
  for (const ServedSize& size : sizes) evidence[size.kernel] = std::min(evidence[size.kernel], size.evidence);
  return evidence;
}

/// The most times that are kept of each kernel.
std::size_t most_times(std::size_t kernels) {
  return std::min(kMostOfOne, kMostTimes / std::max<std::size_t>(1, kernels));
}

/// Reads by one look-up for each decision, whatever else is stored.
ServedDecisions served_by_look_ups(Database& database, const DeviceKey& device, std::int64_t device_id) {
  const int hash_column = static_cast<int>(columns_of<Problem>(kTable<Problem>, Images::no).size()) + 4;
  ServedKernels kernels(database, device);
  ServedDecisions served;
  Rows rows = database.query(select_served(), device);
  while (rows.next()) {
    ServedSize size;
    std::uint32_t kernel_id = 0;
    Reader reader(rows);
    reader.read(size.problem);
    reader.read(size.evidence);
    reader.read(size.median_us);
    reader.read(size.cublas_ratio);
    reader.read(kernel_id);
    if (!reader.valid() || !is_time(size.median_us)) continue;
    if (!rule::evidence(size.evidence).empty() || !fault_of(size.problem).empty()) continue;
    add_size(kernel_id, rows.hash(hash_column).value_or(""), size, kernels, served.sizes);
  }
  const std::vector<Evidence> evidence = evidence_of(served.sizes, kernels.size());
  const std::size_t most = most_times(kernels.size());
  for (std::size_t i = 0; i < kernels.size() && most > 0; ++i) {
    add_times(database, device_id, kernels[i], kernels.id_of(i), evidence[i], i, most, served.times);
  }
  served.kernels = kernels.take();
  return served;
}

/// The times of all kernels, as add_times() finds them.
std::vector<ServedTime> times_of(const WholeTables& tables, const ServedKernels& kernels,
                                 const std::vector<Evidence>& evidence) {
  const std::size_t most = most_times(kernels.size());
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> of_row;
  std::vector<std::optional<std::uint32_t>> program(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    of_row[kernels.id_of(i)].push_back(i);
    if (!kernels[i].binary.hash.empty()) program[i] = tables.programs().find(kernels[i].binary.hash);
  }
  std::vector<std::vector<ServedTime>> times(kernels.size());
  for (auto trial = tables.trials().rbegin(); trial != tables.trials().rend(); ++trial) {
    const auto found = of_row.find(trial->kernel_id);
    if (found == of_row.end()) continue;
    for (const std::size_t i : found->second) {
      if (program[i] != trial->program || evidence[i] != trial->evidence || times[i].size() == most) continue;
      if (const Problem* problem = tables.problem(trial->problem_id)) {
        times[i].push_back({*problem, trial->median_us, i});
      }
    }
  }
  std::vector<ServedTime> all;
  for (const std::vector<ServedTime>& of_kernel : times) all.insert(all.end(), of_kernel.begin(), of_kernel.end());
  return all;
}

/// The same where all tables are read in the order of their rows.
ServedDecisions served_from_whole_tables(Database& database, const DeviceKey& device, std::int64_t device_id) {
  constexpr std::string_view kWinners =
      "SELECT problem_id, evidence, cublas_ratio, kernel_id FROM winner WHERE device_id = :device"
      " ORDER BY problem_id, evidence";
  const WholeTables tables(database, device_id);
  WholeTables::OkTrials trials(tables);
  ServedKernels kernels(database, device);
  ServedDecisions served;
  served.sizes.reserve(tables.trials().size());
  Rows rows = database.query(kWinners, Named{"device", device_id});
  while (rows.next()) {
    ServedSize size;
    std::int64_t problem_id = 0;
    std::uint32_t kernel_id = 0;
    Reader reader(rows);
    reader.read(problem_id);
    reader.read(size.evidence);
    reader.read(size.cublas_ratio);
    reader.read(kernel_id);
    if (!reader.valid()) continue;
    const TrialTime* trial = trials.find(problem_id, size.evidence, kernel_id);
    const Problem* problem = tables.problem(problem_id);
    if (trial == nullptr || problem == nullptr) continue;
    size.problem = *problem;
    size.median_us = trial->median_us;
    add_size(kernel_id, tables.programs().text(trial->program), size, kernels, served.sizes);
  }
  served.times = times_of(tables, kernels, evidence_of(served.sizes, kernels.size()));
  served.kernels = kernels.take();
  return served;
}

std::optional<std::int64_t> id_of_device(Database& database, const DeviceKey& device) {
  static const std::string statement = fmt::format("SELECT id FROM device WHERE {}", sql::matches<DeviceKey>());
  Rows rows = database.query(statement, device);
  return rows.next() ? rows.integer(0) : std::nullopt;
}

/// Whether many of the trials are those of decisions for the GPU, as in what `db export --winners` writes: reading this
/// many in a row takes about as long as looking up one. Few rows are read for an answer.
bool are_mostly_decided(Database& database, std::int64_t device_id) {
  constexpr std::int64_t kRowsPerLookUp = 4;
  const std::int64_t trials = database.integer("SELECT max(id) FROM trial");
  constexpr std::string_view kStatement = "SELECT 1 FROM winner WHERE device_id = :device LIMIT 1 OFFSET :others";
  return database.query(kStatement, Named{"device", device_id}, Named{"others", trials / kRowsPerLookUp}).next();
}

}  // namespace

ServedDecisions Store::served(const DeviceKey& device) {
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  const Transaction snapshot(database, Transaction::Kind::read);
  const auto device_id = id_of_device(database, device);
  if (!device_id) return {};
  ServedDecisions served = are_mostly_decided(database, *device_id)
                               ? served_from_whole_tables(database, device, *device_id)
                               : served_by_look_ups(database, device, *device_id);
  std::sort(served.sizes.begin(), served.sizes.end(), stands_before);
  return served;
}

}  // namespace mmtune

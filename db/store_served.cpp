// Reading all decisions for a GPU, which an application waits for when it starts.
#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "db/speed_limit.h"
#include "db/store_impl.h"
#include "db/whole_tables.h"

namespace mmtune {

namespace {

/// One row for each decision, with texts last; devices first, then winners by their primary key, so that the trials'
/// index is walked in its order.
const std::string& select_served() {
  static const std::string statement = fmt::format(
      "SELECT {}, winner.evidence, trial.median_us, winner.cublas_ratio, winner.family, winner.config, "
      "winner.source_hash, trial.binary_hash"
      " FROM device CROSS JOIN winner ON winner.device_id = device.id CROSS JOIN problem ON problem.id ="
      " winner.problem_id CROSS JOIN trial ON {} AND trial.outcome = 0 WHERE {}",
      sql::columns<Problem>(), sql::same<TrialKey>("winner", "trial"), sql::matches<DeviceKey>());
  return statement;
}

constexpr std::size_t kMostTimes = 16384;  // the most times, the latest of each kernel: reading one takes microseconds
constexpr std::size_t kMostOfOne = 512;

/// Trials of a program, from the index of machine code alone.
const std::string& select_trials() {
  static const std::string statement = fmt::format(
      "SELECT trial.id FROM device CROSS JOIN trial ON trial.device_id = device.id WHERE {}"
      " AND trial.binary_hash = :binary_hash AND trial.binary_hash <> ''",
      sql::matches<DeviceKey>());
  return statement;
}

/// The time of one of these trials, if it is of the kernel and has a time.
const std::string& select_time() {
  static const std::string statement = fmt::format(
      "SELECT {}, trial.median_us FROM trial CROSS JOIN problem ON problem.id = trial.problem_id WHERE trial.id = :id"
      " AND trial.source_hash = :source_hash AND trial.config = :config AND trial.evidence = :evidence"
      " AND trial.outcome IN (0, 9)",
      sql::columns<Problem>());
  return statement;
}

/// The latest first.
std::vector<std::int64_t> trials_of(Database& database, const DeviceKey& device, std::string_view binary_hash) {
  std::vector<std::int64_t> trials;
  Rows rows = database.query(select_trials(), device, Named{"binary_hash", binary_hash});
  while (rows.next()) trials.push_back(rows.integer(0).value_or(0));
  std::sort(trials.begin(), trials.end(), std::greater());
  return trials;
}

/// Adds as many times of the kernel as are asked for, the latest. A kernel may have been tried for a great many sizes,
/// and only what is read of its trials costs more than an entry of an index.
void add_times(Database& database, const DeviceKey& device, const ServedKernel& kernel, Evidence evidence,
               std::size_t number, std::size_t most, std::vector<ServedTime>& times) {
  if (kernel.binary.hash.empty()) return;
  std::size_t found = 0;
  for (const std::int64_t trial : trials_of(database, device, kernel.binary.hash)) {
    if (found == most) return;
    Rows rows = database.query(select_time(), Named{"id", trial}, Named{"source_hash", kernel.source_hash},
                               Named{"config", kernel.config}, Named{"evidence", evidence});
    if (!rows.next()) continue;
    ++found;
    ServedTime time;
    Reader reader(rows);
    reader.read(time.problem);
    reader.read(time.median_us);
    time.kernel = number;
    if (reader.valid() && is_time(time.median_us) && fault_of(time.problem).empty()) times.push_back(time);
  }
}

/// The kernels that decisions name, each looked at once.
class Kernels {
 public:
  Kernels(Database& database, const DeviceKey& device) : database_(database), device_(device), limit_(device) {}

  /// Whether any kernel can take this time.
  bool is_possible(const Problem& problem, double median_us) const { return median_us >= limit_.least_us(problem); }

  /// The number of the kernel that a decision of the current row has, whose texts begin at `column` and have this
  /// number; nothing if no mmtune writes them. The size must be sound.
  std::optional<std::size_t> number_of(const Rows& rows, int column, std::uint32_t name, const ServedSize& size,
                                       std::string_view binary_hash) {
    const auto found = numbers_.find(place_of(name, size.problem));
    if (found != numbers_.end()) return found->second;
    return numbers_.emplace(place_of(name, size.problem), add(rows, column, name, size, binary_hash)).first->second;
  }

  std::uint32_t name_of(std::size_t kernel) const { return names_[kernel]; }
  std::size_t size() const { return kernels_.size(); }
  const ServedKernel& operator[](std::size_t kernel) const { return kernels_[kernel]; }
  std::vector<ServedKernel> take() { return std::move(kernels_); }

 private:
  /// A place for each name, precision, layout and alignment.
  static std::uint64_t place_of(std::uint32_t name, const Problem& problem) {
    const auto bits = [](int align) {
      return static_cast<std::uint64_t>(std::countr_zero(static_cast<unsigned>(align)));
    };
    const Alignment& align = problem.align;
    return std::uint64_t{name} << 32 | static_cast<std::uint64_t>(problem.precision) << 16 |
           static_cast<std::uint64_t>(problem.invariant) << 14 | static_cast<std::uint64_t>(problem.layout) << 12 |
           bits(align.a) << 8 | bits(align.b) << 4 | bits(align.c);
  }

  std::optional<std::size_t> add(const Rows& rows, int column, std::uint32_t name, const ServedSize& size,
                                 std::string_view binary_hash) {
    const auto text = [&](int number) { return std::string(rows.text(column + number).value_or("")); };
    ServedKernel kernel{text(0), text(1), text(2), {}};
    const TrialKey key{device_, size.problem, kernel.family, kernel.config, kernel.source_hash, size.evidence};
    if (!fault_of(key).empty()) return std::nullopt;
    kernel.binary = code_of(database_, kernel.source_hash, binary_hash);
    kernels_.push_back(std::move(kernel));
    names_.push_back(name);
    return kernels_.size() - 1;
  }

  Database& database_;
  const DeviceKey& device_;
  SpeedLimit limit_;
  std::unordered_map<std::uint64_t, std::optional<std::size_t>> numbers_;
  std::vector<ServedKernel> kernels_;
  std::vector<std::uint32_t> names_;
};

bool stands_before(const ServedSize& x, const ServedSize& y) {
  const auto rank = [](const ServedSize& size) {
    const Problem& p = size.problem;
    return std::tuple(p.precision, p.layout, p.m, p.n, p.k, -p.align.a, -p.align.b, -p.align.c, p.invariant,
                      size.evidence);
  };
  return rank(x) < rank(y);
}

/// Adds the size that is decided, if no value is spoilt, with the kernel that the texts of the current row name.
void add_size(const Rows& rows, int column, std::uint32_t name, std::string_view binary_hash, ServedSize size,
              Kernels& kernels, std::vector<ServedSize>& sizes) {
  if (!kernels.is_possible(size.problem, size.median_us)) return;
  const auto kernel = kernels.number_of(rows, column, name, size, binary_hash);
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
ServedDecisions served_by_look_ups(Database& database, const DeviceKey& device) {
  const int first_text = static_cast<int>(columns_of<Problem>(kTable<Problem>, Images::no).size()) + 3;
  Kernels kernels(database, device);
  TextNumbers names;
  ServedDecisions served;
  std::string name;
  Rows rows = database.query(select_served(), device);
  while (rows.next()) {
    ServedSize size;
    Reader reader(rows);
    reader.read(size.problem);
    reader.read(size.evidence);
    reader.read(size.median_us);
    reader.read(size.cublas_ratio);
    if (!reader.valid() || !is_time(size.median_us)) continue;
    if (!rule::evidence(size.evidence).empty() || !fault_of(size.problem).empty()) continue;
    join_texts(rows, first_text, name);
    const std::string_view binary_hash = rows.text(first_text + 3).value_or("");
    add_size(rows, first_text, names.number_of(name), binary_hash, size, kernels, served.sizes);
  }
  const std::vector<Evidence> evidence = evidence_of(served.sizes, kernels.size());
  const std::size_t most = most_times(kernels.size());
  for (std::size_t i = 0; i < kernels.size() && most > 0; ++i) {
    add_times(database, device, kernels[i], evidence[i], i, most, served.times);
  }
  served.kernels = kernels.take();
  return served;
}

/// The times of all kernels, as add_times() finds them.
std::vector<ServedTime> times_of(const WholeTables& tables, const Kernels& kernels,
                                 const std::vector<Evidence>& evidence) {
  const std::size_t most = most_times(kernels.size());
  std::vector<std::vector<std::size_t>> of_name(tables.names().size());
  std::vector<std::optional<std::uint32_t>> program(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    of_name[kernels.name_of(i)].push_back(i);
    if (!kernels[i].binary.hash.empty()) program[i] = tables.programs().find(kernels[i].binary.hash);
  }
  std::vector<std::vector<ServedTime>> times(kernels.size());
  for (auto trial = tables.trials().rbegin(); trial != tables.trials().rend(); ++trial) {
    for (const std::size_t i : of_name[trial->name]) {
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
      "SELECT problem_id, evidence, cublas_ratio, family, config, source_hash FROM winner WHERE device_id = :device"
      " ORDER BY problem_id, evidence";
  constexpr int kFirstText = 3;
  const WholeTables tables(database, device_id);
  WholeTables::OkTrials trials(tables);
  Kernels kernels(database, device);
  ServedDecisions served;
  served.sizes.reserve(tables.trials().size());
  std::string name;
  Rows rows = database.query(kWinners, Named{"device", device_id});
  while (rows.next()) {
    ServedSize size;
    std::int64_t problem_id = 0;
    Reader reader(rows);
    reader.read(problem_id);
    reader.read(size.evidence);
    reader.read(size.cublas_ratio);
    if (!reader.valid()) continue;
    join_texts(rows, kFirstText, name);
    const TimedTrial* trial = trials.find(problem_id, size.evidence, name);
    const Problem* problem = tables.problem(problem_id);
    if (trial == nullptr || problem == nullptr) continue;
    size.problem = *problem;
    size.median_us = trial->median_us;
    add_size(rows, kFirstText, trial->name, tables.programs().text(trial->program), size, kernels, served.sizes);
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
                               : served_by_look_ups(database, device);
  std::sort(served.sizes.begin(), served.sizes.end(), stands_before);
  return served;
}

}  // namespace mmtune

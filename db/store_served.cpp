// Reading all decisions for a GPU, which an application waits for when it starts.
#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "db/store_impl.h"

namespace mmtune {

namespace {

/// One row for each decision, with texts last; devices first, then winners by their primary key, so that the trials'
/// index is walked in its order.
const std::string& select_served() {
  static const std::string statement = fmt::format(
      "SELECT {}, winner.evidence, trial.median_us, winner.family, winner.config, winner.source_hash, trial.binary_hash"
      " FROM device CROSS JOIN winner ON winner.device_id = device.id CROSS JOIN problem ON problem.id ="
      " winner.problem_id CROSS JOIN trial ON {} AND trial.outcome = 0 WHERE {}",
      sql::columns<Problem>(), sql::same<TrialKey>("winner", "trial"), sql::matches<DeviceKey>());
  return statement;
}

/// What a source compiled to, that of this name if there are several, without its image. See select_winner().
Binary code_of(Database& database, std::string_view source_hash, std::string_view binary_hash) {
  static const std::string statement = fmt::format(
      "SELECT {} FROM compiled JOIN binary ON binary.hash = compiled.binary_hash AND binary.target = compiled.target"
      " WHERE compiled.source_hash = :source_hash AND binary.cubin IS NOT NULL"
      " ORDER BY compiled.binary_hash = :binary_hash DESC, compiled.target DESC LIMIT 1",
      sql::columns<Binary>());
  Rows rows = database.query(statement, Named{"source_hash", source_hash}, Named{"binary_hash", binary_hash});
  auto binary = rows.next() ? valid_row<Binary>(rows) : std::nullopt;
  return binary.value_or(Binary{});
}

constexpr std::size_t kMostTimes = 16384;  // of all kernels alike, the latest of each: reading one takes microseconds
constexpr std::size_t kMostOfOne = 512;

/// Trials of a program, from the index of machine code alone.
const std::string& select_trials() {
  static const std::string statement = fmt::format(
      "SELECT trial.id FROM device CROSS JOIN trial ON trial.device_id = device.id WHERE {}"
      " AND trial.binary_hash = :binary_hash AND trial.binary_hash <> ''",
      sql::matches<DeviceKey>());
  return statement;
}

/// One of them, if it is of the kernel and has a time.
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

/// As many times of the kernel as are asked for, the latest. A kernel may have been tried for a great many sizes, and
/// only what is read of its trials costs more than an entry of an index.
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
    const bool is_time = reader.valid() && time.median_us > 0 && rule::amount(time.median_us).empty();
    if (is_time && fault_of(time.problem).empty()) times.push_back(time);
  }
}

/// Numbers of the kernels that rows name, each looked at once.
class Kernels {
 public:
  Kernels(Database& database, const DeviceKey& device) : database_(database), device_(device) {}

  /// Of the current row, whose texts begin at `column`; nothing if no mmtune writes them.
  std::optional<std::size_t> number_of(const Rows& rows, const ServedSize& size, int column) {
    name_.clear();
    const Alignment& align = size.problem.align;
    for (const int part :
         {static_cast<int>(size.problem.precision), static_cast<int>(size.problem.layout), align.a, align.b, align.c}) {
      name_ += static_cast<char>(part);
    }
    for (int text = 0; text < 3; ++text) name_.append(rows.text(column + text).value_or("")) += '\0';
    const auto found = numbers_.find(name_);
    if (found != numbers_.end()) return found->second;
    return numbers_.emplace(name_, add(rows, size, column)).first->second;
  }

  std::vector<ServedKernel> take() { return std::move(kernels_); }

 private:
  std::optional<std::size_t> add(const Rows& rows, const ServedSize& size, int column) {
    const auto text = [&](int number) { return std::string(rows.text(column + number).value_or("")); };
    ServedKernel kernel{text(0), text(1), text(2), {}};
    const TrialKey key{device_, size.problem, kernel.family, kernel.config, kernel.source_hash, size.evidence};
    if (!fault_of(key).empty()) return std::nullopt;
    kernel.binary = code_of(database_, kernel.source_hash, text(3));
    kernels_.push_back(std::move(kernel));
    return kernels_.size() - 1;
  }

  Database& database_;
  const DeviceKey& device_;
  std::string name_;  ///< of the row at hand
  std::unordered_map<std::string, std::optional<std::size_t>> numbers_;
  std::vector<ServedKernel> kernels_;
};

bool stands_before(const ServedSize& x, const ServedSize& y) {
  const auto rank = [](const ServedSize& size) {
    const Problem& p = size.problem;
    return std::tuple(p.precision, p.layout, p.m, p.n, p.k, -p.align.a, -p.align.b, -p.align.c, size.evidence);
  };
  return rank(x) < rank(y);
}

}  // namespace

ServedDecisions Store::served(const DeviceKey& device) {
  const int first_text = static_cast<int>(columns_of<Problem>(kTable<Problem>, Images::no).size()) + 2;
  const std::lock_guard lock(impl_->mutex);
  Database& database = *impl_->database;
  const Transaction snapshot(database, Transaction::Kind::read);
  Kernels kernels(database, device);
  ServedDecisions served;
  Rows rows = database.query(select_served(), device);
  while (rows.next()) {
    ServedSize size;
    Reader reader(rows);
    reader.read(size.problem);
    reader.read(size.evidence);
    reader.read(size.median_us);
    if (!reader.valid() || !(size.median_us > 0) || !rule::amount(size.median_us).empty()) continue;
    if (!rule::evidence(size.evidence).empty() || !fault_of(size.problem).empty()) continue;
    const auto kernel = kernels.number_of(rows, size, first_text);
    if (!kernel) continue;
    size.kernel = *kernel;
    served.sizes.push_back(size);
  }
  std::sort(served.sizes.begin(), served.sizes.end(), stands_before);
  served.kernels = kernels.take();
  std::vector<Evidence> evidence(served.kernels.size(), Evidence::predicted);
  for (const ServedSize& size : served.sizes) evidence[size.kernel] = std::min(evidence[size.kernel], size.evidence);
  const std::size_t most = std::min(kMostOfOne, kMostTimes / std::max<std::size_t>(1, served.kernels.size()));
  for (std::size_t i = 0; i < served.kernels.size() && most > 0; ++i) {
    add_times(database, device, served.kernels[i], evidence[i], i, most, served.times);
  }
  return served;
}

}  // namespace mmtune

#include "db/losing_code.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "db/rows.h"

namespace mmtune {
namespace {

void add_hashes(Rows rows, std::set<std::string>& hashes) {
  while (rows.next()) hashes.insert(rows.hash(0).value_or(""));
}

/// Programs of decisions, of rivals and of these sources, and those that may still win a problem that is not decided.
std::set<std::string> needed_programs(Database& database, const std::vector<std::string>& kept_sources) {
  constexpr std::string_view kOfDecisions =
      "SELECT binary_hash FROM compiled WHERE source_hash IN (SELECT source_hash FROM kernel WHERE id IN"
      " (SELECT kernel_id FROM winner UNION SELECT kernel_id FROM rival))";
  constexpr std::string_view kOfUndecided =
      "SELECT DISTINCT binary_hash FROM trial WHERE binary_hash <> '' AND outcome IN (0, 9) AND NOT EXISTS"
      " (SELECT 1 FROM winner WHERE winner.device_id = trial.device_id AND winner.problem_id = trial.problem_id"
      " AND winner.evidence = trial.evidence)";
  static const std::string of_trials = fmt::format(
      "SELECT binary_hash FROM winner JOIN trial ON {} UNION SELECT binary_hash FROM rival JOIN trial ON {}",
      sql::same<TrialKey>("winner", "trial"), sql::same<TrialKey>("rival", "trial"));
  std::set<std::string> programs;
  add_hashes(database.query(kOfDecisions), programs);
  add_hashes(database.query(of_trials), programs);
  add_hashes(database.query(kOfUndecided), programs);
  for (const std::string& source : kept_sources) {
    add_hashes(
        database.query("SELECT binary_hash FROM compiled WHERE source_hash = :source", Named{"source", Hash{source}}),
        programs);
  }
  return programs;
}

/// Programs with an image that were tried.
std::set<std::string> tried_programs(Database& database) {
  constexpr std::string_view kSelect =
      "SELECT hash FROM binary WHERE cubin IS NOT NULL AND hash IN (SELECT binary_hash FROM trial)";
  std::set<std::string> programs;
  add_hashes(database.query(kSelect), programs);
  return programs;
}

/// The same, for any of these problems, whichever way it was timed.
std::set<std::string> tried_programs(Database& database, const std::vector<ProblemKey>& problems) {
  static const std::string select = fmt::format(
      "SELECT hash FROM binary WHERE cubin IS NOT NULL AND hash IN (SELECT trial.binary_hash{} WHERE {} AND {})",
      sql::from<Trial>(), sql::matches<DeviceKey>(), sql::matches<Problem>());
  std::set<std::string> programs;
  for (const ProblemKey& each : problems) add_hashes(database.query(select, each.device, each.problem), programs);
  return programs;
}

/// Leaves those of these programs that nothing needs.
std::set<std::string> losing(Database& database, std::set<std::string> programs,
                             const std::vector<std::string>& kept_sources) {
  const std::set<std::string> needed = needed_programs(database, kept_sources);
  std::erase_if(programs, [&](const std::string& program) { return needed.contains(program); });
  return programs;
}

/// Drops the images of these programs.
std::int64_t drop_code_of(Database& database, const std::set<std::string>& programs) {
  std::int64_t dropped = 0;
  for (const std::string& program : programs) {
    dropped += database.run("UPDATE binary SET cubin = NULL WHERE hash = :hash", Named{"hash", Hash{program}});
    database.run("DELETE FROM compiled WHERE binary_hash = :hash", Named{"hash", Hash{program}});
  }
  return dropped;
}

}  // namespace

std::int64_t drop_losing_code(Database& database, const std::vector<ProblemKey>& problems,
                              const std::vector<std::string>& kept_sources) {
  return drop_code_of(database, losing(database, tried_programs(database, problems), kept_sources));
}

std::int64_t drop_all_losing_code(Database& database, const std::vector<std::string>& kept_sources) {
  return drop_code_of(database, losing(database, tried_programs(database), kept_sources));
}

std::int64_t count_losing_code(Database& database, const std::vector<std::string>& kept_sources) {
  return static_cast<std::int64_t>(losing(database, tried_programs(database), kept_sources).size());
}

std::map<std::string, std::string> compressed_images(Database& database) {
  constexpr std::string_view kOther =
      "SELECT hash FROM binary WHERE cubin IS NOT NULL AND substr(cubin, 1, 6) <> x'fd377a585a00'";
  std::set<std::string> programs;
  add_hashes(database.query(kOther), programs);
  std::map<std::string, std::string> images;
  for (const std::string& program : programs) {
    Rows rows = database.query("SELECT cubin FROM binary WHERE hash = :hash", Named{"hash", Hash{program}});
    const auto stored = rows.next() ? rows.blob(0) : std::nullopt;
    const auto image = stored ? image_of(*stored) : std::nullopt;
    if (!image) continue;
    std::string compressed = stored_image(*image);
    if (compressed.size() < stored->size()) images.emplace(program, std::move(compressed));
  }
  return images;
}

void replace_images(Database& database, const std::map<std::string, std::string>& images) {
  for (const auto& [program, image] : images) {
    database.run("UPDATE binary SET cubin = :cubin WHERE hash = :hash AND cubin IS NOT NULL",
                 Named{"cubin", Blob{image}}, Named{"hash", Hash{program}});
  }
}

}  // namespace mmtune

// Reading the files of other autotuners.
#include <fmt/format.h>
#include <mmtune/error.h>
#include <zlib.h>

#include <filesystem>
#include <memory>

#include "tuner/replay/measured_space.h"
#include "tuner/text/json.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{1} << 30;
constexpr double kUsPerMs = 1000;
constexpr double kNeverMs = 1e20;  // the time that Kernel Tuner once wrote for a configuration that failed
constexpr Observation kFailed{};

/// The file's text, decompressed. `what` names it in messages.
std::string whole_text_of(const std::string& path, const std::string& what) {
  constexpr unsigned kPiece = 1U << 20;
  const auto refuse = [&](std::string_view cause) {
    throw UsageError(fmt::format("{} cannot be read: {}; check its path and rights", what, cause));
  };
  if (std::filesystem::is_directory(path)) refuse("it is a folder");
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) refuse("it cannot be opened");
  std::string text;
  for (;;) {
    const std::size_t have = text.size();
    text.resize(have + kPiece);
    const int got = gzread(file.get(), text.data() + have, kPiece);
    if (got < 0) refuse("what gzip compressed is damaged");
    text.resize(have + static_cast<std::size_t>(got));
    if (got == 0) break;
    if (text.size() > kMostFileBytes) refuse(fmt::format("it has more than {} MiB", kMostFileBytes >> 20));
  }
  int state = Z_OK;
  gzerror(file.get(), &state);
  if (state != Z_OK) refuse("what gzip compressed ends too early");
  return text;
}

/// One file and how it is called in messages.
class SpaceReader {
 public:
  explicit SpaceReader(std::string what) : what_(std::move(what)) {}

  std::vector<MeasuredCandidate> candidates(const Json& root) {
    const Json* cache = root.find("cache");
    const Json* results = root.find("results");
    if (cache != nullptr && cache->object() != nullptr) {
      read_cache(root, *cache->object());
    } else if (results != nullptr && results->array() != nullptr) {
      read_results(*results->array());
    } else {
      refuse("it has neither an object 'cache' nor a list 'results'", "name a cache of Kernel Tuner or T4 results");
    }
    if (candidates_.empty()) refuse("it has no configurations", "name a file of a search that has ended");
    return std::move(candidates_);
  }

  [[noreturn]] void refuse(std::string_view cause, std::string_view remedy) const {
    throw UsageError(fmt::format("{}: {}; {}", what_, cause, remedy));
  }

 private:
  static constexpr std::string_view kRepair = "repair the file or leave the entry out";

  void read_cache(const Json& root, const Json::Object& entries) {
    const Json* names = root.find("tune_params_keys");
    if (names == nullptr || names->array() == nullptr) {
      refuse("it has no list 'tune_params_keys'", "name a cache of Kernel Tuner or T4 results");
    }
    for (const Json& name : *names->array()) {
      if (name.text() == nullptr) refuse("'tune_params_keys' has something that is no name", kRepair);
      names_.push_back(*name.text());
    }
    for (const auto& [key, entry] : entries) {
      const std::string where = fmt::format("entry '{}'", excerpt(key));
      const Json* time = entry.find("time");
      if (time == nullptr && entry.find("__error__") == nullptr) refuse(where + " has no 'time'", kRepair);
      add(entry, time_of(time), where);
    }
  }

  void read_results(const Json::Array& results) {
    for (const Json& result : results) {
      const std::string where = fmt::format("result {}", candidates_.size() + 1);
      const Json* configuration = result.find("configuration");
      if (configuration == nullptr || configuration->object() == nullptr) {
        refuse(where + " has no object 'configuration'", kRepair);
      }
      if (names_.empty()) {
        for (const auto& [name, value] : *configuration->object()) names_.push_back(name);
      }
      add(*configuration, result_of(result, where), where);
    }
  }

  Observation result_of(const Json& result, const std::string& where) const {
    const Json* validity = result.find("invalidity");
    if (validity != nullptr && validity->text() != nullptr && *validity->text() != "correct") return kFailed;
    const Json* measurements = result.find("measurements");
    if (measurements != nullptr && measurements->array() != nullptr) {
      for (const Json& each : *measurements->array()) {
        const Json* name = each.find("name");
        if (name != nullptr && name->text() != nullptr && *name->text() == "time") return time_of(each.find("value"));
      }
    }
    refuse(where + " has no measurement 'time'", kRepair);
  }

  /// Anything but a positive number says that, or why, there is no time.
  static Observation time_of(const Json* value) {
    const double* time = value == nullptr ? nullptr : value->number();
    if (time == nullptr || !(*time > 0) || *time >= kNeverMs) return kFailed;
    return {Observation::Kind::timed, *time * kUsPerMs};
  }

  void add(const Json& configuration, const Observation& observation, const std::string& where) {
    MeasuredCandidate candidate{{}, observation};
    for (const std::string& name : names_) {
      const Json* value = configuration.find(name);
      if (value == nullptr) refuse(fmt::format("{} has no value for '{}'", where, excerpt(name)), kRepair);
      candidate.values.push_back(value->written());
    }
    candidates_.push_back(std::move(candidate));
  }

  std::string what_;
  std::vector<std::string> names_;  ///< the names of the parameters
  std::vector<MeasuredCandidate> candidates_;
};

/// "a100" of "/data/a100.json.gz".
std::string stem_of(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const std::string_view end : {".gz", ".json"}) {
    if (name.size() > end.size() && name.ends_with(end)) name.erase(name.size() - end.size());
  }
  return name;
}

}  // namespace

MeasuredSpace read_measured_space(const std::string& path) {
  const std::string what = fmt::format("cache '{}'", path);
  SpaceReader reader(what);
  MeasuredSpace space(stem_of(path), reader.candidates(Json::parse(whole_text_of(path, what), what)));
  if (space.best_us() == 0) reader.refuse("no configuration has a time", "name a file with one that ran");
  return space;
}

}  // namespace mmtune

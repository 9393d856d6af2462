// A database for every run of a fuzzer: a copy in memory of one that is made at the start.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "db/store.h"
#include "runtime/base/log.h"
#include "runtime/base/temporary_directory.h"
#include "templates/family/families.h"
#include "templates/family/render.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/db/samples.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/sqlite_memory.h"

namespace mmtune::fuzz {

class SampleDatabase {
 public:
  /// Decisions that the dispatch of an H200 accepts, one measured and one predicted.
  SampleDatabase() {
    log::set_level(log::Level::silent);
    serve_sqlite();
    const TemporaryDirectory directory;
    const std::string path = directory.file("mmtune.db");
    empty_ = bytes_of(path, [](Store&) {});
    bytes_ = bytes_of(path, fill);
  }

  const std::string& bytes() const { return bytes_; }
  const std::string& empty() const { return empty_; }

  static const DeviceSpec& gpu() { return catalog_gpu("h200"); }

  /// The measured one.
  static const Trial& known() {
    static const Trial trial = make_trial(0, Evidence::measured);
    return trial;
  }

 private:
  static Trial make_trial(int number, Evidence evidence) {
    const Family& family = family_named("simt");
    Trial trial = test::sample_trial(number);
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, 512 << number, 256, 1024);
    const Config config = family.default_config(problem);
    const Source source =
        render(TemplateFiles::embedded(), family, problem, config, family.plan(problem, config, gpu()), 90);
    trial.key = {key_of(gpu()), problem, std::string(family.name()), config.text(), source.hash, evidence};
    return trial;
  }

  static void fill(Store& store) {
    for (int number = 0; number < 2; ++number) {
      const Trial entry = make_trial(number, number == 0 ? Evidence::measured : Evidence::predicted);
      const Binary binary = test::sample_binary(number);
      store.put(entry, &binary);
      store.put_winner(entry.key, "search", 7);
      store.begin({{entry.key, entry.environment, "this-boot"}});
    }
  }

  static std::string bytes_of(const std::string& path, void (*change)(Store&)) {
    {
      Store store = Store::open(path, OpenMode::read_write);
      change(store);
    }
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string bytes_;
  std::string empty_;  ///< the bytes of a new database
};

inline const SampleDatabase& sample() {
  static const SampleDatabase database;
  return database;
}

/// What readers or writers do with a database whose file has these bytes, in memory; what they get must be what mmtune
/// writes. The sum of the input's bytes says what is done: one thing takes a quarter of the time of all, and a change
/// of any byte asks for another.
void use_database(std::string_view bytes, std::string_view input);

}  // namespace mmtune::fuzz

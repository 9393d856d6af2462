// A database for every run of a fuzzer: a copy of one made at the start, in a directory of its own.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "db/store.h"
#include "runtime/log.h"
#include "templates/families.h"
#include "templates/gpu_catalog.h"
#include "templates/render.h"
#include "tests/db/samples.h"
#include "tests/fuzz/fuzz.h"

namespace mmtune::fuzz {

class DatabaseCopy {
 public:
  /// Fills the original: decisions that the dispatch of an H200 accepts, one measured and one predicted.
  DatabaseCopy() {
    log::set_level(log::Level::silent);
    const bool in_memory = std::filesystem::is_directory("/dev/shm");  // much faster than a disk that really syncs
    const auto parent = in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    std::string pattern = parent / "mmtune_fuzz_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    fill(Store::open(path(), OpenMode::read_write));
    keep();
  }
  ~DatabaseCopy() { std::filesystem::remove_all(directory_); }
  DatabaseCopy(const DatabaseCopy&) = delete;
  DatabaseCopy& operator=(const DatabaseCopy&) = delete;

  std::string path() const { return directory_ / "mmtune.db"; }
  std::string path(const std::string& name) const { return directory_ / name; }
  const std::string& original() const { return original_; }

  /// The file as it is now becomes the original.
  void keep() {
    std::ifstream file(path(), std::ios::binary);
    original_.assign(std::istreambuf_iterator<char>(file), {});
  }

  /// Starts anew from these bytes.
  void write(std::string_view bytes) const {
    std::filesystem::remove(path() + "-journal");
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes;
  }

  static const DeviceSpec& gpu() { return catalog_gpu("h200"); }

  /// The measured one.
  static const Trial& known() {
    static const Trial trial = make_trial(0, Evidence::measured);
    return trial;
  }

 private:
  static Trial make_trial(int number, Evidence evidence) {
    const Family& family = family_named("simt");
    Trial trial = testing::sample_trial(number);
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, 512 << number, 256, 1024);
    const Config config = family.default_config(problem);
    const Source source =
        render(TemplateFiles::embedded(), family, problem, config, family.plan(problem, config, gpu()), 90);
    trial.key = {key_of(gpu()), problem, std::string(family.name()), config.text(), source.hash, evidence};
    return trial;
  }

  static void fill(Store store) {
    for (int number = 0; number < 2; ++number) {
      const Trial entry = make_trial(number, number == 0 ? Evidence::measured : Evidence::predicted);
      const Binary binary = testing::sample_binary(number);
      store.put(entry, &binary);
      store.put_winner(entry.key, "search", 7);
      store.begin({{entry.key, entry.environment, "this-boot"}});
    }
  }

  std::filesystem::path directory_;
  std::string original_;
};

/// Everything that readers and writers of a database do. What they get must be what mmtune writes.
void use_database(const DatabaseCopy& database);

}  // namespace mmtune::fuzz

// Machine code is kept as long as it may run, and stored small.
#include "db/losing_code.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include "db/image.h"
#include "db/sqlite.h"
#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

using ::testing::HasSubstr;

/// Machine code as large as that of a kernel, and as repetitive.
std::string long_code() {
  std::string code = sample_code(7);
  for (int i = 0; i < 5000; ++i) code += fmt::format("instruction {}; ", i % 97);
  return code;
}

/// As versions 6 to 9 of the format stored an image.
std::string by_zlib(const std::string& image) {
  uLongf size = compressBound(image.size());
  std::string stored(size, '\0');
  compress(reinterpret_cast<Bytef*>(stored.data()), &size, reinterpret_cast<const Bytef*>(image.data()), image.size());
  stored.resize(size);
  return stored;
}

class LosingCode : public StoreTest {
 protected:
  /// A candidate for a problem of this extent, with machine code of its own.
  Trial put(Store& store, int number, std::int64_t extent) const {
    Trial trial = sample_trial(number);
    trial.key.problem.m = extent;
    trial.key.source_hash = fmt::format("{:032x}", number);
    const Binary binary = sample_binary(number);
    store.put(trial, &binary);
    return trial;
  }

  static bool has_code(Store& store, int number) {
    return store.find_binary(sample_binary(number).hash).has_value() &&
           store.find_compiled(fmt::format("{:032x}", number), "sm_90a").has_value();
  }
};

TEST_F(LosingCode, GoesWhenItsProblemIsDecidedAndLeavesAllElse) {
  Store store = open();
  const Trial winner = put(store, 1, 64);
  const Trial loser = put(store, 2, 64);
  put(store, 3, 64);
  const Trial undecided = put(store, 4, 128);
  store.put_compiled("fallback", sample_binary(3));
  store.put_winner(winner.key, "search", 3);
  store.drop_losing_code({winner.key.problem_key()}, {"fallback"});
  EXPECT_TRUE(has_code(store, 1));
  EXPECT_FALSE(has_code(store, 2));
  EXPECT_TRUE(has_code(store, 3)) << "it is also what another source compiled to";
  EXPECT_TRUE(has_code(store, 4)) << "another problem, which is not decided";
  expect_equal(*store.find(loser.key), loser);
  EXPECT_EQ(store.compile_ms(loser.binary_hash), sample_binary().compile_ms);
  EXPECT_EQ(store.find_twins(loser.key, loser.binary_hash).size(), 1U) << "it is not measured again";
  EXPECT_EQ(store.winners().at(0).binary.hash, winner.binary_hash);
  EXPECT_TRUE(store.check().faults.empty());
}

TEST_F(LosingCode, OfTheWinnerIsStoredWithTheDecision) {
  Store store = open();
  const Trial winner = put(store, 1, 64);
  Binary facts = sample_binary(2);
  const std::string image = std::exchange(facts.cubin, "");
  Trial late = sample_trial(2);
  late.key.problem.m = 64;
  late.key.source_hash = fmt::format("{:032x}", 2);
  store.put(late, &facts);  // it seemed to have lost
  EXPECT_FALSE(has_code(store, 2));
  facts.cubin = image;
  const std::vector<std::string> kept;
  store.put_winner(late.key, "search", 2, &facts, &kept);
  EXPECT_FALSE(has_code(store, 1));
  EXPECT_TRUE(has_code(store, 2));
  EXPECT_EQ(store.winners().at(0).binary.hash, late.binary_hash);
}

TEST_F(LosingCode, StaysWhileTheCandidateWinsOrMayWinAnotherProblem) {
  Store store = open();
  const Trial winner = put(store, 1, 64);
  put(store, 2, 64);
  put(store, 3, 64);
  const Trial elsewhere = put(store, 2, 128);
  put(store, 3, 256);  // It is not decided.
  store.put_winner(winner.key, "search", 3);
  store.put_winner(elsewhere.key, "search", 1);
  store.drop_losing_code({winner.key.problem_key()}, {});
  EXPECT_TRUE(has_code(store, 2));
  EXPECT_TRUE(has_code(store, 3));
}

TEST_F(LosingCode, OfRivalsStays) {
  Store theirs = Store::open(directory_ / "theirs.db", OpenMode::read_write);
  const Trial rival = put(theirs, 2, 64);
  theirs.put_winner(rival.key, "search", 1);
  Store store = open();
  const Trial winner = put(store, 1, 64);
  store.put_winner(winner.key, "search", 1);
  store.merge_from(theirs, ForeignCode::take);
  store.drop_losing_code({winner.key.problem_key()}, {});
  EXPECT_TRUE(has_code(store, 1));
  EXPECT_TRUE(has_code(store, 2)) << "it is to be raced";
}

TEST_F(LosingCode, IsPrunedAndTheFileShrinks) {
  std::uintmax_t before = 0;
  {
    Store store = open();
    const Trial winner = put(store, 1, 64);
    for (int number = 2; number < 60; ++number) put(store, number, 64);
    store.put_winner(winner.key, "search", 1);
    Trial large = sample_trial(99);
    large.key.problem.m = 64;
    Binary binary = sample_binary();
    set_code(binary, long_code());
    large.binary_hash = binary.hash;
    store.put(large, &binary);
    // As versions before 6 stored it.
    run_raw(path_, fmt::format("UPDATE binary SET cubin = zeroblob(40000) WHERE hash = x'{}'", sample_binary(2).hash));
    before = std::filesystem::file_size(path_);
    PruneRules rules;
    rules.losing_code = true;
    EXPECT_EQ(store.count_prunable(rules).images, 59);
    EXPECT_EQ(store.prune(rules).images, 59);
    EXPECT_EQ(store.count_prunable(rules).images, 0);
    EXPECT_TRUE(has_code(store, 1));
    EXPECT_EQ(store.trials().size(), 60U);
    EXPECT_TRUE(store.check().faults.empty());
  }
  EXPECT_LT(std::filesystem::file_size(path_), before);
}

TEST_F(LosingCode, ImageThatIsNotCompressedIsReadAndCompressedWhenTheFileShrinks) {
  Store store = open();
  Trial winner = sample_trial();
  Binary binary = sample_binary();
  set_code(binary, long_code());
  winner.binary_hash = binary.hash;
  store.put(winner, &binary);
  store.put_winner(winner.key, "search", 1);
  const auto length = [&] { return std::stoll(run_raw(path_, "SELECT length(cubin) FROM binary")); };
  const auto whole = static_cast<std::int64_t>(binary.cubin.size());
  EXPECT_EQ(length(), whole) << "a GPU waits while a search stores";
  EXPECT_EQ(store.find_binary(binary.hash)->cubin, binary.cubin);
  store.shrink();
  const std::int64_t compressed = length();
  EXPECT_LT(compressed, whole / 4);
  for (const std::string& older : {binary.cubin, by_zlib(binary.cubin)}) {
    std::string hex;
    for (const char c : older) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    run_raw(path_, fmt::format("UPDATE binary SET cubin = x'{}'", hex));
    EXPECT_EQ(store.find_binary(binary.hash)->cubin, binary.cubin);
    PruneRules rules;
    rules.losing_code = true;
    EXPECT_EQ(store.prune(rules).images, 0);
    EXPECT_EQ(length(), compressed);
    EXPECT_EQ(store.find_binary(binary.hash)->cubin, binary.cubin);
  }
}

TEST_F(LosingCode, IsCompressedWhileOthersWriteAndStaysGoneWhereTheyDropIt) {
  Store store = open();
  Binary binary = sample_binary();
  set_code(binary, long_code());
  Trial trial = sample_trial();
  trial.binary_hash = binary.hash;
  store.put(trial, &binary);
  Database database(path_, OpenMode::read_write);
  const auto images = compressed_images(database);
  ASSERT_EQ(images.size(), 1U);
  run_raw(path_, "UPDATE binary SET cubin = NULL");
  Transaction transaction(database, Transaction::Kind::write);
  replace_images(database, images);
  transaction.commit();
  EXPECT_EQ(run_raw(path_, "SELECT cubin FROM binary"), "NULL|\n");
}

TEST_F(LosingCode, PruningKeepsTheseSourcesThatNoTrialNames) {
  Store store = open();
  store.put_compiled("fallback", sample_binary(1));
  store.put_compiled("nothing", sample_binary(2));
  PruneRules rules;
  rules.losing_code = rules.stale_sources = true;
  rules.kept_sources = {"fallback"};
  store.prune(rules);
  EXPECT_TRUE(store.find_compiled("fallback", "sm_90a"));
  EXPECT_FALSE(store.find_compiled("nothing", "sm_90a"));
}

TEST_F(LosingCode, PruningKeepsTheCodeOfADecisionWhoseTrialNamesNone) {
  Store store = open();
  Trial foreign = sample_trial(1);  // It came without machine code, and its source was compiled here.
  foreign.binary_hash.clear();
  store.put(foreign);
  store.put_compiled(foreign.key.source_hash, sample_binary(1));
  store.put_winner(foreign.key, "search", 1);
  store.prune({.losing_code = true});
  EXPECT_EQ(store.find_winner(foreign.key.problem_key())->binary.hash, sample_binary(1).hash);
}

TEST_F(LosingCode, IsNoPartOfAnExportWithoutCode) {
  const std::string copy = directory_ / "copy.db";
  Store store = open();
  const Trial winner = put(store, 1, 64);
  store.put_winner(winner.key, "search", 1);
  store.export_without_code(copy);
  Store exported = Store::open(copy, OpenMode::read_only);
  EXPECT_FALSE(has_code(exported, 1));
  ASSERT_EQ(exported.winners().size(), 1U);
  EXPECT_EQ(exported.winners()[0].binary.hash, "");
  expect_equal(exported.winners()[0].trial, winner);
  EXPECT_TRUE(exported.check().faults.empty());
}

TEST(StoredImage, IsTheImageAgain) {
  for (const std::string& image :
       {std::string("\x7f\x45LF"), long_code(), std::string("x is the first byte of zlib"),
        std::string("\xfd\x37zXZ\0 begins an .xz file", 24), std::string(200'000, '\0'), std::string(1, 'x')}) {
    EXPECT_EQ(image_of(stored_image(image)), image);
    EXPECT_EQ(image_of(passing_image(image)), image);
  }
  EXPECT_LT(stored_image(long_code()).size(), long_code().size() / 4);
  EXPECT_EQ(stored_image(sample_code(1)), sample_code(1)) << "small ones are read when a library opens";
}

TEST(StoredImage, DamagedOneIsNone) {
  EXPECT_FALSE(image_of("x"));
  EXPECT_FALSE(image_of(stored_image(long_code()).substr(0, 6)));
  for (const std::string& stored : {stored_image(long_code()), by_zlib(long_code())}) {
    EXPECT_FALSE(image_of(stored.substr(0, stored.size() / 2)));
    EXPECT_FALSE(image_of(stored + "more"));
    for (std::size_t i = 1; i < stored.size(); i += 37) {
      std::string damaged = stored;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      EXPECT_NE(image_of(damaged), long_code()) << i;
    }
  }
}

}  // namespace
}  // namespace mmtune::test

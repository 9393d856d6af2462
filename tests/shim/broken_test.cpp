// The simulated machine finds what it is there for: kernels that were broken on purpose end with a report or give
// a wrong result.
#include <gtest/gtest.h>
#include <mmtune/error.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "templates/family/families.h"
#include "tests/edited_files.h"
#include "tests/shim/product.h"

namespace mmtune::shim {
namespace {

namespace fs = std::filesystem;

constexpr Scene kOdd{"odd", 67, 35, 37};
constexpr Scene kWide{"wide", 72, 136, 72};
constexpr Scene kFewWide{"few, wide", 8, 16, 72};
constexpr Scene kGaps{"gaps", 8, 6, 8, test::Values::whole, {}, {.padding = 16}};
constexpr Scene kDeep{"deep", 67, 35, 200};
constexpr Scene kTiles{"many tiles", 208, 272, 144};
constexpr Scene kAdded{"added to C", 72, 136, 72, test::Values::whole, {.alpha = 1, .beta = 2}};
constexpr Scene kShared{"shared tiles", 40, 72, 840};
constexpr Scene kOddShared{"shared tiles, odd", 41, 71, 839};
constexpr const char* kWrong = "wrong result: C";
constexpr const char* kStray = "AddressSanitizer: heap-buffer-overflow";

struct Break {
  const char* what;
  const char* family;
  const char* config;
  Layout layout;
  Scene scene;
  const char* original;  ///< text of the kernel or of a device header, the first occurrence
  const char* broken;    ///< what stands there instead
  const char* report;    ///< regular expression
  Precision precision = Precision::fp32;
};

std::ostream& operator<<(std::ostream& out, const Break& of) { return out << of.what; }

constexpr const char* kAsync = "LOAD=1 STAGES=3 BM=32 BN=64 BK=16 TM=4 TN=4";
constexpr const char* kTma = "LOAD=2 STAGES=3 BM=32 BN=64 BK=16 TM=4 TN=4";
constexpr const char* kStream = "STREAM=1";
constexpr const char* kPack = "LOAD=1 STAGES=3 PACK=1";
constexpr const char* kPackStream = "PACK=1 STREAM=1";
constexpr const char* kOwnCopies = "SIDE=1 FEW=1 OWN=1 UNROLL=1 WARPS=4 WARPS_K=4 NARROW=1 STAGES=3";
constexpr const char* kExchange = "SIDE=0 FEW=2 OWN=1 UNROLL=4 WARPS=4 WARPS_K=1 NARROW=1 STAGES=3 LANES=1";
constexpr const char* kCluster = "SPLIT=2 REDUCE=1";
constexpr const char* kWarpsAlongK = "WARPS_K=2 BK=16 STAGES=2";
constexpr const char* kWgmma = "BM=64 BN=64 CONSUMERS=1";
constexpr const char* kPingpong = "BM=64 BN=64 PINGPONG=1";
constexpr const char* kMulticast = "BM=64 BN=64 CONSUMERS=1 CLUSTER_M=2";
constexpr const char* kSlices = "SWAP=1 BM=136 BN=128 CONSUMERS=2";
constexpr const char* kParts = "BM=64 BN=64 CONSUMERS=1 SPLIT=4 REDUCE=1";

const Break kBreaks[] = {
    {"a load beyond the last row", "naive", "MAPPING=3 COARSE=4 UNROLL=1", Layout::nn, kOdd, "smaller(row + i, m - 1)",
     "(row + i)", kStray},
    {"a load between two rows", "naive", "MAPPING=3 COARSE=4 UNROLL=1", Layout::nn, kGaps, "smaller(column + j, n - 1)",
     "(column + j)", "AddressSanitizer: use-after-poison"},
    {"a store beyond the last row", "tiled", "", Layout::nn, kOdd, "row0 + y < m && ", "", kStray},
    {"no barrier before tiles are read", "tiled", "", Layout::tn, kOdd, "__syncthreads();  // the tiles are complete",
     "", kWrong},
    {"no barrier before tiles are replaced", "tiled", "", Layout::nn, kOdd,
     "__syncthreads();  // The tiles are no longer", "//", kWrong},
    {"threads that leave before a barrier", "tiled", "", Layout::nn, kOdd, "Accumulator sum = 0;",
     "if (row0 + y >= m) return; Accumulator sum = 0;", "wait for ever: [0-9]+ at __syncthreads"},
    {"barriers apart", "tiled", "", Layout::nn, kOdd, "Accumulator sum = 0;",
     "Accumulator sum = 0; if (y == 0) {\n__syncthreads();\n} else {\n__syncthreads();\n}",
     "while other threads are at"},
    {"a clamp one too far", "simt", "", Layout::nn, kOdd, "operand.extent - (ALONG_K ? 1 : VEC)",
     "operand.extent - (ALONG_K ? 0 : VEC)", kStray},
    {"no guard of the last steps", "simt", "", Layout::nn, kOdd, "!GUARDED || share.inner(s) < depth", "true", kStray},
    {"vectors that are not aligned", "simt", "", Layout::nn, kWide,
     "reinterpret_cast<const Vector<Input, VEC>*>(source)", "reinterpret_cast<const Vector<Input, VEC>*>(source + 1)",
     "misaligned address|undefined behaviour"},
    {"stages one row short", "simt", "", Layout::nn, kWide, "alignas(128) Value b[STAGES][BK][B_ROW];",
     "alignas(128) Value b[STAGES][BK - 1][B_ROW]; Value fill[STAGES][B_ROW];", "out of bounds|wrong result"},
    {"no barrier in the main loop", "simt", "", Layout::nn, kWide, "__syncthreads();\n  };", "};", kWrong},
    {"a wait for too few copies", "simt", kAsync, Layout::tn, kWide,
     "if constexpr (COPIES_ASYNC) wait_copies<STAGES - 2>();", "", kWrong},
    {"pointers that stay between a tile's rows", "simt", kAsync, Layout::tn, kOdd, "if (!ALONG_K) next += step",
     "if (ALONG_K) next += step", kWrong},
    {"a copy of a step beyond k", "simt", kAsync, Layout::tn, kOdd, "* Share::kSteps < depth;",
     "* Share::kSteps <= depth;", kStray},
    {"copies that stay at the first tile", "simt", "LOAD=3 STAGES=3 BM=32 BN=64 BK=16 TM=4 TN=4", Layout::nn, kOdd,
     "copy_async<sizeof(Input) * VEC>(shared_address(share.place(tile, s)), share.take(s), valid);\n    }\n"
     "    share.next_tile();",
     "copy_async<sizeof(Input) * VEC>(shared_address(share.place(tile, s)), share.take(s), valid);\n    }\n", kWrong},
    {"no wait for the accelerator", "simt", kTma, Layout::tn, kWide, "if (exists) barrier_wait",
     "if (!exists) barrier_wait", "before its bulk copies have arrived|more arrivals|wrong result"},
    {"no fence after a barrier's initialisation", "simt", kTma, Layout::tn, kWide, "barrier_init_fence();", "",
     "without a fence"},
    {"a box from a column that is not aligned", "simt", kTma, Layout::tn, kWide,
     "column(static_cast<int>(operand.first))", "column(static_cast<int>(operand.first) + 1)",
     "a column not aligned to 16 bytes"},
    {"another number of bytes than announced", "simt", kTma, Layout::tn, kWide, "barrier_expect(full, TMA_BYTES)",
     "barrier_expect(full, TMA_BYTES + 16)", "wait for ever: [0-9]+ at a barrier in shared memory"},
    {"a block that leaves its cluster", "simt", kCluster, Layout::nn, kWide, "cluster_wait();  // no block leaves",
     "//", "has left"},
    {"lines that all begin where the first does", "mma_sync", "", Layout::nt, kOdd, "(begin + line * step) % UNIT",
     "begin", "cp.async at a misaligned address", Precision::bf16},
    {"a copy of what lies behind a line", "mma_sync", "", Layout::nn, kOdd, "left > UNIT ? UNIT : left", "UNIT", kStray,
     Precision::bf16},
    {"a unit of a line that is missing", "mma_sync", "", Layout::tn, kOdd, "if (threadIdx.x % UNITS == 0) copy(UNITS);",
     "", kWrong, Precision::bf16},
    {"words that are read where a line begins at an even element", "mma_sync", "", Layout::nt, kOdd,
     "line_begin % 4 * 8", "0", kWrong, Precision::bf16},
    {"flags that a copy of an operand leaves raised", "mma_sync", kPackStream, Layout::nt, kOddShared,
     "if (STREAM == 1 && blockIdx.x == 0) lower_flags", "if (false) lower_flags", kWrong, Precision::bf16},
    {"a copy of an operand that is read too early", "mma_sync", kPackStream, Layout::nt, kOddShared,
     "if constexpr (STREAM == 0 || PACK > 0) wait_for_previous();", "", "wrong result|never waits", Precision::bf16},
    {"sums of other warps before they are there", "simt", kWarpsAlongK, Layout::nn, kWide,
     "__syncthreads();  // all is handed over", "", kWrong},
    {"sums of the cluster over those of warps", "simt", "WARPS_K=2 BK=16 STAGES=2 SPLIT=2 REDUCE=1", Layout::nn, kWide,
     "__syncthreads();  // what was there before", "//", kWrong},
    {"a warp along k that takes another one's steps", "simt", kWarpsAlongK, Layout::nn, kWide, "steps * B_ROW",
     "UNROLL * B_ROW", kWrong},
    {"no meeting of the cluster", "simt", kCluster, Layout::nn, kWide, "cluster_sync();  // all is handed over", "",
     "has left|wrong result"},
    {"sums that are never handed over", "simt", "SPLIT=8 REDUCE=1", Layout::nn, kDeep, "if (owner == rank)",
     "if (owner >= rank)", kWrong},
    {"sums of another block", "simt", "SPLIT=8 REDUCE=1", Layout::nn, kDeep,
     "remote_address(shared_address(handed), r)", "remote_address(shared_address(handed), r ^ 1)", kWrong},
    {"partial sums one apart", "simt", "SPLIT=2", Layout::nn, kOdd, "Accumulator* target = tile + ",
     "Accumulator* target = tile + 1 + ", kStray},
    {"a part that is not added", "simt", "SPLIT=2", Layout::nn, kDeep, "sum_of_few<2>(", "sum_of_few<1>(", kWrong},
    {"parts of many that are not added", "simt", "SPLIT=20", Layout::nn, kDeep, "reduction.add<AT_ONCE>(sum)",
     "reduction.next += AT_ONCE * reduction.stride", kWrong},
    {"a part that begins where the one before does", "simt", "SPLIT=12", Layout::nn, kDeep, "share.part * call.k_tiles",
     "share.part / 2 * call.k_tiles", kWrong},
    {"results that were exchanged once more than they are stored", "simt", "", Layout::nn, kOdd,
     "position.column(j) + turn();", "position.column(j);", kWrong},
    {"a part whose sum is not added to those before", "simt", "CUT=1", Layout::nn, kShared,
     "before.add_to(&sum[0][0]);", "", kWrong},
    {"sums that are not waited for", "simt", kStream, Layout::nn, kDeep, "await_flag(call.flags + giver);", "{}",
     kWrong},
    {"a flag raised too early", "simt", kStream, Layout::nn, kDeep,
     "__syncthreads();\n      if (threadIdx.x == 0) raise_flag", "if (threadIdx.x == 0) raise_flag", kWrong},
    {"flags that are never lowered", "simt", kStream, Layout::nn, kDeep, "flags[flag] = 0", "{}", kWrong},
    {"packed operands that are not waited for", "simt", kPack, Layout::nt, kWide,
     "wait_for_previous();  // The packed operands", "{}; //", "wrong result|never waits"},
    {"flags that are lowered too late", "simt", kStream, Layout::nn, kDeep, "wait_for_previous();  // The flags",
     "{}; //", "wrong result|wait for ever"},
    {"sums of tensor cores that are not waited for", "mma_sync", kStream, Layout::nn, kDeep,
     "await_flag(call.flags + giver);", "{}", kWrong, Precision::fp64},
    {"a flag of tensor cores raised too early", "mma_sync", kStream, Layout::nn, kDeep,
     "__syncthreads();\n      if (threadIdx.x == 0) raise_flag", "if (threadIdx.x == 0) raise_flag", kWrong,
     Precision::fp64},
    {"flags of tensor cores that are lowered too late", "mma_sync", kStream, Layout::nn, kDeep,
     "wait_for_previous();  // The flags", "{}; //", "wrong result|wait for ever|never waits", Precision::fp64},
    {"partial sums that are not waited for", "skinny", "SPLIT=2", Layout::nn, kDeep,
     "wait_for_previous();\n  Accumulator sum", "Accumulator sum", "never waits"},
    {"operands that are not waited for", "skinny", "SPLIT=1", Layout::nn, kDeep, "wait_for_previous();", "",
     "never waits"},
    {"operands that one thread waits for", "skinny", "SPLIT=1", Layout::nn, kDeep, "wait_for_previous();",
     "if (threadIdx.x == 0) wait_for_previous();", kWrong},
    {"a copy of operands that one thread waits for", "simt", kPack, Layout::nt, kWide,
     "wait_for_previous();\n  if constexpr (PACK == 1) {",
     "if (threadIdx.x == 0) wait_for_previous();\n  if constexpr (PACK == 1) {", kWrong},
    {"a step that is let go too early", "skinny", "SPLIT=2", Layout::nn, kDeep, "wait_for_previous();",
     "launch_dependents(); wait_for_previous();", "before it has waited"},
    {"no barrier between stages", "skinny", "SIDE=1 FEW=8", Layout::tn, kWide,
     "target = value_of(staged[s]);\n    }\n    __syncthreads();", "target = value_of(staged[s]);\n    }", kWrong},
    {"no lanes' sum", "skinny", "SIDE=1 FEW=8", Layout::nn, kOdd, "value += __shfl_xor_sync(~0u, value, distance);", "",
     kWrong},
    {"a narrow operand's steps beyond k", "skinny", "SIDE=1 FEW=1 NARROW=1", Layout::nt, kOdd, "piece * PIECE < left",
     "left > -9999", kStray},
    {"a row that passes for a column", "skinny", "SIDE=1 FEW=1 NARROW=1", Layout::nn, kFewWide, "operand.ld == 1 && ",
     "", kWrong},
    {"copies of other lanes that are not waited for", "skinny", kExchange, Layout::nt, kDeep,
     "if constexpr (IN_ORDER) __syncwarp();", "", kWrong},
    {"own copies that are not waited for", "skinny", kOwnCopies, Layout::nn, kDeep,
     "wait_copies<(STAGES > 1 ? STAGES - 2 : 0)>();", "", kWrong},
    {"a stage that is replaced too early", "skinny", kOwnCopies, Layout::nn, kDeep, "wide.start(before,",
     "wide.start(now,", kWrong},
    {"sums where stages still are", "skinny", kOwnCopies, Layout::nn, kDeep,
     "if constexpr (WARPS_K > 1 && STAGES > 1) __syncthreads();", "", kWrong},
    {"a stage that is refilled while it is multiplied", "wgmma", kWgmma, Layout::nn, kTiles,
     "rows_of(ring.stage), tiles.columns_of(ring.stage));\n    wgmma_wait<1>();",
     "rows_of(ring.stage), tiles.columns_of(ring.stage));\n    wgmma_wait<2>();", kWrong, Precision::fp16},
    {"sums of a warpgroup that are not waited for", "wgmma", kWgmma, Layout::tn, kTiles,
     "ring.advance();\n  }\n  turn.pass();\n  wgmma_wait<0>();", "ring.advance();\n  }\n  turn.pass();",
     "before its multiplications", Precision::bf16},
    {"sums that are read before they are there", "wgmma", kWgmma, Layout::nt, kTiles,
     "wgmma_wait<0>();\n    release(shared, last, tells);\n    add(sums, part);",
     "add(sums, part);\n    wgmma_wait<0>();\n    release(shared, last, tells);", kWrong, Precision::e4m3_bf16},
    {"a stage that is never released", "wgmma", kWgmma, Layout::nn, kTiles,
     "ring.advance();\n  }\n  turn.pass();\n  wgmma_wait<0>();\n  release(shared, before, tells);",
     "ring.advance();\n  }\n  turn.pass();\n  wgmma_wait<0>();", "wait for ever: [0-9]+ at ", Precision::fp16},
    {"a stage that is not waited for", "wgmma", kWgmma, Layout::nt, kTiles,
     "barrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);\n    multiply_stage<true>",
     "multiply_stage<true>", "more arrivals|wrong result", Precision::e4m3_bf16},
    {"rows in registers that are replaced too early", "wgmma", kWgmma, Layout::tt, kTiles,
     "multiply_one(rows[0]);\n    multiply_one(rows[1]);", "multiply_one(rows[0]);\n    multiply_one(rows[0]);", kWrong,
     Precision::tf32},
    {"registers without a fence", "wgmma", kWgmma, Layout::nn, kTiles, "wgmma_fence();", "",
     "without wgmma_fence\\(\\)", Precision::fp16},
    {"a tile read with another swizzle", "wgmma", kWgmma, Layout::nn, kTiles, "LINE_BYTES == 128 ? 1",
     "LINE_BYTES == 128 ? 2", kWrong, Precision::fp16},
    {"a box written with another swizzle", "wgmma", kWgmma, Layout::nn, kTiles, "line * LINE_BYTES + (unit ^ line",
     "line * LINE_BYTES + (unit ^ 0 * line", kWrong, Precision::fp16},
    {"no fence before a box is stored", "wgmma", kWgmma, Layout::nn, kTiles,
     "if (STORE_BOXES) fence_for_accelerator();", "", kWrong, Precision::fp16},
    {"a fence of the lane that stores alone", "wgmma", kWgmma, Layout::nn, kTiles,
     "if (STORE_BOXES) fence_for_accelerator();\n    __syncwarp();",
     "__syncwarp(); if (STORE_BOXES && is_elected()) fence_for_accelerator();", kWrong, Precision::bf16_fp32},
    {"lines that are replaced before they are stored", "wgmma", kWgmma, Layout::nn, kTiles,
     "is_elected()) wait_stores_read<BUFFERS - 1>();", "is_elected()) wait_stores_read<BUFFERS>();", kWrong,
     Precision::fp16},
    {"results in stages of the next tile", "wgmma", kSlices, Layout::nt, kTiles,
     "LEAVES_THROUGH_STAGES && !walk.more()", "LEAVES_THROUGH_STAGES", kWrong, Precision::fp16},
    {"results in rows that another consumer reads", "wgmma", kSlices, Layout::nt, kTiles, "(first_row + slice",
     "(0 * first_row + slice", kWrong, Precision::fp16},
    {"shared memory that is left before it was stored", "wgmma", kWgmma, Layout::nn, kTiles,
     "if (is_elected()) wait_stores_read<0>();", "", "before its bulk stores", Precision::fp16},
    {"a turn that is not passed on", "wgmma", kPingpong, Layout::nn, kTiles, "if (TAKES_TURNS && !is_last) arrive",
     "if (false) arrive", "wait for ever:.* at a barrier of the block", Precision::fp16},
    {"no wait for the barriers of other blocks", "wgmma", kMulticast, Layout::nn, kTiles,
     "if constexpr (CLUSTERED) cluster_wait();  // the others'", "//", "no barrier was initialised", Precision::fp16},
    {"a stage that one block of two has released", "wgmma", kMulticast, Layout::nn, kTiles, "call.sharers());", "1);",
     "more arrivals|wrong result", Precision::fp16},
    {"a block that leaves while others arrive at its barriers", "wgmma", kMulticast, Layout::nn, kTiles,
     "await_empty(ring, shared.empty);", "{}", "has left", Precision::fp16},
    {"operands that are fetched before they are waited for", "wgmma", kWgmma, Layout::nn, kTiles,
     "wait_for_previous();  // The block", "{}  // The block", kWrong, Precision::fp16},
    {"another step asked of L2 than is fetched", "wgmma", kWgmma, Layout::nn, kTiles,
     "const int k0 = (work.first_step + step) * BK;\n    if (work.column < BN << call.cluster_n_log2)",
     "const int k0 = (work.first_step + step + 1) * BK;\n    if (work.column < BN << call.cluster_n_log2)",
     "asked L2 for a box", Precision::fp16},
    {"fewer bytes announced than blocks send", "wgmma", kParts, Layout::nn, kTiles, "sizeof(shared.received) : 0",
     "sizeof(shared.received) / 2 : 0", "before its bulk copies|wrong result|has left", Precision::fp16},
    {"parts that are sent before the blocks' barriers are there", "wgmma", kParts, Layout::nn, kTiles,
     "if constexpr (REDUCE == 1) cluster_wait();", "", "no barrier was initialised", Precision::fp16},
    {"results beyond the last column of unaligned rows", "wgmma", "BM=64 BN=64 CONSUMERS=1 PACK=1", Layout::nn,
     kOddShared, " && part * WARP < columns", "", "wrong result|AddressSanitizer", Precision::fp16},
    {"a beta that no kernel asks for", "wgmma", kWgmma, Layout::nn, kAdded, " || beta != Number(0)", "", kWrong,
     Precision::fp16},
};

/// The kernel sources with the change made: in the kernel, else in the first of its device headers that has the text.
TemplateFiles broken_sources(const Break& broken) {
  const std::string kernel = fmt::format("templates/families/{}/kernel.cu", broken.family);
  std::vector<std::pair<std::string, std::string>> texts = {{kernel, std::string(kernel_sources().text(kernel))}};
  for (const std::string& header : included_headers(texts.front().second, kernel_sources())) {
    texts.emplace_back("templates/device/" + fs::path(header).filename().string(),
                       kernel_sources().device_headers().at(header));
  }
  for (auto& [path, text] : texts) {
    const std::size_t at = text.find(broken.original);
    if (at == text.npos) continue;
    return test::with_file(kernel_sources(), path,
                           text.replace(at, std::string_view(broken.original).size(), broken.broken));
  }
  throw Error(fmt::format("no kernel says any longer: {}", broken.original));
}

/// Says what is wrong, in any order of threads, and ends the process.
[[noreturn]] void run(const Program& program, const LaunchPlan& plan, const Product& product, const char* what) {
  for (const Order order : {Order::forward, Order::backward, Order::random}) {
    const std::string wrong = product.run(program, plan, order, what);
    if (wrong.empty()) continue;
    fmt::print(stderr, "wrong result: {}\n", wrong);
    _exit(1);
  }
  _exit(0);
}

class Broken : public testing::TestWithParam<Break> {};

TEST_P(Broken, IsFound) {
  const Break& broken = GetParam();
  const TemplateFiles files = broken_sources(broken);
  const Product product(broken.scene, broken.precision, broken.layout);
  const Family& family = family_named(broken.family);
  const Config config = family.complete(family.parse(broken.config), product.problem(), device());
  ASSERT_EQ(family.broken_rule(product.problem(), config, device()), "");
  const LaunchPlan plan = family.plan(product.problem(), config, device());
  const Program program(render(files, family, product.problem(), config, plan, compute_capability(device())), plan,
                        files);
  EXPECT_EXIT(run(program, plan, product, broken.what), testing::ExitedWithCode(1), broken.report);
}

/// The breaks that are the first to be reported in their way, or those that are not.
std::vector<Break> breaks(bool are_first) {
  std::vector<Break> chosen;
  std::set<std::string_view> reports;
  for (const Break& each : kBreaks) {
    if (reports.insert(each.report).second == are_first) chosen.push_back(each);
  }
  return chosen;
}

std::string name_of(const testing::TestParamInfo<Break>& instance) {
  std::string name = instance.param.what;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Broken, testing::ValuesIn(breaks(true)), name_of);
INSTANTIATE_TEST_SUITE_P(Thorough, Broken, testing::ValuesIn(breaks(false)), name_of);

}  // namespace
}  // namespace mmtune::shim

// mmtune bits: whether rows of a product have the same bits whatever they are multiplied together with.
#include <mmtune/error.h>
#include <mmtune/mmtune.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "tuner/commands/options.h"
#include "tuner/commands/verb.h"
#include "tuner/compare/cublas.h"
#include "tuner/compare/kernel_bits.h"
#include "tuner/compare/row_bits.h"
#include "tuner/devices/device_choice.h"
#include "tuner/text/sizes.h"
#include "tuner/workers/gpu_lock.h"
#include "tuner/workers/installed_gpus.h"
#include "tuner/workers/interrupt.h"

namespace mmtune {
namespace {

struct BitsOptions : Options {
  std::string sizes;
  int kernels = 0;  ///< how many of every family are compared, instead of rows; 0: none
  double wait_s = 0;
};

/// The numbers of rows for each n and k.
std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> rows_of(const BitsOptions& options) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> rows;
  for (const Size& size : parse_sizes(options.sizes)) rows[{size.n, size.k}].push_back(size.m);
  return rows;
}

RowProduct product_of(Library& library) {
  return [&](const Problem& problem, const Operands& operands, const RowBatch& batch, CUstream stream) {
    Gemm call;
    call.precision = problem.precision;
    call.layout = problem.layout;
    call.m = problem.m;
    call.n = problem.n;
    call.k = problem.k;
    call.a = reinterpret_cast<const void*>(operands.a);
    call.b = reinterpret_cast<const void*>(operands.b);
    call.c = reinterpret_cast<void*>(operands.c);
    call.lda = operands.ld.a;
    call.ldb = operands.ld.b;
    call.ldc = operands.ld.c;
    call.batch = batch.count;
    call.stride_a = batch.step_a;
    call.stride_c = batch.step_c;
    call.invariant = true;
    library.prepare({&call, 1}, stream);
    library.enqueue(call, stream);
    return true;
  };
}

/// The default algorithm of an entry, whatever it is for the number of rows.
RowProduct product_of(Opponent& opponent, std::size_t entry) {
  return [&opponent, entry](const Problem& problem, const Operands& operands, const RowBatch& batch, CUstream stream) {
    if (batch.count > 1) return false;
    const auto algorithms = opponent.prepare(problem);
    if (algorithms[entry].empty()) return false;
    try {
      algorithms[entry].front()(operands, stream);
    } catch (const DeviceLostError&) {
      throw;
    } catch (const DeviceError& error) {  // cublasGemmEx has no fp8.
      log::info("{}: {}", to_string(problem), error.what());
      return false;
    }
    return true;
  };
}

/// The installed cuBLAS, and as it is starved of workspace: the names of its entries end so.
std::vector<std::pair<std::string, std::unique_ptr<Opponent>>> opponents() {
  std::vector<std::pair<std::string, std::unique_ptr<Opponent>>> all;
  try {
    for (const bool starved : {false, true}) {
      all.emplace_back(starved ? "-starved" : "", make_cublas_opponent(env::cuda_library_directories(), starved));
    }
  } catch (const DeviceError& error) {
    log::warning("only mmtune is looked at: {}", error.what());
  }
  return all;
}

ExitCode summations(const BitsOptions& options, const DeviceChoice& device, const Nvrtc& nvrtc,
                    const CompileTarget& target) {
  const Preparation preparation(template_files(), device.spec, target, Evidence::measured, nvrtc.version());
  std::vector<KernelBitsRow> rows;
  for (const Precision precision : options.precisions) {
    for (const Layout layout : options.layouts) {
      const CheckKernels kernels(nvrtc, target, precision, layout);
      for (const Size& size : parse_sizes(options.sizes)) {
        if (InterruptGuard::requested()) return ExitCode::interrupted;
        const Problem problem = packed_problem(precision, layout, size.m, size.n, size.k);
        const auto count = static_cast<std::size_t>(options.kernels);
        for (KernelBitsRow& row : compare_kernels(preparation, nvrtc, kernels, problem, count)) {
          rows.push_back(std::move(row));
        }
      }
    }
  }
  print(kernel_bits_table(rows), options);
  const auto different = std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.differs; });
  log::warning("{} of {} results have other bits than their summation states", different, rows.size());
  if (different > 0)
    throw Error("a kernel does not add as it states, a fault of mmtune; please report the table above");
  return ExitCode::done;
}

void say_totals(const std::vector<BitsRow>& rows) {
  for (const std::string_view product : {"mmtune", "cublas", "cublaslt", "cublas-starved", "cublaslt-starved"}) {
    std::int64_t compared = 0, different = 0, wrong = 0;
    for (const BitsRow& row : rows) {
      if (row.product != product) continue;
      if (row.what == "ones") {
        wrong += row.different;
        continue;
      }
      compared += row.rows;
      different += row.different;
    }
    if (compared > 0) {
      log::warning("{}: {} of {} rows have other bits; {} rows of ones are wrong", product, different, compared, wrong);
    }
  }
}

ExitCode compare_bits(const BitsOptions& options) {
  const auto device = choose_gpu(options.device, "bits compares what kernels compute");
  const InterruptGuard interrupts;
  const auto lock = GpuLock::wait(device, options.wait_s);
  if (!lock) return ExitCode::interrupted;
  const auto nvrtc = Nvrtc::load();
  const auto target = compile_target(device.spec, nvrtc.supported());
  const Gpu gpu(device.ordinal);
  if (options.kernels > 0) return summations(options, device, nvrtc, target);
  Library library = Library::open({.database = options.database, .device = device.ordinal});
  const auto rivals = opponents();

  std::vector<BitsRow> rows;
  const auto add = [&](RowBits& bits, const std::string& name, std::int64_t m, const RowProduct& multiply) {
    auto more = bits.compare(name, m, multiply);
    if (auto ones = bits.ones(name, m, multiply)) more.push_back(*std::move(ones));
    for (BitsRow& row : more) {
      if (row.product == "mmtune") row.summation = to_string(invariant_summation(row.problem, device.spec));
      rows.push_back(std::move(row));
    }
  };
  for (const Precision precision : options.precisions) {
    for (const Layout layout : options.layouts) {
      const CheckKernels kernels(nvrtc, target, precision, layout);
      for (const auto& [extents, numbers] : rows_of(options)) {
        const std::int64_t most = *std::max_element(numbers.begin(), numbers.end());
        RowBits bits(kernels, packed_problem(precision, layout, most, extents.first, extents.second));
        for (const std::int64_t m : numbers) {
          if (InterruptGuard::requested()) return ExitCode::interrupted;
          add(bits, "mmtune", m, product_of(library));
          for (const auto& [suffix, rival] : rivals) {
            const auto entries = rival->entries();
            for (std::size_t i = 0; i < entries.size(); ++i) add(bits, entries[i] + suffix, m, product_of(*rival, i));
          }
        }
      }
    }
  }
  print(bits_table(rows), options);
  say_totals(rows);
  const auto is_fault = [](const BitsRow& row) { return row.product == "mmtune" && row.different > 0; };
  if (std::any_of(rows.begin(), rows.end(), is_fault)) {
    throw Error("mmtune's own rows differ, a fault of mmtune; please report the table above");
  }
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_bits() {
  auto options = std::make_shared<BitsOptions>();
  Verb verb{.name = "bits",
            .group = VerbGroup::results,
            .help = "Compare the bits of rows that are multiplied in few rows, in many, at other places and in batches",
            .examples = {"mmtune tune --invariant --device 0 --precision bf16 --layout nt --sizes @shapes.csv",
                         "mmtune bits --device 0 --precision bf16 --layout nt --sizes "
                         "1x4096x4096,17x4096x4096,257x4096x4096,8192x4096x4096"},
            .run = [options] { return compare_bits(*options); }};
  Option sizes = sizes_option(options->sizes);
  sizes.help = "MxNxK; the rows of each are compared with those of the largest M for the same N and K";
  verb.add("Problems", {sizes, device_option(*options)});
  verb.add("Problems", problem_options(*options));
  verb.add("Comparison",
           {{"--kernels", "NUMBER", "compare so many kernels of every family instead, which state how they add up",
             number_target(options->kernels, 1, 1000)},
            wait_option(options->wait_s),
            database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune

#include "tuner/workers/protocol.h"

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "templates/families.h"
#include "templates/hash.h"

namespace mmtune {
namespace {

void demand(bool holds, std::string_view what) {
  if (!holds) throw Error(fmt::format("not a message of mmtune: {}", what));
}

template <class T, class Type>
concept Is = std::same_as<std::remove_const_t<T>, Type>;

// The members of each type that travel, for both directions.

void each_member(Is<Alignment> auto& x, auto&& member) {
  member("a", x.a);
  member("b", x.b);
  member("c", x.c);
}

void each_member(Is<Problem> auto& x, auto&& member) {
  member("precision", x.precision);
  member("layout", x.layout);
  member("m", x.m);
  member("n", x.n);
  member("k", x.k);
  each_member(x.align, member);
}

void each_member(Is<DeviceSpec> auto& x, auto&& member) {
  member("name", x.name);
  member("uuid", x.uuid);
  member("installed", x.installed);
  member("cc_major", x.cc_major);
  member("cc_minor", x.cc_minor);
  member("sm_count", x.sm_count);
  member("warp_size", x.warp_size);
  member("max_threads_per_block", x.max_threads_per_block);
  member("max_threads_per_sm", x.max_threads_per_sm);
  member("max_blocks_per_sm", x.max_blocks_per_sm);
  member("max_registers_per_block", x.max_registers_per_block);
  member("max_registers_per_sm", x.max_registers_per_sm);
  member("max_registers_per_thread", x.max_registers_per_thread);
  member("smem_per_block", x.smem_per_block);
  member("smem_per_block_optin", x.smem_per_block_optin);
  member("smem_per_sm", x.smem_per_sm);
  member("smem_reserved_per_block", x.smem_reserved_per_block);
  member("l2_bytes", x.l2_bytes);
  member("memory_bytes", x.memory_bytes);
  member("core_clock_mhz", x.core_clock_mhz);
  member("memory_bandwidth_gb_s", x.memory_bandwidth_gb_s);
  member("max_cluster_size", x.max_cluster_size);
}

void each_member(Is<CompileTarget> auto& x, auto&& member) {
  member("compute_capability", x.compute_capability);
  member("exact", x.exact);
  member("name", x.name);
}

void each_member(Is<CompilerFacts> auto& x, auto&& member) {
  member("version", x.version);
  member("supported", x.supported);
  member("headers", x.headers);
}

void each_member(Is<Source> auto& x, auto&& member) {
  member("name", x.name);
  member("text", x.text);
  member("hash", x.hash);
}

void each_member(Is<KernelResources> auto& x, auto&& member) {
  member("kernel", x.kernel);
  member("registers", x.registers);
  member("spill_bytes", x.spill_bytes);
  member("stack_bytes", x.stack_bytes);
  member("static_smem_bytes", x.static_smem_bytes);
}

void each_member(Is<Compilation> auto& x, auto&& member) {
  member("log", x.log);
  member("code_hash", x.code_hash);
  member("kernels", x.kernels);
  member("compile_ms", x.compile_ms);
}

void each_member(Is<Binary> auto& x, auto&& member) {
  member("hash", x.hash);
  member("target", x.target);
  member("exact_target", x.exact_target);
  member("registers", x.registers);
  member("spill_bytes", x.spill_bytes);
  member("stack_bytes", x.stack_bytes);
  member("static_smem_bytes", x.static_smem_bytes);
  member("compile_ms", x.compile_ms);
  member("nvrtc", x.nvrtc);
}

void each_member(Is<Environment> auto& x, auto&& member) {
  member("driver", x.driver);
  member("nvrtc", x.nvrtc);
  member("commit", x.commit);
  member("device_uuid", x.device_uuid);
}

void each_member(Is<Timing> auto& x, auto&& member) {
  member("median_us", x.median_us);
  member("q1_us", x.q1_us);
  member("q3_us", x.q3_us);
  member("min_us", x.min_us);
  member("samples", x.samples);
  member("calls_per_sample", x.calls_per_sample);
  member("mode", x.mode);
  member("sm_clock_mhz", x.sm_clock_mhz);
  member("memory_clock_mhz", x.memory_clock_mhz);
  member("throttle", x.throttle);
  member("co_tenants", x.co_tenants);
  member("disturbed", x.disturbed);
  member("clock_limit_mhz", x.clock_limit_mhz);
  member("power_limit_w", x.power_limit_w);
}

void each_member(Is<Verdict> auto& x, auto&& member) {
  member("outcome", x.outcome);
  member("note", x.note);
  member("timing", x.timing);
  member("error_share", x.error_share);
  member("deterministic", x.deterministic);
}

void each_member(Is<Placing> auto& x, auto&& member) {
  member("standing", x.standing);
  member("ratio", x.ratio.median);
  member("ratio_low", x.ratio.low);
  member("ratio_high", x.ratio.high);
}

void each_member(Is<RaceResult> auto& x, auto&& member) {
  member("verdicts", x.verdicts);
  member("placings", x.placings);
}

template <class T>
void write(Message& message, const T& value) {
  message = Message::object();
  each_member(value, [&message](const char* name, const auto& member) { message[name] = member; });
}

template <class T>
constexpr bool kIsVector = false;
template <class T>
constexpr bool kIsVector<std::vector<T>> = true;

/// As the library does, but no number is bent to fit its type.
template <class T>
void take(const Message& message, T& value) {
  if constexpr (std::is_enum_v<T>) {
    int number = 0;
    take(message, number);
    value = static_cast<T>(number);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    demand(message.is_number_integer(), "no whole number");
    const auto number = message.get<std::int64_t>();
    demand(number >= std::numeric_limits<T>::min() && number <= std::numeric_limits<T>::max(), "number out of range");
    value = static_cast<T>(number);
  } else if constexpr (kIsVector<T>) {
    demand(message.is_array(), "no list");
    value.clear();
    for (const Message& item : message) take(item, value.emplace_back());
  } else {
    message.get_to(value);
  }
}

template <class T>
void read(const Message& message, T& value) {
  each_member(value, [&message](const char* name, auto& member) { take(message.at(name), member); });
}

Message bytes_of(const std::string& text) {
  return Message::binary(std::vector<std::uint8_t>(text.begin(), text.end()));
}

std::string text_of(const Message& bytes) {
  const auto& binary = bytes.get_binary();
  return {binary.begin(), binary.end()};
}

void demand_sound(const std::string& fault) { demand(fault.empty(), fault); }

}  // namespace

std::string hash_headers(const TemplateFiles& files) {
  ContentHash hash;
  for (const auto& [name, text] : files.device_headers()) hash.add(name).add(text);
  return hash.hex();
}

void to_json(Message& message, const Problem& problem) { write(message, problem); }
void from_json(const Message& message, Problem& problem) { read(message, problem); }

void to_json(Message& message, const DeviceSpec& device) { write(message, device); }
void from_json(const Message& message, DeviceSpec& device) {
  read(message, device);
  demand_sound(fault_of(key_of(device)));
}

void to_json(Message& message, const CompileTarget& target) { write(message, target); }
void from_json(const Message& message, CompileTarget& target) { read(message, target); }

void to_json(Message& message, const CompilerFacts& facts) { write(message, facts); }
void from_json(const Message& message, CompilerFacts& facts) { read(message, facts); }

void to_json(Message& message, const Source& source) { write(message, source); }
void from_json(const Message& message, Source& source) { read(message, source); }

void to_json(Message& message, const KernelResources& kernel) { write(message, kernel); }

void from_json(const Message& message, KernelResources& kernel) {
  read(message, kernel);
  demand(kernel.registers >= 0 && kernel.spill_bytes >= 0 && kernel.stack_bytes >= 0 && kernel.static_smem_bytes >= 0,
         "negative resources");
}

void to_json(Message& message, const Compilation& compilation) {
  write(message, compilation);
  message["cubin"] = bytes_of(compilation.cubin);
}

void from_json(const Message& message, Compilation& compilation) {
  read(message, compilation);
  compilation.cubin = text_of(message.at("cubin"));
  demand(compilation.compile_ms >= 0 && compilation.compile_ms < 1e12, "compile time");
  demand(!compilation.ok() || rule::hash(compilation.code_hash).empty(), "hash of the code");
}

void to_json(Message& message, const Binary& binary) {
  write(message, binary);
  message["cubin"] = bytes_of(binary.cubin);
}

void from_json(const Message& message, Binary& binary) {
  read(message, binary);
  binary.cubin = text_of(message.at("cubin"));
}

void to_json(Message& message, const Environment& environment) { write(message, environment); }
void from_json(const Message& message, Environment& environment) {
  read(message, environment);
  demand_sound(fault_of(environment));
}

void to_json(Message& message, const Candidate& candidate) {
  message = {{"family", candidate.family->name()}, {"config", candidate.config.text()}};
}

void from_json(const Message& message, Candidate& candidate) {
  candidate.family = &family_named(message.at("family").get<std::string>());
  candidate.config = Config::parse(message.at("config").get<std::string>());
}

void to_json(Message& message, const Program& program) {
  message = {{"candidate", program.candidate}, {"binary", program.binary}};
}

void from_json(const Message& message, Program& program) {
  message.at("candidate").get_to(program.candidate);
  message.at("binary").get_to(program.binary);
}

void to_json(Message& message, const Timing& timing) { write(message, timing); }
void from_json(const Message& message, Timing& timing) {
  read(message, timing);
  demand_sound(fault_of(timing));
}

void to_json(Message& message, const Verdict& verdict) { write(message, verdict); }
void from_json(const Message& message, Verdict& verdict) {
  read(message, verdict);
  demand(parse_outcome(to_string(verdict.outcome)) == verdict.outcome, "outcome");
  demand_sound(fault_of(verdict.timing));
  demand(verdict.error_share >= 0 || std::isnan(verdict.error_share), "error share");
  demand_sound(std::string(contradiction_of(verdict.outcome, verdict.timing.median_us, verdict.error_share)));
}

void to_json(Message& message, const Placing& placing) { write(message, placing); }
void from_json(const Message& message, Placing& placing) {
  read(message, placing);
  demand(placing.standing >= Standing::leader && placing.standing <= Standing::slower, "standing");
  const Ratio& ratio = placing.ratio;
  demand(ratio.low > 0 && ratio.low <= ratio.median && ratio.median <= ratio.high && std::isfinite(ratio.high),
         "ratio");
}

void to_json(Message& message, const RaceResult& result) { write(message, result); }
void from_json(const Message& message, RaceResult& result) {
  read(message, result);
  demand(result.verdicts.size() == result.placings.size(), "as many verdicts as placings");
  for (const Verdict& verdict : result.verdicts) {
    demand(verdict.outcome == Outcome::ok || verdict.outcome == Outcome::unstable, "outcome of a race");
    demand(verdict.timing.median_us > 0, "time of a race");
  }
}

namespace {

// Kinds of errors in an answer.
constexpr std::string_view kDeviceLost = "device lost", kDevice = "device", kMemory = "out of memory", kUsage = "usage",
                           kOther = "other";

template <class Kind>
bool is(const std::exception& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

}  // namespace

Message error_answer(const std::exception& error) {
  const std::string_view kind = is<DeviceLostError>(error)    ? kDeviceLost
                                : is<DeviceError>(error)      ? kDevice
                                : is<OutOfMemoryError>(error) ? kMemory
                                : is<UsageError>(error)       ? kUsage
                                                              : kOther;
  return {{"error", kind}, {"message", error.what()}};
}

Message result_of(Message answer) {
  if (const auto result = answer.find("result"); result != answer.end()) return std::move(*result);
  const auto kind = answer.at("error").get<std::string>();
  const auto message = answer.at("message").get<std::string>();
  if (kind == kDeviceLost) throw DeviceLostError(message);
  if (kind == kDevice) throw DeviceError(message);
  if (kind == kMemory) throw OutOfMemoryError(message);
  if (kind == kUsage) throw UsageError(message);
  throw Error(message);
}

}  // namespace mmtune

#include "tuner/workers/worker.h"

#include <fcntl.h>
#include <mmtune/error.h>

#include <charconv>
#include <cstdint>
#include <new>
#include <optional>

#include "runtime/device_query.h"
#include "runtime/driver.h"
#include "runtime/log.h"
#include "runtime/template_files.h"
#include "tuner/workers/process.h"
#include "tuner/workers/protocol.h"

namespace mmtune {
namespace {

std::vector<DeviceSpec> query_gpus() {
  std::vector<DeviceSpec> gpus;
  for (int ordinal = 0; ordinal < gpu_count(); ++ordinal) gpus.push_back(query_device(ordinal));
  return gpus;
}

/// One method for each verb; what they throw becomes the answer.
class Service {
 public:
  explicit Service(const WorkerParts& parts) : parts_(parts) {}

  Message answer(const Message& request) {
    const auto verb = request.at("verb").get<std::string>();
    if (verb == verb::kCompile) return compile(request);
    if (verb == verb::kOpen) return open(request);
    if (verb == verb::kBegin) return begin(request);
    if (verb == verb::kEvaluate) return evaluate(request);
    if (verb == verb::kRace) return race(request);
    if (verb == verb::kCompiler) return parts_.compiler();
    if (verb == verb::kGpus) return parts_.gpus();
    throw Error("a worker was asked for '" + verb + "', which it cannot do: a fault of mmtune");
  }

 private:
  Message compile(const Message& request) const {
    give_way();  // to those that measure
    limit_memory(request.at("memory_bytes").get<std::int64_t>());
    try {
      return parts_.compile(request.at("source").get<Source>(), request.at("target").get<CompileTarget>());
    } catch (const std::bad_alloc&) {
      Compilation refused;
      refused.log = "it needs more memory than there is for one source";
      return refused;
    }
  }

  Message open(const Message& request) {
    device_ = {request.at("device").get<DeviceSpec>(), request.at("ordinal").get<int>()};
    lane_ = parts_.make_lane(device_, request.at("target").get<CompileTarget>());
    return lane_->environment();
  }

  Message begin(const Message& request) {
    problem_ = request.at("problem").get<Problem>();
    lane().begin(problem_);
    return nullptr;
  }

  Message evaluate(const Message& request) {
    Program program = request.at("program").get<Program>();
    plan(program);
    try {
      return lane().evaluate(program, request.at("best_us").get<double>());
    } catch (const OutOfMemoryError& error) {
      return Verdict{Outcome::launch_failed, error.what(), {}, 0};
    }
  }

  Message race(const Message& request) {
    auto finalists = request.at("finalists").get<std::vector<Program>>();
    for (Program& each : finalists) plan(each);
    return lane().race(finalists);
  }

  Lane& lane() {
    if (!lane_) throw Error("a worker has no GPU open: a fault of mmtune");
    return *lane_;
  }

  void plan(Program& program) const {
    program.plan = program.candidate.family->plan(problem_, program.candidate.config, device_.spec);
  }

  const WorkerParts& parts_;
  DeviceChoice device_;
  std::unique_ptr<Lane> lane_;
  Problem problem_;
};

int number_in(const std::string& text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Answers requests until there are no more.
void serve(Channel& channel, Service& service) {
  while (true) {
    const Message request = channel.receive(Deadline::max());
    bool broken = false;
    Message answer;
    try {
      answer = {{"result", service.answer(request)}};
    } catch (const std::exception& error) {
      answer = error_answer(error);
      broken = dynamic_cast<const DeviceLostError*>(&error) != nullptr;
    }
    channel.send(answer, Deadline::max());
    if (broken) return;  // CUDA can do no more in this process
  }
}

}  // namespace

WorkerParts real_parts() {
  struct Compiler {
    Nvrtc nvrtc = Nvrtc::load();
    TemplateFiles files = template_files();
  };
  const auto compiler = [loaded = std::make_shared<std::optional<Compiler>>()]() -> const Compiler& {
    return *loaded ? **loaded : loaded->emplace();
  };
  WorkerParts parts;
  parts.gpus = query_gpus;
  parts.compiler = [compiler] {
    const Nvrtc& nvrtc = compiler().nvrtc;
    return CompilerFacts{nvrtc.version(), nvrtc.supported(), hash_headers(compiler().files)};
  };
  parts.compile = [compiler](const Source& source, const CompileTarget& target) {
    return compiler().nvrtc.compile(source, compiler().files, target);
  };
  parts.make_lane = [compiler](const DeviceChoice& device, const CompileTarget& target) {
    return make_gpu_lane(device, compiler().nvrtc, target);
  };
  return parts;
}

void run_worker(std::span<const std::string> arguments, const WorkerParts& parts) {
  if (arguments.size() != 3 || fcntl(kChannelDescriptor, F_GETFD) < 0) {
    throw UsageError("worker: mmtune starts workers itself; see mmtune --help for what you can start");
  }
  stay_with_parent(number_in(arguments[1]));
  fcntl(kChannelDescriptor, F_SETFD, FD_CLOEXEC);
  log::set_level(static_cast<log::Level>(number_in(arguments[2])));
  Channel channel{FileDescriptor(kChannelDescriptor)};
  Service service(parts);
  try {
    serve(channel, service);
  } catch (const ChannelError& error) {
    log::debug("worker {}: {}", arguments[0], error.what());
  }
}

}  // namespace mmtune

#include "tuner/workers/worker.h"

#include <fcntl.h>
#include <mmtune/error.h>

#include <charconv>
#include <new>
#include <optional>

#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "runtime/gpu/device_query.h"
#include "runtime/gpu/driver.h"
#include "tuner/workers/channel.h"
#include "tuner/workers/process.h"
#include "tuner/workers/protocol.h"

namespace mmtune {
namespace {

std::vector<DeviceSpec> query_gpus() {
  std::vector<DeviceSpec> gpus;
  for (int ordinal = 0; ordinal < gpu_count(); ++ordinal) gpus.push_back(query_device(ordinal));
  return gpus;
}

/// One function for each request; what they throw becomes the answer.
class Service {
 public:
  explicit Service(const WorkerParts& parts) : parts_(parts) {}

  /// The encoded result.
  std::string answer_message(const RequestMessage& message) {
    return answer_one_of<CompileRequest, OpenRequest, BeginRequest, EvaluateRequest, RaceRequest, CompilerRequest,
                         GpusRequest>(message);
  }

 private:
  template <class... Requests>
  std::string answer_one_of(const RequestMessage& message) {
    std::optional<std::string> result;
    ((message.verb == Requests::kVerb && (result = encode(answer(decode<Requests>(message.request))))) || ...);
    if (!result) throw Error("a worker was asked for '" + message.verb + "', which it cannot do: a fault of mmtune");
    return *std::move(result);
  }

  std::vector<DeviceSpec> answer(const GpusRequest&) const { return parts_.gpus(); }
  CompilerFacts answer(const CompilerRequest&) const { return parts_.compiler(); }

  Compilation answer(const CompileRequest& request) const {
    give_way();  // Processes that measure go first.
    limit_memory(request.memory_bytes);
    try {
      return parts_.compile(request.source, request.target);
    } catch (const std::bad_alloc&) {
      Compilation refused;
      refused.log = "it needs more memory than there is for one source";
      return refused;
    }
  }

  Environment answer(const OpenRequest& request) {
    device_ = {request.device, request.ordinal};
    lane_ = parts_.make_lane(device_, request.target);
    return lane_->environment();
  }

  Done answer(const BeginRequest& request) {
    problem_ = request.problem;
    lane().begin(problem_, request.samples);
    return {};
  }

  Verdict answer(const EvaluateRequest& request) {
    try {
      return lane().evaluate(planned(request.program), request.best_us);
    } catch (const OutOfMemoryError& error) {
      return Verdict{Outcome::launch_failed, error.what(), {}, 0};
    }
  }

  RaceResult answer(const RaceRequest& request) {
    std::vector<Program> finalists;
    for (const SentProgram& each : request.finalists) finalists.push_back(planned(each));
    return lane().race(finalists);
  }

  Lane& lane() {
    if (!lane_) throw Error("a worker has no GPU open: a fault of mmtune");
    return *lane_;
  }

  Program planned(const SentProgram& sent) const {
    Program program = received(sent);
    program.plan = program.candidate.family->plan(problem_, program.candidate.config, device_.spec);
    return program;
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
    const std::string request = channel.receive(Deadline::max());
    bool broken = false;
    std::string answer;
    try {
      answer = result_message(service.answer_message(decode<RequestMessage>(request)));
    } catch (const std::exception& error) {
      answer = error_message(error);
      broken = dynamic_cast<const DeviceLostError*>(&error) != nullptr;
    }
    channel.send(answer, Deadline::max());
    if (broken) return;  // CUDA can do no more in this process.
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

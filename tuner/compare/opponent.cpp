#include "tuner/compare/opponent.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <optional>

#include "runtime/base/template_files.h"
#include "templates/family/families.h"

namespace mmtune {
namespace {

constexpr std::string_view kNaive = "naive";

class NaiveOpponent final : public Opponent {
 public:
  NaiveOpponent(const Nvrtc& nvrtc, const DeviceSpec& device, CompileTarget target)
      : nvrtc_(nvrtc),
        device_(device),
        target_(std::move(target)),
        files_(template_files()),
        family_(family_named(kNaive)) {}

  std::string_view name() const override { return kNaive; }
  std::string description() const override {
    return fmt::format("the default configuration of family {}, compiled by NVRTC {}", kNaive, nvrtc_.version());
  }
  std::vector<std::string> entries() const override { return {std::string(kNaive)}; }

  std::vector<std::vector<Call>> prepare(const Problem& problem) override {
    const Config config = family_.default_config(problem);
    plan_ = family_.plan(problem, config, device_);
    const Source source = render(files_, family_, problem, config, plan_, target_.compute_capability);
    const Compilation compilation = nvrtc_.compile(source, files_, target_);
    if (!compilation.ok()) {
      throw DeviceError(
          fmt::format("{} {}: does not compile, a fault of mmtune: {}", kNaive, config.text(), compilation.log));
    }
    kernel_.emplace(compilation.cubin, plan_);
    return {{call_of(*kernel_, plan_, problem, 0)}};
  }

 private:
  const Nvrtc& nvrtc_;
  DeviceSpec device_;
  CompileTarget target_;
  TemplateFiles files_;
  const Family& family_;
  LaunchPlan plan_;
  std::optional<LoadedKernel> kernel_;
};

}  // namespace

std::unique_ptr<Opponent> make_naive_opponent(const Nvrtc& nvrtc, const DeviceSpec& device,
                                              const CompileTarget& target) {
  return std::make_unique<NaiveOpponent>(nvrtc, device, target);
}

}  // namespace mmtune

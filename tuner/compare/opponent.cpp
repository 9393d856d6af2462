#include "tuner/compare/opponent.h"

#include <fmt/format.h>

#include <optional>

#include "runtime/base/template_files.h"
#include "templates/family/families.h"
#include "tuner/tune/preparation.h"

namespace mmtune {
namespace {

constexpr std::string_view kNaive = "naive";

class NaiveOpponent final : public Opponent {
 public:
  NaiveOpponent(const Nvrtc& nvrtc, const DeviceSpec& device, CompileTarget target)
      : nvrtc_(nvrtc), preparation_(template_files(), device, std::move(target), Evidence::measured, nvrtc.version()) {}

  std::string_view name() const override { return kNaive; }
  std::string description() const override {
    return fmt::format("the default configuration of family {}, compiled by NVRTC {}", kNaive, nvrtc_.version());
  }
  std::vector<std::string> entries() const override { return {std::string(kNaive)}; }

  std::vector<std::vector<Call>> prepare(const Problem& problem) override {
    const Family& family = family_named(kNaive);
    program_ = preparation_.program(problem, {&family, family.default_config(problem)});
    kernel_.emplace(preparation_.compiled(program_, nvrtc_).cubin, program_.plan);
    return {{call_of(*kernel_, program_.plan, problem, 0)}};
  }

 private:
  const Nvrtc& nvrtc_;
  Preparation preparation_;
  Program program_;
  std::optional<LoadedKernel> kernel_;
};

}  // namespace

std::unique_ptr<Opponent> make_naive_opponent(const Nvrtc& nvrtc, const DeviceSpec& device,
                                              const CompileTarget& target) {
  return std::make_unique<NaiveOpponent>(nvrtc, device, target);
}

}  // namespace mmtune

// What a plan may not say, one mistake at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "templates/plan/launch_plan.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;

/// A pack step and a gemm by two tensor maps, one over a copy and one over an operand: nothing is wrong with it.
LaunchPlan good_plan() {
  LaunchPlan plan;
  plan.needs = {1, 16, 1};
  plan.constants = {{"PACK_THREADS", 256}, {"PACK_SMEM_BYTES", 4224}, {"IS_PACKED", true}};
  const Arg copy = plan.workspace.add("copy", 128 * 1000);
  plan.steps.push_back({.kernel = "pack", .block = {32, 8, 1}, .smem_bytes = 4224, .args = {copy, Arg::number(64)}});
  const Arg map_a = plan.add_map({.name = "A",
                                  .base = copy,
                                  .format = MapFormat::bf16,
                                  .dimensions = {{64, 64}, {1000, 128, {.bytes = 128}}},
                                  .swizzle_bytes = 128});
  const Arg map_b =
      plan.add_map({.name = "B", .base = Arg::operand(Operand::b), .dimensions = {{1000, 8}, {64, 256, {.rows = 1}}}});
  plan.steps.push_back({.grid = {8, 4, 1}, .block = {384}, .cluster = {2, 1, 1}, .args = {map_a, map_b}});
  plan.steps.back().overlaps_previous = true;
  return plan;
}

std::string fault_with(const std::function<void(LaunchPlan&)>& change) {
  LaunchPlan plan = good_plan();
  change(plan);
  return plan_fault(plan);
}

TEST(PlanFault, AGoodPlanHasNone) { EXPECT_EQ(plan_fault(good_plan()), ""); }

TEST(PlanFault, OfSteps) {
  EXPECT_EQ(fault_with([](LaunchPlan& plan) { plan.steps.clear(); }), "there is no step");
  EXPECT_THAT(fault_with([](LaunchPlan& plan) { plan.steps[1].cluster.z = 0; }), HasSubstr("step gemm: "));
  EXPECT_EQ(fault_with([](LaunchPlan& plan) { plan.steps[1].grid.x = 0; }), "") << "C is empty";
}

TEST(PlanFault, OfArguments) {
  const auto fault = [](const Arg& arg) {
    return fault_with([&](LaunchPlan& plan) { plan.steps[1].args.push_back(arg); });
  };
  EXPECT_THAT(fault(Arg::slice(1)), HasSubstr("step gemm: argument 2: slice 1 of 1"));
  EXPECT_NE(fault(Arg::map(2)), "");
  EXPECT_NE(fault({Arg::Kind::operand, 3}), "");
  EXPECT_NE(fault({Arg::Kind::scalar, 2}), "");
  EXPECT_NE(fault({Arg::Kind::extent, -1}), "");
  EXPECT_EQ(fault(Arg::number(-7)), "");
}

TEST(PlanFault, OfConstants) {
  EXPECT_THAT(fault_with([](LaunchPlan& plan) { plan.constants.emplace_back("IS_PACKED", 1); }), HasSubstr("twice"));
  EXPECT_THAT(fault_with([](LaunchPlan& plan) { plan.steps[0].block.x = 64; }),
              HasSubstr("step pack: PACK_THREADS = 256, but it launches 512"));
  EXPECT_THAT(fault_with([](LaunchPlan& plan) { plan.steps[0].smem_bytes = 0; }), HasSubstr("PACK_SMEM_BYTES"));
  EXPECT_THAT(fault_with([](LaunchPlan& plan) { plan.constants.erase(plan.constants.begin()); }),
              HasSubstr("no constant PACK_THREADS"));
}

TEST(PlanFault, OfSlices) {
  EXPECT_THAT(fault_with([](LaunchPlan& plan) { plan.workspace.add("odd", 8, 24); }), HasSubstr("slice odd: "));
  EXPECT_THAT(fault_with([](LaunchPlan& plan) { plan.workspace.add("wide", 8, 512); }), HasSubstr("slice wide: "));
  EXPECT_THAT(fault_with([](LaunchPlan& plan) { plan.workspace.add("less", -8); }), HasSubstr("slice less: "));
}

TEST(PlanFault, OfTensorMaps) {
  const struct {
    const char* fault;
    std::function<void(TensorMapSpec&)> change;  // what is changed in the map over the copy
  } cases[] = {
      {"0 dimensions", [](TensorMapSpec& map) { map.dimensions.clear(); }},
      {"6 dimensions",
       [](TensorMapSpec& map) {
         map.dimensions.resize(6, {1, 1, {.bytes = 16}});
       }},
      {"extent -1", [](TensorMapSpec& map) { map.dimensions[1].extent = -1; }},
      {"a box of 257 elements", [](TensorMapSpec& map) { map.dimensions[1].box = 257; }},
      {"a box of 0 elements", [](TensorMapSpec& map) { map.dimensions[1].box = 0; }},
      {"dimension 0: a stride", [](TensorMapSpec& map) { map.dimensions[0].stride.bytes = 16; }},
      {"dimension 1: a stride of 1 rows", [](TensorMapSpec& map) { map.dimensions[1].stride = {.rows = 1}; }},
      {"dimension 1: a stride of 120 bytes", [](TensorMapSpec& map) { map.dimensions[1].stride.bytes = 120; }},
      {"dimension 1: no stride", [](TensorMapSpec& map) { map.dimensions[1].stride.bytes = 0; }},
      {"rows of a box have 6 bytes", [](TensorMapSpec& map) { map.dimensions[0].box = 3; }},
      {"rows of a box have 64 bytes", [](TensorMapSpec& map) { map.dimensions[0].box = 32; }},
      {"no swizzle of 256 bytes", [](TensorMapSpec& map) { map.swizzle_bytes = 256; }},
      {"L2 fetches of 32", [](TensorMapSpec& map) { map.l2_promotion_bytes = 32; }},
      {"its format has no NaN",
       [](TensorMapSpec& map) {
         map.format = MapFormat::bits16;
         map.fills_with_nan = true;
       }},
      {"it ends 128 bytes behind copy", [](TensorMapSpec& map) { map.dimensions[1].extent = 1001; }},
      {"it cannot be over lda", [](TensorMapSpec& map) { map.base = Arg::ld(Operand::a); }},
      {"slice 7 of 1", [](TensorMapSpec& map) { map.base = Arg::slice(7); }},
      {"the plan asks A for 1 bytes", [](TensorMapSpec& map) { map.base = Arg::operand(Operand::a); }},
  };
  for (const auto& [fault, change] : cases) {
    const std::string found = fault_with([&change = change](LaunchPlan& plan) { change(plan.maps[0]); });
    EXPECT_THAT(found, ::testing::AllOf(::testing::StartsWith("map A: "), HasSubstr(fault)));
  }
  const auto empty = [](LaunchPlan& plan) { plan.maps[0].dimensions = {{0, 64}, {1000, 128}}; };
  EXPECT_EQ(fault_with(empty), "") << "nothing is read";
  EXPECT_NE(fault_with([](LaunchPlan& plan) { plan.needs.b = 8; }), "");
}

TEST(Args, HaveNames) {
  std::string text;
  std::vector<Arg> args = blas_arguments();
  args.insert(args.end(), {Arg::slice(2), Arg::map(1), Arg::number(4096)});
  for (const Arg& arg : args) text += to_string(arg) + " ";
  EXPECT_EQ(text, "m n k alpha A lda B ldb beta C ldc slice 2 map 1 4096 ");
}

}  // namespace
}  // namespace mmtune

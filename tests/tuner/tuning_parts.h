// What the parts of a search need, with `tiled` alone, one compiler and a pretended GPU.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "templates/family/families.h"
#include "tests/tuner/faulty_worker.h"
#include "tuner/lanes/lane.h"
#include "tuner/tune/tuning_setup.h"

namespace mmtune::test {

struct TuningParts {
  TuningParts(SessionOptions asked, const CompileTarget& target, Pace pace)
      : session(std::move(asked)),
        preparation(TemplateFiles::embedded(), pretended_gpu(), target, Evidence::measured, "13.0"),
        setup{session, effort, spaces, preparation, store, compiler, lost, code, *lane, batch, nullptr, search, pace} {}

  SessionOptions session;
  std::vector<const Family*> families{&family_named("tiled")};
  Preparation preparation;
  Store store = Store::open(session.database, OpenMode::read_write);
  CompilePool pool{TemplateFiles::embedded(), {.jobs = 1, .limit = std::chrono::seconds(1)}};
  CompileQueue compiler{pool};
  SpaceMemory spaces{families, preparation.device(), session.only};
  LostCompiles lost{store, preparation, std::chrono::seconds(1)};
  CodeMemory code{preparation};
  std::unique_ptr<Lane> lane = make_model_lane(session.devices.front(), "13.0");
  RunProgress progress{1, 1};
  RunProgress::Search search = progress.begin(session.problems.front(), 1);
  Effort effort = effort_named("default");
  TrialBatch batch{store};
  TuningSetup setup;
};

}  // namespace mmtune::test

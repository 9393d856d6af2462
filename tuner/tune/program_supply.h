// The way of programs to the lane: binaries from the store, or from the compilers while the lane is at work.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/tune/tuning_setup.h"

namespace mmtune {

/// A program that was ordered, with its binary unless the compiler failed.
struct Supplied {
  std::size_t number = 0;  ///< the number of the order
  Program program;
  Outcome outcome = Outcome::ok;  ///< the outcome of compiling
  std::string log;                ///< the reason why that failed
};

/// Hands out the programs that were ordered as soon as they are ready, those first whose binaries are stored. Compiles
/// no more at once than the setup allows. Uses the setup's queue alone. For one thread.
class ProgramSupply {
 public:
  explicit ProgramSupply(const TuningSetup& setup) : setup_(setup) {}

  /// False if it has to be compiled first. No two orders under way have the same number.
  bool order(std::size_t number, Program program);

  /// The next program; waits for the compilers only where none is ready, and at most `until` then. Nothing if none is
  /// on order, or none came in time. Throws std::logic_error where the compilers have nothing of what is on order: no
  /// search goes on without it unnoticed.
  std::optional<Supplied> next(std::optional<std::chrono::steady_clock::time_point> until = {});

  /// Whether nothing is on order.
  bool empty() const { return compiling_.empty() && ready_.empty(); }

  /// The next programs that compiled, as far as they are ready without waiting; they stay in the supply.
  std::vector<const Program*> coming();

  /// Forgets all orders.
  void clear();

 private:
  void compile_more();
  Supplied arrived(CompilePool::Result result);
  const Supplied* ready(const std::string& source_hash) const;

  const TuningSetup& setup_;
  std::map<std::size_t, Program> compiling_;  ///< the programs by number
  std::deque<std::size_t> held_;              ///< the numbers of those that the compilers do not have yet
  std::deque<Supplied> ready_;
};

}  // namespace mmtune

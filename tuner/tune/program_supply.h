// The way of programs to the lane: binaries from the store, or from the compilers while the lane is at work.
#pragma once

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

/// Hands out the programs that were ordered as soon as they are ready, those first whose binaries are stored. Uses the
/// setup's queue alone. For one thread.
class ProgramSupply {
 public:
  explicit ProgramSupply(const TuningSetup& setup) : setup_(setup) {}

  /// False if it has to be compiled first. No two orders under way have the same number.
  bool order(std::size_t number, Program program);

  /// The next program; waits for the compilers only where none is ready. Nothing if none is on order. Throws
  /// std::logic_error where the compilers have nothing of what is: no search goes on without it unnoticed.
  std::optional<Supplied> next();

  /// The next programs that compiled, as far as they are ready without waiting; they stay in the supply.
  std::vector<const Program*> coming();

  /// Forgets all orders.
  void clear();

 private:
  Supplied arrived(CompilePool::Result result);
  const Supplied* ready(const std::string& source_hash) const;

  const TuningSetup& setup_;
  std::map<std::size_t, Program> compiling_;  ///< the programs by number
  std::deque<Supplied> ready_;
};

}  // namespace mmtune

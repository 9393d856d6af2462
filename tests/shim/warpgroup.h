// The tensor cores of a warpgroup: multiplications that take as long as they may.
#pragma once

#include <array>
#include <deque>
#include <list>
#include <vector>

#include "tests/shim/device/calls.h"

namespace mmtune::shim {

struct Block;

/// Multiplies when a thread waits for it and no thread of the cluster can do anything else: only then is shared memory
/// read, and are registers with A. From the instruction on until the end of the latest one that adds to them, sums are
/// NaN.
class Warpgroup {
 public:
  static constexpr int kThreads = 128;

  explicit Warpgroup(Block& block) : block_(block) {}

  /// What calls.h has, of a thread by its number in the warpgroup.
  void multiply(int thread, const Multiplication& what, unsigned* sums, const unsigned* a);
  void fence(int thread) { members_[static_cast<std::size_t>(thread)].is_fenced = true; }
  void commit(int thread);
  void wait(int thread, int pending);

  /// Runs what is waited for; false if that is nothing that all threads have asked for.
  bool run();

  bool is_idle() const;

 private:
  /// A thread's sums of a tile while they are not in its registers.
  struct Sums {
    unsigned* registers;
    std::vector<unsigned> values;
    int pending;  ///< instructions that set or add to them
  };
  struct Operands {
    Sums* sums;
    const unsigned* a;
  };
  struct Instruction {
    Multiplication what;
    std::array<Operands, kThreads> operands;
    int threads;  ///< the threads that have come to it
  };
  struct Member {
    bool is_fenced = false;              ///< its registers, since it last waited
    long long asked = 0;                 ///< instructions
    std::vector<long long> groups = {};  ///< committed and not waited for: instructions until the end of each
    std::list<Sums> sums = {};
  };

  Sums& hide(Member& member, unsigned* registers, int count);
  /// Gives a thread its sums back after the last instruction that adds to them.
  void show(int thread, Sums& sums);
  template <class Number>
  void run(const Instruction& instruction);

  Block& block_;
  std::array<Member, kThreads> members_ = {};
  std::deque<Instruction> unfinished_ = {};
  long long finished_ = 0;
  long long wanted_ = 0;
};

}  // namespace mmtune::shim

// What a session does with what is stored, as questions that its parts ask.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "templates/problem/problem.h"
#include "tuner/lanes/candidate.h"

namespace mmtune {

class SessionMode {
 public:
  using ListedCandidates = std::function<std::vector<Candidate>(const Problem&)>;

  /// Searches the problems that are not decided; what is known of their candidates is not measured again.
  static SessionMode tune() { return SessionMode(Kind::tune); }

  /// Searches all problems, and measures what is known again.
  static SessionMode retune() { return SessionMode(Kind::retune); }

  /// Measures the fastest stored candidates of all problems again, and searches no others.
  static SessionMode refresh() { return SessionMode(Kind::refresh); }

  /// Measures the listed candidates of all problems, whatever is stored of them, and decides nothing.
  static SessionMode measure(ListedCandidates listed) { return SessionMode(Kind::measure, std::move(listed)); }

  /// Whether a problem whose decision is current is left alone.
  bool leaves_decided() const { return kind_ == Kind::tune; }

  /// Whether stored trials stand for candidates, instead of being measured again.
  bool reuses_trials() const { return kind_ == Kind::tune || kind_ == Kind::measure; }

  /// Whether a strategy proposes candidates.
  bool searches() const { return kind_ == Kind::tune || kind_ == Kind::retune; }

  /// Whether the fastest candidates race, and the winner is stored.
  bool decides() const { return kind_ != Kind::measure; }

  /// The candidates of a problem that measure() was given; none of other modes.
  std::vector<Candidate> listed(const Problem& problem) const {
    return listed_ ? listed_(problem) : std::vector<Candidate>();
  }

 private:
  enum class Kind { tune, retune, refresh, measure };

  explicit SessionMode(Kind kind, ListedCandidates listed = {}) : kind_(kind), listed_(std::move(listed)) {}

  Kind kind_;
  ListedCandidates listed_;
};

}  // namespace mmtune

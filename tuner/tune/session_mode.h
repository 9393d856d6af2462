// What a session does with what is stored, as questions that its parts ask.
#pragma once

namespace mmtune {

enum class SessionMode {
  tune,     ///< searches the problems that are not decided; what is known of their candidates is not measured again
  retune,   ///< searches all problems, and measures what is known again
  refresh,  ///< measures the fastest stored candidates of all problems again, and searches no others
  measure,  ///< measures listed candidates of all problems, whatever is stored of them, and decides nothing
};

/// Whether a problem whose decision is current is left alone.
constexpr bool leaves_decided(SessionMode mode) { return mode == SessionMode::tune; }

/// Whether stored trials stand for candidates, instead of being measured again.
constexpr bool reuses_trials(SessionMode mode) { return mode != SessionMode::retune && mode != SessionMode::refresh; }

/// Whether a strategy proposes candidates.
constexpr bool searches(SessionMode mode) { return mode == SessionMode::tune || mode == SessionMode::retune; }

/// Whether the fastest candidates race, and the winner is stored.
constexpr bool decides(SessionMode mode) { return mode != SessionMode::measure; }

}  // namespace mmtune

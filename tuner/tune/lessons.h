// What one problem teaches about the next: where the model errs there, it errs here.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "db/store.h"
#include "tuner/search/strategy.h"
#include "tuner/tune/family_spaces.h"
#include "tuner/tune/preparation.h"

namespace mmtune {

/// log2 of the ratio of the extents that differ most; an empty extent counts as 1.
double octaves_apart(const Problem& x, const Problem& y);

/// Whether they differ in their extents alone.
bool same_programs_serve(const Problem& x, const Problem& y);

/// The index of the problem nearest to this one of those that the same programs serve. The later one of equally near
/// ones; none if there is none, this one itself left aside.
std::optional<std::size_t> nearest(const Problem& problem, const std::vector<Problem>& others);

/// What a search learns of a trial.
Observation observation_of(const Trial& trial);

/// The number of lessons: it says where the model is wrong without keeping a search near them; by replay more were no
/// better.
inline constexpr std::size_t kLessons = 20;

/// The fastest of one problem's, at most kLessons.
std::vector<Lesson> fastest(std::vector<Lesson> lessons);

/// The right trials that are stored for a problem and whose source this program still makes, fastest first, at most so
/// many.
std::vector<Trial> fastest_stored(const ProblemKey& problem, const Preparation& preparation, Store& store,
                                  std::size_t most);

/// The decisions on the same GPU, of the same precision, layout and evidence.
std::vector<Winner> comparable_winners(const ProblemKey& problem, Store& store);

/// More than any search begins with.
inline constexpr std::size_t kProvenAtFirst = 50;

/// What won for the precision, or one in which kernels take the same time, and may be searched here, that of the
/// nearest problems first, at most so many: the configurations that the spaces' families have proven, and these
/// decisions. From problems half an octave away on they have the SPLIT that is expected to be fastest here.
std::vector<CandidateNumber> proven(const FamilySpaces& spaces, const std::vector<Winner>& decided = {},
                                    std::size_t most = kProvenAtFirst);

/// All that families have proven for the precision, as proven() says, and after it what won for 16 bits of floating
/// point where elements have 8, and the other way round.
std::vector<CandidateNumber> proven_in_all_widths(const FamilySpaces& spaces);

/// The winners of the problems before, latest first: where the search of the next one starts.
class Favourites {
 public:
  void add(Candidate winner);
  const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  std::vector<Candidate> candidates_;
};

/// The fastest stored trials of the nearest of these decided problems; empty if there is none.
std::vector<Lesson> nearest_stored(ProblemKey problem, const std::vector<Winner>& decided,
                                   const Preparation& preparation, Store& store);

}  // namespace mmtune

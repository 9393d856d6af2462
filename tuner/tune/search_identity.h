// What a decision says of the search behind it, and whether another run need search again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "templates/family/family.h"
#include "templates/problem/problem.h"
#include "tuner/tune/preparation.h"
#include "tuner/tune/session_options.h"

namespace mmtune {

/// How a search ended.
enum class SearchEnd {
  complete,  ///< All was tried that it asks for.
  limited,   ///< Sources were given up that may compile if they get more time.
  cut,       ///< It ended before its time, so that the next run goes on with it.
};

/// Identifies what is searched for one problem, and how.
class SearchIdentity {
 public:
  SearchIdentity(const SessionOptions& options, const std::vector<const Family*>& families,
                 const Preparation& preparation, const Problem& problem);

  /// What a decision stores as its search. Never changed: databases hold these texts.
  std::string stored(SearchEnd end) const;

  /// Whether the decision that stores this need not be made again. That of a limited search holds for the same limit.
  bool is_answered_by(std::string_view stored_search) const;

 private:
  std::string hash_;
  double compile_limit_s_;
};

}  // namespace mmtune

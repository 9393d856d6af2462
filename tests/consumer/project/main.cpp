#include <mmtune/mmtune.h>

#include <iostream>

int main() {
  const mmtune::Library library = mmtune::Library::open({.database = "none.db", .model = "h200"});
  const mmtune::Answer answer = library.plan({.m = 512, .n = 512, .k = 512});
  std::cout << to_string(answer.match) << ": " << answer.family << ' ' << answer.config << " (" << answer.why << ")\n";
  return answer.match == mmtune::Match::fallback && !answer.family.empty() ? 0 : 1;
}

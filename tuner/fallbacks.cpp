#include "tuner/fallbacks.h"

#include <set>
#include <utility>

#include "runtime/log.h"
#include "templates/families.h"

namespace mmtune {

void store_fallbacks(const std::vector<Problem>& problems, const Preparation& preparation, const Nvrtc& nvrtc,
                     Store& store) {
  const Family& naive = family_named("naive");
  std::set<std::pair<Precision, Layout>> done;
  for (const Problem& each : problems) {
    if (!done.emplace(each.precision, each.layout).second) continue;
    const Problem problem = packed_problem(each.precision, each.layout, 1, 1, 1);  // as runtime/dispatch looks it up
    const Source source = preparation.source(naive, problem, naive.default_config(problem));
    if (store.find_compiled(source.hash, preparation.target().name, true)) continue;
    const Compilation compilation = nvrtc.compile(source, preparation.files(), preparation.target());
    if (compilation.ok()) {
      store.put_compiled(source.hash, preparation.binary(compilation));
    } else {
      log::warning("no fallback for {} {}: naive does not compile: {}", to_string(each.precision),
                   to_string(each.layout), compilation.log);
    }
  }
}

}  // namespace mmtune

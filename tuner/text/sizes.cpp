#include "tuner/text/sizes.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "templates/base/letters.h"
#include "templates/base/parsed_number.h"
#include "tuner/text/size_file.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

/// A whole number from 1 to kMaxExtent; `token` is what the user wrote around it.
std::int64_t parse_number(std::string_view text, std::string_view token) {
  if (!all_digits(text)) {
    throw UsageError(fmt::format(
        "size '{}': '{}' is no whole number; write for example 1024, 256..8192, 1000..9000:1000, 100..800*2, "
        "512x512x64 or @file.csv",
        excerpt(token), excerpt(text)));
  }
  const auto value = parsed_number<std::int64_t>(text);
  if (!value || *value > kMaxExtent) {
    throw UsageError(
        fmt::format("size '{}': {} is too large; extents go up to {}", excerpt(token), excerpt(text), kMaxExtent));
  }
  if (*value == 0) throw UsageError(fmt::format("size '{}': 0 is too small; extents start at 1", excerpt(token)));
  return *value;
}

class Expansion {
 public:
  void add_list(std::string_view text) {
    for (const auto token : split(text, ',')) add_token(token);
  }

  std::vector<Size> take() { return std::move(sizes_); }

 private:
  void add_token(std::string_view token) {
    if (token.empty()) throw UsageError("--sizes has an empty item; write sizes separated by single commas");
    if (token.front() == '@') {
      add_file(std::string(token.substr(1)));
    } else if (token.find("..") != std::string_view::npos) {
      add_range(token);
    } else if (token.find('x') != std::string_view::npos) {
      const auto extents = split(token, 'x');
      if (extents.size() != 3) throw UsageError(fmt::format("size '{}': write three extents, MxNxK", excerpt(token)));
      add({parse_number(extents[0], token), parse_number(extents[1], token), parse_number(extents[2], token)}, token);
    } else {
      add_square(parse_number(token, token), token);
    }
  }

  void add_range(std::string_view token) {
    const auto dots = token.find("..");
    const auto first_text = trim(token.substr(0, dots));
    const auto rest = token.substr(dots + 2);
    const auto mark = rest.find_first_of(":*");
    const auto last_text = trim(rest.substr(0, mark));
    if (first_text.empty() || last_text.empty()) {
      throw UsageError(fmt::format("size range '{}' is open; write both ends, for example 256..8192", excerpt(token)));
    }
    const auto first = parse_number(first_text, token);
    const auto last = parse_number(last_text, token);
    if (last < first) {
      throw UsageError(fmt::format("size range '{}' runs backwards; write {}..{}", excerpt(token), last, first));
    }
    if (mark == std::string_view::npos) {
      add_powers_of_two(first, last, token);
    } else if (rest[mark] == ':') {
      add_stepped(first, last, parse_number(trim(rest.substr(mark + 1)), token), token);
    } else {
      add_scaled(first, last, parse_number(trim(rest.substr(mark + 1)), token), token);
    }
  }

  void add_powers_of_two(std::int64_t first, std::int64_t last, std::string_view token) {
    if ((first & (first - 1)) != 0) {
      throw UsageError(
          fmt::format("size range '{0}' goes through powers of two and {1} is none; write {1}..{2}*2 to double it or "
                      "{1}..{2}:{1} to step",
                      excerpt(token), first, last));
    }
    add_scaled(first, last, 2, token);
  }

  void add_stepped(std::int64_t first, std::int64_t last, std::int64_t step, std::string_view token) {
    if (static_cast<std::uint64_t>((last - first) / step) >= kMaxSizes) throw_too_many(token);
    for (auto extent = first; extent <= last; extent += step) add_square(extent, token);
  }

  void add_scaled(std::int64_t first, std::int64_t last, std::int64_t factor, std::string_view token) {
    if (factor == 1)
      throw UsageError(fmt::format("size range '{}' never ends; write a factor of 2 or more", excerpt(token)));
    for (auto extent = first; extent <= last; extent *= factor) add_square(extent, token);
  }

  void add_file(const std::string& path) {
    SizeFile file(path);
    const auto extents = file.extents();  // Any other heading stands over a single column of sizes.
    bool is_empty = true;
    while (const auto row = file.next()) {
      extents ? add_row(*row, *extents) : add_row(*row);
      is_empty = false;
    }
    if (is_empty) {
      throw UsageError(fmt::format("size file '@{}' holds no sizes; write one size per line or columns m,n,k", path));
    }
  }

  void add_row(const SizeFile::Row& row, const std::array<std::size_t, 3>& extents) {
    const auto& [place, cells] = row;
    if (cells.size() <= *std::max_element(extents.begin(), extents.end())) refuse(row);
    const auto extent = [&](std::size_t axis) { return parse_number(row.cells[extents[axis]], row.place); };
    add({extent(0), extent(1), extent(2)}, place);
  }

  void add_row(const SizeFile::Row& row) {
    if (row.cells.size() == 3) return add_row(row, {0, 1, 2});
    if (row.cells.size() != 1 || row.cells[0].front() == '@') refuse(row);
    try {
      add_token(row.cells[0]);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("size file {}: {}", row.place, error.what()));
    }
  }

  [[noreturn]] static void refuse(const SizeFile::Row& row) {
    throw UsageError(fmt::format("size file {}: expected one size or the columns m,n,k", row.place));
  }

  void add_square(std::int64_t extent, std::string_view token) { add({extent, extent, extent}, token); }

  void add(const Size& size, std::string_view token) {
    if (++expanded_ > kMaxSizes) throw_too_many(token);
    if (seen_.insert(std::tuple(size.m, size.n, size.k)).second) sizes_.push_back(size);
  }

  [[noreturn]] static void throw_too_many(std::string_view token) {
    throw UsageError(fmt::format("size '{}' makes more than {} sizes; use a larger step or a shorter range",
                                 excerpt(token), kMaxSizes));
  }

  std::size_t expanded_ = 0;  // the number with repetitions, so that a short text cannot ask for endless work
  std::vector<Size> sizes_;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen_;
};

}  // namespace

std::vector<Size> parse_sizes(std::string_view text) {
  Expansion expansion;
  expansion.add_list(text);
  return expansion.take();
}

std::string to_string(const Size& size) { return fmt::format("{}x{}x{}", size.m, size.n, size.k); }

std::string type_text(const Problem& problem) {
  return fmt::format("{} {}{}", to_string(problem.precision), to_string(problem.layout),
                     problem.invariant ? " invariant" : "");
}

}  // namespace mmtune

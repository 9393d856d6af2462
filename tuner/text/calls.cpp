#include "tuner/text/calls.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "tuner/text/files.h"
#include "tuner/text/text.h"

namespace mmtune {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Where the columns stand.
struct CallColumns {
  std::array<std::size_t, 3> extents{0, 1, 2};
  std::size_t precision = kNone;
  std::size_t layout = kNone;
  std::size_t weight = 3;
  bool are_named = false;
};

std::istringstream open_calls(const std::string& path) {
  return std::istringstream(read_text_file(path, fmt::format("size file '@{}'", excerpt(path))));
}

bool is_heading(std::string_view line) { return std::isalpha(static_cast<unsigned char>(line.front())) != 0; }

CallColumns read_heading(std::string_view line, const std::string& path) {
  const auto cells = split(line, ',');
  const auto position = [&](std::string_view name) {
    const auto found = std::find(cells.begin(), cells.end(), name);
    return found == cells.end() ? kNone : static_cast<std::size_t>(found - cells.begin());
  };
  CallColumns columns{
      {position("m"), position("n"), position("k")}, position("precision"), position("layout"), kNone, true};
  for (const std::string_view name : {"seconds", "weight", "count"}) {
    if (columns.weight == kNone) columns.weight = position(name);
  }
  if (std::count(columns.extents.begin(), columns.extents.end(), kNone) > 0) {
    throw UsageError(fmt::format("size file '@{}': its heading does not name the columns m, n and k", excerpt(path)));
  }
  return columns;
}

/// One line of products.
class Row {
 public:
  Row(std::string_view line, const CallColumns& columns, std::string place)
      : cells_(split(line, ',')), columns_(columns), place_(std::move(place)) {
    if (!columns.are_named && cells_.size() != 3 && cells_.size() != 4) {
      throw UsageError(fmt::format("{}: expected m,n,k or m,n,k,weight", place_));
    }
  }

  WeightedSize call() const {
    WeightedSize call;
    call.size = {extent(0), extent(1), extent(2)};
    if (columns_.precision != kNone) call.precision = value_of(parse_precision(cell(columns_.precision)), "precision");
    if (columns_.layout != kNone) call.layout = value_of(parse_layout(cell(columns_.layout)), "layout");
    if (columns_.weight != kNone && (columns_.are_named || cells_.size() == 4)) call.weight = weight();
    return call;
  }

 private:
  std::string_view cell(std::size_t column) const {
    if (column >= cells_.size()) throw UsageError(fmt::format("{}: has fewer columns than the heading", place_));
    return cells_[column];
  }

  std::int64_t extent(std::size_t axis) const {
    const std::string_view text = cell(columns_.extents[axis]);
    const auto value = parse_whole(text);
    if (!value || *value > static_cast<std::uint64_t>(kMaxExtent)) {
      throw UsageError(
          fmt::format("{}: '{}' is no extent; extents go from 1 to {}", place_, excerpt(text), kMaxExtent));
    }
    return static_cast<std::int64_t>(*value);
  }

  double weight() const {
    const std::string_view text = cell(columns_.weight);
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size() || !(value >= 0) || !(value < 1e300)) {
      throw UsageError(fmt::format("{}: '{}' is no weight; write a number from 0 on", place_, excerpt(text)));
    }
    return value;
  }

  template <class Value>
  Value value_of(const std::optional<Value>& value, std::string_view what) const {
    if (!value) throw UsageError(fmt::format("{}: names no {} that mmtune knows", place_, what));
    return *value;
  }

  std::vector<std::string_view> cells_;
  const CallColumns& columns_;
  std::string place_;
};

}  // namespace

std::vector<WeightedSize> read_calls(const std::string& path) {
  std::istringstream file = open_calls(path);
  std::string line;
  CallColumns columns;
  std::vector<WeightedSize> calls;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, int, int>, std::size_t> known;
  int number = 0;
  bool is_first = true;
  while (std::getline(file, line)) {
    ++number;
    const std::string_view text = trim(line);
    if (text.empty() || text.front() == '#') continue;
    if (std::exchange(is_first, false) && is_heading(text)) {
      columns = read_heading(text, path);
      continue;
    }
    const WeightedSize call = Row(text, columns, fmt::format("size file {}:{}", path, number)).call();
    if (std::min({call.size.m, call.size.n, call.size.k}) == 0) continue;
    const auto format = [](const auto& each) { return each ? static_cast<int>(*each) : -1; };
    const auto [found, is_new] = known.try_emplace(
        {call.size.m, call.size.n, call.size.k, format(call.precision), format(call.layout)}, calls.size());
    is_new ? calls.push_back(call) : void(calls[found->second].weight += call.weight);
    if (calls.size() > kMaxSizes) throw UsageError(fmt::format("size file '@{}': over {} sizes", path, kMaxSizes));
  }
  if (calls.empty()) {
    throw UsageError(fmt::format("size file '@{}' holds no sizes; write one a line in the columns m,n,k", path));
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const WeightedSize& x, const WeightedSize& y) { return x.weight > y.weight; });
  if (calls.front().weight == 0) {
    for (WeightedSize& call : calls) call.weight = 1;
  }
  return calls;
}

bool are_calls(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::istringstream file = open_calls(path);
  std::string line;
  std::getline(file, line);
  const auto cells = split(line, ',');
  return std::find(cells.begin(), cells.end(), "count") != cells.end() ||
         std::find(cells.begin(), cells.end(), "seconds") != cells.end();
}

}  // namespace mmtune

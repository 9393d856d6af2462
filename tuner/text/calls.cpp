#include "tuner/text/calls.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "templates/base/names.h"
#include "templates/base/parsed_number.h"
#include "tuner/text/size_file.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

/// The places where the columns stand.
struct CallColumns {
  std::array<std::size_t, 3> extents{0, 1, 2};
  std::optional<std::size_t> precision;
  std::optional<std::size_t> layout;
  std::optional<std::size_t> weight = 3;
  bool are_named = false;
};

CallColumns columns_of(const SizeFile& file, const std::string& path) {
  if (!file.has_heading()) return {};
  const auto extents = file.extents();
  if (!extents) {
    throw UsageError(fmt::format("size file '@{}': its heading does not name the columns m, n and k", excerpt(path)));
  }
  CallColumns columns{*extents, file.column("precision"), file.column("layout"), file.column("seconds"), true};
  if (!columns.weight) columns.weight = file.column("weight");
  if (!columns.weight) columns.weight = file.column("count");
  return columns;
}

/// The products of one line.
class CallRow {
 public:
  CallRow(SizeFile::Row row, const CallColumns& columns)
      : cells_(std::move(row.cells)), columns_(columns), place_("size file " + row.place) {
    if (!columns.are_named && cells_.size() != 3 && cells_.size() != 4) {
      throw UsageError(fmt::format("{}: expected m,n,k or m,n,k,weight", place_));
    }
  }

  WeightedSize call() const {
    WeightedSize call;
    call.size = {extent(0), extent(1), extent(2)};
    if (columns_.precision) call.precision = one_of(kAllPrecisions, *columns_.precision, "precision");
    if (columns_.layout) call.layout = one_of(kAllLayouts, *columns_.layout, "layout");
    if (columns_.weight && (columns_.are_named || cells_.size() == 4)) call.weight = weight();
    return call;
  }

 private:
  std::string_view cell(std::size_t column) const {
    if (column >= cells_.size()) throw UsageError(fmt::format("{}: has fewer columns than the heading", place_));
    return cells_[column];
  }

  std::int64_t extent(std::size_t axis) const {
    const std::string_view text = cell(columns_.extents[axis]);
    const auto value = parsed_number<std::uint64_t>(text);
    if (!value || *value > static_cast<std::uint64_t>(kMaxExtent)) {
      throw UsageError(
          fmt::format("{}: '{}' is no extent; extents go from 1 to {}", place_, excerpt(text), kMaxExtent));
    }
    return static_cast<std::int64_t>(*value);
  }

  double weight() const {
    const std::string_view text = cell(*columns_.weight);
    const auto value = parsed_number<double>(text);
    if (!value || !(*value >= 0) || !(*value < 1e300)) {
      throw UsageError(fmt::format("{}: '{}' is no weight; write a number from 0 on", place_, excerpt(text)));
    }
    return *value;
  }

  template <class Value, std::size_t count>
  Value one_of(const std::array<Value, count>& all, std::size_t column, std::string_view what) const {
    const std::string_view text = cell(column);
    std::vector<std::string_view> names;
    for (const Value value : all) {
      if (to_string(value) == text) return value;
      names.push_back(to_string(value));
    }
    throw UsageError(fmt::format("{}: '{}' is no {}; {}", place_, excerpt(text), what, known_names(text, names)));
  }

  std::vector<std::string_view> cells_;
  const CallColumns& columns_;
  std::string place_;
};

}  // namespace

std::vector<WeightedSize> read_calls(const std::string& path) {
  SizeFile file(path);
  const CallColumns columns = columns_of(file, path);
  std::vector<WeightedSize> calls;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, int, int>, std::size_t> known;
  while (const auto row = file.next()) {
    WeightedSize call;
    try {
      call = CallRow(*row, columns).call();
    } catch (const UsageError& error) {
      if (!file.is_record()) throw;
      file.leave_out(error.what());
      continue;
    }
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
  const SizeFile file(path);
  return file.column("count") || file.column("seconds");
}

}  // namespace mmtune

#include "tuner/documents/study_file.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <charconv>
#include <fstream>

#include "tuner/documents/study_table.h"
#include "tuner/text/files.h"

namespace mmtune {
namespace {

// Places of the columns of study_rows().
enum Field {
  kDocument,
  kTable,
  kRow,
  kColumn,
  kFamily = 8,
  kConfig,
  kOrigin,
  kKernel,
  kTotal,
  kGpu = 17,
  kNote,
  kFields
};

/// The fields of a line of RFC 4180 without line breaks in fields.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

double time_of(const std::string& text) {
  double ms = StudyResult::kUnknown_ms;
  std::from_chars(text.data(), text.data() + text.size(), ms);
  return ms;
}

std::string header() { return study_rows({}).text(Format::csv); }

}  // namespace

StudyFile::StudyFile(std::string path) : path_(std::move(path)) {
  std::string line;
  if (std::ifstream in(path_); std::getline(in, line)) {
    if (line + '\n' != header()) {
      throw UsageError(fmt::format("--output '{}': is not a file of this program's study; name another", path_));
    }
    while (std::getline(in, line)) {
      auto fields = fields_of(line);
      if (fields.size() == kFields) rows_.push_back(std::move(fields));
    }
    end_last_line();
    return;
  }
  std::ofstream out(path_);
  if (!(out << header()).flush()) refuse_writing(path_);
}

/// A writer that was killed may have left half a line, which counts as none.
void StudyFile::end_last_line() const {
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::ate);
  if (!file) refuse_writing(path_);
  file.seekg(-1, std::ios::end);
  if (file.get() != '\n') {
    file.seekp(0, std::ios::end);
    file << '\n';
  }
}

std::optional<StudyResult> StudyFile::find(const StudyCase& what, const std::string& gpu) const {
  for (const auto& row : rows_) {
    const bool is_same = row[kDocument] == what.document && row[kTable] == what.table && row[kRow] == what.row &&
                         row[kColumn] == what.column && row[kGpu] == gpu;
    if (!is_same || !(time_of(row[kKernel]) > 0)) continue;
    StudyResult result;
    result.what = what;
    result.what.family = row[kFamily];
    result.what.config = row[kConfig];
    result.gpu = gpu;
    for (const Origin origin : {Origin::measured, Origin::extrapolated, Origin::predicted}) {
      if (row[kOrigin] == to_string(origin)) result.origin = origin;
    }
    result.kernel_ms = time_of(row[kKernel]);
    result.total_ms = time_of(row[kTotal]);
    result.note = row[kNote];
    return result;
  }
  return std::nullopt;
}

void StudyFile::add(const StudyResult& result) {
  const std::string text = study_rows({result}).text(Format::csv);
  std::ofstream out(path_, std::ios::app);
  if (!(out << text.substr(text.find('\n') + 1)).flush()) refuse_writing(path_);
}

}  // namespace mmtune

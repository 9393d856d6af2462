#include "tuner/tune/program_supply.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace mmtune {

bool ProgramSupply::order(std::size_t number, Program program) {
  if (auto binary = setup_.code.find(program.key.source_hash, setup_.store)) {
    program.binary = std::move(*binary);
    ready_.push_back({number, std::move(program), Outcome::ok, ""});
  } else if (const auto lost = setup_.lost.given_up(program.key.source_hash)) {
    ready_.push_back({number, std::move(program), lost->outcome,
                      fmt::format("NVRTC: no answer {} times; see `mmtune show --set-aside`", lost->losses)});
  } else if (const Supplied* same = ready(program.key.source_hash)) {  // It is not stored yet.
    program.binary = same->program.binary;
    Supplied supplied{number, std::move(program), same->outcome, same->log};
    ready_.push_back(std::move(supplied));
  } else {
    compiling_.emplace(number, std::move(program));
    held_.push_back(number);
    compile_more();
    return false;
  }
  return true;
}

void ProgramSupply::compile_more() {
  while (!held_.empty() && compiling_.size() - held_.size() < setup_.pace.at_once) {
    const Program& program = compiling_.at(held_.front());
    setup_.compiler.submit(held_.front(), program.source, setup_.preparation.target());
    held_.pop_front();
  }
}

/// What is ready of that source; null if there is none.
const Supplied* ProgramSupply::ready(const std::string& source_hash) const {
  const auto same = std::find_if(ready_.begin(), ready_.end(), [&](const Supplied& supplied) {
    return supplied.program.key.source_hash == source_hash;
  });
  return same == ready_.end() ? nullptr : &*same;
}

std::optional<Supplied> ProgramSupply::next(std::optional<std::chrono::steady_clock::time_point> until) {
  if (ready_.empty()) {
    if (auto result = setup_.compiler.next(until)) ready_.push_back(arrived(std::move(*result)));
  }
  if (ready_.empty() && !compiling_.empty()) {
    if (until && std::chrono::steady_clock::now() >= *until) return std::nullopt;
    throw std::logic_error(
        fmt::format("{}: ordered, but never compiled", key_of(compiling_.begin()->second.candidate)));
  }
  if (ready_.empty()) return std::nullopt;
  Supplied supplied = std::move(ready_.front());
  ready_.pop_front();
  return supplied;
}

std::vector<const Program*> ProgramSupply::coming() {
  while (auto result = setup_.compiler.next_finished()) ready_.push_back(arrived(std::move(*result)));
  std::vector<const Program*> programs;
  for (const Supplied& supplied : ready_) {
    if (supplied.outcome == Outcome::ok) programs.push_back(&supplied.program);
  }
  return programs;
}

void ProgramSupply::clear() {
  setup_.compiler.clear();
  compiling_.clear();
  held_.clear();
  ready_.clear();
}

Supplied ProgramSupply::arrived(CompilePool::Result result) {
  Program program = std::move(compiling_.extract(result.ticket).mapped());
  compile_more();
  if (is_kill(result.outcome)) setup_.lost.note(program.key, result.outcome);
  if (result.outcome != Outcome::ok) {
    return {result.ticket, std::move(program), result.outcome, std::move(result.compilation.log)};
  }
  program.binary = setup_.preparation.binary(result.compilation);
  setup_.code.keep(program.key, program.binary);
  return {result.ticket, std::move(program), Outcome::ok, ""};
}

}  // namespace mmtune

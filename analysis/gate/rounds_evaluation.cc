// Measures the gate's false-alarm rate and power on real times. Standard input: one case a line, an id and 32 times or
// more, in the order in which they were taken, in any unit:
//
//   bazel-bin/analysis/gate/rounds_evaluation < analysis/gate/testdata/h200_rounds.txt
//
// Suites are at most 100 cases in the order given. Dealing halves in the order of time instead of at random shows what
// serial measuring costs, and ABBA that interleaving mends it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <span>
#include <vector>

#include "analysis/gate/testing/dealt_rounds.h"

namespace stallhound::analysis::gate {
namespace {

constexpr size_t kMostSuiteSize = 100;
constexpr size_t kSplitCount = 200;  // at least, over all suites
constexpr size_t kTrialsPerCase = 5;

using Cases = std::span<const RecordedCase>;

std::vector<Cases> SuitesOf(Cases cases) {
  const size_t size = std::min(kMostSuiteSize, cases.size());
  std::vector<Cases> suites;
  for (size_t first = 0; first + size <= cases.size(); first += size) suites.push_back(cases.subspan(first, size));
  return suites;
}

bool IsProven(const Confirmation& confirmation) {
  const Answer answer = ConfirmTimes(std::span(&confirmation, 1), {}).value().front().answer;
  return answer == Answer::kRegressed || answer == Answer::kImproved;
}

void PrintSteps(Cases cases, std::mt19937_64& random) {
  constexpr std::array<std::pair<Deal, const char*>, 3> kDeals = {
      {{Deal::kSerial, "serial"}, {Deal::kAbba, "ABBA"}, {Deal::kRandom, "random"}}};
  fmt::print("False alarms of each step alone, of {} cases:\n", cases.size());
  for (const auto& [deal, name] : kDeals) {
    int found = 0, proven = 0;
    for (const RecordedCase& one : cases) {
      const CaseRounds few = DealOut(one, kScreenRoundCount, 1, deal, random);
      found += ScreenTimes(few, RoundSource::kInterleaved, 1).value().answer == Answer::kSuspect;
      const CaseRounds many = DealOut(one, kLeastConfirmRoundCount, 1, deal, random);
      for (const Direction direction : {Direction::kSlower, Direction::kFaster}) proven += IsProven({many, direction});
    }
    fmt::print("  {:6} screen {} ({:.2f}%), confirmation without a screen, either direction {} ({:.2f}%)\n", name,
               found, 100.0 * found / static_cast<double>(cases.size()), proven,
               100.0 * proven / static_cast<double>(cases.size()));
  }
}

// By suite, for their power.
std::vector<std::vector<UnchangedSplit>> PrintFalseAlarms(const std::vector<Cases>& suites, std::mt19937_64& random) {
  const size_t splits_per_suite = (kSplitCount + suites.size() - 1) / suites.size();
  std::vector<std::vector<UnchangedSplit>> splits(suites.size());
  size_t alarmed = 0, screened = 0;
  int64_t regressed = 0, improved = 0, suspect = 0;
  for (size_t suite = 0; suite < suites.size(); ++suite) {
    for (size_t i = 0; i < splits_per_suite; ++i) {
      const UnchangedSplit& split = splits[suite].emplace_back(JudgeUnchanged(suites[suite], random));
      alarmed += split.regressed_count > 0;
      screened += split.screened.size();
      regressed += split.regressed_count;
      improved += split.improved_count;
      suspect += split.suspect_count;
    }
  }
  fmt::print(
      "Whole gate, {} splits of unchanged suites of {} cases: {} with a false alarm; {} cases screened, of them "
      "{} regressed, {} improved, {} suspect\n",
      suites.size() * splits_per_suite, suites.front().size(), alarmed, screened, regressed, improved, suspect);
  return splits;
}

// Each case in turn is the one that its suite has slowed down.
void PrintPower(const std::vector<Cases>& suites, const std::vector<std::vector<UnchangedSplit>>& splits,
                std::mt19937_64& random) {
  for (const double slow_down : {0.01, 0.02, 0.05, 0.1}) {
    int total = 0, found = 0, suspect = 0, missed_half = 0;
    for (size_t suite = 0; suite < suites.size(); ++suite) {
      for (size_t i = 0; i < suites[suite].size(); ++i) {
        size_t found_here = 0;
        for (size_t trial = 0; trial < kTrialsPerCase; ++trial, ++total) {
          const UnchangedSplit& unchanged = splits[suite][trial % splits[suite].size()];
          const Answer answer = JudgeSlowDown(suites[suite], i, 1 + slow_down, unchanged, random);
          found_here += answer == Answer::kRegressed;
          suspect += answer == Answer::kSuspect;
        }
        found += static_cast<int>(found_here);
        missed_half += 2 * found_here < kTrialsPerCase;
      }
    }
    fmt::print("Slow-down of {:.0f}% in one case: found {} of {} ({:.1f}%), suspect {}; {} cases mostly missed\n",
               100 * slow_down, found, total, 100.0 * found / total, suspect, missed_half);
  }
}

}  // namespace
}  // namespace stallhound::analysis::gate

int main() {
  namespace gate = stallhound::analysis::gate;
  const std::vector<gate::RecordedCase> cases = gate::ReadRecordedCases(std::cin);
  if (cases.empty()) {
    std::cerr << "cannot evaluate the gate: standard input has no line with an id and "
              << 2 * gate::kLeastConfirmRoundCount << " times\n";
    return 3;
  }
  for (const gate::RecordedCase& one : cases) {
    for (const double time : one.times) {
      if (std::isfinite(time) && time > 0) continue;
      std::cerr << "cannot evaluate the gate: '" << one.id << "' has a time of " << time
                << "; times must be finite and above 0\n";
      return 3;
    }
  }
  std::mt19937_64 random(2026);
  const auto suites = gate::SuitesOf(cases);
  gate::PrintSteps(cases, random);
  gate::PrintPower(suites, gate::PrintFalseAlarms(suites, random), random);
  return 0;
}

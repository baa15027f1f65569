// Measures the gate's false-alarm rate and power on real times. Standard input: one case a line, an id and 32 times or
// more, in the order in which they were taken, in any unit:
//
//   zcat times.txt.gz | bazel-bin/analysis/gate/rounds_evaluation
//
// The times of a case stand in for rounds and are dealt to both sides at random, anew for screen and confirmation, so
// that nothing differs but chance; with `slow-down`, one side's are multiplied. Suites are 100 cases in the order
// given. Dealing halves in the order of time instead shows what serial measuring costs, and ABBA that interleaving
// mends it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/gate/times.h"

namespace stallhound::analysis::gate {
namespace {

constexpr size_t kLeastTimesPerCase = 2 * kLeastConfirmRoundCount;
constexpr size_t kMostSuiteSize = 100;
constexpr int kSplitsPerSuite = 5;

struct Case {
  std::string id;
  std::vector<double> times;
};

std::vector<Case> ReadCases(std::istream& input) {
  std::vector<Case> cases;
  for (std::string line; std::getline(input, line);) {
    std::istringstream fields(line);
    Case one;
    fields >> one.id;
    for (double time = 0; fields >> time;) one.times.push_back(time);
    if (one.times.size() >= kLeastTimesPerCase) cases.push_back(std::move(one));
  }
  return cases;
}

enum class Deal : uint8_t { kSerial, kAbba, kRandom };

size_t SuiteSize(const std::vector<Case>& cases) { return std::min(kMostSuiteSize, cases.size()); }

// The first 2 * rounds_a_side times, of a shuffle if dealt at random, the candidate's times `ratio`.
CaseRounds DealOut(const Case& one, int64_t rounds_a_side, double ratio, Deal deal, std::mt19937_64& random) {
  std::vector<double> times = one.times;
  std::vector<Side> order = AbbaOrder(rounds_a_side);
  if (deal == Deal::kRandom) std::shuffle(times.begin(), times.end(), random);
  if (deal == Deal::kSerial) std::stable_sort(order.begin(), order.end());
  CaseRounds rounds;
  rounds.benchmark_id = one.id;
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] == Side::kBaseline) rounds.baseline.push_back({times[i]});
    if (order[i] == Side::kCandidate) rounds.candidate.push_back({times[i] * ratio});
  }
  return rounds;
}

template <typename T>
T Value(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::cerr << result.status().message() << "\n";
  std::exit(3);
}

struct Screened {
  size_t index;
  Direction direction;
};

std::optional<Screened> Screen(const std::vector<Case>& cases, size_t index, double ratio, std::mt19937_64& random) {
  const CaseRounds rounds = DealOut(cases[index], kScreenRoundCount, ratio, Deal::kRandom, random);
  const TimeVerdict verdict = Value(ScreenTimes(rounds, RoundSource::kInterleaved, random()));
  if (verdict.answer != Answer::kSuspect) return std::nullopt;
  return Screened{index, verdict.direction()};
}

std::vector<TimeVerdict> Confirm(const std::vector<Case>& cases, const std::vector<Screened>& screened,
                                 double ratio_of_last, std::mt19937_64& random) {
  std::vector<Confirmation> confirmations;
  for (const Screened& one : screened) {
    const double ratio = &one == &screened.back() ? ratio_of_last : 1;
    const CaseRounds rounds = DealOut(cases[one.index], kLeastConfirmRoundCount, ratio, Deal::kRandom, random);
    confirmations.push_back({rounds, one.direction});
  }
  return Value(ConfirmTimes(confirmations, {.seed = random()}));
}

void PrintSteps(const std::vector<Case>& cases, std::mt19937_64& random) {
  constexpr std::array<std::pair<Deal, const char*>, 3> kDeals = {
      {{Deal::kSerial, "serial"}, {Deal::kAbba, "ABBA"}, {Deal::kRandom, "random"}}};
  fmt::print("False alarms of each step alone, of {} cases:\n", cases.size());
  for (const auto& [deal, name] : kDeals) {
    int found = 0, proven = 0;
    for (const Case& one : cases) {
      const CaseRounds few = DealOut(one, kScreenRoundCount, 1, deal, random);
      found += Value(ScreenTimes(few, RoundSource::kInterleaved, 1)).answer == Answer::kSuspect;
      const CaseRounds many = DealOut(one, kLeastConfirmRoundCount, 1, deal, random);
      for (const Direction direction : {Direction::kSlower, Direction::kFaster}) {
        const auto verdicts = Value(ConfirmTimes(std::vector<Confirmation>{{many, direction}}, {}));
        proven += verdicts.front().answer == Answer::kRegressed || verdicts.front().answer == Answer::kImproved;
      }
    }
    fmt::print("  {:6} screen {} ({:.2f}%), confirmation without a screen, either direction {} ({:.2f}%)\n", name,
               found, 100.0 * found / static_cast<double>(cases.size()), proven,
               100.0 * proven / static_cast<double>(cases.size()));
  }
}

// Screens of unchanged suites, by suite; prints what their confirmation makes of them.
std::vector<std::vector<Screened>> PrintFalseAlarms(const std::vector<Case>& cases, std::mt19937_64& random) {
  std::vector<std::vector<Screened>> last_split;
  const size_t suite_size = SuiteSize(cases);
  int splits = 0, alarmed_splits = 0, screened_count = 0, regressed = 0, improved = 0, suspect = 0;
  for (size_t first = 0; first + suite_size <= cases.size(); first += suite_size) {
    std::vector<Screened> screened;
    for (int split = 0; split < kSplitsPerSuite; ++split, ++splits) {
      screened.clear();
      for (size_t i = first; i < first + suite_size; ++i) {
        if (const auto one = Screen(cases, i, 1, random)) screened.push_back(*one);
      }
      screened_count += static_cast<int>(screened.size());
      const int before = regressed;
      for (const TimeVerdict& verdict : Confirm(cases, screened, 1, random)) {
        regressed += verdict.answer == Answer::kRegressed;
        improved += verdict.answer == Answer::kImproved;
        suspect += verdict.answer == Answer::kSuspect;
      }
      alarmed_splits += regressed > before;
    }
    last_split.push_back(screened);
  }
  fmt::print(
      "Whole gate, {} splits of unchanged suites of {} cases: {} with a false alarm; {} cases screened, of them "
      "{} regressed, {} improved, {} suspect\n",
      splits, suite_size, alarmed_splits, screened_count, regressed, improved, suspect);
  return last_split;
}

// Each case in turn is the one that its suite has slowed down.
void PrintPower(const std::vector<Case>& cases, const std::vector<std::vector<Screened>>& unchanged,
                std::mt19937_64& random) {
  const size_t suite_size = SuiteSize(cases);
  for (const double slow_down : {0.01, 0.02, 0.05, 0.1}) {
    int total = 0, screened_count = 0, found = 0, suspect = 0;
    for (size_t suite = 0; suite < unchanged.size(); ++suite) {
      for (size_t i = suite * suite_size; i < (suite + 1) * suite_size; ++i, ++total) {
        const auto changed = Screen(cases, i, 1 + slow_down, random);
        if (!changed || changed->direction != Direction::kSlower) continue;
        ++screened_count;
        std::vector<Screened> screened = unchanged[suite];
        std::erase_if(screened, [i](const Screened& other) { return other.index == i; });
        screened.push_back(*changed);
        const TimeVerdict verdict = Confirm(cases, screened, 1 + slow_down, random).back();
        found += verdict.answer == Answer::kRegressed;
        suspect += verdict.answer == Answer::kSuspect;
      }
    }
    fmt::print("Slow-down of {:.0f}% in one case of {}: found {} of {} ({:.1f}%), screened {}, suspect {}\n",
               100 * slow_down, suite_size, found, total, 100.0 * found / total, screened_count, suspect);
  }
}

}  // namespace
}  // namespace stallhound::analysis::gate

int main() {
  namespace gate = stallhound::analysis::gate;
  const std::vector<gate::Case> cases = gate::ReadCases(std::cin);
  if (cases.empty()) {
    std::cerr << "cannot evaluate the gate: standard input has no line with an id and " << gate::kLeastTimesPerCase
              << " times\n";
    return 3;
  }
  std::mt19937_64 random(2026);
  gate::PrintSteps(cases, random);
  const auto unchanged = gate::PrintFalseAlarms(cases, random);
  gate::PrintPower(cases, unchanged, random);
  return 0;
}

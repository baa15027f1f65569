#include "analysis/gate/testing/dealt_rounds.h"

#include <algorithm>
#include <sstream>

namespace stallhound::analysis::gate {
namespace {

constexpr size_t kLeastTimesPerCase = 2 * kLeastConfirmRoundCount;

}  // namespace

std::vector<RecordedCase> ReadRecordedCases(std::istream& input) {
  std::vector<RecordedCase> cases;
  for (std::string line; std::getline(input, line);) {
    std::istringstream fields(line);
    RecordedCase one;
    fields >> one.id;
    for (double time = 0; fields >> time;) one.times.push_back(time);
    if (one.times.size() >= kLeastTimesPerCase) cases.push_back(std::move(one));
  }
  return cases;
}

CaseRounds DealOut(const RecordedCase& one, int64_t rounds_a_side, double ratio, Deal deal, std::mt19937_64& random) {
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

std::optional<Screened> ScreenDealt(std::span<const RecordedCase> cases, size_t index, double ratio,
                                    std::mt19937_64& random) {
  const CaseRounds rounds = DealOut(cases[index], kScreenRoundCount, ratio, Deal::kRandom, random);
  const TimeVerdict verdict = ScreenTimes(rounds, RoundSource::kInterleaved, random()).value();
  if (verdict.answer != Answer::kSuspect) return std::nullopt;
  return Screened{index, verdict.direction()};
}

std::vector<TimeVerdict> ConfirmDealt(std::span<const RecordedCase> cases, std::span<const Screened> screened,
                                      double ratio_of_last, std::mt19937_64& random) {
  std::vector<Confirmation> confirmations;
  for (const Screened& one : screened) {
    const double ratio = &one == &screened.back() ? ratio_of_last : 1;
    const CaseRounds rounds = DealOut(cases[one.index], kLeastConfirmRoundCount, ratio, Deal::kRandom, random);
    confirmations.push_back({rounds, one.direction});
  }
  return ConfirmTimes(confirmations, {.seed = random()}).value();
}

UnchangedSplit JudgeUnchanged(std::span<const RecordedCase> cases, std::mt19937_64& random) {
  UnchangedSplit split;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (const auto one = ScreenDealt(cases, i, 1, random)) split.screened.push_back(*one);
  }
  for (const TimeVerdict& verdict : ConfirmDealt(cases, split.screened, 1, random)) {
    split.regressed_count += verdict.answer == Answer::kRegressed;
    split.improved_count += verdict.answer == Answer::kImproved;
    split.suspect_count += verdict.answer == Answer::kSuspect;
  }
  return split;
}

Answer JudgeSlowDown(std::span<const RecordedCase> cases, size_t index, double ratio, const UnchangedSplit& unchanged,
                     std::mt19937_64& random) {
  const std::optional<Screened> changed = ScreenDealt(cases, index, ratio, random);
  if (!changed || changed->direction != Direction::kSlower) return Answer::kPass;
  std::vector<Screened> screened = unchanged.screened;
  std::erase_if(screened, [index](const Screened& other) { return other.index == index; });
  screened.push_back(*changed);
  return ConfirmDealt(cases, screened, ratio, random).back().answer;
}

}  // namespace stallhound::analysis::gate

#pragma once

// The gate over recorded times. The times of a case stand in for rounds and are dealt to both sides at random, anew for
// screen and confirmation, so that nothing differs but chance; with a slow-down, one side's are multiplied. Times must
// be finite and positive: what the gate refuses ends the program.

#include <cstdint>
#include <istream>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "analysis/gate/times.h"

namespace stallhound::analysis::gate {

struct RecordedCase {
  std::string id;
  std::vector<double> times;  // in any unit, in the order in which they were taken
};

// One case a line, an id and its times. Cases with too few times for a confirmation are left out.
std::vector<RecordedCase> ReadRecordedCases(std::istream& input);

enum class Deal : uint8_t { kSerial, kAbba, kRandom };

// The first 2 * rounds_a_side times, of a shuffle if dealt at random, the candidate's times `ratio`.
CaseRounds DealOut(const RecordedCase& one, int64_t rounds_a_side, double ratio, Deal deal, std::mt19937_64& random);

// A case that a screen has found.
struct Screened {
  size_t index;  // in the cases
  Direction direction;
};

std::optional<Screened> ScreenDealt(std::span<const RecordedCase> cases, size_t index, double ratio,
                                    std::mt19937_64& random);

// All screened cases, judged together on fresh deals; of the last one, `ratio_of_last` slows the candidate down.
std::vector<TimeVerdict> ConfirmDealt(std::span<const RecordedCase> cases, std::span<const Screened> screened,
                                      double ratio_of_last, std::mt19937_64& random);

// A suite in which nothing has changed, through the whole gate.
struct UnchangedSplit {
  std::vector<Screened> screened;
  int64_t regressed_count = 0;
  int64_t improved_count = 0;
  int64_t suspect_count = 0;
};
UnchangedSplit JudgeUnchanged(std::span<const RecordedCase> cases, std::mt19937_64& random);

// What the gate says of one case that became slower by `ratio` while chance made `unchanged` of the others suspect:
// kPass if the screen sees nothing.
Answer JudgeSlowDown(std::span<const RecordedCase> cases, size_t index, double ratio, const UnchangedSplit& unchanged,
                     std::mt19937_64& random);

}  // namespace stallhound::analysis::gate

#pragma once

// What a reader of verdicts has to know besides them. Pure functions, safe from any thread: the notes of a judgement
// that the history keeps are made again from its runs.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/run.h"

namespace stallhound::cli {

// A glob as fnmatch(3) has it.
bool Matches(const std::string& pattern, const std::string& text);

// What acknowledges a verdict at that instant; null: nothing does.
const store::Acknowledgement* FindAcknowledgement(const store::Verdict& verdict,
                                                  std::span<const store::Acknowledgement> acknowledgements,
                                                  int64_t at_ns);

// "a, b, c and 4 more".
std::string NamedCases(const std::vector<std::string>& cases);

// Recorded on a CPU on both sides, a program has no counts, and lacks none.
bool HaveNothingToCount(const store::RunInfo& baseline, const store::RunInfo& candidate);

struct JudgedPair {
  const store::RunRecord* baseline = nullptr;
  const store::RunRecord* candidate = nullptr;
  std::span<const store::Verdict> verdicts;                  // of the judgement, acknowledged ones as such
  std::span<const store::Acknowledgement> acknowledgements;  // those not in force at that instant are left out
  int64_t judged_at_ns = 0;
};

// Cases of one side only, differing environments, what neither side knows, times of one program, acknowledgements.
std::vector<std::string> JudgementNotes(const JudgedPair& pair);

}  // namespace stallhound::cli

#pragma once

// The probe's facts (record/probe/README.md) as findings: what stands between a program on this machine and a
// recording, and what to do about it.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stallhound::cli {

enum class FindingLevel {
  kFine,     // checked, nothing to do
  kNote,     // changes what is recorded or how steady it is; recording works
  kBlocked,  // GPU work can't be recorded
};

struct Finding {
  FindingLevel level = FindingLevel::kFine;
  std::string text;
  std::string advice;  // empty for kFine
};

// A fact that is null or absent gives no finding; values of another type than documented count as null.
std::vector<Finding> FindingsOf(const nlohmann::json& facts);

// "fine", "note", "blocked".
const char* FindingLevelName(FindingLevel level);

}  // namespace stallhound::cli

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stallhound::analysis::gate {

// What must be equal for counts to be compared exactly: GPU name, SM count, MIG, driver, CUDA, LibTorch, cuDNN, cuBLAS,
// build flags, performance switches; by name. Null is unknown, and equals nothing. What a machine does not have is
// known: "none".
using ComparabilityKey = std::map<std::string, std::optional<std::string>>;

struct KeyDifference {
  std::string name;
  std::optional<std::string> baseline;  // null: unknown or not in the key
  std::optional<std::string> candidate;
};

// By name; none: the two sides are comparable.
std::vector<KeyDifference> CompareKeys(const ComparabilityKey& baseline, const ComparabilityKey& candidate);

}  // namespace stallhound::analysis::gate

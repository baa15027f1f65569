#include "analysis/gate/comparability.h"

#include <set>

namespace stallhound::analysis::gate {

std::vector<KeyDifference> CompareKeys(const ComparabilityKey& baseline, const ComparabilityKey& candidate) {
  std::set<std::string> names;
  for (const ComparabilityKey* key : {&baseline, &candidate}) {
    for (const auto& [name, value] : *key) names.insert(name);
  }
  const auto value_of = [](const ComparabilityKey& key, const std::string& name) {
    const auto entry = key.find(name);
    return entry == key.end() ? std::nullopt : entry->second;
  };
  std::vector<KeyDifference> differences;
  for (const std::string& name : names) {
    KeyDifference difference = {name, value_of(baseline, name), value_of(candidate, name)};
    if (!difference.baseline || difference.baseline != difference.candidate) {
      differences.push_back(std::move(difference));
    }
  }
  return differences;
}

}  // namespace stallhound::analysis::gate

#include "cli/suggest.h"

#include <algorithm>

namespace stallhound::cli {
namespace {

// Optimal string alignment distance, three rows kept.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::optional<std::string> ClosestWord(std::string_view word, const std::vector<std::string>& candidates) {
  std::optional<std::string> closest;
  size_t closest_count = 0;
  for (const std::string& candidate : candidates) {
    const bool is_prefix = word.size() >= 2 && candidate.starts_with(word);
    const size_t count = is_prefix ? 1 : EditDistance(word, candidate);
    if (count > std::max<size_t>(1, candidate.size() / 3)) continue;
    if (!closest || count < closest_count) {
      closest = candidate;
      closest_count = count;
    }
  }
  return closest;
}

}  // namespace stallhound::cli

#include "base/stats/rank_test.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/stats/samples.h"
#include "base/status_macros.h"

namespace stallhound::stats {
namespace {

constexpr std::string_view kAction = "run a rank test";

// Equal values of both sides. Mean ranks are halves, so all ranks are doubled.
struct TieGroup {
  int64_t count = 0;
  int64_t doubled_rank = 0;
};

struct Ranks {
  std::vector<TieGroup> groups;  // smallest values first
  int64_t baseline_count = 0;
  int64_t candidate_count = 0;
  int64_t doubled_sum = 0;  // of the candidate's ranks
  int64_t TotalCount() const { return baseline_count + candidate_count; }
};

Ranks RankOf(std::span<const double> baseline, std::span<const double> candidate) {
  std::vector<std::pair<double, bool>> pooled;
  pooled.reserve(baseline.size() + candidate.size());
  for (const double value : baseline) pooled.emplace_back(value, false);
  for (const double value : candidate) pooled.emplace_back(value, true);
  std::sort(pooled.begin(), pooled.end());
  Ranks ranks;
  ranks.baseline_count = static_cast<int64_t>(baseline.size());
  ranks.candidate_count = static_cast<int64_t>(candidate.size());
  for (size_t first = 0; first < pooled.size();) {
    size_t end = first;
    int64_t candidate_count = 0;
    for (; end < pooled.size() && pooled[end].first == pooled[first].first; ++end)
      candidate_count += pooled[end].second;
    const TieGroup group = {static_cast<int64_t>(end - first), static_cast<int64_t>(first + 1 + end)};
    ranks.doubled_sum += candidate_count * group.doubled_rank;
    ranks.groups.push_back(group);
    first = end;
  }
  return ranks;
}

// Doubled rank sum of the `count` first values of the groups in the order of the iterator.
template <typename Iterator>
int64_t SumOfFirst(Iterator group, int64_t count) {
  int64_t sum = 0;
  for (; count > 0; ++group) {
    const int64_t taken = std::min(count, group->count);
    sum += taken * group->doubled_rank;
    count -= taken;
  }
  return sum;
}

// Probabilities of a doubled rank sum at most, and at least, a given one.
struct Tails {
  double at_most = 1;
  double at_least = 1;
};

// The ways to choose some of the values, by how many and by their doubled rank sum. Doubles hold the numbers of ways:
// all are sums of positive terms, so the relative error stays near 1e-14.
class ExactNull {
 public:
  // Follows the smaller side; the other's rank sum is the rest.
  explicit ExactNull(const Ranks& ranks)
      : is_mirrored_(ranks.baseline_count < ranks.candidate_count),
        doubled_total_(ranks.TotalCount() * (ranks.TotalCount() + 1)) {
    const int64_t chosen = std::min(ranks.baseline_count, ranks.candidate_count);
    const auto width = static_cast<size_t>(SumOfFirst(ranks.groups.rbegin(), chosen) + 1);
    std::vector<std::vector<double>> ways(static_cast<size_t>(chosen + 1), std::vector<double>(width, 0.0));
    ways[0][0] = 1;
    for (const TieGroup& group : ranks.groups) {
      // From the largest choice down: what a choice is built from does not hold this group yet.
      for (int64_t size = chosen; size > 0; --size) {
        double choices = 1;
        for (int64_t taken = 1; taken <= std::min(group.count, size); ++taken) {
          choices *= static_cast<double>(group.count - taken + 1) / static_cast<double>(taken);
          const auto shift = static_cast<size_t>(taken * group.doubled_rank);
          const std::vector<double>& from = ways[static_cast<size_t>(size - taken)];
          std::vector<double>& to = ways[static_cast<size_t>(size)];
          for (size_t sum = shift; sum < width; ++sum) to[sum] += choices * from[sum - shift];
        }
      }
    }
    ways_ = std::move(ways.back());
    for (const double count : ways_) total_ += count;
  }

  Tails At(int64_t doubled_sum) const {
    const auto observed = static_cast<size_t>(is_mirrored_ ? doubled_total_ - doubled_sum : doubled_sum);
    double below = 0, above = 0;
    for (size_t sum = 0; sum < observed; ++sum) below += ways_[sum];
    for (size_t sum = ways_.size() - 1; sum > observed; --sum) above += ways_[sum];
    Tails tails = {(below + ways_[observed]) / total_, (above + ways_[observed]) / total_};
    if (is_mirrored_) std::swap(tails.at_most, tails.at_least);
    return tails;
  }

 private:
  bool is_mirrored_;
  int64_t doubled_total_;
  std::vector<double> ways_;
  double total_ = 0;
};

class NormalNull {
 public:
  explicit NormalNull(const Ranks& ranks) {
    const auto total = static_cast<double>(ranks.TotalCount());
    const auto candidate_count = static_cast<double>(ranks.candidate_count);
    const double pairs = candidate_count * static_cast<double>(ranks.baseline_count);
    double ties = 0;
    for (const TieGroup& group : ranks.groups) {
      const auto count = static_cast<double>(group.count);
      ties += count * (count * count - 1);
    }
    mean_ = candidate_count * (total + 1);
    deviation_ = std::sqrt(std::max(0.0, pairs / 3 * (total + 1 - ties / (total * (total - 1)))));
  }

  Tails At(int64_t doubled_sum) const {
    if (deviation_ == 0) return {};
    const double distance = static_cast<double>(doubled_sum) - mean_;
    const boost::math::normal_distribution<double> normal;
    // Half a rank of continuity correction, doubled.
    return {boost::math::cdf(normal, (distance + 1) / deviation_),
            boost::math::cdf(boost::math::complement(normal, (distance - 1) / deviation_))};
  }

 private:
  double mean_ = 0;
  double deviation_ = 0;
};

double PValue(const Tails& tails, Alternative alternative) {
  if (alternative == Alternative::kLess) return tails.at_most;
  if (alternative == Alternative::kGreater) return tails.at_least;
  return std::min(1.0, 2 * std::min(tails.at_most, tails.at_least));
}

template <typename Null>
RankTestResult Judge(const Null& null, const Ranks& ranks, Alternative alternative) {
  const double smallest = PValue(null.At(SumOfFirst(ranks.groups.begin(), ranks.candidate_count)), alternative);
  const double largest = PValue(null.At(SumOfFirst(ranks.groups.rbegin(), ranks.candidate_count)), alternative);
  RankTestResult result;
  result.p = PValue(null.At(ranks.doubled_sum), alternative);
  result.p_min = std::min(smallest, largest);
  const int64_t doubled_u = ranks.doubled_sum - ranks.candidate_count * (ranks.candidate_count + 1);
  const int64_t doubled_pairs = 2 * ranks.baseline_count * ranks.candidate_count;
  result.superior_ratio = static_cast<double>(doubled_u) / static_cast<double>(doubled_pairs);
  return result;
}

}  // namespace

absl::StatusOr<RankTestResult> RankTest(std::span<const double> baseline, std::span<const double> candidate,
                                        Alternative alternative) {
  SH_RETURN_IF_ERROR(CheckSamples(kAction, "baseline", baseline));
  SH_RETURN_IF_ERROR(CheckSamples(kAction, "candidate", candidate));
  const Ranks ranks = RankOf(baseline, candidate);
  if (ranks.TotalCount() > kMostExactSampleCount) return Judge(NormalNull(ranks), ranks, alternative);
  RankTestResult result = Judge(ExactNull(ranks), ranks, alternative);
  result.is_exact = true;
  return result;
}

double SmallestP(int64_t baseline_count, int64_t candidate_count, Alternative alternative) {
  const int64_t chosen = std::min(baseline_count, candidate_count);
  const int64_t total = baseline_count + candidate_count;
  double p = 1;
  for (int64_t i = 1; i <= chosen && p > 0; ++i) p *= static_cast<double>(i) / static_cast<double>(total - chosen + i);
  return alternative == Alternative::kTwoSided ? std::min(1.0, 2 * p) : p;
}

absl::StatusOr<int64_t> SampleCountForP(double p, Alternative alternative) {
  SH_RETURN_IF_ERROR(CheckProbability("choose a number of samples", "p", p));
  int64_t count = 1;
  while (SmallestP(count, count, alternative) > p) ++count;
  return count;
}

}  // namespace stallhound::stats

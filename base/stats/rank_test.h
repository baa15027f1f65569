#pragma once

// The Mann-Whitney rank test: do the values of one sample tend to be larger than those of another? It makes no
// assumption about their distribution. Pure functions, safe from any thread.

#include <absl/status/statusor.h>

#include <cstdint>
#include <span>

namespace stallhound::stats {

enum class Alternative : uint8_t {
  kLess,      // candidate tends to be smaller
  kGreater,   // candidate tends to be larger
  kTwoSided,  // either: twice the smaller of the two, at most 1
};

// Largest number of samples of both sides together for which p is exact.
inline constexpr int64_t kMostExactSampleCount = 100;

struct RankTestResult {
  double p = 1;               // probability of ranks at least as extreme, were both sides drawn alike
  double p_min = 1;           // smallest p that these values could have given, in the best order; ties raise it
  double superior_ratio = 0;  // how often a candidate value exceeds a baseline value, equal ones counting half
  bool is_exact = false;
};

// Exact up to kMostExactSampleCount: the distribution of the rank sum over all ways to deal the observed values, equal
// ones sharing their mean rank, to the two sides (J. H. Klotz, JASA 61 (1966) 772-787). Above, the normal approximation
// with tie and continuity correction (H. B. Mann, D. R. Whitney, Ann. Math. Statist. 18 (1947) 50-60; E. L. Lehmann,
// Nonparametrics, 1975, section 1.4).
// Errors: InvalidArgument for an empty side, NaN or infinity. Cost: exact O(n^4) at worst, about 20 ms for 50 against
// 50; else O(n log n).
absl::StatusOr<RankTestResult> RankTest(std::span<const double> baseline, std::span<const double> candidate,
                                        Alternative alternative);

// Smallest p that samples of these sizes can give without ties: one over the number of ways to deal them, twice that
// if two-sided; 1 if a side is empty. Wants counts >= 0.
double SmallestP(int64_t baseline_count, int64_t candidate_count, Alternative alternative);

// Fewest samples a side, equal on both, with SmallestP <= p. Errors: InvalidArgument unless 0 < p < 1.
absl::StatusOr<int64_t> SampleCountForP(double p, Alternative alternative);

}  // namespace stallhound::stats

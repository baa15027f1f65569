#pragma once

#include <absl/status/statusor.h>

#include <span>
#include <vector>

namespace stallhound::stats {

// Adjusted p-values, in the order of `p`: rejecting those <= q keeps the expected share of false ones among the
// rejected at or below q, for independent or positively dependent tests (Y. Benjamini, Y. Hochberg, J. R. Statist. Soc.
// B 57 (1995) 289-300; adjusted form: D. Yekutieli, Y. Benjamini, J. Statist. Plann. Inference 82 (1999) 171-196). No
// tests give no values. Errors: InvalidArgument for a value that is NaN or outside [0, 1]. O(n log n), safe from any
// thread.
absl::StatusOr<std::vector<double>> AdjustForFalseDiscovery(std::span<const double> p);

}  // namespace stallhound::stats

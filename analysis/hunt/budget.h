#pragma once

// Limits on what a hunt finds, and the verdict on them. Values in, verdict out: nothing is read here.

#include <absl/time/civil_time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/counts/counts.h"
#include "analysis/hunt/report.h"

namespace stallhound::analysis {

struct BudgetLimit {
  BudgetQuantity quantity = BudgetQuantity::kWaits;
  double limit = 0;                  // a count, bytes or a ratio; what is found may be equal
  std::optional<std::string> range;  // null: what the hunt measures without one
};

enum class AllowanceBy : uint8_t {
  kSite,      // "train.py:27": the innermost user frame; folders in front may be left out
  kFunction,  // that frame's function, else the native symbol, whole
  kOperator,  // "aten::item": in the operator stack, if all points have one innermost operator; else a frame of the
              // stack lies in at::_ops::item or at::native::item
};

// Sites that no limit counts, until a day.
struct Allowance {
  AllowanceBy by = AllowanceBy::kSite;
  std::string what;
  std::string reason;
  absl::CivilDay expires;  // the last day on which it allows
};

struct Budget {
  std::vector<BudgetLimit> limits;
  std::vector<Allowance> allowances;
};

// One range of a recording, analysed. Both must outlive the call.
struct MeasuredRange {
  std::optional<std::string> range;
  const HuntReport* hunt = nullptr;
  const CountsReport* counts = nullptr;
};

bool IsAllowed(const Allowance& allowance, const Site& site);

// A limit on counts holds for every occurrence. What is unknown, or may be more because of a loss, is never fine; more
// than the limit is exceeded whatever was lost. What sites recover together is not their sum: of a part of them, as
// allowances leave it, it lies between its largest site or group and all sites; a limit between is inconclusive.
// `ranges` holds every range of the limits.
BudgetVerdict JudgeBudget(const Budget& budget, const std::vector<MeasuredRange>& ranges, absl::CivilDay today);

}  // namespace stallhound::analysis

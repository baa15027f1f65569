#include "analysis/hunt/report.h"

namespace stallhound::analysis {

const char* SiteKindName(SiteKind kind) {
  switch (kind) {
    case SiteKind::kWait:
      return "wait";
    case SiteKind::kPageableCopy:
      return "pageable-copy";
    case SiteKind::kAllocator:
      return "allocator";
    case SiteKind::kLoader:
      return "loader";
    case SiteKind::kQuerySpin:
      return "query-spin";
  }
  return "invalid";
}

const char* ConfidenceName(Confidence confidence) {
  switch (confidence) {
    case Confidence::kExact:
      return "exact";
    case Confidence::kInferred:
      return "inferred";
    case Confidence::kNone:
      return "none";
  }
  return "invalid";
}

}  // namespace stallhound::analysis

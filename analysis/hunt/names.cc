#include "analysis/hunt/report.h"
#include "capture/enum_names.h"

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
    case SiteKind::kQueueFull:
      return "queue-full";
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

std::string_view CopyDirectionName(capture::CopyDirection direction) { return capture::EnumName(direction); }
std::string_view MemoryKindName(capture::MemoryKind kind) { return capture::EnumName(kind); }
std::string_view FrameKindName(capture::FrameKind kind) { return capture::EnumName(kind); }

std::string_view SeverityName(capture::LossSeverity severity) {
  switch (severity) {
    case capture::LossSeverity::kNote:
      return "note";
    case capture::LossSeverity::kLoss:
      return "loss";
    case capture::LossSeverity::kFatal:
      return "fatal";
  }
  return "invalid";
}

const char* DelayKindName(DelayKind kind) {
  switch (kind) {
    case DelayKind::kStall:
      return "stall";
    case DelayKind::kDeviceWork:
      return "device-work";
    case DelayKind::kHost:
      return "host";
  }
  return "invalid";
}

const char* BudgetOutcomeName(BudgetOutcome outcome) {
  switch (outcome) {
    case BudgetOutcome::kFine:
      return "fine";
    case BudgetOutcome::kExceeded:
      return "exceeded";
    case BudgetOutcome::kInconclusive:
      return "inconclusive";
  }
  return "invalid";
}

const char* BudgetQuantityName(BudgetQuantity quantity) {
  constexpr const char* kNames[kBudgetQuantityCount] = {
      "max-waits",  "max-pageable-copies", "max-allocator-calls", "max-loader-calls",      "max-sync-points",
      "max-copies", "max-bytes",           "max-allocations",     "max-recoverable-ratio",
  };
  return kNames[static_cast<size_t>(quantity)];
}

std::string ForwardKey(const Forward& forward) {
  return "backward of " + forward.frame.file.value_or("") + ":" + std::to_string(forward.frame.line.value_or(0));
}

}  // namespace stallhound::analysis

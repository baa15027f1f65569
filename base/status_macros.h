#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

// Early return on error, for functions that return absl::Status or absl::StatusOr.
#define SH_RETURN_IF_ERROR(expression)                                            \
  do {                                                                            \
    if (absl::Status sh_status = (expression); !sh_status.ok()) return sh_status; \
  } while (false)

// SH_ASSIGN_OR_RETURN(auto x, F()): declares or assigns x, or returns F's error.
#define SH_ASSIGN_OR_RETURN(target, expression) \
  SH_ASSIGN_OR_RETURN_IMPL(SH_CONCAT(sh_status_or_, __LINE__), target, expression)

#define SH_CONCAT_INNER(a, b) a##b
#define SH_CONCAT(a, b) SH_CONCAT_INNER(a, b)
#define SH_ASSIGN_OR_RETURN_IMPL(holder, target, expression) \
  auto holder = (expression);                                \
  if (!holder.ok()) return std::move(holder).status();       \
  target = *std::move(holder)

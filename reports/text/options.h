#pragma once

#include <optional>

namespace stallhound::reports {

struct TerminalOptions {
  bool color = false;  // only the caller knows whether a terminal reads it
  int width = 120;     // columns; below 40 as 40
};

// How a recorded program ended and what the verdict is, for JSON readers. Null: not known or not asked for.
struct RunOutcome {
  std::optional<int> program_exit_code;
  std::optional<int> program_signal;
  std::optional<int> verdict_exit_code;
};

}  // namespace stallhound::reports

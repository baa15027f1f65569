#pragma once

// Ctrl-C in our own work. The first SIGINT, SIGTERM or SIGHUP asks the work to stop, so that no half-written file
// stays behind; the second ends the process at once.

#include <absl/status/status.h>

namespace stallhound::cli {

// Handles the three signals while it lives; those that were ignored stay ignored. One at a time.
class InterruptScope {
 public:
  InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  ~InterruptScope();
};

// The signal that asked, 0 if none did since the last scope began.
int InterruptSignal();

// Asks the work to stop as `signal` would have: for one that came while it was blocked.
void AskToStop(int signal);

// Cancelled if a signal asked to stop.
absl::Status CheckInterrupt();

// Ends the process by `signal`'s default action, without a core file. Returns only if the signal does not end a
// process.
void EndBySignal(int signal);

}  // namespace stallhound::cli

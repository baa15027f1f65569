#include "cli/interrupt.h"

#include <signal.h>
#include <sys/resource.h>

#include <atomic>

namespace stallhound::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> asked_signal{0};
struct sigaction previous_actions[std::size(kSignals)];

void OnSignal(int signal) { asked_signal.store(signal, std::memory_order_relaxed); }

}  // namespace

InterruptScope::InterruptScope() {
  asked_signal = 0;
  struct sigaction action {};
  action.sa_handler = OnSignal;
  // Without SA_RESTART, so that a question on the terminal ends too.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &previous_actions[i]);
    if (previous_actions[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptScope::~InterruptScope() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &previous_actions[i], nullptr);
}

int InterruptSignal() { return asked_signal.load(std::memory_order_relaxed); }

void AskToStop(int signal) { asked_signal.store(signal, std::memory_order_relaxed); }

absl::Status CheckInterrupt() {
  return InterruptSignal() == 0 ? absl::OkStatus() : absl::CancelledError("interrupted by a signal");
}

void EndBySignal(int signal_number) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(signal_number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal_number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal_number);
}

}  // namespace stallhound::cli

#include <cstdio>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/console.h"
#include "cli/interrupt.h"

int main(int argc, char** argv) {
  using namespace stallhound::cli;
  int exit_code = 0;
  {
    Console console(stdout, stderr);
    InterruptScope scope;
    exit_code = RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), console);
  }
  // As every program that was asked to end: the caller sees the signal, not a code.
  if (InterruptSignal() != 0) EndBySignal(InterruptSignal());
  return exit_code;
}

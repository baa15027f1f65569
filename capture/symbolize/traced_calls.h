#pragma once

// Calls whose place in code is known, for tests of symbols and stacks.

#include <cstdint>

#include "capture/symbolize/module.h"

namespace stallhound::capture {

// The running executable as a recorder describes it.
Module OwnModule();

// Where it returns to: what a stack walk would find.
uint64_t ReturnAddressOfCaller();

}  // namespace stallhound::capture

// Each gives the return address of a call inside. Their files and lines are those that traced_calls.cc claims.
namespace traced {

// In /srv/project/step.cc, line 20; it inlines Read in /srv/project/read.h, line 10, which inlines at::Item, line 4310
// of LibTorch's TensorBody.h, where the call is.
uint64_t Step(int);
// A function of step.cc; its only line is 4311 of TensorBody.h.
uint64_t StepWithForeignLine(int);
// Compiled without debug information.
uint64_t StepWithoutLines(int);

}  // namespace traced

namespace at {
// A function of LibTorch that is compiled into this executable; TensorBody.h, line 4400.
uint64_t OutOfLine();
}  // namespace at

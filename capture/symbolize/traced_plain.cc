#include "capture/symbolize/traced_calls.h"

namespace traced {

__attribute__((noinline)) uint64_t StepWithoutLines(int) {
  const uint64_t address = stallhound::capture::ReturnAddressOfCaller();
  asm volatile("" ::: "memory");  // keeps the call from becoming a jump
  return address;
}

}  // namespace traced

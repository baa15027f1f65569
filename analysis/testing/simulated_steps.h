#pragma once

// Steps of a program as data, run by the model of SimulatedProgram.

#include <cstdint>
#include <vector>

#include "analysis/testing/recorded_program.h"

namespace stallhound::analysis {

// One thing that the host does in a step.
struct Operation {
  enum class Kind { kKernels, kWait, kHostWork };
  Kind kind = Kind::kHostWork;
  int count = 0;           // kernels
  int64_t us = 0;          // of each kernel, or of host work
  uint32_t stream_id = 7;  // of kernels and waits
  int64_t line = 0;        // of a wait: in train.py
};
constexpr Operation Kernels(int count, int64_t us, uint32_t stream_id = 7) {
  return {Operation::Kind::kKernels, count, us, stream_id};
}
constexpr Operation WaitAt(int64_t line) { return {Operation::Kind::kWait, 0, 0, 7, line}; }
constexpr Operation HostWork(int64_t us) { return {Operation::Kind::kHostWork, 0, us}; }

struct SimulatedSteps {
  std::vector<Operation> step;
  int step_count = 50;
  int measured_step = 20;
};

// Every step lies in a range: the measured one in "measured", the others in "step".
void RunSteps(const SimulatedSteps& steps, SimulatedProgram& program);

}  // namespace stallhound::analysis

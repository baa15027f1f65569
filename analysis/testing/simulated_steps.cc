#include "analysis/testing/simulated_steps.h"

#include <map>

namespace stallhound::analysis {

void RunSteps(const SimulatedSteps& steps, SimulatedProgram& program) {
  constexpr int64_t kUs = 1'000;
  std::map<int64_t, uint32_t> stacks;  // by line
  for (const Operation& operation : steps.step) {
    if (operation.kind != Operation::Kind::kWait) continue;
    stacks[operation.line] = program.recorded().PythonStack({{"train.py", operation.line}});
  }
  for (int step = 0; step < steps.step_count; ++step) {
    const int64_t start_ns = program.now_ns();
    for (const Operation& operation : steps.step) {
      switch (operation.kind) {
        case Operation::Kind::kKernels:
          for (int i = 0; i < operation.count; ++i) program.Launch(operation.stream_id, operation.us * kUs);
          break;
        case Operation::Kind::kWait:
          program.Wait(operation.stream_id, stacks[operation.line]);
          break;
        case Operation::Kind::kHostWork:
          program.HostWork(operation.us * kUs);
          break;
      }
    }
    program.recorded().Range(step == steps.measured_step ? "measured" : "step", start_ns, program.now_ns());
  }
}

}  // namespace stallhound::analysis

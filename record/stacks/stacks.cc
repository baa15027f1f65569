#include "record/stacks/stacks.h"

#include "record/stacks/hash.h"
#include "record/stacks/native_walk.h"
#include "record/stacks/thread_stacks.h"

namespace stallhound::record {

using capture::LossCounter;

void StackRecorder::Refresh() {
  const unsigned long long modules = CountMappedModules();
  if (modules == seen_modules_) return;
  seen_modules_ = modules;
  PrimeNativeWalk();
  if (runtime_.load(std::memory_order_relaxed)->kind() != PythonRuntime::Kind::kNone) return;
  const PythonRuntime found = PythonRuntime::Detect();
  if (found.kind() != PythonRuntime::Kind::kNone) UseRuntime(found);
}

void StackRecorder::UseRuntime(const PythonRuntime& runtime) {
  runtimes_[1] = runtime;
  runtime_.store(&runtimes_[1], std::memory_order_release);
}

uint32_t StackRecorder::Take() {
  const uint64_t generation = sink_.Generation();
  if (generation == 0) return 0;
  ThreadStacks* thread = CurrentThreadStacks(this, generation);
  if (thread == nullptr) {
    sink_.CountLoss(LossCounter::kStackNotTaken);
    return 0;
  }
  const int python_count = TakePython(*thread);
  const int native_count = python_count == 0 ? TakeNative(*thread) : 0;
  if (python_count + native_count == 0) {
    sink_.CountLoss(LossCounter::kStackNotTaken);
    return 0;
  }
  return Intern(*thread, python_count, native_count);
}

uint32_t StackRecorder::TakePythonOnly() {
  const uint64_t generation = sink_.Generation();
  ThreadStacks* thread = generation == 0 ? nullptr : CurrentThreadStacks(this, generation);
  const int count = thread == nullptr ? 0 : TakePython(*thread);
  return count == 0 ? 0 : Intern(*thread, count, 0);
}

int StackRecorder::TakePython(ThreadStacks& thread) {
  const PythonRuntime& runtime = *runtime_.load(std::memory_order_acquire);
  if (runtime.kind() == PythonRuntime::Kind::kNone) return 0;
  if (runtime.kind() == PythonRuntime::Kind::kUnknown) {
    sink_.CountLoss(LossCounter::kPythonUnknown);
    return 0;
  }
  const Address thread_state = runtime.ThreadState();
  if (!IsPlausible(thread_state)) return 0;
  if (runtime.IsFinalizing()) {
    sink_.CountLoss(LossCounter::kStackNotTaken);
    return 0;
  }
  const WalkResult walk =
      WalkPythonFrames(runtime.layout(), thread_state, runtime.code_type(), thread.raw, kMaxPythonFrames);
  bool is_incomplete = walk.is_truncated;
  int count = 0;
  for (int i = 0; i < walk.frame_count; ++i) {
    const uint32_t code_id = thread.codes.Find(runtime, thread.raw[i].code, codes_, sink_);
    if (code_id == 0) {
      is_incomplete = true;
      continue;
    }
    thread.python[count++] = {code_id, thread.raw[i].instruction_offset};
  }
  if (is_incomplete) sink_.CountLoss(LossCounter::kStackTruncated);
  return count;
}

int StackRecorder::TakeNative(ThreadStacks& thread) {
  bool is_truncated = false;
  const int count = WalkNativeFrames(thread.native, kMaxNativeFrames, is_truncated);
  if (is_truncated) sink_.CountLoss(LossCounter::kStackTruncated);
  return count;
}

uint32_t StackRecorder::Intern(ThreadStacks& thread, int python_count, int native_count) {
  uint64_t hash = HashBytes(static_cast<uint64_t>(python_count), thread.python,
                            static_cast<size_t>(python_count) * sizeof(thread.python[0]));
  hash = HashBytes(hash, thread.native, static_cast<size_t>(native_count) * sizeof(thread.native[0]));
  uint32_t stack_id = thread.ids.Find(hash);
  if (stack_id != 0) return stack_id;
  stack_id = sink_.AddStack({.python = thread.python,
                             .native = thread.native,
                             .python_count = static_cast<uint16_t>(python_count),
                             .native_count = static_cast<uint16_t>(native_count)});
  if (stack_id == 0) {
    sink_.CountLoss(LossCounter::kStackNotTaken);
    return 0;
  }
  thread.ids.Add(hash, stack_id);
  return stack_id;
}

void StackRecorder::ResetInChild() {
  UnlockThreadStacksInChild();
  codes_.UnlockInChild();
}

}  // namespace stallhound::record

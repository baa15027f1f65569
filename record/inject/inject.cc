// The recorder's entry points. The CUDA driver calls InitializeInjection when CUDA is initialised, NVTX calls
// InitializeInjectionNvtx2 at the first NVTX call of every shared object that contains NVTX.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <new>

#include "record/control/environment.h"
#include "record/inject/recorder.h"
#include "record/nvtx/nvtx_injection.h"

namespace {

using stallhound::record::ReadOptions;
using stallhound::record::Recorder;
using stallhound::record::RecorderOptions;

// Never destroyed: other threads of the program go on while it ends.
alignas(Recorder) unsigned char g_memory[sizeof(Recorder)];
std::atomic<Recorder*> g_recorder{nullptr};
pthread_once_t g_once = PTHREAD_ONCE_INIT;

void FinishAtExit() { g_recorder.load()->Finish(); }
void ForgetInChild() { g_recorder.load()->ForgetAfterFork(); }

void MakeRecorder() {
  const RecorderOptions options = ReadOptions([](const char* name) -> const char* { return getenv(name); });
  if (options.is_disabled) return;
  Recorder* recorder = new (g_memory) Recorder(options);
  g_recorder.store(recorder, std::memory_order_release);
  recorder->Start();
  stallhound::record::SetNvtxRecorder(&recorder->nvtx());
  pthread_atfork(nullptr, nullptr, ForgetInChild);
  atexit(FinishAtExit);
}

// Null: switched off.
Recorder* TheRecorder() {
  pthread_once(&g_once, MakeRecorder);
  return g_recorder.load(std::memory_order_acquire);
}

}  // namespace

#define SH_EXPORTED extern "C" __attribute__((visibility("default")))

SH_EXPORTED int InitializeInjection(void) {
  if (Recorder* recorder = TheRecorder()) {
    recorder->StartCupti();
    // Exit handlers run last in, first out: NVTX may have made the recorder before CUPTI and the driver were there, and
    // their handlers must come after the last flush.
    atexit(FinishAtExit);
  }
  return 1;
}

SH_EXPORTED int InitializeInjectionNvtx2(void* get_export_table) {
  return TheRecorder() == nullptr ? 0 : stallhound::record::InjectNvtx(get_export_table);
}

SH_EXPORTED int stallhound_window_start(const char* name) {
  Recorder* recorder = g_recorder.load(std::memory_order_acquire);
  if (recorder == nullptr) return -1;
  char reason[128];
  snprintf(reason, sizeof(reason), "control: %s", name == nullptr ? "" : name);
  recorder->windows().Start(name == nullptr ? "control" : reason);
  return 0;
}

SH_EXPORTED int stallhound_window_stop(void) {
  Recorder* recorder = g_recorder.load(std::memory_order_acquire);
  if (recorder == nullptr) return -1;
  recorder->windows().Stop("control");
  return 0;
}

SH_EXPORTED uint64_t stallhound_range_start(const char* name) {
  Recorder* recorder = g_recorder.load(std::memory_order_acquire);
  return recorder == nullptr ? 0 : recorder->nvtx().Start({.text = name == nullptr ? "" : name});
}

SH_EXPORTED void stallhound_range_end(uint64_t id) {
  if (Recorder* recorder = g_recorder.load(std::memory_order_acquire)) recorder->nvtx().End(id);
}

SH_EXPORTED int stallhound_flush(int64_t limit_ns) {
  Recorder* recorder = g_recorder.load(std::memory_order_acquire);
  return recorder != nullptr && recorder->Flush(limit_ns) ? 0 : -1;
}

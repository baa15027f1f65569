#include "record/inject/recorder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"
#include "record/cupti/cupti_library.h"

namespace stallhound::record {
namespace {

using capture::LossCounter;
using capture::spool::GpuState;
using capture::spool::SpoolWriter;

constexpr int64_t kTickNs = 100'000'000;
constexpr int64_t kSlowTickNs = 1'000'000'000;
constexpr int64_t kFinishNs = 2'000'000'000;

void RecordProgramName(SpoolWriter& writer) {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (length <= 0) return;
  path[length] = '\0';
  const char* slash = strrchr(path, '/');
  writer.AddKeyValue("process.name", slash == nullptr ? path : slash + 1);
}

// For the reader, to show paths without them.
void RecordFolders(SpoolWriter& writer) {
  char folder[4096];
  if (getcwd(folder, sizeof(folder)) != nullptr) writer.AddKeyValue(capture::spool::kProjectKey, folder);
  if (const char* home = getenv("HOME")) writer.AddKeyValue(capture::spool::kHomeKey, home);
}

// Arguments with a space between them, as far as they fit.
void RecordArguments(SpoolWriter& writer) {
  char text[8192];
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t length = read(fd, text, sizeof(text));
  close(fd);
  if (length <= 0) return;
  for (ssize_t i = 0; i + 1 < length; ++i) {
    if (text[i] == '\0') text[i] = ' ';
  }
  writer.AddKeyValue("process.argv", {text, static_cast<size_t>(length - (text[length - 1] == '\0' ? 1 : 0))});
}

HostCallHooks MakeHooks(StackRecorder& stacks, Windows& windows) {
  struct Targets {
    StackRecorder* stacks;
    Windows* windows;
  };
  // One recorder per process at a time; a test's next one takes its place.
  static Targets targets;
  targets = {&stacks, &windows};
  HostCallHooks hooks;
  hooks.context = &targets;
  hooks.take_stack = [](void* context) { return static_cast<Targets*>(context)->stacks->Take(); };
  hooks.on_profiler = [](void* context, bool is_start) {
    Windows& target = *static_cast<Targets*>(context)->windows;
    // Without --window-api a program's own profiler calls change nothing.
    if (!target.needs_start()) return;
    if (is_start) {
      target.Start("profiler-start");
    } else {
      target.Stop("profiler-stop");
    }
  };
  return hooks;
}

}  // namespace

Recorder::Recorder(const RecorderOptions& options)
    : options_(options),
      windows_(writer_),
      sink_(writer_),
      stacks_(sink_),
      nvtx_(writer_),
      modules_(writer_),
      device_(writer_),
      session_(writer_, MakeHooks(stacks_, windows_)) {}

void Recorder::Start() noexcept {
  capture::spool::WriterOptions writer_options;
  writer_options.directory = options_.spool_directory;
  writer_options.mode = options_.mode;
  writer_options.max_bytes = options_.max_spool_bytes;
  writer_options.ring_ns = options_.last_ns;
  writer_options.operators = options_.has_operators;
  writer_options.recorder_version = kVersion;
  writer_options.on_open = [](void* context, SpoolWriter&) { static_cast<Recorder*>(context)->StartThread(); };
  writer_options.context = this;
  writer_.Configure(writer_options);
  if (options_.bad_value_count != 0) writer_.CountLoss(LossCounter::kBadValue, options_.bad_value_count);
  nvtx_.SetHook({&windows_, [](void* context, capture::spool::RangeEvent event, std::string_view name, uint64_t id) {
                   static_cast<Windows*>(context)->OnRange(event, name, id);
                 }});
  if (options_.has_operators) {
    nvtx_.RecordOperators(
        {&stacks_, [](void* context) { return static_cast<StackRecorder*>(context)->TakePythonOnly(); }});
  }
  nvtx_.SetRecording(false);
  stacks_.Refresh();
  windows_.Configure(
      options_.window, writer_.NowNs(),
      [](void* context, bool is_on) { static_cast<Recorder*>(context)->OnWindow(is_on); }, this);
  StartThread();
}

void Recorder::StartThread() noexcept {
  Ticker::Work work;
  work.context = this;
  work.tick = [](void* context) { return static_cast<Recorder*>(context)->Tick(); };
  work.finish = [](void* context) { static_cast<Recorder*>(context)->FinishOnThread(); };
  ticker_.Start(work);
}

void Recorder::OnWindow(bool is_on) noexcept {
  session_.SetRecording(is_on);
  nvtx_.SetRecording(is_on);
}

void Recorder::StartCupti() noexcept {
  if (options_.yields_to_profiler) {
    writer_.header().gpu_state.store(GpuState::kYielded);
    return;
  }
  static CuptiLibrary library;
  CuptiApi api;
  if (!OpenCupti(options_.cupti_path, library) || ResolveCupti(library.handle, api) != nullptr) {
    writer_.header().gpu_state.store(GpuState::kNoCupti);
    writer_.CountLoss(LossCounter::kCuptiMissing);
    return;
  }
  if (library.has_two_copies && !has_counted_two_cupti_) {
    has_counted_two_cupti_ = true;
    writer_.CountLoss(LossCounter::kTwoCupti);
  }
  StartCupti(api, library.path);
}

void Recorder::StartCupti(const CuptiApi& api, const char* path) noexcept {
  if (has_started_cupti_.exchange(true)) return;
  session_.Start(api, path, windows_.is_on());
}

int64_t Recorder::Tick() noexcept {
  const int64_t until_window_ns = windows_.Tick();
  session_.Tick();
  writer_.Heartbeat();
  if (writer_.generation() != 0 && writer_.generation() != described_generation_) Describe();
  if (writer_.NowNs() - last_slow_tick_ns_ >= kSlowTickNs) TickSlowly();
  return until_window_ns < kTickNs ? until_window_ns : kTickNs;
}

void Recorder::TickSlowly() noexcept {
  last_slow_tick_ns_ = writer_.NowNs();
  stacks_.Refresh();
  if (writer_.generation() == 0) return;
  modules_.Refresh();
  device_.SampleThrottleReasons();
  if (!has_counted_two_cupti_ && HasTwoCupti()) {
    has_counted_two_cupti_ = true;
    writer_.CountLoss(LossCounter::kTwoCupti);
  }
}

void Recorder::Describe() noexcept {
  described_generation_ = writer_.generation();
  RecordClocks();
  RecordProgramName(writer_);
  RecordFolders(writer_);
  if (options_.records_argv) RecordArguments(writer_);
  modules_.Refresh();
  device_.RecordFingerprint();
}

void Recorder::RecordClocks() noexcept {
  capture::spool::ClockRecord record{};
  record.raw_ns = writer_.NowNs();
  record.realtime_ns = capture::spool::RealtimeNowNs();
  writer_.Append(record, record.raw_ns);
}

void Recorder::FinishOnThread() noexcept {
  session_.Finish();
  nvtx_.SetRecording(false);
  if (writer_.generation() != 0) {
    if (writer_.generation() != described_generation_) Describe();
    modules_.Refresh();
    device_.RecordEnd();
    RecordClocks();
  }
  writer_.Close();
}

void Recorder::Finish() noexcept { ticker_.Finish(kFinishNs); }

void Recorder::ForgetAfterFork() noexcept {
  session_.ForgetAfterFork();
  writer_.ForgetAfterFork();
  stacks_.ResetInChild();
  nvtx_.UnlockInChild();
  windows_.ForgetAfterFork();
  ticker_.ForgetAfterFork();
}

}  // namespace stallhound::record

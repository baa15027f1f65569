#pragma once

// Recordings written down call by call, for tests of analyses. Times are ns; nothing is drawn at random.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/testing/memory_capture.h"

namespace stallhound::analysis {

// One API call; what is not set is unknown in the recording.
struct CallSpec {
  std::string_view api;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t thread_id = 0;
  std::optional<uint32_t> stream_id = std::nullopt;
  std::optional<uint32_t> stack_id = std::nullopt;
  std::optional<uint64_t> event = std::nullopt;
  std::optional<int64_t> return_value = 0;
  bool is_nested = false;
  uint32_t process_id = 0;
  uint32_t context_id = 1;
};

// GPU work of a call that has been added; without one, its launch is not recorded.
struct WorkSpec {
  uint64_t correlation_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t stream_id = 7;
  uint32_t device_id = 0;
  uint32_t process_id = 0;
  uint32_t context_id = 1;
  uint32_t grid_x = 1;  // of a kernel
};

struct CopySpec {
  capture::CopyDirection direction = capture::CopyDirection::kDeviceToHost;
  std::optional<capture::MemoryKind> source_kind = capture::MemoryKind::kDevice;
  std::optional<capture::MemoryKind> target_kind = capture::MemoryKind::kPageable;
  uint64_t bytes = 4;
  bool has_gpu_times = true;  // false: as light mode records copies
};

// A range of an operator or an autograd node, as `hunt --operators` records it.
struct OperatorSpec {
  std::string_view name;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t thread_id = 0;
  std::optional<int64_t> sequence = std::nullopt;
  std::optional<uint32_t> stack_id = std::nullopt;
  uint32_t process_id = 0;
};

// Builds a capture of one process (id 0) with thread 0; more are added on request.
class RecordedProgram {
 public:
  RecordedProgram();

  // Returns the call's correlation id, which is unique.
  uint64_t Call(const CallSpec& call);
  void Kernel(const WorkSpec& work, std::string_view name = "kernel");
  void Copy(const WorkSpec& work, const CopySpec& copy);
  void Memset(const WorkSpec& work, uint64_t bytes);
  void Range(std::string_view name, int64_t start_ns, std::optional<int64_t> end_ns,
             capture::RangeKind kind = capture::RangeKind::kPushPop, uint32_t process_id = 0);
  void Operator(const OperatorSpec& spec);
  void Thread(uint32_t thread_id, int64_t tid, std::string_view name, uint32_t process_id = 0);
  // A further process: one rank of a distributed program.
  void Process(uint32_t process_id, int64_t rank);
  // The call found its queue full in that time.
  void QueueFull(uint64_t correlation_id, int64_t start_ns, int64_t end_ns, uint32_t process_id = 0);
  void Stream(uint32_t stream_id, capture::StreamFlag flag);
  // A stack of Python frames "file:line", innermost first; files under "site-packages/" are not the user's. Returns
  // its id.
  uint32_t PythonStack(const std::vector<std::pair<std::string, int64_t>>& frames);
  // A stack of native frames by function, innermost first, none the user's.
  uint32_t NativeStack(const std::vector<std::string>& functions);

  // The GPU clock error that the process measured.
  void SetClockError(int64_t clock_error_ns);

  capture::MemoryCapture& capture() { return capture_; }

 private:
  struct Launch {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t thread_id;
  };
  template <typename Row>
  Row WorkRow(const WorkSpec& work);
  uint32_t FrameId(const std::string& key, capture::FrameRow frame);

  capture::MemoryCapture capture_;
  std::map<uint64_t, Launch> launches_;
  std::map<std::pair<std::string, uint32_t>, uint32_t> shapes_;
  uint64_t next_correlation_id_ = 1;
  std::map<std::string, uint32_t> frames_;  // equal places share a frame
  uint32_t next_stack_id_ = 0;
};

// A program on FIFO streams, by the model of the cost cases: 6 us of host time a launch, 3 us from launch to start on
// an empty stream, 5 us from the end of the awaited work to the return of a wait. One host thread at a time does
// something.
class SimulatedProgram {
 public:
  void Launch(uint32_t stream_id, int64_t duration_ns);
  void Wait(uint32_t stream_id, std::optional<uint32_t> stack_id = std::nullopt);
  // Asynchronous copies of 4 bytes to pageable memory that block, and the stream's sync behind them.
  void ReadBack(uint32_t stream_id, int copy_count = 1);
  void RecordEvent(uint64_t event, uint32_t stream_id);
  void StreamWaitEvent(uint32_t stream_id, uint64_t event);
  void HostWork(int64_t duration_ns) { now_ns_ += duration_ns; }
  // The thread that makes the calls from now on; thread 0 is there from the start.
  void OnThread(uint32_t thread_id) { thread_id_ = thread_id; }
  // A launch blocks while its stream holds so many that have not started.
  void SetQueueLimit(size_t queue_limit) { queue_limit_ = queue_limit; }
  int64_t now_ns() const { return now_ns_; }
  RecordedProgram& recorded() { return recorded_; }

  static constexpr int64_t kLaunchNs = 6'000;
  static constexpr int64_t kStartNs = 3'000;
  static constexpr int64_t kReturnNs = 5'000;
  static constexpr int64_t kCopyNs = 2'000;       // a read-back on the GPU
  static constexpr int64_t kShortCallNs = 1'000;  // calls on events, and a sync that has nothing to wait for

 private:
  struct Stream {
    int64_t end_ns = 0;
    std::vector<int64_t> start_ns;  // of each launch
  };
  // Host time of a call of the current thread, from now on.
  uint64_t Call(CallSpec call, int64_t end_ns);

  RecordedProgram recorded_;
  int64_t now_ns_ = 1'000'000;
  uint32_t thread_id_ = 0;
  std::optional<size_t> queue_limit_;
  std::map<uint32_t, Stream> streams_;
  std::map<uint64_t, int64_t> event_end_ns_;
};

}  // namespace stallhound::analysis

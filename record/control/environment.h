#pragma once

// The contract between the command line tool and the recorder: environment variables, read once at the recorder's first
// event. std only. Numbers are decimal; an unparsable value is ignored and counted as a note.

#include <cstdint>

namespace stallhound::record {

inline constexpr char kSpoolDirectory[] =
    "STALLHOUND_SPOOL_DIR";                         // absent: $STALLHOUND_HOME/spool, else ./.stallhound/spool
inline constexpr char kMode[] = "STALLHOUND_MODE";  // light | default | full
inline constexpr char kMaxSpoolBytes[] = "STALLHOUND_MAX_SPOOL_BYTES";
inline constexpr char kLastNs[] = "STALLHOUND_LAST_NS";          // ring: keep the last so many ns
inline constexpr char kDelayNs[] = "STALLHOUND_DELAY_NS";        // windows: start so long after CUDA's initialisation,
inline constexpr char kDurationNs[] = "STALLHOUND_DURATION_NS";  // and stop so long after that
inline constexpr char kWindowRange[] = "STALLHOUND_WINDOW_RANGE";  // record only inside NVTX ranges of this name
inline constexpr char kWindowApi[] =
    "STALLHOUND_WINDOW_API";  // 1: only between cudaProfilerStart and Stop, and the C functions
inline constexpr char kWindowSteps[] =
    "STALLHOUND_WINDOW_STEPS";  // "10-20": the 10th to 20th occurrence of kWindowRange
inline constexpr char kYield[] = "STALLHOUND_YIELD_TO_PROFILER";  // 1: leave CUPTI alone
inline constexpr char kCuptiPath[] = "STALLHOUND_CUPTI";          // libcupti to use if the process has none mapped
inline constexpr char kOperators[] = "STALLHOUND_OPERATORS";      // 1: ATen operators (python/ hook)
inline constexpr char kRecordArgv[] = "STALLHOUND_RECORD_ARGV";   // 1: store the command line
inline constexpr char kDisable[] = "STALLHOUND_DISABLE";          // 1: the recorder does nothing

// What loads the recorder.
inline constexpr char kCudaInjection[] = "CUDA_INJECTION64_PATH";
inline constexpr char kNvtxInjection[] = "NVTX_INJECTION64_PATH";

// The only variables of the profiled program that a recording may contain.
inline constexpr const char* kRecordedVariables[] = {
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_CACHE_DISABLE",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "NVIDIA_TF32_OVERRIDE",
    "CUBLAS_WORKSPACE_CONFIG",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TORCH_CUDNN_V8_API_DISABLED",
    "XLA_FLAGS",
    "NCCL_ALGO",
    "NCCL_PROTO",
    "TORCH_NCCL_BLOCKING_WAIT",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
};

}  // namespace stallhound::record

// Exported by libstallhound_record.so; find them with dlsym. Any thread may call them.
extern "C" {
// 0 when done, -1 when there is no recorder in use.
int stallhound_window_start(const char* name);
int stallhound_window_stop(void);

// A range of the whole process, as nvtxRangeStart and nvtxRangeEnd mark it. Outside of a window it is not recorded.
// Returns what to end the range with, from any thread; 0: no recorder in use.
uint64_t stallhound_range_start(const char* name);
void stallhound_range_end(uint64_t id);

// Brings what was recorded before the call into the spool file, GPU work only as far as it has ended, for somebody who
// reads the file while the program runs. Waits at most `limit_ns`; a few ms where little is recorded. 0 when done, -1:
// no recorder in use, or it took longer.
int stallhound_flush(int64_t limit_ns);
}

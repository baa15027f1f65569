#pragma once

// What a hunt says of a recording: plain values, to be printed by reports/ or judged by a budget. Durations are ns,
// instants ns since the capture's start. std::nullopt always means "not recorded" or "unknown", never none.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/hunt/steps/summary.h"
#include "capture/counters.h"
#include "capture/types.h"

namespace stallhound::analysis {

// Constants of the definitions, measured once; every report states them.
inline constexpr int64_t kStallMinimumNs = 10'000;  // a shorter call did not stall the host
// Longest times from the end of the awaited work to the return of the call that waited for it, unless the recording's
// own calls take longer (ReturnLimits).
inline constexpr int64_t kStallReturnNs = 20'000;  // allocation and loading, which have work of their own
// Syncs; H200: median 3 to 5 us, 99% within 30 us, but 74 us and 308 us where the event sleeps (cudaEventBlockingSync).
inline constexpr int64_t kStallSyncReturnNs = 100'000;
inline constexpr int64_t kStallCopyReturnNs = 100'000;  // copies; T4, 8 B to 64 KiB to pageable memory: 8 to 74 us
inline constexpr int64_t kQuerySpinMinimumNs = 50'000;  // a shorter spin is polling
inline constexpr int64_t kQuerySpinMinimumCount = 16;   // not-ready queries

enum class SiteKind : uint8_t {
  kWait,          // synchronize calls and blocking copies, with the pageable copies they take in
  kPageableCopy,  // an asynchronous copy with a pageable end that no wait takes in
  kAllocator,     // device and host allocation that is not stream-ordered, registration, virtual memory
  kLoader,        // modules and libraries loaded or unloaded
  // Stalls but no sync points:
  kQuerySpin,  // polling an event or stream in a loop
  kQueueFull,  // a launch that waited for room in its queue while a device or stream that its thread feeds ran dry
};
inline constexpr int kSiteKindCount = 6;

// "wait", "pageable-copy", "allocator", "loader", "query-spin", "queue-full".
const char* SiteKindName(SiteKind kind);

// False for kinds that counts and budgets leave out.
constexpr bool IsSyncPoint(SiteKind kind) { return kind != SiteKind::kQuerySpin && kind != SiteKind::kQueueFull; }

// How sure an attribution is: exact, from the stack of the call and known memory kinds; inferred, from a native symbol
// only, or with copies of unknown memory kind; none, no place in code known.
enum class Confidence : uint8_t { kExact, kInferred, kNone };
const char* ConfidenceName(Confidence confidence);

// Texts of the recording's enumerations: "host-to-device", "pageable", "python", "loss".
std::string_view CopyDirectionName(capture::CopyDirection direction);
std::string_view MemoryKindName(capture::MemoryKind kind);
std::string_view FrameKindName(capture::FrameKind kind);
std::string_view SeverityName(capture::LossSeverity severity);

struct Frame {
  capture::FrameKind kind = capture::FrameKind::kNative;
  std::optional<std::string> function;
  std::optional<std::string> file;
  std::optional<int64_t> line;
  std::optional<std::string> module;
  std::optional<int64_t> module_offset;
  bool is_user = false;
};

// Copies of one direction and memory kinds.
struct CopySummary {
  capture::CopyDirection direction = capture::CopyDirection::kUnknown;
  std::optional<capture::MemoryKind> source_kind;
  std::optional<capture::MemoryKind> target_kind;
  int64_t count = 0;
  uint64_t bytes = 0;
};

// What stalls cost. All are null when the GPU side was not recorded. Idle is time of devices: two that starve count
// twice.
struct Cost {
  std::optional<int64_t> stall_count;
  std::optional<int64_t> blocked_ns;  // parts of the calls before the awaited work ended
  std::optional<int64_t> idle_ns;     // devices without any work until the thread fed them again; less RecorderShare
  std::optional<int64_t> idle_compute_ns;  // the same; kernels alone, without waiting collectives, count as work
  // idle_ns, split: of other devices before the awaited work ended (of a full queue: of all), until the return, host
  // work after it, from the next launch to its start.
  std::optional<int64_t> idle_blocked_ns;
  std::optional<int64_t> idle_return_ns;
  std::optional<int64_t> idle_host_ns;
  std::optional<int64_t> idle_launch_ns;
  std::optional<int64_t> no_later_work_count;  // stalls without an idle time: no GPU work followed
  std::optional<int64_t> unknown_count;        // points that may be more stalls: what they waited for is not recorded
};

// Points of a site that were made in one line of code, be it of a library.
struct SiteLine {
  Frame frame;  // the innermost of the stack
  int64_t count = 0;
  std::optional<int64_t> blocked_ns;  // null: as in Cost
  std::optional<int64_t> idle_ns;
};
inline constexpr size_t kMostSiteLines = 5;

// Where the operator was called whose backward a point lies in.
struct Forward {
  Frame frame;               // the innermost user frame that has a line, else the innermost frame
  std::vector<Frame> stack;  // whole, innermost first; of the first such point
  std::string node;          // "IndexBackward0"
  // Exact: one thread alone has run an operator of the node's sequence number; inferred: several have, the latest is
  // taken.
  Confidence confidence = Confidence::kNone;
};

// Equal for backwards of one line: "backward of train.py:27".
std::string ForwardKey(const Forward& forward);

// All sync points of one kind with one innermost user frame, else one forward line, else one native symbol.
struct Site {
  SiteKind kind = SiteKind::kWait;
  std::vector<std::string> apis;    // most frequent first: "cudaStreamSynchronize"
  int64_t count = 0;                // sync points (else stalls), inside the measured ranges if any
  double count_per_occurrence = 0;  // per range occurrence, or per process when no range is measured
  Cost cost;
  // What the measured ranges, or the processes, would be shorter by without the site (analysis/replay). Null: the GPU
  // side was not recorded, or no GPU work follows.
  std::optional<int64_t> recoverable_ns;
  bool recoverable_is_first_order = false;  // not replayed: min(blocked, idle) plus the rest of the calls
  int64_t call_ns = 0;                      // host time inside the calls, from the first copy taken in to the return
  std::vector<CopySummary> copies;
  int64_t unknown_kind_copy_count = 0;  // of the copies: memory kinds not recorded
  std::optional<Frame> innermost_user;  // names the site
  std::optional<Frame> outermost_user;
  std::optional<Frame> innermost;
  std::optional<std::string> native_symbol;
  std::optional<Forward> forward;    // of a site without a user frame, if operators were recorded
  std::vector<SiteLine> lines;       // by innermost frame; the most expensive, at most kMostSiteLines
  int64_t line_count = 0;            // different innermost frames
  std::vector<Frame> stack;          // the most frequent one, whole, innermost first
  int64_t stack_count = 0;           // different stacks seen
  std::vector<std::string> threads;  // "python (tid 71)"; most points first
  // The innermost operator that the points lie in, "aten::nonzero"; of several, the one of most points. Null: more
  // points lie in none.
  std::optional<std::string> operator_name;
  std::vector<std::string> operator_stack;  // it and those around it, innermost first; the most frequent
  int64_t operator_count = 0;               // different innermost operators
  // Exact: every point lies in an operator's range on its thread; inferred: some by native symbols (at::_ops::nonzero),
  // or not at all.
  Confidence operator_confidence = Confidence::kNone;
  // The innermost range of the points' thread that is no operator's and has a name, be it the measured one; of several,
  // the one of most points. Null: more points lie in none.
  std::optional<std::string> range;
  int64_t range_count = 0;  // different ones
  Confidence confidence = Confidence::kNone;
  std::optional<std::string> catalogue_id;  // the entry that explains it (catalogue/); null: none fits
};

// Sites that save more together than one by one: the next wait takes over what one of them waited for.
struct SiteGroup {
  std::vector<size_t> sites;  // indices in HuntReport::sites
  int64_t recoverable_ns = 0;
};

// One sync point or query spin, for tools that draw them.
struct Wait {
  size_t site = 0;  // index in HuntReport::sites
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::optional<int64_t> blocked_ns;  // null: it did not stall the host
  std::optional<int64_t> idle_ns;     // null: no stall, or no later GPU work
};

// One device of one process, as collectives see it.
struct CollectiveRank {
  int64_t pid = 0;
  std::optional<int64_t> rank;  // that torchrun or MPI gave the process
  uint32_t device_id = 0;
};

enum class DelayKind : uint8_t {
  kStall,       // a sync point that blocked, or the idle behind it
  kDeviceWork,  // the late device still worked
  kHost,        // neither: the late host had not submitted the collective yet
};
const char* DelayKindName(DelayKind kind);  // "stall", "device-work", "host"

struct DelayCause {
  DelayKind kind = DelayKind::kHost;
  std::optional<size_t> site;  // of a stall: index in HuntReport::sites
  int64_t wait_ns = 0;
};

// What one rank waited inside collectives for another that came last, and what that one did meanwhile.
struct RankDelay {
  CollectiveRank waiting;
  CollectiveRank late;
  int64_t collective_count = 0;    // in which it came last
  int64_t wait_ns = 0;             // of the waiting rank's device, from its own start to the late rank's
  std::vector<DelayCause> causes;  // largest first; they add up to wait_ns
};

struct KindTotal {
  SiteKind kind = SiteKind::kWait;
  int64_t count = 0;
  double count_per_occurrence = 0;
  int64_t call_ns = 0;
  Cost cost;
};

struct RangeSummary {
  std::string name;
  int64_t occurrence_count = 0;
  int64_t total_ns = 0;
  bool is_overlapping = false;  // two occurrences in one process overlap: what lies in both counts for the later one
  bool is_measured = false;     // the range that was asked for
};

struct ProcessSummary {
  int64_t pid = 0;
  std::optional<int64_t> rank;
  std::optional<int64_t> duration_ns;
  std::optional<bool> clean_exit;
  std::optional<int64_t> gpu_clock_error_ns;  // used as tolerance
  std::optional<int64_t> self_ns;  // host time in the recorder's callbacks of CUDA calls; null: none was timed
};

struct DeviceSummary {
  uint32_t device_id = 0;
  std::optional<std::string> name;
  std::optional<int64_t> sm_count;
  std::optional<int64_t> memory_bytes;
};

// A loss counter and what it means for the answer.
struct LossSummary {
  std::string id;  // "dropped-records"
  std::string meaning;
  capture::LossSeverity severity = capture::LossSeverity::kNote;
  int64_t count = 0;
  std::optional<int64_t> pid;
  std::optional<int64_t> start_ns;
  std::optional<int64_t> end_ns;
  std::optional<std::string> detail;
  bool affects_counts = false;  // sync points may be missing inside the measured ranges
  bool affects_costs = false;   // blocked and idle times may be wrong there
};

struct EnvironmentEntry {
  std::string key;
  std::string value;
};

struct CaptureSummary {
  std::string uuid;
  std::string format;
  std::string format_version;
  std::string producer;
  std::string mode;  // empty for foreign files, and where processes differ
  int64_t duration_ns = 0;
};

// Launches that waited for room in their queue while everything that their thread feeds was busy: no stalls.
struct BackPressure {
  int64_t count = 0;
  int64_t blocked_ns = 0;
  int64_t unknown_count = 0;  // full queues whose thread is not recorded; stalls may be among them
};

// The limits that were used: the constants, or more where calls of this recording that surely waited return later.
struct ReturnLimits {
  int64_t sync_ns = kStallSyncReturnNs;
  int64_t copy_ns = kStallCopyReturnNs;
  // Median times of those calls; null: the recording has too few.
  std::optional<int64_t> sync_median_ns;
  std::optional<int64_t> copy_median_ns;
};

// What recording took of the host: measured in callbacks, calibrated for launches (own_time.h), and CUPTI's own
// records.
struct RecorderShare {
  int64_t own_ns = 0;  // in the measured time, over all threads
  // GPU idle that it caused, taken off the idle times of the sites. Null: the GPU side was not recorded.
  std::optional<int64_t> idle_ns;
};

// Time in which devices of the measured processes had no work, in the measured ranges if any, from the first to the
// last work of each device.
struct DeviceIdle {
  int64_t total_ns = 0;
  int64_t no_wait_ns = 0;  // of it, what follows no stall; the sum of what is below
  int64_t host_ns = 0;  // until the call began that submitted the next work: host work, or other waits than for the GPU
  int64_t launch_ns = 0;   // from there to the start of that work
  int64_t loader_ns = 0;   // of both, while the process loaded code
  int64_t queued_ns = 0;   // the next work had been submitted before: dependencies, and what starting it takes
  int64_t unknown_ns = 0;  // the launch of the next work is not recorded
};

enum class BudgetOutcome : uint8_t { kFine, kExceeded, kInconclusive };
const char* BudgetOutcomeName(BudgetOutcome outcome);  // "fine", "exceeded", "inconclusive"

// What a budget limits. Counts are those of one occurrence of the range, or of one process.
enum class BudgetQuantity : uint8_t {
  kWaits,
  kPageableCopies,
  kAllocatorCalls,
  kLoaderCalls,
  kSyncPoints,        // of all kinds
  kCopies,            // all copies, pinned ones too
  kBytes,             // of those copies
  kAllocations,       // of device and host memory, not stream-ordered
  kRecoverableRatio,  // what all sites recover, as a share of the measured time: of processes the sum of their own
};
inline constexpr int kBudgetQuantityCount = 9;
// As in a budget file: "max-waits", "max-recoverable-ratio".
const char* BudgetQuantityName(BudgetQuantity quantity);

struct BudgetSite {
  SiteKind kind = SiteKind::kWait;
  std::vector<std::string> apis;
  std::optional<Frame> innermost_user;
  std::optional<std::string> native_symbol;
  std::optional<Forward> forward;
  int64_t count = 0;  // in the whole measured time
  std::optional<int64_t> recoverable_ns;
  std::optional<std::string> operator_name;
};

// The verdict on one limit.
struct BudgetFinding {
  BudgetQuantity quantity = BudgetQuantity::kWaits;
  std::optional<std::string> range;
  double limit = 0;
  std::optional<double> found;   // the largest of an occurrence, a lower bound if data was lost; null: unknown
  int64_t exceeded_count = 0;    // occurrences with more than the limit; of a ratio 1, it is of all together
  int64_t occurrence_count = 0;  // judged
  BudgetOutcome outcome = BudgetOutcome::kInconclusive;
  std::string reason;             // why inconclusive, else empty
  std::vector<BudgetSite> sites;  // if exceeded: what counted for it, the allowed left out; most points or cost first
};

struct BudgetVerdict {
  BudgetOutcome outcome = BudgetOutcome::kFine;  // exceeded if a limit is, else inconclusive if one is
  std::vector<BudgetFinding> findings;           // by limit, as the budget has them
  std::vector<std::string> notes;                // expired allowances and those that allow nothing
};

struct HuntReport {
  CaptureSummary capture;
  std::optional<std::string> range;   // the measured range, if one was asked for
  std::optional<StepsSummary> steps;  // if steps were asked for
  int64_t occurrence_count = 0;       // of the range, else measured steps if found, else processes
  std::vector<Site> sites;            // most recoverable first, then most idle, blocked, points
  std::vector<SiteGroup> groups;      // most recoverable first
  // What all sites together would save (one replay without all, not the sum). Null: not recorded.
  std::optional<int64_t> recoverable_all_ns;
  std::vector<Wait> waits;  // by start; only with HuntOptions::keep_waits
  // Every kind, in the order of SiteKind; empty: host calls were not recorded, or the recording was cut before any.
  std::vector<KindTotal> totals;
  std::optional<int64_t> sync_point_count;  // of all kinds that are sync points; null: where `totals` is empty
  int64_t unknown_kind_copy_count = 0;  // asynchronous copies of unknown memory kind that no wait takes in: not counted
  std::optional<DeviceIdle> device_idle;      // null: kernels were not recorded, or the recording was cut before any
  std::optional<BackPressure> back_pressure;  // null: not recorded
  std::optional<RecorderShare> recorder;      // null: unknown, as of other tools' files
  ReturnLimits return_limits;
  std::vector<RankDelay> rank_delays;  // longest wait first; collectives submitted in the measured time
  std::vector<RangeSummary> ranges;    // longest total first
  std::vector<ProcessSummary> processes;
  std::vector<DeviceSummary> devices;
  std::vector<EnvironmentEntry> environment;
  std::vector<LossSummary> losses;
  bool counts_complete = true;     // false: a loss affects counts, or they are not recorded; a verdict is inconclusive
  bool costs_complete = true;      // the same of blocked and idle times; false if the GPU side is not recorded
  std::vector<std::string> notes;  // sentences: "GPU idle not recorded in light mode", ...
  std::optional<BudgetVerdict> budget;  // null: none was given (budget.h)
};

}  // namespace stallhound::analysis

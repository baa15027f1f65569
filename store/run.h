#pragma once

// What the history keeps, as plain values. std::nullopt is unknown or not recorded, never none and never 0. Instants
// (`_at_ns`) are ns since 1970-01-01 UTC. All doubles are finite. Each enumerator has a text (Text below), which is
// what the database holds: append enumerators, never rename one.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallhound::store {

enum class RunStatus : uint8_t { kComplete, kInterrupted };
enum class BenchmarkOutcome : uint8_t { kMeasured, kFailed, kSkipped };
enum class MetricKind : uint8_t { kTime, kCount, kBytes, kRatio };
enum class Better : uint8_t { kLower, kHigher };
enum class Confidence : uint8_t { kExact, kInferred, kNone };
enum class VerdictOutcome : uint8_t { kPass, kRegressed, kImproved, kSuspect, kInconclusive };
enum class EventKind : uint8_t {
  kKernel,
  kGraphLaunch,
  kWait,
  kPageableCopy,
  kAllocator,
  kLoader,
  kQuerySpin,  // of sync sites only
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kHostToHost,
  kPeerToPeer,
  kMemset,
  kDeviceAllocation,
  kHostAllocation,
};

// "interrupted", "lower", "host-to-device".
std::string_view Text(RunStatus value);
std::string_view Text(BenchmarkOutcome value);
std::string_view Text(MetricKind value);
std::string_view Text(Better value);
std::string_view Text(Confidence value);
std::string_view Text(VerdictOutcome value);
std::string_view Text(EventKind value);

// The enumerator of a text, written to `value`; false if there is none.
bool FromText(std::string_view text, RunStatus& value);
bool FromText(std::string_view text, BenchmarkOutcome& value);
bool FromText(std::string_view text, MetricKind& value);
bool FromText(std::string_view text, Better& value);
bool FromText(std::string_view text, Confidence& value);
bool FromText(std::string_view text, VerdictOutcome& value);
bool FromText(std::string_view text, EventKind& value);

struct Revision {
  std::string repository;  // name, without user or password
  std::string sha;
  std::optional<std::string> parent_sha;
  std::optional<int64_t> ordinal_count;  // commits on the first-parent path up to this one
  std::optional<int64_t> authored_at_ns;
  auto operator<=>(const Revision&) const = default;
};

struct Hardware {
  std::optional<std::string> cpu_model;
  std::optional<int64_t> cpu_count;  // logical CPUs that the run could use
  std::optional<std::string> gpu_name;
  std::optional<int64_t> gpu_count;  // 0: none there
  std::optional<std::string> compute_capability;
  std::optional<int64_t> sm_count;
  std::optional<int64_t> memory_bytes;
  std::optional<int64_t> memory_clock_max_hz;
  std::optional<int64_t> sm_clock_max_hz;
  std::optional<int64_t> power_limit_mw;
  std::optional<std::string> vbios;
  std::optional<bool> ecc;
  std::optional<std::string> mig_profile;  // "1g.18gb"; "": MIG is off
  std::optional<int64_t> pcie_generation;
  std::optional<int64_t> pcie_lane_count;
  std::optional<std::string> topology;
  auto operator<=>(const Hardware&) const = default;
};

struct Environment {
  std::optional<std::string> driver;
  std::optional<std::string> cuda_runtime;
  std::optional<std::string> cupti;
  std::optional<std::string> libtorch;
  std::optional<std::string> cudnn;
  std::optional<std::string> cublas;
  std::optional<std::string> host_kernel;
  std::optional<std::string> compiler;
  std::optional<std::string> build_flags;
  std::optional<bool> clocks_locked;
  std::optional<bool> persistence_mode;
  std::map<std::string, std::string> switches;  // allow-listed environment variables that were set
  auto operator<=>(const Environment&) const = default;
};

struct Capture {
  std::string uuid;
  std::string path;  // relative to the history's folder
  std::string checksum;
  auto operator<=>(const Capture&) const = default;
};

struct RunInfo {
  std::string uuid;  // made by whoever measures; one uuid is one run, however often it is appended
  std::optional<Revision> revision;
  Hardware hardware;
  Environment environment;
  std::string machine;  // random id or the owner's label, never a host name
  std::optional<std::string> branch;
  std::optional<bool> has_local_changes;
  int64_t started_at_ns = 0;
  std::optional<int64_t> duration_ns;
  RunStatus status = RunStatus::kComplete;
  std::optional<std::string> throttle_reasons;  // names joined by commas; "": none
  std::optional<int64_t> temperature_max_celsius;
  std::optional<int64_t> sm_clock_min_hz;
  std::optional<int64_t> sm_clock_median_hz;
  std::optional<std::string> round_plan;  // "ABBA"
  std::optional<int64_t> seed;
  std::string producer;  // version of what measured
  std::optional<int64_t> analysis_version;
  std::vector<Capture> captures;
  auto operator<=>(const RunInfo&) const = default;
};

struct Metric {
  std::string name;  // "gpu_time_ns"; one name has one unit, kind and so on in a history
  std::string unit;
  MetricKind kind = MetricKind::kTime;
  Better better = Better::kLower;
  bool is_exact = false;
  auto operator<=>(const Metric&) const = default;
};

struct Sample {
  int64_t round = 0;
  int64_t value = 0;  // in the metric's unit
  std::optional<int64_t> sm_clock_hz;
  auto operator<=>(const Sample&) const = default;
};

// One metric of one benchmark in one run. Doubles are in the metric's unit.
struct Point {
  Metric metric;
  int64_t sample_count = 0;
  std::optional<double> median;
  std::optional<double> mean;
  std::optional<double> standard_deviation;
  std::optional<double> median_deviation;  // median of |value - median|
  std::optional<double> minimum;
  std::optional<double> lower_quartile;
  std::optional<double> upper_quartile;
  std::optional<double> interval_low;  // 95% interval of the median
  std::optional<double> interval_high;
  std::optional<int64_t> exact_value;
  std::vector<Sample> samples;  // in the order measured; may be left empty
  auto operator<=>(const Point&) const = default;
};

// Calls of one kernel in one shape. Counts are per iteration, durations over the counted window.
struct KernelAggregate {
  std::string name;                 // demangled, normalised
  std::optional<std::string> grid;  // blocks "132x1x1"; unset where it differs between calls
  std::optional<std::string> block;
  std::optional<int64_t> register_count;       // per thread
  std::optional<int64_t> shared_memory_bytes;  // per block, static and dynamic
  int64_t min_count = 0;
  int64_t max_count = 0;
  std::optional<int64_t> total_ns;
  std::optional<int64_t> median_ns;
  auto operator<=>(const KernelAggregate&) const = default;
};

// Per iteration; stable where minimum and maximum agree. A kind that was recorded and did not occur has one row of 0.
struct EventCount {
  EventKind kind = EventKind::kKernel;
  std::optional<std::string> source_memory;  // of copies: "pageable", "pinned", "device", "managed"
  std::optional<std::string> target_memory;
  std::optional<std::string> api;
  int64_t min_count = 0;
  int64_t max_count = 0;
  std::optional<int64_t> min_bytes;  // of copies and memsets
  std::optional<int64_t> max_bytes;
  auto operator<=>(const EventCount&) const = default;
};

// A place in code with its sync points and their cost, all over the counted window.
struct SyncSite {
  EventKind kind = EventKind::kWait;
  std::optional<std::string> file;  // relative to the project, site-packages or ~
  std::optional<int64_t> line;
  std::optional<std::string> function;
  std::optional<std::string> native_symbol;
  std::optional<std::string> operator_name;
  std::optional<std::string> api;
  int64_t count = 0;
  std::optional<int64_t> blocked_ns;
  std::optional<int64_t> idle_ns;
  std::optional<int64_t> recoverable_ns;
  Confidence confidence = Confidence::kNone;
  auto operator<=>(const SyncSite&) const = default;
};

struct BenchmarkResult {
  std::string suite;
  std::string name;  // layer/variant/dtype/shape/pass
  BenchmarkOutcome outcome = BenchmarkOutcome::kMeasured;
  std::optional<std::string> message;      // why it failed or was skipped
  std::optional<int64_t> iteration_count;  // of the counted window
  std::optional<bool> counts_complete;     // false: records were lost inside the window
  std::vector<Point> points;
  std::vector<KernelAggregate> kernels;
  std::vector<EventCount> event_counts;
  std::vector<SyncSite> sync_sites;
  auto operator<=>(const BenchmarkResult&) const = default;
};

struct RunRecord {
  RunInfo info;
  std::vector<BenchmarkResult> benchmarks;
  auto operator<=>(const RunRecord&) const = default;
};

// The order in which runs are read back: every list but the samples sorted.
void SortLists(RunRecord& run);

struct Verdict {
  std::string suite;
  std::string benchmark;
  std::string metric;  // a metric's name or the text of an EventKind
  VerdictOutcome outcome = VerdictOutcome::kInconclusive;
  std::string reason;
  std::optional<double> effect_ratio;  // run / baseline
  std::optional<double> interval_low_ratio;
  std::optional<double> interval_high_ratio;
  std::optional<double> p_value;
  std::optional<double> q_value;           // after Benjamini-Hochberg
  std::optional<double> smallest_p_value;  // that this number of rounds can give
  std::optional<double> detectable_effect_ratio;
  std::optional<int64_t> baseline_round_count;
  std::optional<int64_t> run_round_count;
  auto operator<=>(const Verdict&) const = default;
};

// One pass of the gate over a run.
struct Judgement {
  std::string uuid;
  std::string run_uuid;
  std::vector<std::string> baseline_run_uuids;
  int64_t rule_version = 0;
  int64_t judged_at_ns = 0;
  std::vector<Verdict> verdicts;
  auto operator<=>(const Judgement&) const = default;
};

struct Acknowledgement {
  std::string uuid;
  std::string benchmark_pattern;  // glob of "suite/name"
  std::optional<std::string> metric;
  std::string reason;
  std::optional<std::string> issue_url;
  std::string author;
  int64_t created_at_ns = 0;
  int64_t expires_at_ns = 0;
  std::optional<std::string> from_sha;
  auto operator<=>(const Acknowledgement&) const = default;
};

struct Baseline {
  std::string name;
  std::string run_uuid;
  int64_t set_at_ns = 0;
  std::optional<std::string> reason;
  auto operator<=>(const Baseline&) const = default;
};

}  // namespace stallhound::store

#pragma once

// Which member of a value stands in which column of its table: written once, for writing and reading alike.

#include <string_view>
#include <tuple>

#include "store/run.h"

namespace stallhound::store {

// kTable, kNames ("a, b, c") and Of(value), which ties the members in the order of kNames.
template <typename T>
struct Columns;

#define SH_COLUMNS(Type, table, names, ...)           \
  template <>                                         \
  struct Columns<Type> {                              \
    static constexpr std::string_view kTable = table; \
    static constexpr std::string_view kNames = names; \
    template <typename Value>                         \
    static auto Of(Value& v) {                        \
      return std::tie(__VA_ARGS__);                   \
    }                                                 \
  };

SH_COLUMNS(Revision, "revision", "repository, sha, parent_sha, ordinal_count, authored_at_ns",  //
           v.repository, v.sha, v.parent_sha, v.ordinal_count, v.authored_at_ns)

SH_COLUMNS(
    Hardware, "hardware",
    "cpu_model, cpu_count, gpu_name, gpu_count, compute_capability, sm_count, memory_bytes, memory_clock_max_hz, "
    "sm_clock_max_hz, power_limit_mw, vbios, ecc, mig_profile, pcie_generation, pcie_lane_count, topology",
    v.cpu_model, v.cpu_count, v.gpu_name, v.gpu_count, v.compute_capability, v.sm_count, v.memory_bytes,
    v.memory_clock_max_hz, v.sm_clock_max_hz, v.power_limit_mw, v.vbios, v.ecc, v.mig_profile, v.pcie_generation,
    v.pcie_lane_count, v.topology)

// The switches are rows of environment_switch.
SH_COLUMNS(Environment, "environment",
           "driver, cuda_runtime, cupti, libtorch, cudnn, cublas, host_kernel, compiler, build_flags, clocks_locked, "
           "persistence_mode",
           v.driver, v.cuda_runtime, v.cupti, v.libtorch, v.cudnn, v.cublas, v.host_kernel, v.compiler, v.build_flags,
           v.clocks_locked, v.persistence_mode)

SH_COLUMNS(RunInfo, "run",
           "uuid, machine, branch, has_local_changes, started_at_ns, duration_ns, status, throttle_reasons, "
           "temperature_max_celsius, sm_clock_min_hz, sm_clock_median_hz, round_plan, seed, producer, analysis_version",
           v.uuid, v.machine, v.branch, v.has_local_changes, v.started_at_ns, v.duration_ns, v.status,
           v.throttle_reasons, v.temperature_max_celsius, v.sm_clock_min_hz, v.sm_clock_median_hz, v.round_plan, v.seed,
           v.producer, v.analysis_version)

SH_COLUMNS(Capture, "capture", "uuid, path, checksum", v.uuid, v.path, v.checksum)

SH_COLUMNS(Metric, "metric", "name, unit, kind, better, is_exact", v.name, v.unit, v.kind, v.better, v.is_exact)

SH_COLUMNS(BenchmarkResult, "benchmark_run", "outcome, message, iteration_count, counts_complete",  //
           v.outcome, v.message, v.iteration_count, v.counts_complete)

SH_COLUMNS(Point, "point",
           "sample_count, median, mean, standard_deviation, median_deviation, minimum, lower_quartile, upper_quartile, "
           "interval_low, interval_high, exact_value",
           v.sample_count, v.median, v.mean, v.standard_deviation, v.median_deviation, v.minimum, v.lower_quartile,
           v.upper_quartile, v.interval_low, v.interval_high, v.exact_value)

// The name is a row of kernel.
SH_COLUMNS(KernelAggregate, "kernel_aggregate",
           "grid, block, register_count, shared_memory_bytes, min_count, max_count, total_ns, median_ns",  //
           v.grid, v.block, v.register_count, v.shared_memory_bytes, v.min_count, v.max_count, v.total_ns, v.median_ns)

SH_COLUMNS(EventCount, "event_count",
           "kind, source_memory, target_memory, api, min_count, max_count, min_bytes, max_bytes",  //
           v.kind, v.source_memory, v.target_memory, v.api, v.min_count, v.max_count, v.min_bytes, v.max_bytes)

SH_COLUMNS(SyncSite, "sync_site",
           "kind, file, line, function, native_symbol, operator, api, count, blocked_ns, idle_ns, recoverable_ns, "
           "confidence",
           v.kind, v.file, v.line, v.function, v.native_symbol, v.operator_name, v.api, v.count, v.blocked_ns,
           v.idle_ns, v.recoverable_ns, v.confidence)

SH_COLUMNS(Judgement, "judgement", "uuid, rule_version, judged_at_ns", v.uuid, v.rule_version, v.judged_at_ns)

SH_COLUMNS(Verdict, "verdict",
           "metric, outcome, reason, effect_ratio, interval_low_ratio, interval_high_ratio, p_value, q_value, "
           "smallest_p_value, detectable_effect_ratio, baseline_round_count, run_round_count",
           v.metric, v.outcome, v.reason, v.effect_ratio, v.interval_low_ratio, v.interval_high_ratio, v.p_value,
           v.q_value, v.smallest_p_value, v.detectable_effect_ratio, v.baseline_round_count, v.run_round_count)

SH_COLUMNS(Acknowledgement, "acknowledgement",
           "uuid, benchmark_pattern, metric, reason, issue_url, author, created_at_ns, expires_at_ns, from_sha", v.uuid,
           v.benchmark_pattern, v.metric, v.reason, v.issue_url, v.author, v.created_at_ns, v.expires_at_ns, v.from_sha)

SH_COLUMNS(Baseline, "baseline", "name, set_at_ns, reason", v.name, v.set_at_ns, v.reason)
#undef SH_COLUMNS

}  // namespace stallhound::store

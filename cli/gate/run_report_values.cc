#include "cli/gate/run_report_values.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "cli/gate/gate_values.h"
#include "cli/gate/run_values.h"

namespace stallhound::cli {
namespace {

using analysis::gate::CountRange;
using store::EventKind;

// Of all rows of these kinds; null: a kind was not recorded.
std::optional<CountRange> CountOf(const store::BenchmarkResult& result, std::initializer_list<EventKind> kinds) {
  CountRange sum;
  for (const EventKind kind : kinds) {
    bool is_recorded = false;
    for (const store::EventCount& row : result.event_counts) {
      if (row.kind != kind) continue;
      is_recorded = true;
      sum = {sum.min + row.min_count, sum.max + row.max_count};
    }
    if (!is_recorded) return std::nullopt;
  }
  return sum;
}

reports::RunBenchmark BenchmarkOf(const store::BenchmarkResult& result) {
  reports::RunBenchmark benchmark;
  benchmark.suite = result.suite;
  benchmark.name = result.name;
  benchmark.outcome = store::Text(result.outcome);
  benchmark.message = result.message;
  const store::Point* time = FindPoint(result, "gpu_time_ns");
  if (time == nullptr) time = FindPoint(result, "cpu_time_ns");
  if (time != nullptr) {
    benchmark.time_ns = time->median;
    for (const store::Sample& round : time->samples) benchmark.round_times_ns.push_back(round.value);
  }
  if (const store::Point* copy = FindPoint(result, "copy_ns")) benchmark.copy_ns = copy->median;
  benchmark.iteration_count = result.iteration_count;
  benchmark.kernel_count = CountOf(result, {EventKind::kKernel});
  benchmark.wait_count = CountOf(result, {EventKind::kWait});
  benchmark.copy_count =
      CountOf(result, {EventKind::kHostToDevice, EventKind::kDeviceToHost, EventKind::kDeviceToDevice});
  for (const store::SyncSite& site : result.sync_sites) {
    benchmark.sites.push_back({std::string(store::Text(site.kind)), site.file, site.line, site.function,
                               site.native_symbol, site.api, site.count, site.blocked_ns, site.idle_ns,
                               site.recoverable_ns, site.operator_name});
  }
  return benchmark;
}

void AddEnvironment(const store::RunInfo& info, reports::RunReport& report) {
  const auto number = [](const std::optional<int64_t>& value) {
    return value ? std::optional(fmt::format("{}", *value)) : std::nullopt;
  };
  const store::Hardware& hardware = info.hardware;
  const store::Environment& environment = info.environment;
  report.environment = {{"cpu_model", hardware.cpu_model},
                        {"cpu_count", number(hardware.cpu_count)},
                        {"gpu_name", hardware.gpu_name},
                        {"gpu_count", number(hardware.gpu_count)},
                        {"sm_count", number(hardware.sm_count)},
                        {"power_limit_mw", number(hardware.power_limit_mw)},
                        {"sm_clock_median_hz", number(info.sm_clock_median_hz)},
                        {"throttle_reasons", info.throttle_reasons == "" ? "none" : info.throttle_reasons},
                        {"driver", environment.driver},
                        {"cuda_runtime", environment.cuda_runtime},
                        {"cupti", environment.cupti},
                        {"libtorch", environment.libtorch},
                        {"cudnn", environment.cudnn},
                        {"cublas", environment.cublas},
                        {"compiler", environment.compiler},
                        {"build_flags", environment.build_flags}};
  for (const auto& [name, value] : environment.switches) report.environment.emplace_back(name, value);
}

}  // namespace

reports::RunReport RunReportOf(const store::RunRecord& record) {
  reports::RunReport report;
  report.run = GateRunOf(record.info);
  report.status = store::Text(record.info.status);
  report.duration_ns = record.info.duration_ns;
  report.producer = record.info.producer;
  AddEnvironment(record.info, report);
  for (const store::BenchmarkResult& result : record.benchmarks) report.benchmarks.push_back(BenchmarkOf(result));
  return report;
}

}  // namespace stallhound::cli

#include <map>
#include <optional>

#include "base/json_writer.h"
#include "base/unicode.h"
#include "reports/text/counts_text.h"
#include "reports/text/hunt_text.h"
#include "reports/text/json_list.h"

namespace stallhound::reports {
namespace {

constexpr int kJsonVersion = 1;

void Strings(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  List(json, key, texts, [&](const std::string& text) { json.String(text); });
}

void WriteFrame(JsonWriter& json, const analysis::Frame& frame) {
  json.BeginObject();
  json.Field("kind", analysis::FrameKindName(frame.kind));
  json.Field("file", frame.file);
  json.Field("line", frame.line);
  json.Field("function", frame.function);
  json.Field("module", frame.module);
  json.Field("module_offset", frame.module_offset);
  json.Field("is_user", frame.is_user);
  json.EndObject();
}

void FrameField(JsonWriter& json, std::string_view key, const std::optional<analysis::Frame>& frame) {
  json.Key(key);
  if (frame) {
    WriteFrame(json, *frame);
  } else {
    json.Null();
  }
}

void WriteForward(JsonWriter& json, const std::optional<analysis::Forward>& forward) {
  json.Key("forward");
  if (!forward) {
    json.Null();
    return;
  }
  json.BeginObject();
  FrameField(json, "frame", forward->frame);
  json.Field("node", forward->node);
  json.Field("confidence", std::string_view(analysis::ConfidenceName(forward->confidence)));
  List(json, "stack", forward->stack, [&](const analysis::Frame& frame) { WriteFrame(json, frame); });
  json.EndObject();
}

void WriteCopies(JsonWriter& json, const std::vector<analysis::CopySummary>& copies) {
  List(json, "copies", copies, [&](const analysis::CopySummary& copy) {
    const auto kind = [](const std::optional<capture::MemoryKind>& memory) {
      return memory ? std::optional(analysis::MemoryKindName(*memory)) : std::nullopt;
    };
    json.BeginObject();
    json.Field("direction", analysis::CopyDirectionName(copy.direction));
    json.Field("source_kind", kind(copy.source_kind));
    json.Field("target_kind", kind(copy.target_kind));
    json.Field("count", copy.count);
    json.Field("bytes", copy.bytes);
    json.EndObject();
  });
}

void WriteCost(JsonWriter& json, const analysis::Cost& cost) {
  json.Key("cost");
  json.BeginObject();
  json.Field("stall_count", cost.stall_count);
  json.Field("blocked_ns", cost.blocked_ns);
  json.Field("idle_ns", cost.idle_ns);
  json.Field("idle_compute_ns", cost.idle_compute_ns);
  json.Field("idle_blocked_ns", cost.idle_blocked_ns);
  json.Field("idle_return_ns", cost.idle_return_ns);
  json.Field("idle_host_ns", cost.idle_host_ns);
  json.Field("idle_launch_ns", cost.idle_launch_ns);
  json.Field("no_later_work_count", cost.no_later_work_count);
  json.Field("unknown_count", cost.unknown_count);
  json.EndObject();
}

void WriteIdle(JsonWriter& json, const analysis::HuntReport& report) {
  json.Key("device_idle");
  if (report.device_idle) {
    json.BeginObject();
    json.Field("total_ns", report.device_idle->total_ns);
    json.Field("no_wait_ns", report.device_idle->no_wait_ns);
    json.Field("host_ns", report.device_idle->host_ns);
    json.Field("launch_ns", report.device_idle->launch_ns);
    json.Field("loader_ns", report.device_idle->loader_ns);
    json.Field("queued_ns", report.device_idle->queued_ns);
    json.Field("unknown_ns", report.device_idle->unknown_ns);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Key("recorder");
  if (report.recorder) {
    json.BeginObject();
    json.Field("own_ns", report.recorder->own_ns);
    json.Field("idle_ns", report.recorder->idle_ns);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Key("back_pressure");
  if (report.back_pressure) {
    json.BeginObject();
    json.Field("count", report.back_pressure->count);
    json.Field("blocked_ns", report.back_pressure->blocked_ns);
    json.Field("unknown_count", report.back_pressure->unknown_count);
    json.EndObject();
  } else {
    json.Null();
  }
}

void WriteSteps(JsonWriter& json, const std::optional<analysis::StepsSummary>& steps) {
  json.Key("steps");
  if (!steps) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Field("source", std::string_view(analysis::StepSourceName(steps->source)));
  json.Field("range", steps->range);
  json.Field("found_count", steps->found_count);
  json.Field("warm_up_count", steps->warm_up_count);
  json.Field("other_count", steps->other_count);
  json.Field("measured_count", steps->measured_count);
  json.Field("period_ns", steps->period_ns);
  json.Field("explained_ratio", steps->explained_ratio);
  json.Field("reason", steps->reason);
  List(json, "one_off_costs", steps->one_off_costs, [&](const analysis::OneOffCost& cost) {
    json.BeginObject();
    json.Field("what", cost.what);
    json.Field("count", cost.count);
    json.Field("host_ns", cost.host_ns);
    json.EndObject();
  });
  json.EndObject();
}

void WriteSite(JsonWriter& json, const analysis::Site& site) {
  json.BeginObject();
  json.Field("kind", std::string_view(analysis::SiteKindName(site.kind)));
  Strings(json, "apis", site.apis);
  json.Field("count", site.count);
  json.Field("count_per_occurrence", site.count_per_occurrence);
  json.Field("call_ns", site.call_ns);
  WriteCost(json, site.cost);
  json.Field("recoverable_ns", site.recoverable_ns);
  json.Field("recoverable_is_first_order", site.recoverable_is_first_order);
  WriteCopies(json, site.copies);
  json.Field("unknown_kind_copy_count", site.unknown_kind_copy_count);
  FrameField(json, "innermost_user", site.innermost_user);
  FrameField(json, "outermost_user", site.outermost_user);
  FrameField(json, "innermost", site.innermost);
  json.Field("native_symbol", site.native_symbol);
  WriteForward(json, site.forward);
  List(json, "lines", site.lines, [&](const analysis::SiteLine& line) {
    json.BeginObject();
    FrameField(json, "frame", line.frame);
    json.Field("count", line.count);
    json.Field("blocked_ns", line.blocked_ns);
    json.Field("idle_ns", line.idle_ns);
    json.EndObject();
  });
  json.Field("line_count", site.line_count);
  List(json, "stack", site.stack, [&](const analysis::Frame& frame) { WriteFrame(json, frame); });
  json.Field("stack_count", site.stack_count);
  Strings(json, "threads", site.threads);
  json.Field("operator", site.operator_name);
  Strings(json, "operator_stack", site.operator_stack);
  json.Field("operator_count", site.operator_count);
  json.Field("operator_confidence", std::string_view(analysis::ConfidenceName(site.operator_confidence)));
  json.Field("range", site.range);
  json.Field("range_count", site.range_count);
  json.Field("confidence", std::string_view(analysis::ConfidenceName(site.confidence)));
  json.Field("catalogue_id", site.catalogue_id);
  json.EndObject();
}

void WriteFinding(JsonWriter& json, const analysis::BudgetFinding& finding) {
  json.BeginObject();
  json.Field("limit", std::string_view(analysis::BudgetQuantityName(finding.quantity)));
  json.Field("range", finding.range);
  json.Field("at_most", finding.limit);
  json.Field("found", finding.found);
  json.Field("exceeded_count", finding.exceeded_count);
  json.Field("occurrence_count", finding.occurrence_count);
  json.Field("outcome", std::string_view(analysis::BudgetOutcomeName(finding.outcome)));
  json.Field("reason", finding.reason.empty() ? std::nullopt : std::optional(finding.reason));
  List(json, "sites", finding.sites, [&](const analysis::BudgetSite& site) {
    json.BeginObject();
    json.Field("kind", std::string_view(analysis::SiteKindName(site.kind)));
    Strings(json, "apis", site.apis);
    FrameField(json, "innermost_user", site.innermost_user);
    json.Field("native_symbol", site.native_symbol);
    WriteForward(json, site.forward);
    json.Field("operator", site.operator_name);
    json.Field("count", site.count);
    json.Field("recoverable_ns", site.recoverable_ns);
    json.EndObject();
  });
  json.EndObject();
}

void WriteBudget(JsonWriter& json, const std::optional<analysis::BudgetVerdict>& verdict) {
  json.Key("budget");
  if (!verdict) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Field("outcome", std::string_view(analysis::BudgetOutcomeName(verdict->outcome)));
  List(json, "limits", verdict->findings, [&](const analysis::BudgetFinding& finding) { WriteFinding(json, finding); });
  Strings(json, "notes", verdict->notes);
  json.EndObject();
}

void WriteCapture(JsonWriter& json, const analysis::CaptureSummary& capture) {
  json.Key("capture");
  json.BeginObject();
  json.Field("uuid", capture.uuid);
  json.Field("format", capture.format);
  json.Field("format_version", capture.format_version);
  json.Field("producer", capture.producer);
  json.Field("mode", capture.mode.empty() ? std::nullopt : std::optional(capture.mode));
  json.Field("duration_ns", capture.duration_ns);
  json.EndObject();
}

void WriteLosses(JsonWriter& json, const std::vector<analysis::LossSummary>& losses) {
  List(json, "losses", losses, [&](const analysis::LossSummary& loss) {
    json.BeginObject();
    json.Field("id", loss.id);
    json.Field("meaning", loss.meaning);
    json.Field("severity", analysis::SeverityName(loss.severity));
    json.Field("count", loss.count);
    json.Field("pid", loss.pid);
    json.Field("start_ns", loss.start_ns);
    json.Field("end_ns", loss.end_ns);
    json.Field("detail", loss.detail);
    json.Field("affects_counts", loss.affects_counts);
    json.Field("affects_costs", loss.affects_costs);
    json.EndObject();
  });
}

// Processes may differ in a value: then it is the list of all.
void WriteEnvironment(JsonWriter& json, const std::vector<analysis::EnvironmentEntry>& environment) {
  std::map<std::string, std::vector<std::string_view>> values;
  for (const analysis::EnvironmentEntry& entry : environment)
    values[ReplaceInvalidUtf8(entry.key)].push_back(entry.value);
  json.Key("environment");
  json.BeginObject();
  for (const auto& [key, texts] : values) {
    if (texts.size() == 1) {
      json.Field(key, texts.front());
    } else {
      List(json, key, texts, [&](std::string_view text) { json.String(text); });
    }
  }
  json.EndObject();
}

void WriteContext(JsonWriter& json, const analysis::HuntReport& report) {
  List(json, "totals", report.totals, [&](const analysis::KindTotal& total) {
    json.BeginObject();
    json.Field("kind", std::string_view(analysis::SiteKindName(total.kind)));
    json.Field("count", total.count);
    json.Field("count_per_occurrence", total.count_per_occurrence);
    json.Field("call_ns", total.call_ns);
    WriteCost(json, total.cost);
    json.EndObject();
  });
  List(json, "ranges", report.ranges, [&](const analysis::RangeSummary& range) {
    json.BeginObject();
    json.Field("name", range.name);
    json.Field("occurrence_count", range.occurrence_count);
    json.Field("total_ns", range.total_ns);
    json.Field("is_overlapping", range.is_overlapping);
    json.Field("is_measured", range.is_measured);
    json.EndObject();
  });
  List(json, "processes", report.processes, [&](const analysis::ProcessSummary& process) {
    json.BeginObject();
    json.Field("pid", process.pid);
    json.Field("rank", process.rank);
    json.Field("duration_ns", process.duration_ns);
    json.Field("clean_exit", process.clean_exit);
    json.Field("gpu_clock_error_ns", process.gpu_clock_error_ns);
    json.Field("self_ns", process.self_ns);
    json.EndObject();
  });
  List(json, "devices", report.devices, [&](const analysis::DeviceSummary& device) {
    json.BeginObject();
    json.Field("device_id", device.device_id);
    json.Field("name", device.name);
    json.Field("sm_count", device.sm_count);
    json.Field("memory_bytes", device.memory_bytes);
    json.EndObject();
  });
  WriteEnvironment(json, report.environment);
}

void WriteCounts(JsonWriter& json, const analysis::EventCounts& counts) {
  json.Field("kernel_count", counts.kernel_count);
  json.Field("graph_launch_count", counts.graph_launch_count);
  json.Key("sync_points");
  if (counts.sync_points) {
    json.BeginObject();
    for (int kind = 0; kind < analysis::kSiteKindCount; ++kind) {
      const auto site_kind = static_cast<analysis::SiteKind>(kind);
      if (analysis::IsSyncPoint(site_kind)) json.Field(analysis::SiteKindName(site_kind), counts.SyncPoints(site_kind));
    }
    json.EndObject();
  } else {
    json.Null();
  }
  if (counts.copies) {
    WriteCopies(json, *counts.copies);
  } else {
    json.Key("copies");
    json.Null();
  }
  json.Field("memset_count", counts.memset_count);
  json.Field("memset_bytes", counts.memset_bytes);
  json.Field("device_allocate_count", counts.device_allocate_count);
  json.Field("device_free_count", counts.device_free_count);
  json.Field("host_allocate_count", counts.host_allocate_count);
  json.Field("host_free_count", counts.host_free_count);
  json.Field("host_register_count", counts.host_register_count);
  json.Field("virtual_memory_count", counts.virtual_memory_count);
  json.Field("stream_ordered_count", counts.stream_ordered_count);
}

void WriteRank(JsonWriter& json, std::string_view name, const analysis::CollectiveRank& rank) {
  json.Key(name);
  json.BeginObject();
  json.Field("pid", rank.pid);
  json.Field("rank", rank.rank);
  json.Field("device_id", int64_t{rank.device_id});
  json.EndObject();
}

void WriteDelay(JsonWriter& json, const analysis::RankDelay& delay) {
  json.BeginObject();
  WriteRank(json, "waiting", delay.waiting);
  WriteRank(json, "late", delay.late);
  json.Field("collective_count", delay.collective_count);
  json.Field("wait_ns", delay.wait_ns);
  List(json, "causes", delay.causes, [&](const analysis::DelayCause& cause) {
    json.BeginObject();
    json.Field("kind", std::string_view(analysis::DelayKindName(cause.kind)));
    json.Field("site", cause.site ? std::optional(static_cast<int64_t>(*cause.site)) : std::nullopt);
    json.Field("wait_ns", cause.wait_ns);
    json.EndObject();
  });
  json.EndObject();
}

}  // namespace

std::string HuntJson(const analysis::HuntReport& report, const RunOutcome& outcome) {
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginObject();
  json.Field("version", kJsonVersion);
  json.Key("program");
  json.BeginObject();
  json.Field("exit_code", outcome.program_exit_code);
  json.Field("signal", outcome.program_signal);
  json.EndObject();
  json.Field("verdict_exit_code", outcome.verdict_exit_code);
  WriteCapture(json, report.capture);
  json.Field("range", report.range);
  WriteSteps(json, report.steps);
  json.Field("occurrence_count", report.occurrence_count);
  json.Field("sync_point_count", report.sync_point_count);
  json.Field("unknown_kind_copy_count", report.unknown_kind_copy_count);
  json.Field("counts_complete", report.counts_complete);
  json.Field("costs_complete", report.costs_complete);
  WriteBudget(json, report.budget);
  List(json, "sites", report.sites, [&](const analysis::Site& site) { WriteSite(json, site); });
  json.Field("recoverable_all_ns", report.recoverable_all_ns);
  List(json, "groups", report.groups, [&](const analysis::SiteGroup& group) {
    json.BeginObject();
    List(json, "sites", group.sites, [&](size_t site) { json.Int(static_cast<int64_t>(site)); });
    json.Field("recoverable_ns", group.recoverable_ns);
    json.EndObject();
  });
  List(json, "rank_delays", report.rank_delays, [&](const analysis::RankDelay& delay) { WriteDelay(json, delay); });
  WriteIdle(json, report);
  WriteContext(json, report);
  WriteLosses(json, report.losses);
  Strings(json, "notes", report.notes);
  json.Key("constants");
  json.BeginObject();
  json.Field("stall_minimum_ns", analysis::kStallMinimumNs);
  json.Field("stall_return_ns", analysis::kStallReturnNs);
  json.Field("sync_return_ns", report.return_limits.sync_ns);
  json.Field("copy_return_ns", report.return_limits.copy_ns);
  json.Field("query_spin_minimum_ns", analysis::kQuerySpinMinimumNs);
  json.Field("query_spin_minimum_count", analysis::kQuerySpinMinimumCount);
  json.EndObject();
  json.EndObject();
  json.Finish().IgnoreError();  // appending to a string cannot fail
  return text;
}

std::string CountsJson(const analysis::CountsReport& report) {
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginObject();
  json.Field("version", kJsonVersion);
  WriteCapture(json, report.capture);
  json.Field("range", report.range);
  WriteSteps(json, report.steps);
  json.Field("counts_complete", report.counts_complete);
  json.Key("total");
  json.BeginObject();
  WriteCounts(json, report.total);
  json.EndObject();
  List(json, "spans", report.spans, [&](const analysis::CountsSpan& span) {
    json.BeginObject();
    json.Field("pid", span.pid);
    json.Field("rank", span.rank);
    json.Field("index", span.index);
    json.Field("start_ns", span.start_ns);
    json.Field("end_ns", span.end_ns);
    WriteCounts(json, span.counts);
    List(json, "site_counts", span.site_counts, [&](int64_t count) { json.Int(count); });
    json.EndObject();
  });
  List(json, "sites", report.sites, [&](const analysis::CountsSite& site) {
    json.BeginObject();
    json.Field("kind", std::string_view(analysis::SiteKindName(site.kind)));
    Strings(json, "apis", site.apis);
    json.Field("count", site.count);
    FrameField(json, "innermost_user", site.innermost_user);
    json.Field("native_symbol", site.native_symbol);
    WriteForward(json, site.forward);
    json.EndObject();
  });
  json.Field("unplaced_count", report.unplaced_count);
  WriteLosses(json, report.losses);
  Strings(json, "notes", report.notes);
  json.EndObject();
  json.Finish().IgnoreError();  // appending to a string cannot fail
  return text;
}

}  // namespace stallhound::reports

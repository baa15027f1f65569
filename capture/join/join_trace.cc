#include "capture/join/join_trace.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "capture/sort/row_sorter.h"

namespace stallhound::capture {
namespace {

bool IsTime(std::string_view column) {
  return column == "start_ns" || column == "end_ns" || column == "time_ns" || column == "launch_start_ns" ||
         column == "launch_end_ns" || column == "last_delivered_ns";
}
bool IsThread(std::string_view column) { return column == "thread_id" || column == "launch_thread_id"; }

// How rows of one side become rows of the join.
struct Side {
  const CaptureReader* reader = nullptr;
  int64_t shift_ns = 0;
  absl::flat_hash_map<uint32_t, uint32_t> processes;
  absl::flat_hash_map<uint32_t, uint32_t> threads;
};

template <typename Value, typename Change>
void ChangeIf(Value& value, Change change) {
  value = static_cast<Value>(change(value));
}
template <typename Value, typename Change>
void ChangeIf(std::optional<Value>& value, Change change) {
  if (value) value = static_cast<Value>(change(*value));
}

template <typename Value>
struct Bare {
  using type = Value;
};
template <typename Value>
struct Bare<std::optional<Value>> {
  using type = Value;
};

uint32_t Mapped(const absl::flat_hash_map<uint32_t, uint32_t>& ids, uint32_t id) {
  const auto it = ids.find(id);
  return it == ids.end() ? id : it->second;
}

// Puts a row of `side` on the join's axis, with the join's ids and texts.
template <typename Row>
void Adopt(const Side& side, StringTable& strings, Row& row) {
  Row::ForEachColumn(row, [&](std::string_view column, auto& value) {
    using Value = typename Bare<std::remove_reference_t<decltype(value)>>::type;
    if constexpr (std::is_same_v<Value, StringId>) {
      ChangeIf(value, [&](StringId id) { return strings.Intern(side.reader->strings().Get(id)); });
    } else if constexpr (std::is_same_v<Value, int64_t>) {
      if (IsTime(column)) ChangeIf(value, [&](int64_t time_ns) { return time_ns + side.shift_ns; });
    } else if constexpr (std::is_same_v<Value, uint32_t>) {
      if (column == "process_id") ChangeIf(value, [&](uint32_t id) { return Mapped(side.processes, id); });
      if (IsThread(column)) ChangeIf(value, [&](uint32_t id) { return Mapped(side.threads, id); });
    }
  });
}

// The small tables of one side, and its ranges.
struct SmallTables : CaptureVisitor {
  absl::Status On(const ProcessBatch& batch) override { return Keep(batch, processes); }
  absl::Status On(const ThreadBatch& batch) override { return Keep(batch, threads); }
  absl::Status On(const EnvironmentBatch& batch) override { return Keep(batch, environment); }
  absl::Status On(const DeviceBatch& batch) override { return Keep(batch, devices); }
  absl::Status On(const LossBatch& batch) override { return Keep(batch, losses); }

  template <typename Batch, typename Row>
  static absl::Status Keep(const Batch& batch, std::vector<Row>& rows) {
    for (size_t i = 0; i < batch.size; ++i) rows.push_back(batch.Get(i));
    return absl::OkStatus();
  }
  static TableSet Wanted() {
    return Tables({Table::kProcess, Table::kThread, Table::kEnvironment, Table::kDevice, Table::kLoss});
  }

  std::vector<ProcessRow> processes;
  std::vector<ThreadRow> threads;
  std::vector<EnvironmentRow> environment;
  std::vector<DeviceRow> devices;
  std::vector<LossRow> losses;
};

// Hands a side's batches on as the join's.
class Adopter : public CaptureVisitor {
 public:
  Adopter(const Side& side, StringTable& strings, CaptureVisitor& visitor)
      : side_(side), strings_(strings), visitor_(visitor) {}
#define SH_ADOPT(Type, table, COLUMNS)                 \
  absl::Status On(const Type##Batch& batch) override { \
    Type##Batch adopted;                               \
    for (size_t i = 0; i < batch.size; ++i) {          \
      Type##Row row = batch.Get(i);                    \
      Adopt(side_, strings_, row);                     \
      adopted.Append(row);                             \
    }                                                  \
    return visitor_.On(adopted);                       \
  }
  SH_CAPTURE_TABLES(SH_ADOPT)
#undef SH_ADOPT

 private:
  const Side& side_;
  StringTable& strings_;
  CaptureVisitor& visitor_;
};

// Ranges of one side that lie inside `start_ns` to `end_ns`.
class RangeKeeper : public CaptureVisitor {
 public:
  RangeKeeper(RowSorter<RangeBatch>& ranges, int64_t start_ns, int64_t end_ns)
      : ranges_(ranges), start_ns_(start_ns), end_ns_(end_ns) {}
  absl::Status On(const RangeBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      RangeRow row = batch.Get(i);
      if (row.start_ns < start_ns_ || !row.end_ns || *row.end_ns > end_ns_) {
        ++left_out_count_;
        continue;
      }
      row.stack_id.reset();  // the stacks are the trace's
      SH_RETURN_IF_ERROR(ranges_.Add(row));
    }
    return absl::OkStatus();
  }
  int64_t left_out_count() const { return left_out_count_; }

 private:
  RowSorter<RangeBatch>& ranges_;
  int64_t start_ns_;
  int64_t end_ns_;
  int64_t left_out_count_ = 0;
};

bool Has(const CaptureReader& reader, Table table) { return reader.info().recorded.test(static_cast<size_t>(table)); }

class JoinedReader : public CaptureReader {
 public:
  JoinedReader(std::unique_ptr<CaptureReader> host, std::unique_ptr<CaptureReader> trace)
      : host_(std::move(host)), trace_(std::move(trace)) {
    host_side_.reader = host_.get();
    trace_side_.reader = trace_.get();
  }

  absl::Status Load() {
    SH_RETURN_IF_ERROR(Check());
    trace_side_.shift_ns = *trace_->info().epoch_ns - *host_->info().epoch_ns;
    SmallTables host;
    SmallTables trace;
    SH_RETURN_IF_ERROR(host_->Read(SmallTables::Wanted(), host));
    SH_RETURN_IF_ERROR(trace_->Read(SmallTables::Wanted(), trace));
    SH_RETURN_IF_ERROR(AddProcesses(host, trace));
    AddThreads(host, trace);
    AddRest(host_side_, host);
    AddRest(trace_side_, trace);
    // GPU work is the trace's, with its numbers of devices.
    const bool has_trace_devices = !trace.devices.empty();
    AddDevices(has_trace_devices ? trace_side_ : host_side_, has_trace_devices ? trace : host);
    SH_RETURN_IF_ERROR(AddRanges());
    FillInfo();
    return absl::OkStatus();
  }

  const CaptureInfo& info() const override { return info_; }
  const StringTable& strings() const override { return strings_; }

  absl::Status Read(const TableSet& wanted, CaptureVisitor& visitor) override {
    const auto give = [&](Table table, const auto& batch) {
      const bool is_wanted = wanted.test(static_cast<size_t>(table)) && batch.size > 0;
      return is_wanted ? visitor.On(batch) : absl::OkStatus();
    };
    SH_RETURN_IF_ERROR(give(Table::kProcess, processes_));
    SH_RETURN_IF_ERROR(give(Table::kThread, threads_));
    SH_RETURN_IF_ERROR(give(Table::kEnvironment, environment_));
    SH_RETURN_IF_ERROR(give(Table::kDevice, devices_));
    Adopter adopter(trace_side_, strings_, visitor);
    const TableSet dimensions =
        Tables({Table::kStream, Table::kKernelShape, Table::kFrame, Table::kStackFrame, Table::kGraph});
    SH_RETURN_IF_ERROR(trace_->Read(wanted & dimensions, adopter));
    SH_RETURN_IF_ERROR(give(Table::kLoss, losses_));
    if (wanted.test(static_cast<size_t>(Table::kRange))) SH_RETURN_IF_ERROR(ranges_.Emit(visitor));
    const TableSet own = dimensions | SmallTables::Wanted() | Tables({Table::kRange, Table::kWindow});
    return trace_->Read(wanted & ~own, adopter);
  }

 private:
  absl::Status Check() const {
    if (Has(*host_, Table::kHostCall)) {
      return absl::InvalidArgumentError(
          "joining a trace with a recording that has CUDA calls itself: they would count twice (hint: record with "
          "--yield-to-profiler, or report on one of both)");
    }
    for (const CaptureReader* reader : {host_.get(), trace_.get()}) {
      if (!reader->info().epoch_ns) {
        return absl::InvalidArgumentError(fmt::format(
            "joining a trace with a recording: the {} one has no wall clock, so it is unknown how their times belong "
            "together (hint: Kineto writes baseTimeNanoseconds from torch 2.4 on)",
            reader->info().format));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddProcesses(const SmallTables& host, const SmallTables& trace) {
    absl::flat_hash_map<int64_t, uint32_t> by_pid;
    for (ProcessRow row : host.processes) {
      by_pid[row.pid] = host_side_.processes[row.process_id] = row.process_id;
      Adopt(host_side_, strings_, row);
      processes_.Append(row);
    }
    std::vector<int64_t> pids;
    bool is_in_both = false;
    for (ProcessRow row : trace.processes) {
      pids.push_back(row.pid);
      const auto known = by_pid.find(row.pid);
      is_in_both = is_in_both || known != by_pid.end();
      if (known != by_pid.end()) {
        trace_side_.processes[row.process_id] = known->second;
        continue;
      }
      trace_side_.processes[row.process_id] = static_cast<uint32_t>(processes_.size);
      Adopt(trace_side_, strings_, row);
      processes_.Append(row);
    }
    if (is_in_both) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format(
        "joining a trace with a recording: the trace is of process {}, the recording of {}", fmt::join(pids, ", "),
        fmt::join(processes_.pid.begin(), processes_.pid.begin() + static_cast<long>(host.processes.size()), ", ")));
  }

  void AddThreads(const SmallTables& host, const SmallTables& trace) {
    absl::flat_hash_map<std::pair<uint32_t, int64_t>, uint32_t> known;
    // The trace tells threads apart by their tid alone, so of those that had one after the other the first stands for
    // all.
    for (ThreadRow row : host.threads) {
      const auto [same, is_new] = known.try_emplace({row.process_id, row.tid}, static_cast<uint32_t>(threads_.size));
      host_side_.threads[row.thread_id] = same->second;
      if (!is_new) continue;
      Adopt(host_side_, strings_, row);
      threads_.Append(row);
    }
    for (ThreadRow row : trace.threads) {
      const auto same = known.find({Mapped(trace_side_.processes, row.process_id), row.tid});
      const auto next_id = static_cast<uint32_t>(threads_.size);
      trace_side_.threads[row.thread_id] = same == known.end() ? next_id : same->second;
      if (same != known.end()) continue;
      Adopt(trace_side_, strings_, row);
      threads_.Append(row);
    }
  }

  void AddRest(const Side& side, const SmallTables& tables) {
    for (EnvironmentRow row : tables.environment) {
      Adopt(side, strings_, row);
      environment_.Append(row);
    }
    for (LossRow row : tables.losses) {
      Adopt(side, strings_, row);
      losses_.Append(row);
    }
  }

  void AddDevices(const Side& side, const SmallTables& tables) {
    for (DeviceRow row : tables.devices) {
      Adopt(side, strings_, row);
      devices_.Append(row);
    }
  }

  absl::Status AddRanges() {
    const int64_t start_ns = trace_side_.shift_ns;
    const int64_t end_ns = start_ns + trace_->info().end_ns;
    if (end_ns < 0 || start_ns > host_->info().end_ns) {
      return absl::InvalidArgumentError(
          fmt::format("joining a trace with a recording: their times do not overlap, by {:.1f} s",
                      static_cast<double>(std::max(-end_ns, start_ns - host_->info().end_ns)) / 1e9));
    }
    RangeKeeper keeper(ranges_, start_ns, end_ns);
    Adopter host(host_side_, strings_, keeper);
    SH_RETURN_IF_ERROR(host_->Read(Tables({Table::kRange}), host));
    left_out_count_ = keeper.left_out_count();
    struct All : CaptureVisitor {
      explicit All(RowSorter<RangeBatch>& sorter) : ranges(sorter) {}
      absl::Status On(const RangeBatch& batch) override {
        for (size_t i = 0; i < batch.size; ++i) SH_RETURN_IF_ERROR(ranges.Add(batch.Get(i)));
        return absl::OkStatus();
      }
      RowSorter<RangeBatch>& ranges;
    } all(ranges_);
    Adopter trace(trace_side_, strings_, all);
    return trace_->Read(Tables({Table::kRange}), trace);
  }

  void FillInfo() {
    info_ = trace_->info();
    info_.uuid = host_->info().uuid;
    info_.mode.clear();  // what it says of calls and GPU work would not hold
    info_.format = "spool+" + trace_->info().format;
    info_.producer = host_->info().producer + ", " + trace_->info().producer;
    info_.epoch_ns = host_->info().epoch_ns;
    info_.end_ns = std::max(host_->info().end_ns, trace_side_.shift_ns + trace_->info().end_ns);
    info_.recorded |= host_->info().recorded & Tables({Table::kRange, Table::kEnvironment});
    info_.notes.insert(info_.notes.end(), host_->info().notes.begin(), host_->info().notes.end());
    const auto seconds = [](int64_t time_ns) { return static_cast<double>(time_ns) / 1e9; };
    info_.notes.push_back(fmt::format(
        "CUDA calls, GPU work and lines are those of the {} trace, from {:.3f} s to {:.3f} s; outside of "
        "that time they are unknown",
        trace_->info().format, seconds(trace_side_.shift_ns), seconds(trace_side_.shift_ns + trace_->info().end_ns)));
    if (left_out_count_ > 0) {
      info_.notes.push_back(
          fmt::format("{} NVTX ranges that do not lie wholly in that time are left out", left_out_count_));
    }
  }

  std::unique_ptr<CaptureReader> host_;
  std::unique_ptr<CaptureReader> trace_;
  Side host_side_;
  Side trace_side_;
  StringTable strings_;
  CaptureInfo info_;
  ProcessBatch processes_;
  ThreadBatch threads_;
  EnvironmentBatch environment_;
  DeviceBatch devices_;
  LossBatch losses_;
  RowSorter<RangeBatch> ranges_;
  int64_t left_out_count_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CaptureReader>> JoinTrace(std::unique_ptr<CaptureReader> host,
                                                         std::unique_ptr<CaptureReader> trace) {
  auto joined = std::make_unique<JoinedReader>(std::move(host), std::move(trace));
  SH_RETURN_IF_ERROR(joined->Load());
  return joined;
}

}  // namespace stallhound::capture

#include "capture/import/nsys/dimensions.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/status_macros.h"
#include "capture/import/nsys/emitter.h"

namespace stallhound::capture::nsys {
namespace {

constexpr char kGpuTable[] = "TARGET_INFO_GPU";
constexpr char kDeviceTable[] = "TARGET_INFO_CUDA_DEVICE";
constexpr char kStreamTable[] = "TARGET_INFO_CUDA_STREAM";

using StreamKey = std::tuple<uint32_t, uint32_t, uint32_t>;  // process, context, stream
using StreamRows = std::map<StreamKey, StreamRow>;

StreamRow& RowOf(StreamRows& rows, const StreamKey& key) {
  StreamRow& row = rows[key];
  std::tie(row.process_id, row.context_id, row.stream_id) = key;
  return row;
}

// Streams that the export lists, by operating-system process id.
absl::Status ReadListedStreams(Database& database, const Survey& survey, StreamRows& streams) {
  if (!database.Has(kStreamTable)) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(Rows rows,
                      database.Select(kStreamTable, {"processId", "contextId", "streamId", "flag", "priority"}));
  while (rows.Next()) {
    const std::optional<uint32_t> process = survey.identities.FindPid(rows.Int(0));
    const std::optional<uint32_t> context = rows.MaybeId(1);
    const std::optional<uint32_t> stream = rows.MaybeId(2);
    if (!process || !context || !stream) continue;
    StreamRow& row = RowOf(streams, {*process, *context, *stream});
    if (rows.IsInt(3)) row.flag = survey.enums.Stream(rows.Int(3));
    // Negative priorities are stored as unsigned 32 bits.
    if (rows.IsInt(4)) row.priority = static_cast<int32_t>(static_cast<uint32_t>(rows.Int(4)));
  }
  return rows.status();
}

// The legacy default stream of each context.
absl::Status ReadNullStreams(Database& database, const Survey& survey, StreamRows& streams) {
  constexpr std::pair<const char*, const char*> kTables[] = {{"TARGET_INFO_CUDA_CONTEXT_INFO", "nullStreamId"},
                                                             {"TARGET_INFO_CUDA_NULL_STREAM", "streamId"}};
  for (const auto& [table, column] : kTables) {
    if (!database.Has(table, column)) continue;
    SH_ASSIGN_OR_RETURN(Rows rows, database.Select(table, {"processId", "contextId", column}));
    while (rows.Next()) {
      const std::optional<uint32_t> process = survey.identities.FindPid(rows.Int(0));
      const std::optional<uint32_t> context = rows.MaybeId(1);
      const std::optional<uint32_t> stream = rows.MaybeId(2);
      if (process && context && stream) RowOf(streams, {*process, *context, *stream}).flag = StreamFlag::kNull;
    }
    SH_RETURN_IF_ERROR(rows.status());
  }
  return absl::OkStatus();
}

std::string_view FileName(std::string_view path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

absl::StatusOr<Devices> Devices::Read(Database& database, const Survey& survey) {
  Devices devices;
  std::set<uint32_t> known;
  if (database.Has(kGpuTable)) {
    devices.gpu_names_.emplace();
    SH_ASSIGN_OR_RETURN(Rows rows, database.Select(kGpuTable, {"id", "name", "smCount", "totalMemory", "computeMajor",
                                                               "computeMinor", "cuDevice"}));
    while (rows.Next()) {
      const std::optional<uint32_t> id = rows.MaybeId(0);
      if (!id || !known.insert(*id).second) continue;
      Gpu gpu{*id, std::nullopt, rows.MaybeInt(2), rows.MaybeInt(3), rows.MaybeInt(4), rows.MaybeInt(5)};
      if (const std::optional<std::string_view> name = rows.MaybeText(1)) gpu.name = *name;
      if (rows.IsInt(6)) devices.of_ordinal_.try_emplace(rows.Int(6), *id);
      std::vector<std::string>& names = *devices.gpu_names_;
      if (gpu.name && std::find(names.begin(), names.end(), *gpu.name) == names.end()) names.push_back(*gpu.name);
      devices.gpus_.push_back(std::move(gpu));
    }
    SH_RETURN_IF_ERROR(rows.status());
    std::sort(devices.gpus_.begin(), devices.gpus_.end(), [](const Gpu& a, const Gpu& b) { return a.id < b.id; });
  }
  if (database.Has(kDeviceTable)) {
    SH_ASSIGN_OR_RETURN(Rows rows, database.Select(kDeviceTable, {"pid", "cudaId", "gpuId"}));
    while (rows.Next()) {
      if (const std::optional<uint32_t> gpu = rows.MaybeId(2)) {
        devices.of_process_.try_emplace({rows.Int(0), rows.Int(1)}, *gpu);
      }
    }
    SH_RETURN_IF_ERROR(rows.status());
  }
  // Pairs of the processes that took part, by process_id: what the event tables ask for.
  absl::flat_hash_map<std::pair<int64_t, int64_t>, uint32_t> by_process_id;
  for (const auto& [key, gpu] : devices.of_process_) {
    if (const auto process = survey.identities.FindPid(key.first)) by_process_id[{*process, key.second}] = gpu;
  }
  devices.of_process_ = std::move(by_process_id);
  return devices;
}

uint32_t Devices::Id(uint32_t process_id, uint32_t ordinal) const {
  if (const auto it = of_process_.find({process_id, ordinal}); it != of_process_.end()) return it->second;
  if (const auto it = of_ordinal_.find(ordinal); it != of_ordinal_.end()) return it->second;
  return ordinal;
}

absl::Status Devices::Emit(const Survey& survey, StringTable& strings, CaptureVisitor& visitor) const {
  std::map<uint32_t, DeviceRow> devices;
  for (const auto& [stream, ordinal] : survey.streams) {
    if (!ordinal) continue;
    const uint32_t id = Id(std::get<0>(stream), *ordinal);
    devices[id].device_id = id;
  }
  for (const Gpu& gpu : gpus_) {
    DeviceRow& row = devices[gpu.id];
    row.device_id = gpu.id;
    if (gpu.name) row.name = strings.Intern(*gpu.name);
    row.sm_count = gpu.sm_count;
    row.memory_bytes = gpu.memory_bytes;
    row.compute_major = gpu.compute_major;
    row.compute_minor = gpu.compute_minor;
  }
  Emitter<DeviceBatch> emitter(visitor);
  for (const auto& [id, row] : devices) SH_RETURN_IF_ERROR(emitter.Add(row));
  return emitter.Flush();
}

absl::Status ReadNames(Database& database, Names& names, Identities& identities) {
  if (database.Has("PROCESSES", "globalPid")) {
    SH_ASSIGN_OR_RETURN(Rows rows, database.Select("PROCESSES", {"globalPid", "name"}));
    while (rows.Next()) {
      const std::string_view name = FileName(rows.MaybeText(1).value_or(""));
      const std::optional<uint32_t> process = identities.FindGlobalPid(rows.Int(0));
      if (process && !name.empty()) identities.processes()[*process].name = names.Intern(name);
    }
    SH_RETURN_IF_ERROR(rows.status());
  }
  if (database.Has("ThreadNames", "globalTid")) {
    absl::flat_hash_map<int64_t, Thread*> threads;
    for (Thread& thread : identities.threads()) threads[thread.global_tid] = &thread;
    SH_ASSIGN_OR_RETURN(Rows rows, database.Select("ThreadNames", {"globalTid", "nameId"}));
    while (rows.Next()) {
      const auto it = threads.find(rows.Int(0));
      if (it != threads.end() && !it->second->name) it->second->name = names.Find(rows.Int(1));
    }
    SH_RETURN_IF_ERROR(rows.status());
  }
  return absl::OkStatus();
}

absl::Status EmitIdentities(const Identities& identities, int64_t zero_ns, const TableSet& wanted,
                            CaptureVisitor& visitor) {
  Emitter<ProcessBatch> processes(visitor);
  for (size_t i = 0; wanted.test(static_cast<size_t>(Table::kProcess)) && i < identities.processes().size(); ++i) {
    const Process& process = identities.processes()[i];
    ProcessRow row;
    row.process_id = static_cast<uint32_t>(i);
    row.pid = PidOf(process.global_pid);
    row.name = process.name;
    if (process.first_ns) row.start_ns = *process.first_ns - zero_ns;
    if (process.last_ns) row.end_ns = *process.last_ns - zero_ns;
    SH_RETURN_IF_ERROR(processes.Add(row));
  }
  SH_RETURN_IF_ERROR(processes.Flush());
  Emitter<ThreadBatch> threads(visitor);
  for (size_t i = 0; wanted.test(static_cast<size_t>(Table::kThread)) && i < identities.threads().size(); ++i) {
    const Thread& thread = identities.threads()[i];
    ThreadRow row;
    row.thread_id = static_cast<uint32_t>(i);
    row.process_id = thread.process_id;
    row.tid = TidOf(thread.global_tid);
    row.name = thread.name;
    SH_RETURN_IF_ERROR(threads.Add(row));
  }
  return threads.Flush();
}

absl::Status EmitStreams(Database& database, const Survey& survey, const Devices& devices, CaptureVisitor& visitor) {
  StreamRows streams;
  SH_RETURN_IF_ERROR(ReadListedStreams(database, survey, streams));
  SH_RETURN_IF_ERROR(ReadNullStreams(database, survey, streams));
  for (const auto& [key, ordinal] : survey.streams) {
    StreamRow& row = RowOf(streams, key);
    if (ordinal) row.device_id = devices.Id(row.process_id, *ordinal);
  }
  Emitter<StreamBatch> emitter(visitor);
  for (const auto& [key, row] : streams) SH_RETURN_IF_ERROR(emitter.Add(row));
  return emitter.Flush();
}

}  // namespace stallhound::capture::nsys

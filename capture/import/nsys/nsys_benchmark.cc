// How fast Nsight exports are read: to finished counts (`stallhound import --counts`) and all tables without looking at
// them. Args: events of the generated file, and whether its calls are in order of thread rather than of time.
// STALLHOUND_EXPORT=<file> keeps the generated export, to time commands and other programs on it.

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "capture/import/importer.h"
#include "capture/import/nsys/export_generator.h"

namespace stallhound::capture {
namespace {

// A file in a folder that is removed at the end.
std::string File(const std::string& name) {
  struct Folder {
    std::string path = (std::filesystem::temp_directory_path() / "stallhound-benchmark-XXXXXX").string();
    Folder() {
      if (mkdtemp(path.data()) == nullptr) abort();
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path + "/" + name;
}

std::string ExportFile(benchmark::State& state) {
  static std::map<std::pair<int64_t, bool>, std::string> files;
  const bool by_thread = state.range(1) != 0;
  std::string& path = files[{state.range(0), by_thread}];
  if (!path.empty()) return path;
  const char* const kept = getenv("STALLHOUND_EXPORT");
  path = kept != nullptr ? kept : File(std::to_string(files.size()) + ".sqlite");
  std::filesystem::remove(path);
  const absl::Status status = nsys::GenerateExport(path, {.event_count = state.range(0), .by_thread = by_thread});
  if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
  return path;
}

void Finish(benchmark::State& state, const std::string& path) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(std::filesystem::file_size(path)));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_mb"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

void BM_Counts(benchmark::State& state) {
  const std::string path = ExportFile(state);
  for (auto _ : state) {
    absl::StatusOr<ForeignFiles> files = OpenForeign(path, {});
    if (!files.ok() || !CountForeign(files->files[0]).ok()) state.SkipWithError("import");
  }
  Finish(state, path);
}

void BM_ReadAllTables(benchmark::State& state) {
  const std::string path = ExportFile(state);
  for (auto _ : state) {
    absl::StatusOr<ForeignFiles> files = OpenForeign(path, {});
    CaptureVisitor visitor;
    if (!files.ok() || !files->files[0].capture->Read(AllTables(), visitor).ok()) state.SkipWithError("import");
  }
  Finish(state, path);
}

// Wall time: the importer reads in several threads.
BENCHMARK(BM_Counts)->Args({3'000'000, 0})->Args({3'000'000, 1})->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReadAllTables)->Args({3'000'000, 0})->Args({3'000'000, 1})->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Counts)->Args({49'200'000, 0})->UseRealTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stallhound::capture

BENCHMARK_MAIN();

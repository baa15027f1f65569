// How fast Kineto traces are read: to finished counts and into a capture file. Arg: size of the generated trace in MB.
// STALLHOUND_TRACE=<file> keeps the generated trace, to compare with other programs.

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "capture/file/capture_file.h"
#include "capture/import/byte_stream.h"
#include "capture/import/importer.h"
#include "capture/import/kineto/event_parser.h"
#include "capture/import/kineto/trace_generator.h"

namespace stallhound::capture {
namespace {

constexpr int64_t kStepBytes = 396'000;

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

std::string TraceFile(int64_t megabytes, bool compact) {
  static std::map<std::pair<int64_t, bool>, std::string> files;
  std::string& path = files[{megabytes, compact}];
  if (!path.empty()) return path;
  const char* const kept = getenv("STALLHOUND_TRACE");
  path = kept != nullptr ? kept : File(std::to_string(files.size()) + ".json");
  FILE* const file = fopen(path.c_str(), "wb");
  GenerateTrace({.step_count = static_cast<int>(megabytes * 1'000'000 / kStepBytes) + 1, .compact = compact},
                [file](std::string_view piece) { fwrite(piece.data(), 1, piece.size(), file); });
  fclose(file);
  return path;
}

int64_t FileBytes(const std::string& path) {
  FILE* const file = fopen(path.c_str(), "rb");
  fseek(file, 0, SEEK_END);
  const int64_t bytes = ftell(file);
  fclose(file);
  return bytes;
}

void Finish(benchmark::State& state, const std::string& path) {
  state.SetBytesProcessed(state.iterations() * FileBytes(path));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_mb"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

class NullSink : public KinetoEventSink {
 public:
  absl::Status OnEvent(const KinetoEvent& event) override {
    benchmark::DoNotOptimize(event.duration_ns);
    return absl::OkStatus();
  }
};

void BM_SplitAndParse(benchmark::State& state) {
  const std::string path = TraceFile(state.range(0), state.range(1) != 0);
  for (auto _ : state) {
    JsonSplitter splitter(*OpenFileStream(path));
    EventParser parser;
    NullSink sink;
    while (true) {
      JsonPiece piece = *splitter.Next();
      if (piece.kind == JsonPiece::Kind::kEnd) break;
      if (piece.kind == JsonPiece::Kind::kEvents && !parser.Parse(piece, sink).ok()) state.SkipWithError("parse");
    }
  }
  Finish(state, path);
}

void BM_Counts(benchmark::State& state) {
  const std::string path = TraceFile(state.range(0), state.range(1) != 0);
  for (auto _ : state) {
    absl::StatusOr<ForeignFiles> files = OpenForeign(path, {});
    if (!files.ok() || !CountForeign(files->files[0]).ok()) state.SkipWithError("import");
  }
  Finish(state, path);
}

void BM_CaptureFile(benchmark::State& state) {
  const std::string path = TraceFile(state.range(0), state.range(1) != 0);
  for (auto _ : state) {
    absl::StatusOr<ForeignFiles> files = OpenForeign(path, {});
    if (!files.ok() || !WriteCaptureFile(*files->files[0].capture, File("out.stallhound")).ok()) {
      state.SkipWithError("import");
    }
  }
  Finish(state, path);
}

BENCHMARK(BM_SplitAndParse)->Args({200, 0})->Args({200, 1})->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Counts)->Args({200, 0})->Args({200, 1})->Args({2000, 0})->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CaptureFile)->Args({200, 0})->Args({2000, 0})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stallhound::capture

BENCHMARK_MAIN();

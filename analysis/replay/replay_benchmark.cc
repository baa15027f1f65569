// A recording of 5 million kernels with 1% waits at 50 sites: building its replay model, one replay, and the whole hunt
// (which replays about 50 times). Memory: run under `/usr/bin/time -v`.

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "analysis/hunt/hunt.h"
#include "analysis/replay/replay.h"
#include "capture/spool/generate_spool.h"
#include "capture/spool/reader.h"

namespace stallhound::analysis {
namespace {

using capture::Table;

constexpr int64_t kKernelCount = 5'000'000;

// A generated spool, removed at exit, and its reader.
class Recording {
 public:
  Recording() {
    char name[] = "/tmp/stallhound-benchmark-XXXXXX";
    folder_ = mkdtemp(name);
    capture::spool::GeneratedSpool options;
    options.kernel_count = kKernelCount;
    reader_ = std::move(capture::OpenSpools({capture::spool::GenerateSpool(folder_, options)}).value());
  }
  ~Recording() { std::filesystem::remove_all(folder_); }
  capture::CaptureReader& reader() const { return *reader_; }

 private:
  std::string folder_;
  std::unique_ptr<capture::CaptureReader> reader_;
};

const Recording& TheRecording() {
  static const Recording recording;
  return recording;
}

ReplayModel BuildModel(capture::CaptureReader& reader) {
  Directory directory(reader, std::nullopt);
  reader.Read(Directory::Wanted(), directory).IgnoreError();
  SyncPointFinder finder(directory, reader.info().recorded);
  reader.Read(capture::Tables({Table::kHostCall, Table::kCopy}), finder).IgnoreError();
  ModelBuilder builder(directory);
  reader.Read(ModelBuilder::WantedWork(), builder).IgnoreError();
  return builder.Finish(finder.Finish(), *directory.MeasuredSpans(), 0);
}

void BM_BuildModel(benchmark::State& state) {
  capture::CaptureReader& reader = TheRecording().reader();
  for (auto _ : state) benchmark::DoNotOptimize(BuildModel(reader).works.size());
  state.SetItemsProcessed(state.iterations() * kKernelCount);
}
BENCHMARK(BM_BuildModel)->Iterations(1)->Unit(benchmark::kSecond);

void BM_Replay(benchmark::State& state) {
  const ReplayModel model = BuildModel(TheRecording().reader());
  for (auto _ : state) benchmark::DoNotOptimize(Replay(model, {}).end_ns);
  state.SetItemsProcessed(state.iterations() * kKernelCount);
}
BENCHMARK(BM_Replay)->Unit(benchmark::kMillisecond);

void BM_Hunt(benchmark::State& state) {
  capture::CaptureReader& reader = TheRecording().reader();
  for (auto _ : state) {
    if (!Hunt(reader, {}).ok()) state.SkipWithError("the hunt failed");
  }
  state.SetItemsProcessed(state.iterations() * kKernelCount);
}
BENCHMARK(BM_Hunt)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace stallhound::analysis

BENCHMARK_MAIN();

// Reading a spool of 5 million kernels with their launches and 1% waits: all tables streamed, kept as a capture file,
// and that file read again. The counter peak_bytes is this process's largest resident memory so far; the spool is made
// by a child process, whose memory does not count.

#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "capture/file/capture_file.h"
#include "capture/spool/generate_spool.h"
#include "capture/spool/reader.h"

namespace stallhound::capture {
namespace {

constexpr int64_t kKernelCount = 5'000'000;

// Made once, removed at exit.
class Spool {
 public:
  Spool() {
    char name[] = "/tmp/stallhound-benchmark-XXXXXX";
    folder_ = mkdtemp(name);
    const pid_t child = fork();
    if (child == 0) {
      spool::GeneratedSpool options;
      options.kernel_count = kKernelCount;
      _exit(spool::GenerateSpool(folder_, options).empty());
    }
    waitpid(child, nullptr, 0);
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) path_ = entry.path();
  }
  ~Spool() { std::filesystem::remove_all(folder_); }
  const std::string& path() const { return path_; }
  std::string File(const char* name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
  std::string path_;
};

const Spool& TheSpool() {
  static const Spool spool;
  return spool;
}

double PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

void BM_ReadAllTables(benchmark::State& state) {
  TheSpool();
  for (auto _ : state) {
    auto reader = OpenSpools({TheSpool().path()});
    CaptureVisitor visitor;
    if (!reader.ok() || !(*reader)->Read(AllTables(), visitor).ok()) state.SkipWithError("reading failed");
  }
  state.SetItemsProcessed(state.iterations() * kKernelCount);
  state.counters["peak_bytes"] = PeakBytes();
}
BENCHMARK(BM_ReadAllTables)->Iterations(1)->Unit(benchmark::kSecond);

void BM_WriteCaptureFile(benchmark::State& state) {
  TheSpool();
  for (auto _ : state) {
    auto reader = OpenSpools({TheSpool().path()});
    if (!reader.ok() || !WriteCaptureFile(**reader, TheSpool().File("a.stallhound")).ok()) {
      state.SkipWithError("writing failed");
    }
  }
  state.SetItemsProcessed(state.iterations() * kKernelCount);
  state.counters["peak_bytes"] = PeakBytes();
}
BENCHMARK(BM_WriteCaptureFile)->Iterations(1)->Unit(benchmark::kSecond);

// After BM_WriteCaptureFile.
void BM_ReadCaptureFile(benchmark::State& state) {
  for (auto _ : state) {
    auto reader = OpenCaptureFile(TheSpool().File("a.stallhound"));
    CaptureVisitor visitor;
    if (!reader.ok() || !(*reader)->Read(AllTables(), visitor).ok()) state.SkipWithError("reading failed");
  }
  state.SetItemsProcessed(state.iterations() * kKernelCount);
  state.counters["peak_bytes"] = PeakBytes();
}
BENCHMARK(BM_ReadCaptureFile)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace stallhound::capture

BENCHMARK_MAIN();

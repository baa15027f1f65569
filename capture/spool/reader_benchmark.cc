// Reading a spool of 5 million kernels with their launches and 1% waits: all tables streamed, and kept as a capture
// file. Memory: run under `/usr/bin/time -v`.

#include <benchmark/benchmark.h>
#include <stdlib.h>
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
    spool::GeneratedSpool options;
    options.kernel_count = kKernelCount;
    path_ = spool::GenerateSpool(folder_, options);
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

void BM_ReadAllTables(benchmark::State& state) {
  TheSpool();
  for (auto _ : state) {
    auto reader = OpenSpools({TheSpool().path()});
    CaptureVisitor visitor;
    if (!reader.ok() || !(*reader)->Read(AllTables(), visitor).ok()) state.SkipWithError("reading failed");
  }
  state.SetItemsProcessed(state.iterations() * kKernelCount);
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
}
BENCHMARK(BM_WriteCaptureFile)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace stallhound::capture

BENCHMARK_MAIN();

// What a range costs the program: `bazel run //record/nvtx:nvtx_benchmark`. README has the numbers.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

#include "record/nvtx/nvtx_recorder.h"

namespace stallhound::record {
namespace {

capture::spool::SpoolWriter& Writer() {
  static auto* writer = [] {
    char directory[] = "/tmp/nvtx_benchmark_XXXXXX";
    auto* made = new capture::spool::SpoolWriter;
    // The ring keeps the file small however long the benchmark runs.
    made->Configure({.directory = mkdtemp(directory), .max_bytes = 64 << 20, .ring_ns = 1'000'000'000});
    return made;
  }();
  return *writer;
}

NvtxRecorder& Recorder() {
  static auto* recorder = new NvtxRecorder(Writer());
  return *recorder;
}

void PushPopText(benchmark::State& state) {
  for (auto _ : state) {
    Recorder().Push({.text = "forward pass of the encoder"});
    Recorder().Pop(0);
  }
}
BENCHMARK(PushPopText);

void PushPopRegistered(benchmark::State& state) {
  const NvtxString name = Recorder().RegisterString("forward pass of the encoder");
  const NvtxDomain domain = Recorder().CreateDomain("domain");
  for (auto _ : state) {
    Recorder().Push({.domain = domain, .registered = name, .payload = 7});
    Recorder().Pop(domain);
  }
}
BENCHMARK(PushPopRegistered);

// As PyTorch pushes them, without the stack.
void PushPopOperator(benchmark::State& state) {
  Recorder().RecordOperators({nullptr, [](void*) { return 1u; }});
  char text[64] = "aten::index, seq = 00000000, op_id = 1234567";
  uint32_t number = 0;
  for (auto _ : state) {
    for (uint32_t digit = 0, rest = ++number; digit < 8; ++digit, rest /= 10) {
      text[26 - digit] = static_cast<char>('0' + rest % 10);
    }
    Recorder().Push({.text = text});
    Recorder().Pop(0);
  }
}
BENCHMARK(PushPopOperator);

void Clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(capture::spool::RawNowNs());
}
BENCHMARK(Clock);

}  // namespace
}  // namespace stallhound::record

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::filesystem::remove_all(std::filesystem::path(stallhound::record::Writer().path()).parent_path());
}

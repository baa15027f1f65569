// What the recorder itself costs, without CUPTI: a recorded call (both callbacks, with and without a stack), and a
// transcribed kernel.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "record/cupti/cupti_session.h"
#include "record/cupti/fake_cupti.h"

namespace stallhound::record {
namespace {

class Recording {
 public:
  Recording() {
    char pattern[] = "/tmp/cupti_benchmark.XXXXXX";
    folder_ = mkdtemp(pattern);
    capture::spool::WriterOptions options;
    options.directory = folder_.c_str();
    options.ring_ns = 1;
    writer.Configure(options);
    session.Start(fake.api(), "fake", true);
  }
  ~Recording() { std::filesystem::remove_all(folder_); }

  FakeCupti fake{130001};
  capture::spool::SpoolWriter writer;
  CuptiSession session{writer, HostCallHooks()};

 private:
  std::string folder_;
};

void RecordedCall(benchmark::State& state) {
  Recording recording;
  cudaStreamSynchronize_v3020_params params{};
  int result = 0;
  CUpti_CallbackData data{};
  data.functionParams = &params;
  data.functionReturnValue = &result;
  data.context = reinterpret_cast<CUcontext>(&recording);
  for (auto _ : state) {
    ++data.correlationId;
    for (auto site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
      data.callbackSite = site;
      recording.session.OnCallback(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
                                   &data);
    }
  }
}
BENCHMARK(RecordedCall);

void TranscribedKernel(benchmark::State& state) {
  Recording recording;
  const std::string record =
      RawKernel(recording.fake.layout(), "void at::native::vectorized_elementwise_kernel<4, float>(int)", 1, 100, 200)
          .bytes();
  constexpr int kRecords = 1000;
  for (auto _ : state) {
    uint8_t* buffer = nullptr;
    size_t bytes = 0;
    size_t max_records = 0;
    recording.session.OnBufferRequested(&buffer, &bytes, &max_records);
    for (int i = 0; i < kRecords; ++i) std::copy(record.begin(), record.end(), buffer + i * record.size());
    recording.session.OnBufferCompleted(buffer, kRecords * record.size());
    recording.session.Tick();
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
}
BENCHMARK(TranscribedKernel);

}  // namespace
}  // namespace stallhound::record

BENCHMARK_MAIN();

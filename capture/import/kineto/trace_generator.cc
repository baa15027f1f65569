#include "capture/import/kineto/trace_generator.h"

#include <fmt/format.h>

#include <iterator>

namespace stallhound::capture {
namespace {

constexpr size_t kPieceBytes = 1 << 20;
constexpr int64_t kLaunchNs = 6'000;
constexpr int64_t kKernelNs = 8'000;

class Generator {
 public:
  Generator(const GeneratedTrace& trace, const std::function<void(std::string_view)>& write)
      : trace_(trace), write_(write) {}

  GeneratedCounts Generate() {
    text_ = R"({
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150121545728,
      "computeMajor": 9, "computeMinor": 0, "numSms": 132
    }
  ],
  "cuda_runtime_version": 12090,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1727743122000000000,
  "traceEvents": [)";
    for (int step = 0; step < trace_.step_count; ++step) Step(step);
    text_ += "\n  ],\n  \"traceName\": \"trace.json\"\n}\n";
    Flush();
    return counts_;
  }

 private:
  void Flush() {
    counts_.bytes += static_cast<int64_t>(text_.size());
    write_(text_);
    text_.clear();
  }

  static std::string Us(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

  void Event(std::string_view category, std::string_view name, int64_t pid, int64_t tid, int64_t start_ns, int64_t ns,
             const std::string& args) {
    const std::string_view line = trace_.compact ? " " : "\n    ";
    fmt::format_to(std::back_inserter(text_),
                   "{}{}{{{}\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {},{}\"ts\": {}, "
                   "\"dur\": {},{}\"args\": {{{}{}{}}}{}}}",
                   counts_.events == 0 ? "" : ",", trace_.compact ? "" : "\n  ", line, category, name, pid, tid, line,
                   Us(start_ns), Us(ns), line, line, args, line, trace_.compact ? "" : "\n  ");
    ++counts_.events;
    if (text_.size() >= kPieceBytes) Flush();
  }

  void Flow(char phase, int64_t pid, int64_t tid, int64_t ns) {
    const std::string_view line = trace_.compact ? " " : "\n    ";
    fmt::format_to(
        std::back_inserter(text_),
        ",{}{{{}\"ph\": \"{}\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {},{}\"cat\": \"ac2g\", \"name\": "
        "\"ac2g\"{}{}}}",
        trace_.compact ? "" : "\n  ", line, phase, correlation_, pid, tid, Us(ns), line,
        phase == 'f' ? ", \"bp\": \"e\"" : "", trace_.compact ? "" : "\n  ");
    ++counts_.events;
  }

  void Operator(std::string_view name, int64_t start_ns, int64_t ns) {
    ++counts_.cpu_ops;
    Event("cpu_op", name, 851, 851, start_ns, ns,
          fmt::format(
              "\"External id\": {}, \"Sequence number\": {}, \"Fwd thread id\": 0, \"Input Dims\": [[64, 256], [256, "
              "256], []], \"Input type\": [\"float\", \"float\", \"Scalar\"], \"Ev Idx\": {}",
              counts_.cpu_ops, counts_.cpu_ops / 2, counts_.cpu_ops));
  }

  void Python(std::string_view name, int64_t start_ns, int64_t ns) {
    if (!trace_.python_functions) return;
    ++python_;
    Event("python_function", name, 851, 851, start_ns, ns,
          fmt::format("\"Python id\": {}, \"Python parent id\": {}, \"Ev Idx\": {}", python_, python_ - 1, python_));
  }

  void Runtime(std::string_view name, int64_t start_ns, int64_t ns) {
    ++counts_.runtime_calls;
    Event("cuda_runtime", name, 851, 851, start_ns, ns,
          fmt::format("\"External id\": {}, \"cbid\": 211, \"correlation\": {}", counts_.cpu_ops, correlation_));
  }

  void Kernel(int which) {
    ++correlation_;
    const int64_t start = host_ns_;
    Python(fmt::format("torch/nn/modules/linear.py({}): forward", 100 + which % 16), start, 3 * kLaunchNs);
    Operator("aten::linear", start + 500, 2 * kLaunchNs);
    Operator("aten::addmm", start + 1000, kLaunchNs + 2000);
    Runtime("cudaLaunchKernel", start + 2000, kLaunchNs);
    Flow('s', 851, 851, start + 2000);
    gpu_ns_ = std::max(gpu_ns_, start + 2000 + kLaunchNs) + 400;
    ++counts_.kernels;
    Event("kernel",
          fmt::format("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
                      "std::array<char*, {}ul> >(int, at::native::CUDAFunctor_add<float>)",
                      which % 40),
          0, 7, gpu_ns_, kKernelNs,
          fmt::format(
              "\"External id\": {}, \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": {}, "
              "\"registers per thread\": 32, \"shared memory\": 0, \"blocks per SM\": 1.939394, \"warps per SM\": "
              "7.757576, \"grid\": [{}, 1, 1], \"block\": [128, 1, 1], \"est. achieved occupancy %\": 12",
              counts_.cpu_ops, correlation_, 256 + which % 8));
    Flow('f', 0, 7, gpu_ns_);
    gpu_ns_ += kKernelNs;
    host_ns_ = start + 3 * kLaunchNs;
  }

  void Wait() {
    ++correlation_;
    const int64_t start = host_ns_;
    Python("train.py(42): log_loss", start, 40'000);
    Operator("aten::item", start + 500, 38'000);
    Operator("aten::_local_scalar_dense", start + 1000, 36'000);
    Runtime("cudaMemcpyAsync", start + 2000, kLaunchNs);
    gpu_ns_ = std::max(gpu_ns_, start + 6000);
    Event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, 7, gpu_ns_, 1500,
          fmt::format(
              "\"External id\": {}, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": {}, \"bytes\": 4, "
              "\"memory bandwidth (GB/s)\": 0.002666",
              counts_.cpu_ops, correlation_));
    gpu_ns_ += 1500;
    ++correlation_;
    Runtime("cudaStreamSynchronize", start + 2500 + kLaunchNs, std::max<int64_t>(gpu_ns_ - start - 8500, 1000));
    ++counts_.waits;
    host_ns_ = std::max(start + 40'000, gpu_ns_ + 5'000);
  }

  void Step(int step) {
    const int64_t start = host_ns_;
    for (int kernel = 0; kernel < trace_.kernels_per_step; ++kernel) Kernel(kernel);
    for (int wait = 0; wait < trace_.waits_per_step; ++wait) Wait();
    Event("user_annotation", fmt::format("ProfilerStep#{}", step), 851, 851, start, host_ns_ - start,
          fmt::format("\"External id\": {}, \"Ev Idx\": 1", counts_.cpu_ops));
  }

  const GeneratedTrace trace_;
  const std::function<void(std::string_view)>& write_;
  GeneratedCounts counts_;
  std::string text_;
  int64_t host_ns_ = 4'458'676'522'690'655;
  int64_t gpu_ns_ = 0;
  int64_t correlation_ = 0;
  int64_t python_ = 0;
};

}  // namespace

GeneratedCounts GenerateTrace(const GeneratedTrace& trace, const std::function<void(std::string_view)>& write) {
  return Generator(trace, write).Generate();
}

}  // namespace stallhound::capture

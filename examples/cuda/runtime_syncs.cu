// CUDA runtime: the ways in which a loop makes the host wait for the GPU, one of each per step.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kSteps = 20;
constexpr int kElements = 1 << 20;

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

__global__ void Smooth(float* values, int count, int rounds) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  float value = values[i];
  for (int round = 0; round < rounds; ++round) value = 0.5f * value + 0.25f;
  values[i] = value;
}

struct Loop {
  cudaStream_t stream{};
  cudaEvent_t done{};
  float* values = nullptr;
  float* pinned = nullptr;
  std::vector<float> pageable = std::vector<float>(kElements);

  void Launch() { Smooth<<<kElements / 256, 256, 0, stream>>>(values, kElements, 2000); }

  void Step() {
    Launch();
    Check(cudaStreamSynchronize(stream), "wait for the stream");

    Launch();
    Check(cudaEventRecord(done, stream), "record an event");
    Check(cudaEventSynchronize(done), "wait for the event");

    Launch();
    Check(cudaMemcpyAsync(pinned, values, sizeof(float), cudaMemcpyDeviceToHost, stream), "copy to pinned memory");
    Check(cudaDeviceSynchronize(), "wait for the device");

    // Asynchronous by name only: the pageable end makes the host wait until the copy is done.
    Launch();
    Check(cudaMemcpyAsync(pageable.data(), values, kElements * sizeof(float), cudaMemcpyDeviceToHost, stream),
          "copy to pageable memory");

    Launch();
    Check(cudaMemcpy(pageable.data(), values, 4096, cudaMemcpyDeviceToHost), "copy and wait");

    // Freeing device memory waits for all work on it.
    void* scratch = nullptr;
    Check(cudaMalloc(&scratch, 1 << 20), "allocate scratch memory");
    Launch();
    Check(cudaFree(scratch), "free scratch memory");
  }
};

}  // namespace

int main() {
  Loop loop;
  Check(cudaStreamCreate(&loop.stream), "create a stream");
  Check(cudaEventCreate(&loop.done), "create an event");
  Check(cudaMalloc(&loop.values, kElements * sizeof(float)), "allocate device memory");
  Check(cudaMallocHost(&loop.pinned, sizeof(float)), "allocate pinned memory");
  Check(cudaMemset(loop.values, 0, kElements * sizeof(float)), "clear device memory");
  for (int i = 0; i < 3; ++i) loop.Step();
  Check(cudaDeviceSynchronize(), "finish the warm-up");

  nvtxRangePushA("measured");
  for (int i = 0; i < kSteps; ++i) {
    nvtxRangePushA("step");
    loop.Step();
    nvtxRangePop();
  }
  nvtxRangePop();
  Check(cudaDeviceSynchronize(), "finish");
  std::printf("runtime_syncs: %d steps, first value %g\n", kSteps, static_cast<double>(*loop.pinned));
  return 0;
}

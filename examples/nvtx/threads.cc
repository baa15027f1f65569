// NVTX from eight threads that start at once, so that the first ranges of all arrive together.
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 8;
constexpr int kRangesPerThread = 200;

void Work(int index, std::atomic<int>* waiting) {
  // Meet the others.
  waiting->fetch_sub(1);
  while (waiting->load() > 0) std::this_thread::yield();

  const std::string name = "worker " + std::to_string(index);
  for (int i = 0; i < kRangesPerThread; ++i) {
    nvtxRangePushA(name.c_str());
    nvtxRangePushA("item");
    nvtxRangePop();
    nvtxRangePop();
  }
}

}  // namespace

int main() {
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(Work, i, &waiting);
  for (std::thread& thread : threads) thread.join();
  std::printf("threads: %d threads, %d ranges each\n", kThreads, 2 * kRangesPerThread);
  return 0;
}

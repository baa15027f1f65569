// A program to record without a GPU: NVTX from several threads, and ends of every kind. Usage: nvtx_program HOW
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace {

void Ranges(int count) {
  for (int i = 0; i < count; ++i) {
    nvtxRangePushA("step");
    nvtxRangePop();
  }
}

void EightThreads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([] { Ranges(2000); });
  for (std::thread& thread : threads) thread.join();
}

// What the CUDA driver does at cuInit.
int InjectAsDriver(const char* library) {
  void* handle = dlopen(library, RTLD_NOW);
  if (handle == nullptr) return 1;
  const auto inject = reinterpret_cast<int (*)()>(dlsym(handle, "InitializeInjection"));
  const auto start = reinterpret_cast<int (*)(const char*)>(dlsym(handle, "stallhound_window_start"));
  const auto stop = reinterpret_cast<int (*)()>(dlsym(handle, "stallhound_window_stop"));
  const auto range_start = reinterpret_cast<uint64_t (*)(const char*)>(dlsym(handle, "stallhound_range_start"));
  const auto range_end = reinterpret_cast<void (*)(uint64_t)>(dlsym(handle, "stallhound_range_end"));
  const auto flush = reinterpret_cast<int (*)(int64_t)>(dlsym(handle, "stallhound_flush"));
  if (start("too early") != -1 || range_start("too early") != 0 || flush(1) != -1) return 5;
  if (inject() != 1) return 2;
  if (start("here") != 0) return 3;
  const uint64_t id = range_start("control");
  Ranges(10);
  range_end(id);
  if (id == 0 || flush(1'000'000'000) != 0) return 6;
  if (stop() != 0) return 4;
  Ranges(10);
  return dlclose(handle);
}

int Fork() {
  Ranges(1);
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Ranges(1);
      exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return 1;
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  if (strcmp(how, "exit") == 0) Ranges(100);
  if (strcmp(how, "threads") == 0) EightThreads();
  if (strcmp(how, "fork") == 0) return Fork();
  if (strcmp(how, "driver") == 0) return InjectAsDriver(arguments[2]);
  if (strcmp(how, "quick") == 0) {
    Ranges(100);
    _exit(7);
  }
  if (strcmp(how, "kill") == 0) {
    for (long i = 1;; ++i) {
      Ranges(1);
      if (i == 2000) printf("ready\n"), fflush(stdout);
    }
  }
  return 0;
}

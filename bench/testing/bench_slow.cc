// The bench with one case that does STALLHOUND_MORE_PERCENT more work.
#include <utility>

#include "bench/bench_main.h"
#include "bench/testing/changed_case.h"

int main(int argc, char** argv) {
  using namespace stallhound::bench;
  constexpr double kRatio = STALLHOUND_MORE_PERCENT / 100.0;
  return BenchMain(argc, argv,
                   PairsWithChangedCase([](Forward forward) { return WithMoreRows(std::move(forward), kRatio); }));
}

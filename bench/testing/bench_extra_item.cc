// The bench with a forgotten .item() in one case.
#include "bench/bench_main.h"
#include "bench/testing/changed_case.h"
#include "bench/testing/extra_item.h"

int main(int argc, char** argv) {
  using namespace stallhound::bench;
  return BenchMain(argc, argv, PairsWithChangedCase(WithExtraItem));
}

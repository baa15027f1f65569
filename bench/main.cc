#include "bench/bench_main.h"
#include "kernels/registry.h"

int main(int argc, char** argv) { return stallhound::bench::BenchMain(argc, argv, stallhound::kernels::AllPairs()); }

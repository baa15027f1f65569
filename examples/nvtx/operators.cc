// NVTX alone, on the CPU: steps, nested operators, a domain of its own, marks. Runs on any machine.
#include <nvtx3/nvToolsExt.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr int kSteps = 5;

double Operator(const char* name, const std::vector<double>& values) {
  nvtxRangePushA(name);
  double sum = 0;
  for (const double value : values) sum += std::sin(value);
  nvtxRangePop();
  return sum;
}

void Load(nvtxDomainHandle_t domain, std::vector<double>* values, int step) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "load a batch";
  nvtxDomainRangePushEx(domain, &attributes);
  for (double& value : *values) value += step;
  nvtxDomainRangePop(domain);
}

}  // namespace

int main() {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("loader");
  std::vector<double> values(100000, 0.5);
  double sum = 0;
  nvtxRangePushA("measured");
  for (int step = 0; step < kSteps; ++step) {
    nvtxRangePushA("step");
    Load(domain, &values, step);
    nvtxRangePushA("forward");
    sum += Operator("linear", values);
    sum += Operator("activation", values);
    nvtxRangePop();
    sum += Operator("backward", values);
    nvtxMarkA("step done");
    nvtxRangePop();
  }
  nvtxRangePop();
  nvtxDomainDestroy(domain);
  std::printf("operators: %d steps, sum %.3f\n", kSteps, sum);
  return 0;
}

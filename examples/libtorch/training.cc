// LibTorch C++: a training loop that reads the loss back and looks for outliers every step.
#include <nvtx3/nvToolsExt.h>
#include <torch/torch.h>

#include <cstdio>

namespace {

constexpr int kWarmup = 5;
constexpr int kSteps = 20;

}  // namespace

int main() {
  if (!torch::cuda::is_available()) {
    std::fprintf(stderr, "training: LibTorch finds no CUDA device\n");
    return 1;
  }
  torch::manual_seed(0);
  const torch::Device device(torch::kCUDA);
  torch::nn::Sequential model(torch::nn::Linear(256, 512), torch::nn::ReLU(), torch::nn::Linear(512, 1));
  model->to(device);
  torch::optim::SGD optimizer(model->parameters(), 1e-3);
  const torch::Tensor input = torch::randn({512, 256}, device);

  double total = 0;
  int64_t outliers = 0;
  for (int step = 0; step < kWarmup + kSteps; ++step) {
    if (step == kWarmup) nvtxRangePushA("measured");
    nvtxRangePushA("step");
    optimizer.zero_grad();
    const torch::Tensor output = model->forward(input);
    const torch::Tensor loss = output.pow(2).mean();
    loss.backward();
    optimizer.step();
    // Both wait: the value, and the number of rows that nonzero() finds.
    total += loss.item<double>();
    outliers += torch::nonzero(output > 2.0).size(0);
    nvtxRangePop();
  }
  nvtxRangePop();
  std::printf("training: %d steps, mean loss %.4f, %lld outliers\n", kSteps, total / (kWarmup + kSteps),
              static_cast<long long>(outliers));
  return 0;
}

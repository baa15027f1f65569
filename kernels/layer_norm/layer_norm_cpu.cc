#include <ATen/Parallel.h>

#include <bit>
#include <cmath>
#include <vector>

#include "kernels/cpu_clones.h"
#include "kernels/layer_norm/layer_norm_launch.h"

namespace stallhound::kernels {
namespace {

// A bf16 number as its bits.
using Bf16 = uint16_t;

// Rows whose column sums one task adds; the result depends on this number, not on how many threads there are.
constexpr int64_t kLeastRowsOfChunk = 64;
constexpr int64_t kMostChunks = 256;
constexpr int64_t kElementsOfTask = 32768;

SH_ALWAYS_INLINE float Load(float value) { return value; }
SH_ALWAYS_INLINE float Load(Bf16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

SH_ALWAYS_INLINE void Save(float value, float& target) { target = value; }
// To nearest, ties to even; NaN stays NaN.
SH_ALWAYS_INLINE void Save(float value, Bf16& target) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  target = static_cast<Bf16>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
}

struct RowStatistics {
  float mean = 0;
  float rho = 0;
};

template <typename T>
SH_ALWAYS_INLINE RowStatistics Statistics(const T* x, int64_t width, float eps) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < width; ++i) sum += Load(x[i]);
  const float mean = sum / static_cast<float>(width);
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < width; ++i) {
    const float distance = Load(x[i]) - mean;
    squares += distance * distance;
  }
  return {mean, 1 / std::sqrt(squares / static_cast<float>(width) + eps)};
}

template <typename T>
SH_ALWAYS_INLINE void ForwardRows(const LayerNormForwardArgs& args, int64_t begin, int64_t end) {
  const int64_t width = args.shape.width;
  const T* gamma = static_cast<const T*>(args.gamma);
  const T* beta = static_cast<const T*>(args.beta);
  for (int64_t row = begin; row < end; ++row) {
    const T* x = static_cast<const T*>(args.x) + row * width;
    T* y = static_cast<T*>(args.y) + row * width;
    const RowStatistics row_statistics = Statistics(x, width, args.eps);
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      Save((Load(x[i]) - row_statistics.mean) * row_statistics.rho * Load(gamma[i]) + Load(beta[i]), y[i]);
    }
  }
}

// `dgamma` and `dbeta` are added to.
template <typename T>
SH_ALWAYS_INLINE void BackwardRow(const LayerNormBackwardArgs& args, int64_t row, float* dgamma, float* dbeta) {
  const int64_t width = args.shape.width;
  const T* x = static_cast<const T*>(args.x) + row * width;
  const T* dy = static_cast<const T*>(args.dy) + row * width;
  const T* gamma = static_cast<const T*>(args.gamma);
  T* dx = static_cast<T*>(args.dx) + row * width;
  const RowStatistics row_statistics = Statistics(x, width, args.eps);
  const float mean = row_statistics.mean;
  const float rho = row_statistics.rho;
  float g_sum = 0;
  float products = 0;
#pragma omp simd reduction(+ : g_sum, products)
  for (int64_t i = 0; i < width; ++i) {
    const float g = Load(dy[i]) * Load(gamma[i]);
    g_sum += g;
    products += g * (Load(x[i]) - mean);
  }
  const float g_mean = g_sum / static_cast<float>(width);
  const float gx_mean = products * rho / static_cast<float>(width);
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) {
    const float gradient = Load(dy[i]);
    const float normalized = (Load(x[i]) - mean) * rho;
    dgamma[i] += gradient * normalized;
    dbeta[i] += gradient;
    Save(rho * (gradient * Load(gamma[i]) - g_mean - normalized * gx_mean), dx[i]);
  }
}

SH_CPU_CLONES void ForwardFp32(const LayerNormForwardArgs& args, int64_t begin, int64_t end) {
  ForwardRows<float>(args, begin, end);
}

SH_CPU_CLONES void ForwardBf16(const LayerNormForwardArgs& args, int64_t begin, int64_t end) {
  ForwardRows<Bf16>(args, begin, end);
}

// A stretch of rows with its own column sums: dgamma, then dbeta.
struct Chunk {
  int64_t begin = 0;
  int64_t end = 0;
  float* sums = nullptr;
};

SH_CPU_CLONES void BackwardFp32(const LayerNormBackwardArgs& args, const Chunk& chunk) {
  for (int64_t row = chunk.begin; row < chunk.end; ++row) {
    BackwardRow<float>(args, row, chunk.sums, chunk.sums + args.shape.width);
  }
}

SH_CPU_CLONES void BackwardBf16(const LayerNormBackwardArgs& args, const Chunk& chunk) {
  for (int64_t row = chunk.begin; row < chunk.end; ++row) {
    BackwardRow<Bf16>(args, row, chunk.sums, chunk.sums + args.shape.width);
  }
}

void SaveColumns(const float* sums, const LayerNormShape& shape, void* target) {
  for (int64_t i = 0; i < shape.width; ++i) {
    if (shape.dtype == DType::kBf16) {
      Save(sums[i], static_cast<Bf16*>(target)[i]);
    } else {
      Save(sums[i], static_cast<float*>(target)[i]);
    }
  }
}

}  // namespace

void LayerNormForwardCpu(const LayerNormForwardArgs& args) {
  const LayerNormShape& shape = args.shape;
  if (shape.width == 0) return;
  at::parallel_for(0, shape.row_count, at::divup(kElementsOfTask, shape.width), [&](int64_t begin, int64_t end) {
    shape.dtype == DType::kBf16 ? ForwardBf16(args, begin, end) : ForwardFp32(args, begin, end);
  });
}

void LayerNormBackwardCpu(const LayerNormBackwardArgs& args) {
  const LayerNormShape& shape = args.shape;
  if (shape.width == 0) return;
  const int64_t chunk_rows = std::max(kLeastRowsOfChunk, at::divup(shape.row_count, kMostChunks));
  const int64_t chunk_count = std::max<int64_t>(at::divup(shape.row_count, chunk_rows), 1);
  const int64_t columns = 2 * shape.width;
  std::vector<float> sums(chunk_count * columns);
  const int64_t grain = at::divup(kElementsOfTask, chunk_rows * shape.width);
  at::parallel_for(0, chunk_count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Chunk chunk = {i * chunk_rows, std::min((i + 1) * chunk_rows, shape.row_count), &sums[i * columns]};
      shape.dtype == DType::kBf16 ? BackwardBf16(args, chunk) : BackwardFp32(args, chunk);
    }
  });
  for (int64_t i = 1; i < chunk_count; ++i) {
    for (int64_t column = 0; column < columns; ++column) sums[column] += sums[i * columns + column];
  }
  SaveColumns(sums.data(), shape, args.dgamma);
  SaveColumns(sums.data() + shape.width, shape, args.dbeta);
}

}  // namespace stallhound::kernels

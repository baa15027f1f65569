#include "kernels/layer_norm/layer_norm_tile.cuh"

namespace stallhound::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpLanes;

// Mean and reciprocal deviation of a row in registers, in two passes over them; `row` becomes its distance from the
// mean.
template <typename T>
__device__ __forceinline__ float Center(float (&row)[T::kVectors][T::kElements], int lane,
                                        const LayerNormForwardArgs& args) {
  const int vector_count = T::VectorCount(args.shape.width);
  const float scale = 1.0f / static_cast<float>(T::kIsMasked ? args.shape.width : T::kRowElements);
  float sum = 0;
#pragma unroll
  for (int v = 0; v < T::kVectors; ++v) {
#pragma unroll
    for (int e = 0; e < T::kElements; ++e) sum += row[v][e];
  }
  const float mean = GroupSum<T::kLanes>(sum) * scale;
  float squares = 0;
#pragma unroll
  for (int v = 0; v < T::kVectors; ++v) {
    if (!T::Holds(v * T::kLanes + lane, vector_count)) continue;
#pragma unroll
    for (int e = 0; e < T::kElements; ++e) {
      row[v][e] -= mean;
      squares += row[v][e] * row[v][e];
    }
  }
  return rsqrtf(GroupSum<T::kLanes>(squares) * scale + args.eps);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) ForwardTiled(const LayerNormForwardArgs args) {
  using Vector = typename T::Vector;
  const int lane = threadIdx.x % T::kLanes;
  const int row_in_warp = threadIdx.x % kWarpLanes / T::kLanes;
  const int vector_count = T::VectorCount(args.shape.width);
  Vector gamma[T::kVectors];
  Vector beta[T::kVectors];
#pragma unroll
  for (int v = 0; v < T::kVectors; ++v) {
    const int vector = v * T::kLanes + lane;
    if (!T::Holds(vector, vector_count)) continue;
    gamma[v] = static_cast<const Vector*>(args.gamma)[vector];
    beta[v] = static_cast<const Vector*>(args.beta)[vector];
  }
  constexpr int kRowsAtOnce = T::kRowsPerWarp * T::kUnroll;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kWarps * kRowsAtOnce;
  int64_t first_row = (static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpLanes) * kRowsAtOnce;
  for (; first_row < args.shape.row_count; first_row += stride) {
    Vector packs[T::kUnroll][T::kVectors];
#pragma unroll
    for (int u = 0; u < T::kUnroll; ++u) {
      const int64_t row = first_row + u * T::kRowsPerWarp + row_in_warp;
      const Vector* x = static_cast<const Vector*>(args.x) + row * vector_count;
#pragma unroll
      for (int v = 0; v < T::kVectors; ++v) {
        const int vector = v * T::kLanes + lane;
        packs[u][v] = Vector{};
        if (row < args.shape.row_count && T::Holds(vector, vector_count)) packs[u][v] = Load(x + vector);
      }
    }
#pragma unroll
    for (int u = 0; u < T::kUnroll; ++u) {
      float values[T::kVectors][T::kElements];
#pragma unroll
      for (int v = 0; v < T::kVectors; ++v) {
#pragma unroll
        for (int e = 0; e < T::kElements; ++e) values[v][e] = ToFloat(packs[u][v].values[e]);
      }
      const float rho = Center<T>(values, lane, args);
      const int64_t row = first_row + u * T::kRowsPerWarp + row_in_warp;
      Vector* y = static_cast<Vector*>(args.y) + row * vector_count;
#pragma unroll
      for (int v = 0; v < T::kVectors; ++v) {
        const int vector = v * T::kLanes + lane;
#pragma unroll
        for (int e = 0; e < T::kElements; ++e) {
          values[v][e] = values[v][e] * rho * ToFloat(gamma[v].values[e]) + ToFloat(beta[v].values[e]);
        }
        if (row < args.shape.row_count && T::Holds(vector, vector_count)) {
          Store(y + vector, PackFloats(values[v], typename T::Element{}));
        }
      }
    }
  }
}

// Any width and alignment: a warp for each row, which it reads three times.
template <typename T>
__global__ void __launch_bounds__(kThreads) ForwardAny(const LayerNormForwardArgs args) {
  const int lane = threadIdx.x % kWarpLanes;
  const int64_t width = args.shape.width;
  const T* gamma = static_cast<const T*>(args.gamma);
  const T* beta = static_cast<const T*>(args.beta);
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kWarps;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpLanes; row < args.shape.row_count;
       row += stride) {
    const T* x = static_cast<const T*>(args.x) + row * width;
    T* y = static_cast<T*>(args.y) + row * width;
    float sum = 0;
    for (int64_t i = lane; i < width; i += kWarpLanes) sum += ToFloat(x[i]);
    const float mean = GroupSum<kWarpLanes>(sum) / static_cast<float>(width);
    float squares = 0;
    for (int64_t i = lane; i < width; i += kWarpLanes) {
      const float distance = ToFloat(x[i]) - mean;
      squares += distance * distance;
    }
    const float rho = rsqrtf(GroupSum<kWarpLanes>(squares) / static_cast<float>(width) + args.eps);
    for (int64_t i = lane; i < width; i += kWarpLanes) {
      y[i] = FromFloat<T>((ToFloat(x[i]) - mean) * rho * ToFloat(gamma[i]) + ToFloat(beta[i]));
    }
  }
}

// From this size on a block takes its rows once; shorter rows would load gamma and beta too often, so blocks that fill
// the device walk over them. fp32 rows of 128 to 512 over a copy: 1.05, walking 1.08 to 1.09; bf16 rows of 80: 1.11 to
// 1.34, walking 1.07 (H200, 1.2M rows, 2026-11-30).
constexpr int64_t kLongRowBytes = 256;

template <auto kKernel, typename T>
cudaError_t Launch(const LayerNormForwardArgs& args, int rows_per_block, cudaStream_t stream) {
  int64_t block_count = DivideUp(args.shape.row_count, rows_per_block);
  const bool is_walking = args.shape.width * static_cast<int64_t>(sizeof(T)) < kLongRowBytes || block_count > INT32_MAX;
  if (is_walking) {
    int resident = 0;
    SH_RETURN_IF_CUDA_ERROR(ResidentBlocks<kKernel, kThreads>(&resident));
    block_count = std::min<int64_t>(block_count, resident);
  }
  kKernel<<<static_cast<unsigned>(block_count), kThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

template <typename T>
cudaError_t LaunchForType(const LayerNormForwardArgs& args, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  const bool is_aligned =
      IsAligned(args.x, 16) && IsAligned(args.gamma, 16) && IsAligned(args.beta, 16) && IsAligned(args.y, 16);
  const auto run = [&]<typename Layout>() {
    error = Launch<ForwardTiled<Layout>, T>(args, kWarps * Layout::kRowsPerWarp * Layout::kUnroll, stream);
  };
  if (is_aligned && WithForwardTile<T>(args.shape.width, run)) return error;
  return Launch<ForwardAny<T>, T>(args, kWarps, stream);
}

}  // namespace

cudaError_t LaunchLayerNormForward(const LayerNormForwardArgs& args, cudaStream_t stream) {
  if (args.shape.row_count == 0 || args.shape.width == 0) return cudaSuccess;
  return WithElementType(args.shape.dtype, [&]<typename T>() { return LaunchForType<T>(args, stream); });
}

}  // namespace stallhound::kernels

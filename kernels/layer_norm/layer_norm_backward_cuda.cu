#include "kernels/layer_norm/layer_norm_tile.cuh"

namespace stallhound::kernels {
namespace {

constexpr int kAnyThreads = 256;
constexpr int kAnyWarps = kAnyThreads / kWarpLanes;
constexpr int kPartialThreadRows = 8;
constexpr int kFinishThreadRows = 32;

constexpr int kTiledThreads = 256;

// How many blocks a multiprocessor holds at least, which bounds the registers of a thread: a lane holds two sums for
// each of its columns. Converting bf16 hides behind more warps: 200k of 128, 200k of 256 and 1.2M of 48 take over a
// copy 1.17, 1.12 and 1.14 with three blocks, 1.27, 1.23 and 1.26 with two; fp32 rows gain nothing by a third (H200,
// medians of 60, interleaved, 2026-11-30).
template <typename T>
constexpr int kTiledBlocks = [] {
  constexpr int kColumns = T::kVectors * T::kElements;
  if (kColumns > (T::kIsMasked ? 12 : 20)) return 1;
  return sizeof(typename T::Element) == 2 && kColumns <= 12 ? 3 : 2;
}();

// What a lane holds of its columns.
template <typename T>
struct Lane {
  using Columns = float[T::kVectors][T::kElements];
  typename T::Vector gamma[T::kVectors];
  Columns dgamma = {};
  Columns dbeta = {};
  Columns dx;
  int index = 0;  // in the group
  int vector_count = 0;

  __device__ __forceinline__ bool Holds(int v) const { return T::Holds(v * T::kLanes + index, vector_count); }

  // Takes one row: sets dx, adds to dgamma and dbeta. A row of zeros adds nothing. Two rounds of sums over the group,
  // with g = gradient * gamma: (x, g), then (distance^2, g * distance).
  __device__ __forceinline__ void TakeRow(const typename T::Vector (&x)[T::kVectors],
                                          const typename T::Vector (&dy)[T::kVectors], float scale, float eps) {
    Columns distance;
    Columns gradient;
    float x_sum = 0;
    float g_sum = 0;
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) {
      if (!Holds(v)) continue;
#pragma unroll
      for (int e = 0; e < T::kElements; ++e) {
        distance[v][e] = ToFloat(x[v].values[e]);
        gradient[v][e] = ToFloat(dy[v].values[e]);
        x_sum += distance[v][e];
        g_sum += gradient[v][e] * ToFloat(gamma[v].values[e]);
        dbeta[v][e] += gradient[v][e];
      }
    }
    const float mean = GroupSum<T::kLanes>(x_sum) * scale;
    const float g_mean = GroupSum<T::kLanes>(g_sum) * scale;
    float squares = 0;
    float products = 0;
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) {
      if (!Holds(v)) continue;
#pragma unroll
      for (int e = 0; e < T::kElements; ++e) {
        distance[v][e] -= mean;
        squares += distance[v][e] * distance[v][e];
        products += gradient[v][e] * ToFloat(gamma[v].values[e]) * distance[v][e];
      }
    }
    const float rho = rsqrtf(GroupSum<T::kLanes>(squares) * scale + eps);
    const float gx_mean = GroupSum<T::kLanes>(products) * rho * scale;
    // dx = rho * (g - g_mean - distance * rho * gx_mean), as two multiply-adds.
    const float slope = -gx_mean * rho * rho;
    const float offset = -g_mean * rho;
#pragma unroll
    for (int v = 0; v < T::kVectors; ++v) {
      if (!Holds(v)) continue;
#pragma unroll
      for (int e = 0; e < T::kElements; ++e) {
        const float scaled = gradient[v][e] * rho;
        dgamma[v][e] += scaled * distance[v][e];
        dx[v][e] = scaled * ToFloat(gamma[v].values[e]) + (distance[v][e] * slope + offset);
      }
    }
  }
};

// Adds a lane's sums over the groups and warps of the block, pairwise, and writes one row of partial sums.
template <typename T>
__device__ __forceinline__ void WritePartials(float (&sums)[T::kVectors][T::kElements], const Lane<T>& lane,
                                              float* shared, float* partials) {
  const int warp = threadIdx.x / kWarpLanes;
  const bool is_first_group = threadIdx.x % kWarpLanes < T::kLanes;
#pragma unroll
  for (int v = 0; v < T::kVectors; ++v) {
#pragma unroll
    for (int e = 0; e < T::kElements; ++e) sums[v][e] = SumAcrossGroups<T::kLanes>(sums[v][e]);
  }
  for (int half = kTiledThreads / kWarpLanes / 2; half > 0; half /= 2) {
    __syncthreads();
    float* row = shared + warp % half * T::kRowElements + lane.index;
#pragma unroll
    for (int i = 0; i < T::kVectors * T::kElements; ++i) {
      if (is_first_group && warp >= half && warp < 2 * half)
        row[i * T::kLanes] = sums[i / T::kElements][i % T::kElements];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < T::kVectors * T::kElements; ++i) {
      if (is_first_group && warp < half) sums[i / T::kElements][i % T::kElements] += row[i * T::kLanes];
    }
  }
  if (warp != 0 || !is_first_group) return;
#pragma unroll
  for (int v = 0; v < T::kVectors; ++v) {
    if (!lane.Holds(v)) continue;
#pragma unroll
    for (int e = 0; e < T::kElements; ++e) partials[(v * T::kLanes + lane.index) * T::kElements + e] = sums[v][e];
  }
}

// Writes dx, and for each block a row of 2 * width sums: dgamma, then dbeta.
template <typename T>
__global__ void __launch_bounds__(kTiledThreads, kTiledBlocks<T>) BackwardTiled(const LayerNormBackwardArgs args) {
  using Vector = typename T::Vector;
  constexpr int kWarps = kTiledThreads / kWarpLanes;
  __shared__ float shared[kWarps / 2 * T::kRowElements];
  Lane<T> lane;
  lane.index = threadIdx.x % T::kLanes;
  lane.vector_count = T::VectorCount(args.shape.width);
  const int row_in_warp = threadIdx.x % kWarpLanes / T::kLanes;
  const float scale = 1.0f / static_cast<float>(T::kIsMasked ? args.shape.width : T::kRowElements);
#pragma unroll
  for (int v = 0; v < T::kVectors; ++v) {
    if (lane.Holds(v)) lane.gamma[v] = static_cast<const Vector*>(args.gamma)[v * T::kLanes + lane.index];
  }
  constexpr int kRowsAtOnce = T::kRowsPerWarp * T::kUnroll;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kWarps * kRowsAtOnce;
  int64_t first_row = (static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpLanes) * kRowsAtOnce;
  for (; first_row < args.shape.row_count; first_row += stride) {
    Vector x[T::kUnroll][T::kVectors];
    Vector dy[T::kUnroll][T::kVectors];
#pragma unroll
    for (int u = 0; u < T::kUnroll; ++u) {
      const int64_t row = first_row + u * T::kRowsPerWarp + row_in_warp;
      const int64_t offset = row * lane.vector_count + lane.index;
#pragma unroll
      for (int v = 0; v < T::kVectors; ++v) {
        x[u][v] = dy[u][v] = Vector{};
        if (row >= args.shape.row_count || !lane.Holds(v)) continue;
        x[u][v] = Load(static_cast<const Vector*>(args.x) + offset + v * T::kLanes);
        dy[u][v] = Load(static_cast<const Vector*>(args.dy) + offset + v * T::kLanes);
      }
    }
#pragma unroll
    for (int u = 0; u < T::kUnroll; ++u) {
      lane.TakeRow(x[u], dy[u], scale, args.eps);
      const int64_t row = first_row + u * T::kRowsPerWarp + row_in_warp;
      Vector* dx = static_cast<Vector*>(args.dx) + row * lane.vector_count + lane.index;
#pragma unroll
      for (int v = 0; v < T::kVectors; ++v) {
        if (row >= args.shape.row_count || !lane.Holds(v)) continue;
        Store(dx + v * T::kLanes, PackFloats(lane.dx[v], typename T::Element{}));
      }
    }
  }
  float* partials = static_cast<float*>(args.workspace) + blockIdx.x * 2 * args.shape.width;
  WritePartials<T>(lane.dgamma, lane, shared, partials);
  WritePartials<T>(lane.dbeta, lane, shared, partials + args.shape.width);
}

// Any width and alignment: dx, and for each row mean and reciprocal deviation. A warp for each row.
template <typename T>
__global__ void __launch_bounds__(kAnyThreads) BackwardAny(const LayerNormBackwardArgs args, float2* statistics) {
  const int lane = threadIdx.x % kWarpLanes;
  const int64_t width = args.shape.width;
  const float scale = 1.0f / static_cast<float>(width);
  const T* gamma = static_cast<const T*>(args.gamma);
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kAnyWarps;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kAnyWarps + threadIdx.x / kWarpLanes;
       row < args.shape.row_count; row += stride) {
    const T* x = static_cast<const T*>(args.x) + row * width;
    const T* dy = static_cast<const T*>(args.dy) + row * width;
    T* dx = static_cast<T*>(args.dx) + row * width;
    float x_sum = 0;
    float g_sum = 0;
    for (int64_t i = lane; i < width; i += kWarpLanes) {
      x_sum += ToFloat(x[i]);
      g_sum += ToFloat(dy[i]) * ToFloat(gamma[i]);
    }
    const float mean = GroupSum<kWarpLanes>(x_sum) * scale;
    const float g_mean = GroupSum<kWarpLanes>(g_sum) * scale;
    float squares = 0;
    float products = 0;
    for (int64_t i = lane; i < width; i += kWarpLanes) {
      const float distance = ToFloat(x[i]) - mean;
      squares += distance * distance;
      products += ToFloat(dy[i]) * ToFloat(gamma[i]) * distance;
    }
    const float rho = rsqrtf(GroupSum<kWarpLanes>(squares) * scale + args.eps);
    const float gx_mean = GroupSum<kWarpLanes>(products) * rho * scale;
    if (lane == 0) statistics[row] = {mean, rho};
    for (int64_t i = lane; i < width; i += kWarpLanes) {
      const float normalized = (ToFloat(x[i]) - mean) * rho;
      // Rounded as in its mean: of a row of one element dx is exactly 0.
      const float weighted = __fmul_rn(ToFloat(dy[i]), ToFloat(gamma[i]));
      dx[i] = FromFloat<T>(rho * (weighted - g_mean - normalized * gx_mean));
    }
  }
}

// Sums of 32 columns over every gridDim.y-th group of kPartialThreadRows rows, to a row of `partials`.
template <typename T>
__global__ void __launch_bounds__(kWarpLanes* kPartialThreadRows)
    PartialsAny(const LayerNormBackwardArgs args, const float2* statistics, float* partials) {
  __shared__ float2 shared[kPartialThreadRows][kWarpLanes];
  const int64_t width = args.shape.width;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kWarpLanes + threadIdx.x;
  float2 sums = {0, 0};
  const int64_t stride = static_cast<int64_t>(gridDim.y) * kPartialThreadRows;
  for (int64_t row = blockIdx.y * kPartialThreadRows + threadIdx.y; column < width && row < args.shape.row_count;
       row += stride) {
    const float gradient = ToFloat(static_cast<const T*>(args.dy)[row * width + column]);
    const float2 mean_rho = statistics[row];
    sums.x += gradient * (ToFloat(static_cast<const T*>(args.x)[row * width + column]) - mean_rho.x) * mean_rho.y;
    sums.y += gradient;
  }
  shared[threadIdx.y][threadIdx.x] = sums;
  __syncthreads();
  if (threadIdx.y != 0 || column >= width) return;
  for (int i = 1; i < kPartialThreadRows; ++i) {
    sums.x += shared[i][threadIdx.x].x;
    sums.y += shared[i][threadIdx.x].y;
  }
  partials[blockIdx.y * 2 * width + column] = sums.x;
  partials[(blockIdx.y * 2 + 1) * width + column] = sums.y;
}

// Adds the rows of `partials` in a fixed order.
template <typename T>
__global__ void __launch_bounds__(kWarpLanes* kFinishThreadRows)
    Finish(const LayerNormBackwardArgs args, const float* partials, int partial_count) {
  __shared__ float shared[kFinishThreadRows][kWarpLanes + 1];
  const int64_t columns = 2 * args.shape.width;
  const int64_t first_column = static_cast<int64_t>(blockIdx.x) * kWarpLanes;
  float sum = 0;
  if (first_column + threadIdx.x < columns) {
#pragma unroll 4
    for (int row = threadIdx.y; row < partial_count; row += kFinishThreadRows) {
      sum += partials[row * columns + first_column + threadIdx.x];
    }
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = GroupSum<kWarpLanes>(shared[threadIdx.x][threadIdx.y]);
  const int64_t column = first_column + threadIdx.y;
  if (threadIdx.x != 0 || column >= columns) return;
  T* target = static_cast<T*>(column < args.shape.width ? args.dgamma : args.dbeta);
  target[column < args.shape.width ? column : column - args.shape.width] = FromFloat<T>(sum);
}

// How a pass over `args` goes.
struct Plan {
  bool is_tiled = false;
  int block_count = 0;    // of the kernel that writes dx
  int partial_count = 0;  // rows of partial sums
  size_t statistics_bytes = 0;
  size_t workspace_bytes = 0;
};

bool AreVectorsAligned(const LayerNormBackwardArgs& args) {
  return IsAligned(args.dy, 16) && IsAligned(args.x, 16) && IsAligned(args.gamma, 16) && IsAligned(args.dx, 16);
}

int BlocksAtMost(int most, int64_t row_count, int rows_per_block) {
  return static_cast<int>(std::min<int64_t>(most, DivideUp(row_count, rows_per_block)));
}

template <typename T>
cudaError_t MakePlan(const LayerNormBackwardArgs& args, Plan* plan) {
  const int64_t rows = args.shape.row_count;
  const int64_t width = args.shape.width;
  cudaError_t error = cudaSuccess;
  int resident = 0;
  plan->is_tiled = AreVectorsAligned(args) && WithBackwardTile<T>(width, [&]<typename Layout>() {
                     constexpr int kRowsAtOnce = kTiledThreads / kWarpLanes * Layout::kRowsPerWarp * Layout::kUnroll;
                     error = ResidentBlocks<BackwardTiled<Layout>, kTiledThreads>(&resident);
                     plan->block_count = BlocksAtMost(resident, rows, kRowsAtOnce);
                     plan->partial_count = plan->block_count;
                   });
  if (!plan->is_tiled) {
    constexpr int64_t kMostPartialElements = int64_t{1} << 22;
    error = ResidentBlocks<BackwardAny<T>, kAnyThreads>(&resident);
    plan->block_count = BlocksAtMost(resident, rows, kAnyWarps);
    plan->partial_count = BlocksAtMost(static_cast<int>(std::clamp<int64_t>(kMostPartialElements / width, 1, 512)),
                                       rows, 8 * kPartialThreadRows);
    plan->statistics_bytes = rows * sizeof(float2);
  }
  plan->workspace_bytes = plan->statistics_bytes + plan->partial_count * 2 * width * sizeof(float);
  return error;
}

template <typename T>
cudaError_t LaunchForType(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  Plan plan;
  SH_RETURN_IF_CUDA_ERROR(MakePlan<T>(args, &plan));
  if (args.workspace_bytes < plan.workspace_bytes) return cudaErrorInvalidValue;
  auto* statistics = static_cast<float2*>(args.workspace);
  auto* partials = reinterpret_cast<float*>(static_cast<char*>(args.workspace) + plan.statistics_bytes);
  if (plan.block_count > 0 && plan.is_tiled) {
    WithBackwardTile<T>(args.shape.width, [&]<typename Layout>() {
      BackwardTiled<Layout><<<plan.block_count, kTiledThreads, 0, stream>>>(args);
    });
  } else if (plan.block_count > 0) {
    BackwardAny<T><<<plan.block_count, kAnyThreads, 0, stream>>>(args, statistics);
    const dim3 grid(BlocksFor(args.shape.width, kWarpLanes), plan.partial_count);
    PartialsAny<T><<<grid, dim3(kWarpLanes, kPartialThreadRows), 0, stream>>>(args, statistics, partials);
  }
  Finish<T><<<BlocksFor(2 * args.shape.width, kWarpLanes), dim3(kWarpLanes, kFinishThreadRows), 0, stream>>>(
      args, partials, plan.partial_count);
  return cudaGetLastError();
}

}  // namespace

cudaError_t LayerNormBackwardWorkspace(const LayerNormBackwardArgs& args, size_t* bytes) {
  *bytes = 0;
  if (args.shape.width == 0) return cudaSuccess;
  Plan plan;
  const cudaError_t error = WithElementType(args.shape.dtype, [&]<typename T>() { return MakePlan<T>(args, &plan); });
  *bytes = plan.workspace_bytes;
  return error;
}

cudaError_t LaunchLayerNormBackward(const LayerNormBackwardArgs& args, cudaStream_t stream) {
  if (args.shape.width == 0) return cudaSuccess;
  return WithElementType(args.shape.dtype, [&]<typename T>() { return LaunchForType<T>(args, stream); });
}

}  // namespace stallhound::kernels

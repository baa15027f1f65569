#pragma once

// How rows are laid over lanes, and which layout each width takes.

#include <type_traits>

#include "kernels/device_vector.cuh"
#include "kernels/launch.cuh"
#include "kernels/layer_norm/layer_norm_launch.h"

namespace stallhound::kernels {

// A row lives in the registers of kLanes lanes of a warp, as kVectors packs of kElements in each; a warp holds
// 32 / kLanes rows at once and kUnroll times as many in flight. kIsMasked: rows may be shorter than the tile.
template <typename T, int kElements_, int kLanes_, int kVectors_, int kUnroll_, bool kIsMasked_ = false>
struct Tile {
  using Element = T;
  using Vector = Pack<T, kElements_>;
  static constexpr int kElements = kElements_;
  static constexpr int kLanes = kLanes_;
  static constexpr int kVectors = kVectors_;
  static constexpr int kUnroll = kUnroll_;
  static constexpr bool kIsMasked = kIsMasked_;
  static constexpr int kRowVectors = kLanes * kVectors;
  static constexpr int kRowElements = kRowVectors * kElements;
  static constexpr int kRowsPerWarp = kWarpLanes / kLanes;

  // Packs of the row, of which lane `l` holds l, l + kLanes, ...
  __device__ static int VectorCount(int64_t width) {
    return kIsMasked ? static_cast<int>(width) / kElements : kRowVectors;
  }
  __device__ static bool Holds(int vector, int vector_count) { return !kIsMasked || vector < vector_count; }
};

template <typename T>
constexpr int kWidestVector = 16 / sizeof(T);

template <typename T>
bool FitsMaskedTile(int64_t width) {
  return width % kWidestVector<T> == 0 && width <= 4 * kWarpLanes * kWidestVector<T>;
}

// Calls run.template operator()<Tile>() with the tile of `width`; false if no tile has it. Forward tiles keep about 64
// bytes a lane in flight and a group of lanes reads at least 32 contiguous bytes (one sector), 64 or more where the
// width allows it. Wide bf16 rows keep 128: 1.2M rows of 128, 256, 512 over a copy 1.04, 1.04, 1.05, with 64 bytes
// 1.15, 1.18, 1.20. 1.2M bf16 rows of 16: 1.02, with twice as many in flight 1.05; fp32 rows of 48: 1.05 with one or
// two (H200, 2026-11-30).
template <typename T, typename Run>
bool WithForwardTile(int64_t width, const Run& run) {
  constexpr bool kIsFp32 = sizeof(T) == 4;
  constexpr int kV = kWidestVector<T>;
  switch (width) {
    case 16:
      run.template operator()<Tile<T, kV, 16 / kV, 1, 4>>();
      return true;
    case 32:
      run.template operator()<Tile<T, kV, 32 / kV, 1, 4>>();
      return true;
    case 48:
      run.template operator()<Tile<T, 4, 4, 3, kIsFp32 ? 1 : 2>>();
      return true;
    case 80:
      run.template operator()<Tile<T, 4, 4, 5, 1>>();
      return true;
    case 128:
      run.template operator()<Tile<T, kV, 8, kIsFp32 ? 4 : 2, kIsFp32 ? 1 : 4>>();
      return true;
    case 256:
      run.template operator()<Tile<T, kV, 16, kIsFp32 ? 4 : 2, kIsFp32 ? 1 : 4>>();
      return true;
    case 512:
      run.template operator()<Tile<T, kV, 32, kIsFp32 ? 4 : 2, kIsFp32 ? 1 : 4>>();
      return true;
    default:
      break;
  }
  if (!FitsMaskedTile<T>(width)) return false;
  const int64_t vectors = width / kV;
  if (vectors <= kWarpLanes) {
    run.template operator()<Tile<T, kV, kWarpLanes, 1, 2, true>>();
  } else if (vectors <= 2 * kWarpLanes) {
    run.template operator()<Tile<T, kV, kWarpLanes, 2, 1, true>>();
  } else {
    run.template operator()<Tile<T, kV, kWarpLanes, 4, 1, true>>();
  }
  return true;
}

// Backward tiles hold two sums for each column in registers, so they spread a row over more lanes.
template <typename T, typename Run>
bool WithBackwardTile(int64_t width, const Run& run) {
  constexpr bool kIsFp32 = sizeof(T) == 4;
  constexpr int kV = kWidestVector<T>;
  switch (width) {
    case 16:
      run.template operator()<Tile<T, kV, 16 / kV, 1, kIsFp32 ? 4 : 2>>();
      return true;
    case 32:
      run.template operator()<Tile<T, kV, 32 / kV, 1, kIsFp32 ? 4 : 2>>();
      return true;
    case 48:
      run.template operator()<Tile<T, 4, 4, 3, 1>>();
      return true;
    case 80:
      run.template operator()<std::conditional_t<kIsFp32, Tile<T, 2, 8, 5, 1>, Tile<T, 4, 4, 5, 1>>>();
      return true;
    case 128:
      run.template operator()<Tile<T, kV, 16, 128 / kV / 16, 2>>();
      return true;
    case 256:
      run.template operator()<Tile<T, kV, 32, 256 / kV / 32, kIsFp32 ? 1 : 2>>();
      return true;
    case 512:
      run.template operator()<Tile<T, kV, 32, 512 / kV / 32, 1>>();
      return true;
    default:
      break;
  }
  if (!FitsMaskedTile<T>(width)) return false;
  const int64_t vectors = width / kV;
  if (vectors <= kWarpLanes) {
    run.template operator()<Tile<T, kV, kWarpLanes, 1, 1, true>>();
  } else if (vectors <= 2 * kWarpLanes) {
    run.template operator()<Tile<T, kV, kWarpLanes, 2, 1, true>>();
  } else {
    run.template operator()<Tile<T, kV, kWarpLanes, 4, 1, true>>();
  }
  return true;
}

}  // namespace stallhound::kernels

#pragma once

// The arithmetic that fixes who is whose neighbour and which cells hold the candidates, for host and device. What
// includes it must be compiled without fused multiply-add (-ffp-contract=off, -fmad=false).

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#define SH_HOST_DEVICE __host__ __device__ __forceinline__

namespace stallhound::kernels {

struct Position {
  float x = 0;
  float y = 0;
  float z = 0;
};

SH_HOST_DEVICE Position PositionAt(const float* positions, int64_t i) {
  return {positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]};
}

SH_HOST_DEVICE float SquaredDistance(const Position& a, const Position& b) {
  const float dx = a.x - b.x;
  const float dy = a.y - b.y;
  const float dz = a.z - b.z;
  return dx * dx + dy * dy + dz * dz;
}

struct Cell {
  int32_t x = 0;
  int32_t y = 0;
  int32_t z = 0;

  SH_HOST_DEVICE bool operator==(const Cell& other) const { return x == other.x && y == other.y && z == other.z; }
};

// The cells from `low` on, counts.x of them along x and so on, that hold every neighbour of a query. Never more than a
// few along each axis.
struct CellBox {
  Cell low;
  Cell counts;

  SH_HOST_DEVICE int32_t Size() const { return counts.x * counts.y * counts.z; }
  SH_HOST_DEVICE Cell At(int32_t i) const {
    return {low.x + i % counts.x, low.y + i / counts.x % counts.y, low.z + i / counts.x / counts.y};
  }
  // The inverse of At; -1 outside.
  SH_HOST_DEVICE int32_t IndexOf(const Cell& cell) const {
    const int32_t x = cell.x - low.x;
    const int32_t y = cell.y - low.y;
    const int32_t z = cell.z - low.z;
    if (x < 0 || y < 0 || z < 0 || x >= counts.x || y >= counts.y || z >= counts.z) return -1;
    return (z * counts.y + y) * counts.x + x;
  }
};

// Which cell a position is in. Along each axis the cell grows with the coordinate whatever the rounding, so the cells
// of q - reach and q + reach enclose those of all neighbours of q, however far from the origin.
struct CellGrid {
  float reach = 0;  // above the radius by more than the rounding of a distance
  float cells_per_unit = 0;

  // Cells as wide as `width_ratio` times the radius.
  static CellGrid Make(float radius, float width_ratio) {
    CellGrid grid;
    grid.reach = radius * (1 + 0x1p-20f) + 0x1p-70f;
    // A bit wider, so that a box has no fourth cell by rounding alone.
    grid.cells_per_unit = 1 / std::max(radius * width_ratio * (1 + 0x1p-8f), 0x1p-20f);
    return grid;
  }

  // NaN is in the lowest cell.
  SH_HOST_DEVICE int32_t Along(float coordinate) const {
    constexpr float kOutermost = 0x1p29f;
    float cell = coordinate * cells_per_unit;
    cell = cell > -kOutermost ? cell : -kOutermost;
    cell = cell < kOutermost ? cell : kOutermost;
    return static_cast<int32_t>(floorf(cell));
  }
  SH_HOST_DEVICE Cell CellOf(const Position& p) const { return {Along(p.x), Along(p.y), Along(p.z)}; }
  SH_HOST_DEVICE CellBox BoxOf(const Position& q) const {
    const Cell low = CellOf({q.x - reach, q.y - reach, q.z - reach});
    const Cell high = CellOf({q.x + reach, q.y + reach, q.z + reach});
    return {low, {high.x - low.x + 1, high.y - low.y + 1, high.z - low.z + 1}};
  }
};

// A bucket of a table whose size is a power of two.
SH_HOST_DEVICE uint32_t BucketOf(const Cell& cell, uint32_t batch, uint32_t bucket_mask) {
  uint32_t hash = static_cast<uint32_t>(cell.x) * 0x8da6b343u ^ static_cast<uint32_t>(cell.y) * 0xd8163841u ^
                  static_cast<uint32_t>(cell.z) * 0xcb1ab31fu ^ batch * 0x9e3779b1u;
  hash ^= hash >> 15;
  hash *= 0x2c1b3c6du;
  hash ^= hash >> 13;
  return hash & bucket_mask;
}

// The table's size as a power of two: up to 4 points for each bucket a radix sort by bucket takes two passes of 8 bits;
// larger tables have a bucket for each point.
inline int BucketBits(int64_t point_rows) {
  constexpr int kLeastBits = 16;
  constexpr int kMostBits = 24;
  int bits = kLeastBits;
  if (point_rows <= int64_t{4} << kLeastBits) return bits;
  while (bits < kMostBits && int64_t{1} << bits < point_rows) ++bits;
  return bits;
}

}  // namespace stallhound::kernels

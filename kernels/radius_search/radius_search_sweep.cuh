#pragma once

// A warp goes through all points that may be neighbours of one query.

#include "kernels/device_vector.cuh"
#include "kernels/radius_search/radius_search_index.cuh"

namespace stallhound::kernels {

// The query of one warp.
struct WarpQuery {
  int64_t row = 0;
  Position position;
  uint32_t batch = 0;
  float squared_radius = 0;

  __device__ static WarpQuery At(const RadiusSearchArgs& args, int64_t row) {
    const auto batch = static_cast<uint32_t>(row / args.query_count);
    return {row, PositionAt(args.queries, row), batch, args.radius * args.radius};
  }
};

// A point that a lane looks at.
struct Candidate {
  bool is_neighbor = false;
  float squared_distance = 0;
  int32_t point = 0;  // in its batch
};

// One bucket of the table for each lane, as a stretch of records.
struct Stretch {
  int32_t begin = 0;
  int32_t end = 0;  // within the stretches of all lanes, one behind the other

  // The stretch of cell `first_cell` + lane of the box. A bucket that several cells share is given to one lane.
  __device__ static Stretch Of(const CellIndex& index, const CellBox& box, int32_t first_cell, uint32_t batch) {
    const int lane = threadIdx.x % kWarpLanes;
    const bool has_cell = first_cell + lane < box.Size();
    const uint32_t bucket = has_cell ? BucketOf(box.At(first_cell + lane), batch, index.bucket_mask) : ~0u;
    const bool is_first = __ffs(static_cast<int>(__match_any_sync(kAllLanes, bucket))) - 1 == lane;
    Stretch stretch;
    int32_t length = 0;
    if (has_cell && is_first) {
      stretch.begin = index.bucket_begins[bucket];
      length = index.bucket_begins[bucket + 1] - stretch.begin;
    }
    stretch.end = length;
#pragma unroll
    for (int offset = 1; offset < kWarpLanes; offset *= 2) {
      const int32_t before = __shfl_up_sync(kAllLanes, stretch.end, offset);
      if (lane >= offset) stretch.end += before;
    }
    stretch.begin += length - stretch.end;
    return stretch;
  }

  // The record at `position` of all stretches: `begin` is where the stretch would begin if it were the first.
  __device__ int32_t RecordAt(int32_t position) const {
    int lane = 0;
#pragma unroll
    for (int step = kWarpLanes / 2; step > 0; step /= 2) {
      if (__shfl_sync(kAllLanes, end, lane + step - 1) <= position) lane += step;
    }
    return __shfl_sync(kAllLanes, begin, lane) + position;
  }
};

// Calls take(const Candidate&) with all lanes of the warp, 32 candidates at a time; each neighbour comes once, in an
// order that equal inputs repeat.
template <typename Take>
__device__ __forceinline__ void SweepCandidates(const RadiusSearchArgs& args, const CellIndex& index,
                                                const WarpQuery& query, const Take& take) {
  const int lane = threadIdx.x % kWarpLanes;
  const CellBox box = index.grid.BoxOf(query.position);
  const auto first_point = static_cast<int32_t>(query.batch * args.point_count);
  const int32_t cell_count = box.Size();
  for (int32_t first_cell = 0; first_cell < cell_count; first_cell += kWarpLanes) {
    const Stretch stretch = Stretch::Of(index, box, first_cell, query.batch);
    const int32_t candidate_count = __shfl_sync(kAllLanes, stretch.end, kWarpLanes - 1);
    for (int32_t base = 0; base < candidate_count; base += kWarpLanes) {
      const int32_t record_index = stretch.RecordAt(base + lane);
      Candidate candidate;
      if (base + lane < candidate_count) {
        const float4 record = index.records[record_index];
        const Position p = {record.x, record.y, record.z};
        candidate.point = __float_as_int(record.w) - first_point;
        candidate.squared_distance = SquaredDistance(query.position, p);
        candidate.is_neighbor = candidate.squared_distance <= query.squared_radius && candidate.point >= 0 &&
                                candidate.point < args.point_count;
        // Far from the origin, where rounding makes boxes larger than a warp, a bucket can come up again.
        if (cell_count > kWarpLanes && candidate.is_neighbor) {
          const int32_t cell = box.IndexOf(index.grid.CellOf(p));
          candidate.is_neighbor = cell >= first_cell && cell < first_cell + kWarpLanes;
        }
      }
      take(candidate);
    }
  }
}

}  // namespace stallhound::kernels

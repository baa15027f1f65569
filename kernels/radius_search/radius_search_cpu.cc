#include <ATen/Parallel.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "kernels/cpu_clones.h"
#include "kernels/radius_search/radius_search_cell.h"
#include "kernels/radius_search/radius_search_launch.h"

namespace stallhound::kernels {
namespace {

constexpr int64_t kPointsOfTask = 16384;
constexpr int64_t kQueriesOfTask = 128;

struct Record {
  Position position;
  int32_t row = 0;
};

// The points ordered by the bucket of their cell, within a bucket by row.
struct Index {
  CellGrid grid;
  uint32_t bucket_mask = 0;
  std::vector<int32_t> bucket_begins;
  std::vector<Record> records;
};

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

SH_CPU_CLONES void FindBuckets(const RadiusSearchArgs& args, const Index& index, const Range& rows, uint32_t* buckets) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const auto batch = static_cast<uint32_t>(row / args.point_count);
    buckets[row] = BucketOf(index.grid.CellOf(PositionAt(args.points, row)), batch, index.bucket_mask);
  }
}

// A counting sort.
Index MakeIndex(const RadiusSearchArgs& args) {
  const int64_t point_rows = args.PointRows();
  Index index;
  index.grid = CellGrid::Make(args.radius, 1);
  index.bucket_mask = (1u << BucketBits(point_rows)) - 1;
  std::vector<uint32_t> buckets(point_rows);
  at::parallel_for(0, point_rows, kPointsOfTask, [&](int64_t begin, int64_t end) {
    FindBuckets(args, index, {begin, end}, buckets.data());
  });
  // Counted one entry late, so that the scattering below leaves the begins behind.
  index.bucket_begins.resize(size_t{index.bucket_mask} + 3);
  for (const uint32_t bucket : buckets) ++index.bucket_begins[bucket + 2];
  for (size_t i = 1; i < index.bucket_begins.size(); ++i) index.bucket_begins[i] += index.bucket_begins[i - 1];
  index.records.resize(point_rows);
  for (int64_t row = 0; row < point_rows; ++row) {
    index.records[index.bucket_begins[buckets[row] + 1]++] = {PositionAt(args.points, row), static_cast<int32_t>(row)};
  }
  return index;
}

// Calls take(point in its batch, squared distance) for each neighbour of one query.
template <typename Take>
SH_ALWAYS_INLINE void VisitNeighbors(const RadiusSearchArgs& args, const Index& index, int64_t row, const Take& take) {
  const Position query = PositionAt(args.queries, row);
  const float squared_radius = args.radius * args.radius;
  const int64_t batch = row / args.query_count;
  const int64_t first_point = batch * args.point_count;
  const CellBox box = index.grid.BoxOf(query);
  for (int32_t z = 0; z < box.counts.z; ++z) {
    for (int32_t y = 0; y < box.counts.y; ++y) {
      for (int32_t x = 0; x < box.counts.x; ++x) {
        const Cell cell = {box.low.x + x, box.low.y + y, box.low.z + z};
        const uint32_t bucket = BucketOf(cell, static_cast<uint32_t>(batch), index.bucket_mask);
        for (int32_t i = index.bucket_begins[bucket]; i < index.bucket_begins[bucket + 1]; ++i) {
          const Record& record = index.records[i];
          const float squared_distance = SquaredDistance(query, record.position);
          if (!(squared_distance <= squared_radius)) continue;
          const int64_t point = record.row - first_point;
          // Several cells of the box can share the bucket.
          if (point < 0 || point >= args.point_count || !(index.grid.CellOf(record.position) == cell)) continue;
          take(static_cast<int32_t>(point), squared_distance);
        }
      }
    }
  }
}

// Orders by (squared distance, point): squares are not negative, so that their bits ascend with them.
SH_ALWAYS_INLINE uint64_t NeighborKey(float squared_distance, int32_t point) {
  return uint64_t{std::bit_cast<uint32_t>(squared_distance)} << 32 | static_cast<uint32_t>(point);
}

SH_CPU_CLONES void SearchNearest(const RadiusSearchArgs& args, const Index& index, const LimitedRows& rows,
                                 const Range& range) {
  const size_t keep = rows.max_neighbors;
  const size_t capacity = 4 * keep + 256;
  std::vector<uint64_t> keys;
  keys.reserve(capacity);
  for (int64_t row = range.begin; row < range.end; ++row) {
    keys.clear();
    uint64_t limit = ~uint64_t{0};
    VisitNeighbors(args, index, row, [&](int32_t point, float squared_distance) {
      const uint64_t key = NeighborKey(squared_distance, point);
      if (key >= limit) return;
      if (keys.size() == capacity) {
        std::nth_element(keys.begin(), keys.begin() + (keep - 1), keys.end());
        keys.resize(keep);
        limit = keys.back();
        if (key >= limit) return;
      }
      keys.push_back(key);
    });
    const size_t count = std::min(keys.size(), keep);
    std::partial_sort(keys.begin(), keys.begin() + count, keys.end());
    int32_t* indices = rows.indices + row * rows.max_neighbors;
    float* distances = rows.distances + row * rows.max_neighbors;
    for (size_t i = 0; i < keep; ++i) {
      const uint64_t key = i < count ? keys[i] : 0;
      indices[i] = static_cast<int32_t>(key & 0xffffffff);
      distances[i] = std::sqrt(std::bit_cast<float>(static_cast<uint32_t>(key >> 32)));
    }
    rows.counts[row] = static_cast<int32_t>(count);
  }
}

SH_CPU_CLONES void CountNeighbors(const RadiusSearchArgs& args, const Index& index, const Range& range,
                                  int64_t* counts) {
  for (int64_t row = range.begin; row < range.end; ++row) {
    int64_t count = 0;
    VisitNeighbors(args, index, row, [&](int32_t, float) { ++count; });
    counts[row] = count;
  }
}

SH_CPU_CLONES void WriteNeighbors(const RadiusSearchArgs& args, const Index& index, const ExactRows& rows,
                                  const Range& range) {
  for (int64_t row = range.begin; row < range.end; ++row) {
    int64_t next = rows.row_begins[row];
    VisitNeighbors(args, index, row, [&](int32_t point, float squared_distance) {
      rows.indices[next] = point;
      rows.distances[next] = std::sqrt(squared_distance);
      ++next;
    });
  }
}

}  // namespace

void LimitedSearchCpu(const RadiusSearchArgs& args, const LimitedRows& rows) {
  const Index index = MakeIndex(args);
  at::parallel_for(0, args.QueryRows(), kQueriesOfTask, [&](int64_t begin, int64_t end) {
    SearchNearest(args, index, rows, {begin, end});
  });
}

void ExactSearchCpu(const RadiusSearchArgs& args, int64_t* row_begins,
                    const std::function<ExactRows(int64_t pair_count)>& allocate) {
  const Index index = MakeIndex(args);
  const int64_t row_count = args.QueryRows();
  row_begins[0] = 0;
  at::parallel_for(0, row_count, kQueriesOfTask, [&](int64_t begin, int64_t end) {
    CountNeighbors(args, index, {begin, end}, row_begins + 1);
  });
  for (int64_t row = 0; row < row_count; ++row) row_begins[row + 1] += row_begins[row];
  const ExactRows rows = allocate(row_begins[row_count]);
  at::parallel_for(0, row_count, kQueriesOfTask, [&](int64_t begin, int64_t end) {
    WriteNeighbors(args, index, rows, {begin, end});
  });
}

}  // namespace stallhound::kernels

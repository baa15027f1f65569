#pragma once

// Fixed-radius neighbours: for each query all points within a radius, or the `max_neighbors` nearest of them.
//
// Point p is a neighbour of query q if d2 <= r2, where d2 = (dx*dx + dy*dy) + dz*dz of dx = qx - px and so on, and
// r2 = r*r of the radius rounded to fp32; each operation is rounded to fp32 on its own, nothing is fused. So all
// versions on all devices agree on borders and ties. A point at distance r along an axis from the origin is a
// neighbour, and so is a point that coincides with the query. The distance is the root of d2, rounded to fp32; the
// nearest are the lowest by (d2, number of the point). A NaN or infinite coordinate makes a point nobody's
// neighbour and leaves a query without any.
//
// points: [N, 3] or [B, N, 3]; queries: [M, 3] or [B, M, 3]; fp32, any strides (what is not contiguous is copied
// first), on one device. Queries search the points of their own batch. N, M and B may be zero; B*N and B*M are at most
// 2^30. radius: from 0 to 1e18. max_neighbors: from 1 to 1024.
// Outputs are new contiguous tensors. There are no gradients: a neighbour's index is piecewise constant.
// Determinism: limited rows are sorted, so equal inputs give equal bits on any device; exact rows have no promised
// order, but equal inputs on one device model give equal bits. No atomics.
// Stream: the current one of the points' device. The limited form waits for nothing and copies nothing between host and
// device; the exact form reads the number of pairs back, one copy and one wait, because it decides the outputs' size.
// Errors: c10::Error for shapes, dtypes, devices and numbers outside of the above.
// Cost: about 50 bytes of work space for each point and 256 KiB; time proportional to points and to the candidates, the
// points in the 27 cells of width r around each query. With a radius below 2^-20 cells stay 2^-20 wide, and coordinates
// beyond 2^29 cells share the outermost one: right, but as slow as brute force. Thread-safe.

#include <ATen/core/Tensor.h>

namespace stallhound::kernels::radius_search {

constexpr int64_t kMostNeighbors = 1024;

struct LimitedNeighbors {
  // int32 [M, K] or [B, M, K]: numbers of points in their batch, ascending by (d2, number); 0 behind the last.
  at::Tensor indices;
  at::Tensor distances;  // fp32, likewise
  at::Tensor counts;     // int32 [M] or [B, M]: entries in use, at most K
};

struct ExactNeighbors {
  // Row b*M + m holds the neighbours of query m of batch b, from row_begins[row] to row_begins[row + 1].
  at::Tensor indices;     // int32 [pairs]: numbers of points in their batch, in no promised order within a row
  at::Tensor distances;   // fp32 [pairs]
  at::Tensor row_begins;  // int64 [B*M + 1]
};

using LimitedSearch = LimitedNeighbors(const at::Tensor& points, const at::Tensor& queries, double radius,
                                       int64_t max_neighbors);
using ExactSearch = ExactNeighbors(const at::Tensor& points, const at::Tensor& queries, double radius);

// All distances by LibTorch's cdist, the nearest by topk, in chunks of queries so that memory stays bounded; then the
// few candidates near the border decided as above. Exact rows ascend by number. The root is LibTorch's, on the CPU not
// always the nearest number.
LimitedSearch LimitedSearchReference;
ExactSearch ExactSearchReference;

// A list of cells, hashed to a table, and the points stored in its order. On CUDA a warp for each query.
LimitedSearch LimitedSearchOptimized;
ExactSearch ExactSearchOptimized;

// The published way (NVIDIA Warp's hash grid), on CUDA only: a table of 128^3 cells of width r/2, one thread for each
// query, which counts, reads the total back and writes all pairs; the limited form then cuts each row.
LimitedSearch LimitedSearchHashGrid;
ExactSearch ExactSearchHashGrid;

}  // namespace stallhound::kernels::radius_search

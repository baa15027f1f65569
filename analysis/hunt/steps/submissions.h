#pragma once

// What each process submitted and waited for, in host order: the sequence in which steps repeat.

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "capture/reader.h"

namespace stallhound::analysis {

enum class TokenKind : uint8_t {
  kWork,    // kernels, memsets, copies within a device
  kCopy,    // between host and device
  kWait,    // synchronize calls and blocking copies
  kGrowth,  // allocation and loading
};

// A kind of submission. Tokens of one name differ in shape only: grid, block, bytes.
struct Token {
  TokenKind kind = TokenKind::kWork;
  bool is_optimizer = false;
  uint32_t name_token = 0;  // the first token of this name
};

#pragma pack(push, 4)
struct PlacedToken {  // 12 bytes, because there is one a kernel
  int64_t time_ns;
  uint32_t token;
};
#pragma pack(pop)

struct ProcessSubmissions {
  std::deque<PlacedToken> sequence;  // in host order
  int64_t end_ns = 0;                // of the last call
  int64_t unplaced_count = 0;        // GPU work whose launch is not recorded
};

struct Submissions {
  std::vector<Token> tokens;
  absl::flat_hash_map<uint32_t, ProcessSubmissions> processes;
};

// Reads host calls and GPU work once. Memory: 12 bytes a kernel, copy, memset or wait. Errors: those of the reader.
absl::StatusOr<Submissions> ReadSubmissions(capture::CaptureReader& reader);

// Counts of tokens by hash: two spans with nearly the same content have nearly the same sketch.
inline constexpr size_t kWorkBucketCount = 24;
inline constexpr size_t kBucketCount = kWorkBucketCount + 8;  // the rest: copies and waits
using Sketch = std::array<int32_t, kBucketCount>;

// What lies between two positions, or has been seen so far.
struct Content {
  Sketch sketch{};
  int64_t submission_count = 0;  // without growth
  int32_t wait_count = 0;
  int32_t copy_count = 0;
  int32_t growth_count = 0;
  int32_t optimizer_count = 0;

  void Add(uint32_t token_id, const Token& token);
  Content operator-(const Content& earlier) const;
};

// 1: the same counts; 0: nothing in common.
double Similarity(const Content& a, const Content& b);

// The median of each count.
Content MedianOf(const std::vector<Content>& contents);

}  // namespace stallhound::analysis

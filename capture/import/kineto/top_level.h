#pragma once

// The keys of a Kineto trace beside its events. Of what they hold only measurements and versions are taken; names of
// users, hosts and jobs are remembered for the sole purpose of keeping them out of everything else.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/reader.h"

namespace stallhound::capture {

struct TraceDevice {
  uint32_t id = 0;
  std::string name;
  std::optional<int64_t> sm_count, memory_bytes, compute_major, compute_minor;
};

struct TopLevel {
  std::vector<std::string> keys;   // in file order, of the document's objects; at most 64
  std::optional<int64_t> base_ns;  // baseTimeNanoseconds
  std::string display_unit;
  // nullopt: the trace has no such key. An empty list means that no GPU was visible.
  std::optional<std::vector<TraceDevice>> devices;
  std::optional<int64_t> rank;
  std::vector<std::pair<std::string, int64_t>> versions;  // "cuda_runtime_version", "cupti_version", ...
  // Texts of at least kMinPrivateBytes that name a user, a machine or a job.
  std::vector<std::string> private_words;
  int64_t forgiven_count = 0;

  bool HasKey(std::string_view key) const;
};

inline constexpr size_t kMinPrivateBytes = 4;

// Takes one key and its value as written.
void AddTopLevelKey(const std::string& key, const std::string& value, TopLevel* top_level);

// `text` with every private word replaced by "<private>" and home folders by "~".
std::string HidePrivate(std::string_view text, const std::vector<std::string>& private_words);

}  // namespace stallhound::capture

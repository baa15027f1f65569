#pragma once

// The first pass over an export: everything that must be known before events can be given out in order. Who took part,
// how long it lasted, which tables are out of order, the index of calls, and all that was odd.

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capture/import/nsys/call_index.h"
#include "capture/import/nsys/database.h"
#include "capture/import/nsys/enums.h"
#include "capture/import/nsys/event_rows.h"
#include "capture/import/nsys/identities.h"
#include "capture/import/nsys/losses.h"
#include "capture/import/nsys/metadata.h"
#include "capture/import/nsys/names.h"
#include "capture/import/nsys/shapes.h"

namespace stallhound::capture::nsys {

struct TableSurvey {
  bool is_present = false;
  bool is_sorted = true;
  int64_t row_count = 0;  // usable
  RowDefects defects;
};

// (process, context, stream) -> CUDA's device ordinal in that process.
using StreamUses = std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::optional<uint32_t>>;

struct Survey {
  Metadata metadata;
  Enums enums;
  Identities identities;
  CallIndex calls;
  Shapes shapes;
  TableSurvey runtime, kernels, copies, memsets, syncs, graphs, ranges;
  std::optional<int64_t> first_ns;  // of calls, GPU work and ranges, in the export's time
  std::optional<int64_t> last_ns;
  uint64_t digest = 0;  // of all times and ids: the same file gives the same
  StreamUses streams;
  std::bitset<64> api_classes;                              // that were called
  std::vector<ApiClass> class_of_api;                       // by StringId, of calls with a correlation id
  std::map<std::string, int64_t> syncs_by_call;             // synchronisation records; "" for those without a call
  int64_t nvtx_row_count = 0;                               // names and unknown events included
  std::map<std::pair<int64_t, int64_t>, StringId> domains;  // (global pid, domain)
  std::map<std::tuple<int64_t, int64_t, int64_t>, StringId> categories;  // and category
  Losses losses;

  ApiClass ClassOf(const IndexedCall& call) const { return class_of_api[static_cast<size_t>(call.api)]; }
};

// Cost: 60 to 120 ns a row, and a second sorted pass over calls that are out of order. Memory: CallIndex, and 4 bytes a
// kernel. Errors: InvalidArgument (no Nsight export, or one of a schema whose columns have other names; the message
// lists them), DataLoss.
absl::StatusOr<Survey> SurveyExport(Database& database, Names& names);

}  // namespace stallhound::capture::nsys

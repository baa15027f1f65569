#include "capture/import/nsys/call_index.h"

#include <algorithm>

namespace stallhound::capture::nsys {
namespace {

bool Precedes(const IndexedCall& a, const IndexedCall& b) {
  if (a.correlation_id != b.correlation_id) return a.correlation_id < b.correlation_id;
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  return a.end_ns > b.end_ns;
}

}  // namespace

void CallIndex::Add(uint32_t process_id, const IndexedCall& call) {
  if (process_id >= processes_.size()) processes_.resize(process_id + size_t{1});
  processes_[process_id].calls.push_back(call);
}

void CallIndex::Seal() {
  for (OfProcess& process : processes_) {
    if (!std::is_sorted(process.calls.begin(), process.calls.end(), Precedes)) {
      std::sort(process.calls.begin(), process.calls.end(), Precedes);
    }
  }
}

IndexedCall* CallIndex::Find(uint32_t process_id, uint64_t correlation_id) {
  if (process_id >= processes_.size()) return nullptr;
  const std::vector<IndexedCall>& calls = processes_[process_id].calls;
  size_t& hint = processes_[process_id].hint;
  constexpr size_t kNear = 16;  // launches between two that have GPU work
  const auto is_first = [&](size_t i) {
    return calls[i].correlation_id == correlation_id && (i == 0 || calls[i - 1].correlation_id != correlation_id);
  };
  for (size_t i = hint; i < std::min(hint + kNear, calls.size()) && calls[i].correlation_id <= correlation_id; ++i) {
    if (!is_first(i)) continue;
    hint = i;
    return &processes_[process_id].calls[i];
  }
  const auto it = std::lower_bound(calls.begin(), calls.end(), correlation_id,
                                   [](const IndexedCall& call, uint64_t id) { return call.correlation_id < id; });
  if (it == calls.end() || it->correlation_id != correlation_id) return nullptr;
  hint = static_cast<size_t>(it - calls.begin());
  return &processes_[process_id].calls[hint];
}

}  // namespace stallhound::capture::nsys

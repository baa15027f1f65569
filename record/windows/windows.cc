#include "record/windows/windows.h"

#include <stdlib.h>
#include <string.h>

namespace stallhound::record {
namespace {

using capture::spool::RangeEvent;

// Which levels of the calling thread's pushed ranges carry our name. Levels beyond 64 are not looked at.
struct PushedRanges {
  uint32_t depth;
  uint64_t named;
};
__attribute__((tls_model("initial-exec"))) thread_local PushedRanges t_pushed{};

constexpr uint32_t kMaxLevels = 64;

}  // namespace

bool ParseSteps(const char* text, uint32_t& first, uint32_t& last) noexcept {
  char* end = nullptr;
  if (text[0] < '0' || text[0] > '9') return false;
  const unsigned long from = strtoul(text, &end, 10);
  unsigned long to = from;
  if (*end == '-') {
    const char* rest = end + 1;
    to = *rest == '\0' ? UINT32_MAX : strtoul(rest, &end, 10);
    if (*rest == '\0') ++end;
    if (*rest != '\0' && (*rest < '0' || *rest > '9')) return false;
  }
  if (*end != '\0' || from == 0 || to < from || to > UINT32_MAX) return false;
  first = static_cast<uint32_t>(from);
  last = static_cast<uint32_t>(to);
  return true;
}

void Windows::Configure(const WindowOptions& options, int64_t start_ns, OnChange on_change, void* context) noexcept {
  options_ = options;
  start_ns_ = start_ns;
  on_change_ = on_change;
  context_ = context;
  if (options.range != nullptr) strncpy(range_, options.range, sizeof(range_) - 1);
  is_started_.store(!options.needs_start);
  is_time_.store(options.delay_ns <= 0);
  Update("start");
}

bool Windows::Wanted() const noexcept {
  return is_time_.load() && is_started_.load() && (!has_range() || open_ranges_.load() > 0);
}

void Windows::Update(const char* reason) noexcept {
  // Whoever updates goes on until what was told is what is wanted; others only leave their wish behind.
  while (!is_updating_.exchange(true, std::memory_order_acquire)) {
    const bool wanted = Wanted();
    if (wanted != told_) {
      told_ = wanted;
      if (!wanted) is_on_.store(false, std::memory_order_release);
      on_change_(context_, wanted);
      if (wanted) is_on_.store(true, std::memory_order_release);
      // The first "on" of a recording without windows is no news.
      const bool is_news = has_told_ || options_.needs_start || has_range() || options_.delay_ns > 0;
      has_told_ = true;
      if (is_news && (wanted || writer_.generation() != 0)) {
        capture::spool::WindowRecord record{};
        record.time_ns = writer_.NowNs();
        record.is_on = wanted ? 1 : 0;
        record.reason = writer_.InternString(reason);
        writer_.Append(record, record.time_ns);
      }
    }
    is_updating_.store(false, std::memory_order_release);
    if (Wanted() == wanted) return;
  }
}

void Windows::Request(bool start, const char* reason) noexcept {
  is_started_.store(start);
  Update(reason);
}

int64_t Windows::Tick() noexcept {
  const int64_t begin_ns = start_ns_ + options_.delay_ns;
  const int64_t end_ns = options_.duration_ns > 0 ? begin_ns + options_.duration_ns : INT64_MAX;
  const int64_t now_ns = writer_.NowNs();
  const bool is_time = now_ns >= begin_ns && now_ns < end_ns;
  if (is_time_.exchange(is_time) != is_time) Update(is_time ? "delay" : "duration");
  if (now_ns < begin_ns) return begin_ns - now_ns;
  return end_ns == INT64_MAX || now_ns >= end_ns ? INT64_MAX : end_ns - now_ns;
}

void Windows::Enter(uint64_t range_id, bool has_id) noexcept {
  const uint32_t occurrence = occurrences_.fetch_add(1) + 1;
  const bool counts =
      options_.first_step == 0 || (occurrence >= options_.first_step && occurrence <= options_.last_step);
  if (!counts) return;
  if (has_id) {
    for (std::atomic<uint64_t>& open : open_ids_) {
      uint64_t none = 0;
      if (!open.compare_exchange_strong(none, range_id)) continue;
      open_ranges_.fetch_add(1);
      break;
    }
  } else {
    t_pushed.named |= uint64_t{1} << (t_pushed.depth - 1);
    open_ranges_.fetch_add(1);
  }
  Update("range");
}

void Windows::Leave() noexcept {
  open_ranges_.fetch_sub(1);
  Update("range");
}

void Windows::OnRange(RangeEvent event, std::string_view name, uint64_t range_id) noexcept {
  if (!has_range()) return;
  switch (event) {
    case RangeEvent::kPush:
      ++t_pushed.depth;
      if (t_pushed.depth <= kMaxLevels && name == range_) Enter(0, false);
      return;
    case RangeEvent::kPop: {
      if (t_pushed.depth == 0) return;
      --t_pushed.depth;
      const uint64_t level = t_pushed.depth < kMaxLevels ? uint64_t{1} << t_pushed.depth : 0;
      if ((t_pushed.named & level) == 0) return;
      t_pushed.named &= ~level;
      return Leave();
    }
    case RangeEvent::kStart:
      if (range_id != 0 && name == range_) Enter(range_id, true);
      return;
    case RangeEvent::kEnd:
      if (range_id == 0) return;
      for (std::atomic<uint64_t>& open : open_ids_) {
        uint64_t expected = range_id;
        if (open.compare_exchange_strong(expected, 0)) return Leave();
      }
      return;
    case RangeEvent::kMark:
      return;
  }
}

void Windows::ForgetAfterFork() noexcept {
  is_updating_.store(false);
  for (std::atomic<uint64_t>& open : open_ids_) open.store(0);
  open_ranges_.store(__builtin_popcountll(t_pushed.named));
}

}  // namespace stallhound::record

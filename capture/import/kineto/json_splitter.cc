#include "capture/import/kineto/json_splitter.h"

#include <absl/strings/str_cat.h>
#include <string.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "capture/import/byte_stream.h"
#include "capture/import/kineto/byte_masks.h"
#include "capture/import/kineto/lenient_json.h"

namespace stallhound::capture {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

JsonSplitter::JsonSplitter(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {
  buffer_.resize(1 + kFirstWindowBytes + kJsonPadding);
}

bool JsonSplitter::Refill(size_t keep) {
  if (at_end_) return false;
  if (keep > 1) {
    memmove(buffer_.data() + 1, buffer_.data() + keep, end_ - keep);
    end_ -= keep - 1;
    begin_ = begin_ > keep - 1 ? begin_ - (keep - 1) : 1;
  }
  const bool is_full = end_ + kJsonPadding >= buffer_.size();
  if (is_full || (stats_.bytes > 0 && buffer_.size() < kWindowBytes)) {
    buffer_.resize(buffer_.size() + (buffer_.size() - kJsonPadding));
  }
  const size_t room = buffer_.size() - kJsonPadding - end_;
  const size_t got = ReadFully(*stream_, buffer_.data() + end_, room, &stats_.read_error);
  end_ += got;
  stats_.bytes += got;
  at_end_ = got < room;
  memset(buffer_.data() + end_, ' ', kJsonPadding);
  return got > 0;
}

char JsonSplitter::Peek() {
  while (true) {
    while (begin_ < end_ && IsSpace(buffer_[begin_])) ++begin_;
    if (begin_ < end_) return buffer_[begin_];
    if (!Refill(begin_)) return '\0';
  }
}

char JsonSplitter::Take() {
  if (begin_ == end_ && !Refill(begin_)) return '\0';
  return buffer_[begin_++];
}

// Keys and values around the list are few and short: they are read byte by byte.
std::string JsonSplitter::TakeString(bool* complete) {
  std::string text;
  *complete = false;
  Take();
  while (begin_ < end_ || Refill(begin_)) {
    const char c = Take();
    if (c == '"') {
      *complete = true;
      break;
    }
    if (text.size() < kMaxValueBytes) text += c;
    if (c != '\\' || (begin_ == end_ && !Refill(begin_))) continue;
    // A path that ends in a backslash: "C:\logs\" before the end of the value.
    if (buffer_[begin_] == '"') {
      if (end_ - begin_ < 64) Refill(begin_);
      if (EndsStringInBackslash(std::string_view(buffer_.data() + begin_ + 1, end_ - begin_ - 1))) {
        ++stats_.forgiven_count;
        continue;
      }
    }
    const char escaped = Take();
    if (text.size() < kMaxValueBytes) text += escaped;
  }
  return text;
}

bool JsonSplitter::TakeScalar(std::string* value) {
  const size_t start_size = value->size();
  while (begin_ < end_ || Refill(begin_)) {
    const char c = buffer_[begin_];
    if (c == ',' || c == '}' || c == ']' || IsSpace(c)) return value->size() > start_size;
    if (value->size() < kMaxValueBytes) *value += c;
    ++begin_;
  }
  return false;
}

bool JsonSplitter::TakeValue(std::string* value) {
  value->clear();
  int depth = 0;
  do {
    const char c = Peek();
    if (c == '\0') return false;
    if (c == '"') {
      bool complete = false;
      const std::string text = TakeString(&complete);
      if (value->size() < kMaxValueBytes) absl::StrAppend(value, "\"", text, "\"");
      if (!complete) return false;
    } else if (c == '{' || c == '[' || c == '}' || c == ']' || c == ',' || c == ':') {
      depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
      if (depth < 0 || (depth == 0 && (c == ',' || c == ':'))) return true;
      *value += c;
      ++begin_;
    } else if (!TakeScalar(value)) {
      return false;
    }
  } while (depth > 0);
  if (value->size() >= kMaxValueBytes) {
    value->clear();
    ++stats_.skipped_count;
  }
  return true;
}

absl::StatusOr<JsonPiece> JsonSplitter::Next() {
  if (state_ == State::kStart) {
    const char first = Peek();
    if (first != '{' && first != '[') {
      return absl::InvalidArgumentError("not a JSON document: it begins with neither { nor [");
    }
    Take();
    stats_.is_bare_list = first == '[';
    state_ = stats_.is_bare_list ? State::kEvents : State::kKeys;
    ResetScan(begin_);
  }
  while (state_ == State::kKeys) {
    absl::StatusOr<JsonPiece> piece = NextKey();
    if (!piece.ok() || piece->kind == JsonPiece::Kind::kKey || state_ == State::kDone) return piece;
  }
  if (state_ == State::kEvents) {
    JsonPiece piece = NextEvents();
    if (piece.kind == JsonPiece::Kind::kEvents || state_ == State::kDone) return piece;
    return Next();
  }
  return Finish();
}

JsonPiece JsonSplitter::Finish() {
  state_ = State::kDone;
  if (!stats_.read_error.ok()) stats_.truncated = true;
  if (!stats_.truncated) CountTail();
  return JsonPiece();
}

// The document is whole: an error of the stream behind it takes nothing away.
void JsonSplitter::CountTail() {
  Peek();
  do {
    stats_.tail_bytes += end_ - begin_;
    begin_ = end_;
  } while (Refill(begin_));
  stats_.read_error = absl::OkStatus();
}

absl::StatusOr<JsonPiece> JsonSplitter::NextKey() {
  char c = Peek();
  while (c == ',') {
    Take();
    c = Peek();
  }
  if (c == '}') {
    Take();
    return Finish();
  }
  JsonPiece piece;
  bool complete = false;
  if (c == '"') piece.key = TakeString(&complete);
  if (complete && Peek() == ':') {
    Take();
    if (piece.key == "traceEvents" && Peek() == '[') {
      Take();
      stats_.has_events_key = true;
      state_ = State::kEvents;
      list_ended_ = false;
      ResetScan(begin_);
      return piece;
    }
    if (TakeValue(&piece.value)) {
      piece.kind = JsonPiece::Kind::kKey;
      return piece;
    }
  }
  // The end of the stream, or bytes that are no key: nothing after them can be placed.
  stats_.truncated = true;
  return Finish();
}

void JsonSplitter::ResetScan(size_t from) {
  scan_ = from;
  in_string_ = 0;
  escaped_ = 0;
  depth_ = 0;
  tolerant_ = false;
}

JsonPiece JsonSplitter::NextEvents() {
  elements_.clear();
  window_start_ = begin_;
  while (true) {
    Scan();
    if (!elements_.empty() || list_ended_) break;
    const size_t keep = depth_ > 0 ? element_start_ : scan_;
    begin_ = keep;
    const size_t moved = keep - 1;
    const bool too_long = depth_ > 0 && end_ - element_start_ > kMaxElementBytes;
    if (too_long || !Refill(keep)) {
      // A quote may be missing rather than the end of the file.
      if (depth_ > 0 && !tolerant_ && !too_long) {
        tolerant_ = true;
        scan_ = element_start_;
        continue;
      }
      stats_.truncated = depth_ > 0 || !stats_.is_bare_list || !stats_.read_error.ok();
      // The list of a streaming writer may lack its end (Chrome trace format).
      if (!stats_.truncated) ++stats_.forgiven_count;
      begin_ = end_;
      return Finish();
    }
    scan_ -= moved;
    if (depth_ > 0) element_start_ -= moved;
    window_start_ = 1;
  }
  JsonPiece piece;
  begin_ = list_ended_ ? scan_ : depth_ > 0 ? element_start_ : scan_;
  if (list_ended_) state_ = stats_.is_bare_list ? State::kDone : State::kKeys;
  if (elements_.empty()) return list_ended_ && stats_.is_bare_list ? Finish() : piece;
  piece.kind = JsonPiece::Kind::kEvents;
  piece.text = buffer_.data() + window_start_;
  piece.elements = &elements_;
  return piece;
}

void JsonSplitter::Scan() {
  while (scan_ < end_ && !list_ended_) {
    if (tolerant_) {
      if (!ScanTolerantly()) return;
      continue;
    }
    const size_t valid = std::min(kMaskBytes, end_ - scan_);
    // A part block is scanned only when nothing follows it, or its state could not be carried on.
    if (valid < kMaskBytes && !at_end_) return;
    ScanBlock(scan_, valid);
  }
}

void JsonSplitter::ScanBlock(size_t block, size_t valid) {
  const ByteMasks masks = FindBytes(buffer_.data() + block);
  const uint64_t in_range = valid == kMaskBytes ? ~uint64_t{0} : (uint64_t{1} << valid) - 1;
  uint64_t escaped = escaped_;
  uint64_t next_escaped = 0;
  // Backslashes are rare: one by one, each escapes the byte after it unless it is escaped itself.
  for (uint64_t m = masks.backslash & in_range; m != 0; m &= m - 1) {
    const int i = std::countr_zero(m);
    if (escaped >> i & 1) continue;
    if (i + 1 < static_cast<int>(kMaskBytes)) escaped |= uint64_t{1} << (i + 1);
    if (i + 1 == static_cast<int>(kMaskBytes)) next_escaped = 1;
  }
  const uint64_t quotes = masks.quote & ~escaped & in_range;
  const uint64_t strings = PrefixXor(quotes) ^ in_string_;
  const uint64_t outside = ~strings & in_range;
  uint64_t braces = (masks.open_brace | masks.close_brace) & outside;
  const uint64_t broken = masks.newline & strings & in_range;
  const int broken_at = broken == 0 ? static_cast<int>(kMaskBytes) : std::countr_zero(broken);
  uint64_t brackets = masks.close_bracket & outside;
  uint64_t events = braces | (depth_ == 0 ? brackets : 0);
  while (events != 0) {
    const int i = std::countr_zero(events);
    if (i > broken_at) break;
    events &= events - 1;
    const uint64_t bit = uint64_t{1} << i;
    if (masks.open_brace & bit) {
      if (depth_++ == 0) element_start_ = block + i;
      events &= braces;
    } else if (depth_ == 0) {
      return EndOfList(block + i + 1);
    } else if (--depth_ == 0) {
      EndElement(block + i + 1);
      events |= brackets & ~((bit << 1) - 1);
    }
  }
  if (broken != 0 || (depth_ > 0 && block > element_start_ + suspicious_bytes_)) {
    if (depth_ > 0) {
      tolerant_ = true;
      suspicious_bytes_ = kSuspiciousAgainBytes;
      return;
    }
    // A quote between events: skip to the end of its line.
    ++stats_.forgiven_count;
    return ResetScan(block + std::min<size_t>(broken_at, valid - 1) + 1);
  }
  in_string_ = strings >> 63 & 1 ? ~uint64_t{0} : 0;
  escaped_ = next_escaped;
  scan_ = block + valid;
}

bool JsonSplitter::ScanTolerantly() {
  const std::string_view text(buffer_.data() + element_start_, end_ - element_start_);
  const std::optional<size_t> size = TolerantObjectSize(text);
  if (!size) {
    scan_ = end_;
    return false;
  }
  ++stats_.forgiven_count;
  const size_t end = element_start_ + *size;
  EndElement(end);
  ResetScan(end);
  return true;
}

void JsonSplitter::EndElement(size_t end) {
  elements_.push_back(
      {static_cast<uint32_t>(element_start_ - window_start_), static_cast<uint32_t>(end - element_start_)});
}

void JsonSplitter::EndOfList(size_t position) {
  list_ended_ = true;
  scan_ = position;
}

}  // namespace stallhound::capture

#include "capture/import/kineto/event_parser.h"

#include <simdjson.h>
#include <string.h>

#include <algorithm>

#include "base/status_macros.h"
#include "capture/import/kineto/lenient_json.h"

namespace stallhound::capture {
namespace {

namespace ondemand = simdjson::ondemand;

static_assert(kJsonPadding >= simdjson::SIMDJSON_PADDING);

// The text of a token: simdjson's reaches to the next structural character.
std::string_view Trim(std::string_view token) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t')) {
    token.remove_suffix(1);
  }
  return token;
}

bool IsContainer(char first) { return first == '{' || first == '['; }

// A value as text. Containers are consumed whole, and only if `containers`; otherwise they are left to be skipped.
simdjson::error_code TakeToken(ondemand::value& value, bool containers, std::string_view* token) {
  *token = Trim(value.raw_json_token());
  if (token->empty()) return simdjson::TAPE_ERROR;
  if (!containers || (*token)[0] != '[') return simdjson::SUCCESS;
  ondemand::array array;
  if (const auto error = value.get_array().get(array)) return error;
  return array.raw_json().get(*token);
}

simdjson::error_code TakeArgs(ondemand::value& value, KinetoEvent* event) {
  ondemand::object args;
  if (const auto error = value.get_object().get(args)) return error;
  for (auto result : args) {
    ondemand::field field;
    if (const auto error = std::move(result).get(field)) return error;
    const char* const key = field.key().raw();
    const bool dimensions =
        (key[0] == 'g' || key[0] == 'b') && (memcmp(key, "grid\"", 5) == 0 || memcmp(key, "block\"", 6) == 0);
    std::string_view token;
    if (const auto error = TakeToken(field.value(), dimensions, &token)) return error;
    if (dimensions || !IsContainer(token[0])) event->SetArg(key, token);
  }
  return simdjson::SUCCESS;
}

// Stops where SetMember says that the rest of the event does not matter.
simdjson::error_code TakeEvent(ondemand::object& object, KinetoEvent* event) {
  for (auto result : object) {
    ondemand::field field;
    if (const auto error = std::move(result).get(field)) return error;
    const char* const key = field.key().raw();
    if (memcmp(key, "args\"", 5) == 0) {
      ondemand::json_type type;
      if (const auto error = field.value().type().get(type)) return error;
      if (type != ondemand::json_type::object) continue;
      if (const auto error = TakeArgs(field.value(), event)) return error;
      continue;
    }
    std::string_view token;
    if (const auto error = TakeToken(field.value(), false, &token)) return error;
    if (!IsContainer(token[0]) && !event->SetMember(key, token)) break;
  }
  return simdjson::SUCCESS;
}

// Sets a byte and puts the old one back.
class ByteOverride {
 public:
  ByteOverride(char* at, char value) : at_(at), saved_(*at) { *at = value; }
  ~ByteOverride() { *at_ = saved_; }
  ByteOverride(const ByteOverride&) = delete;
  ByteOverride& operator=(const ByteOverride&) = delete;

 private:
  char* const at_;
  const char saved_;
};

}  // namespace

struct EventParser::Simdjson {
  ondemand::parser parser;
};

EventParser::EventParser() : simdjson_(std::make_unique<Simdjson>()) {}
EventParser::~EventParser() = default;

absl::Status EventParser::Parse(JsonPiece& piece, KinetoEventSink& sink) {
  const size_t count = piece.elements->size();
  // After a refusal windows start small again, so that many broken events cost no more than their own size.
  size_t window = count;
  for (size_t first = 0; first < count;) {
    const size_t last = std::min(count, first + window);
    absl::Status status;
    const size_t done = ParseWindow(piece, first, last, sink, &status);
    SH_RETURN_IF_ERROR(status);
    first += done;
    if (first == last) {
      window *= 2;
      continue;
    }
    if (done > 0 || window == 1) {
      const JsonElement& element = (*piece.elements)[first];
      SH_RETURN_IF_ERROR(ParseLeniently(std::string_view(piece.text + element.offset, element.size_bytes), sink));
      ++first;
    }
    window = std::max<size_t>(1, done > 0 ? 8 : window / 8);
  }
  return absl::OkStatus();
}

size_t EventParser::ParseWindow(JsonPiece& piece, size_t first, size_t last, KinetoEventSink& sink,
                                absl::Status* status) {
  const JsonElement& front = (*piece.elements)[first];
  const JsonElement& back = (*piece.elements)[last - 1];
  char* const begin = piece.text + front.offset - 1;
  char* const end = piece.text + back.offset + back.size_bytes;
  const ByteOverride open(begin, '[');
  const ByteOverride close(end, ']');
  const size_t size = static_cast<size_t>(end + 1 - begin);
  ondemand::document document;
  ondemand::array array;
  size_t done = 0;
  if (simdjson_->parser.iterate(begin, size, size + simdjson::SIMDJSON_PADDING).get(document)) return done;
  if (document.get_array().get(array)) return done;
  for (auto result : array) {
    ondemand::value value;
    ondemand::object object;
    if (std::move(result).get(value)) return done;
    ondemand::json_type type;
    if (value.type().get(type)) return done;
    if (type != ondemand::json_type::object) continue;
    if (value.get_object().get(object)) return done;
    event_.Clear();
    if (TakeEvent(object, &event_)) return done;
    if (done == last - first) return done;
    ++event_count_;
    *status = sink.OnEvent(event_);
    if (!status->ok()) return done;
    ++done;
  }
  return done;
}

absl::Status EventParser::ParseLeniently(std::string_view text, KinetoEventSink& sink) {
  event_.Clear();
  bool wanted = true;
  ForEachMember(text, [this, &wanted](std::string_view key, std::string_view value) {
    if (key == "args" && !value.empty() && value[0] == '{') {
      ForEachMember(value, [this](std::string_view arg, std::string_view token) { event_.SetArg(arg.data(), token); });
    } else if (wanted && !value.empty() && !IsContainer(value[0])) {
      wanted = event_.SetMember(key.data(), value);
    }
  });
  ++event_count_;
  ++forgiven_count_;
  return sink.OnEvent(event_);
}

}  // namespace stallhound::capture

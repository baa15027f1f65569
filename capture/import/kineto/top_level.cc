#include "capture/import/kineto/top_level.h"

#include <absl/strings/ascii.h>
#include <simdjson.h>

#include <algorithm>
#include <cctype>

#include "capture/import/kineto/kineto_event.h"
#include "capture/import/kineto/lenient_json.h"
#include "capture/symbolize/source_paths.h"

namespace stallhound::capture {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMaxKeys = 64;
constexpr size_t kMaxPrivateWords = 256;
constexpr int kMaxDepth = 64;
constexpr std::string_view kPrivateKeys[] = {"user",  "host",     "node", "job",     "machine", "login", "owner",
                                             "email", "hostname", "home", "cluster", "account", "pwd",   "author"};
// Values of such keys that name nobody.
constexpr std::string_view kHarmless[] = {"root", "none",   "null",      "true",  "false",   "cuda",
                                          "nccl", "python", "localhost", "linux", "default", "unknown"};

bool IsPrivateKey(std::string_view key) {
  const std::string lower = absl::AsciiStrToLower(std::string(key));
  return std::any_of(std::begin(kPrivateKeys), std::end(kPrivateKeys),
                     [&lower](std::string_view word) { return lower.find(word) != std::string::npos; });
}

void AddPrivate(std::string_view value, TopLevel* top_level) {
  if (value.size() < kMinPrivateBytes || value.size() > 256) return;
  if (top_level->private_words.size() >= kMaxPrivateWords) return;
  const bool numeric =
      std::all_of(value.begin(), value.end(), [](char c) { return !std::isalpha(static_cast<unsigned char>(c)); });
  const std::string lower = absl::AsciiStrToLower(std::string(value));
  if (numeric || std::find(std::begin(kHarmless), std::end(kHarmless), lower) != std::end(kHarmless)) return;
  top_level->private_words.emplace_back(value);
}

void CollectPrivate(std::string_view key, dom::element value, int depth, TopLevel* top_level) {
  if (depth > kMaxDepth) return;
  std::string_view text;
  dom::object object;
  dom::array array;
  if (!value.get_string().get(text)) {
    if (IsPrivateKey(key)) AddPrivate(text, top_level);
  } else if (!value.get_object().get(object)) {
    for (const dom::key_value_pair field : object) CollectPrivate(field.key, field.value, depth + 1, top_level);
  } else if (!value.get_array().get(array)) {
    for (const dom::element element : array) CollectPrivate(key, element, depth + 1, top_level);
  }
}

std::optional<int64_t> FindInt(const dom::object& object, std::string_view key) {
  int64_t value = 0;
  if (object.at_key(key).get_int64().get(value)) return std::nullopt;
  return value;
}

void AddDevices(dom::element value, TopLevel* top_level) {
  dom::array list;
  if (value.get_array().get(list)) return;
  top_level->devices.emplace();
  for (const dom::element element : list) {
    dom::object object;
    if (element.get_object().get(object)) continue;
    TraceDevice device;
    device.id = static_cast<uint32_t>(FindInt(object, "id").value_or(static_cast<int64_t>(top_level->devices->size())));
    std::string_view name;
    if (!object.at_key("name").get_string().get(name)) device.name = std::string(name);
    device.sm_count = FindInt(object, "numSms");
    device.memory_bytes = FindInt(object, "totalGlobalMem");
    device.compute_major = FindInt(object, "computeMajor");
    device.compute_minor = FindInt(object, "computeMinor");
    top_level->devices->push_back(std::move(device));
  }
}

void Take(const std::string& key, dom::element value, TopLevel* top_level) {
  int64_t number = 0;
  if (key == "deviceProperties") {
    AddDevices(value, top_level);
  } else if (key == "distributedInfo") {
    dom::object object;
    if (!value.get_object().get(object)) top_level->rank = FindInt(object, "rank");
  } else if (key == "displayTimeUnit") {
    std::string_view unit;
    if (!value.get_string().get(unit)) top_level->display_unit = std::string(unit);
  } else if (key.ends_with("_version") && !value.get_int64().get(number)) {
    top_level->versions.emplace_back(key, number);
  }
  // The trace's file name holds machine and process.
  if (key != "deviceProperties" && key != "traceName") CollectPrivate(key, value, 0, top_level);
}

}  // namespace

bool TopLevel::HasKey(std::string_view key) const { return std::find(keys.begin(), keys.end(), key) != keys.end(); }

void AddTopLevelKey(const std::string& key, const std::string& value, TopLevel* top_level) {
  if (top_level->keys.size() < kMaxKeys) top_level->keys.push_back(key);
  if (key == "baseTimeNanoseconds") {
    const std::optional<uint64_t> base = ParseWrappingInteger(value);
    if (base && *base < uint64_t{1} << 62) top_level->base_ns = static_cast<int64_t>(*base);
    return;
  }
  dom::parser parser;
  dom::element element;
  if (!parser.parse(value.data(), value.size()).get(element)) {
    Take(key, element, top_level);
    return;
  }
  ++top_level->forgiven_count;
  if (IsPrivateKey(key) && value.size() > 2 && value[0] == '"') {
    AddPrivate(Unescape(StripQuotes(value), &top_level->forgiven_count), top_level);
  }
}

std::string HidePrivate(std::string_view text, const std::vector<std::string>& private_words) {
  std::string result = HideHomes(text);
  for (const std::string& word : private_words) {
    for (size_t at = result.find(word); at != std::string::npos; at = result.find(word, at + 1)) {
      std::string next = result.substr(0, at);
      next += "<private>";
      const size_t resume = next.size();
      next.append(result, at + word.size());
      result = std::move(next);
      at = resume - 1;
    }
  }
  return result;
}

}  // namespace stallhound::capture

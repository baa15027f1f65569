#pragma once

// JSON for the probe: appends to a string, std only (record/ has no other JSON). Keys and values come in the order of
// the calls; nullopt and nullptr are null.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace stallhound::record {

class JsonText {
 public:
  explicit JsonText(std::string& out) : out_(out) {}

  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  void Key(std::string_view key);

  void Text(std::string_view value);
  void Text(const std::optional<std::string>& value);
  void Number(int64_t value);
  void Bool(bool value);
  void Null();
  // Members or values that are JSON already; nothing is checked.
  void Raw(std::string_view json);

  template <typename Value>
  void Member(std::string_view key, const Value& value) {
    Key(key);
    Put(value);
  }

 private:
  void Put(bool value) { Bool(value); }
  void Put(const char* value) { value == nullptr ? Null() : Text(std::string_view(value)); }
  void Put(const std::string& value) { Text(std::string_view(value)); }
  template <typename Integer>
  requires std::is_integral_v<Integer>
  void Put(const Integer& value) { Number(static_cast<int64_t>(value)); }
  template <typename Value>
  void Put(const std::optional<Value>& value) {
    value ? Put(*value) : Null();
  }
  void Separate();
  void Open(char bracket);
  void Close(char bracket);

  std::string& out_;
  bool needs_comma_ = false;
};

}  // namespace stallhound::record

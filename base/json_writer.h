#pragma once

// Writes JSON of any length without keeping it (RFC 8259). Integers of 64 bits are exact, doubles are the shortest text
// that reads back equal, NaN and infinities are null, invalid UTF-8 becomes U+FFFD, byte by byte of what is invalid.
// Text is never changed otherwise: what a terminal would obey or hide (base/unicode.h) is written as \uXXXX.
// Misuse (a value without its key, an unclosed object) is a programmer's error and asserts.

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace stallhound {

// Not thread-safe.
class JsonWriter {
 public:
  // Takes a piece of the text; an error stops the writing and is returned by Finish.
  using Sink = std::function<absl::Status(std::string_view)>;

  // indent_count: blanks per level; 0 writes one line.
  explicit JsonWriter(Sink sink, int indent_count = 0);
  // Appends to *out, which must outlive the writer; complete after Finish.
  explicit JsonWriter(std::string* out, int indent_count = 0);

  void BeginObject();
  void EndObject();
  void BeginArray();
  void EndArray();
  void Key(std::string_view key);

  void String(std::string_view value);
  void Int(int64_t value);
  void Uint(uint64_t value);
  void Double(double value);
  void Bool(bool value);
  void Null();

  // Key and value in one; std::optional without a value is null.
  template <typename T>
  void Field(std::string_view key, const T& value) {
    Key(key);
    Value(value);
  }
  template <typename T>
  void Value(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      Bool(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      Double(value);
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      Int(value);
    } else if constexpr (std::is_integral_v<T>) {
      Uint(value);
    } else if constexpr (IsOptional<T>::value) {
      value ? Value(*value) : Null();
    } else {
      String(value);
    }
  }

  // Flushes; call once, when the outermost value is closed. Returns the sink's first error.
  absl::Status Finish();

 private:
  template <typename T>
  struct IsOptional : std::false_type {};
  template <typename T>
  struct IsOptional<std::optional<T>> : std::true_type {};

  struct Level {
    bool is_object;
    bool is_empty;
  };
  void BeforeValue();
  void NewLine();
  void Close(char bracket, bool is_object);
  void Quote(std::string_view text);
  void FlushIfLarge();
  void Flush();

  Sink sink_;
  int indent_count_;
  std::string buffer_;
  std::vector<Level> levels_;
  bool has_key_ = false;
  bool has_root_ = false;
  absl::Status status_;
};

}  // namespace stallhound

#pragma once

// The protobuf wire format (protobuf.dev/programming-guides/encoding), as far as a writer of messages needs it.

#include <cstdint>
#include <string>
#include <string_view>

namespace stallhound::capture {

// One message under construction. Negative integers take ten bytes, as in protobuf's int64.
class ProtoMessage {
 public:
  void Varint(uint32_t field, uint64_t value) {
    Raw(uint64_t{field} << 3);
    Raw(value);
  }
  void Fixed64(uint32_t field, uint64_t value) {
    Raw(uint64_t{field} << 3 | 1);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  void Bytes(uint32_t field, std::string_view value) {
    Raw(uint64_t{field} << 3 | 2);
    Raw(value.size());
    bytes_ += value;
  }
  void Message(uint32_t field, const ProtoMessage& message) { Bytes(field, message.bytes_); }
  void Clear() { bytes_.clear(); }
  const std::string& bytes() const { return bytes_; }

 private:
  void Raw(uint64_t value) {
    constexpr uint64_t kMore = 0x80;
    for (; value >= kMore; value >>= 7) bytes_ += static_cast<char>(value | kMore);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace stallhound::capture

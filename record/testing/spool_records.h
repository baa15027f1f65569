#pragma once

// The records of a spool file, for tests of what the recorder writes: plain and strict, unlike the product's reader.

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "capture/spool/format.h"

namespace stallhound::record {

class SpoolRecords {
 public:
  explicit SpoolRecords(const std::string& path) {
    namespace spool = capture::spool;
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    for (size_t at = spool::kHeaderBytes; at + sizeof(spool::ChunkHeader) <= bytes_.size();) {
      const auto* chunk = reinterpret_cast<const spool::ChunkHeader*>(bytes_.data() + at);
      const bool has_records =
          chunk->kind == spool::ChunkKind::kRecords || chunk->kind == spool::ChunkKind::kDictionary;
      if (chunk->magic == spool::kChunkMagic && has_records) {
        AddRecords(bytes_.data() + at + sizeof(*chunk), chunk->committed_bytes.load());
      }
      at += spool::kUnitBytes * (chunk->unit_count == 0 ? 1 : chunk->unit_count);
    }
    for (const auto& record : Of<spool::StringRecord>(spool::RecordType::kString)) {
      strings_[record->string_id] = std::string(reinterpret_cast<const char*>(record + 1), record->length);
    }
  }

  // Records of a type in the order of the file; `Record` must be its struct.
  template <typename Record>
  std::vector<const Record*> Of(capture::spool::RecordType type) const {
    std::vector<const Record*> found;
    for (const char* record : records_) {
      capture::spool::RecordHeader header;
      memcpy(&header, record, sizeof(header));
      if (header.type == type) found.push_back(reinterpret_cast<const Record*>(record));
    }
    return found;
  }
  // "" for 0.
  std::string Text(uint32_t string_id) const { return string_id == 0 ? "" : strings_.at(string_id); }
  const capture::spool::FileHeader& header() const {
    return *reinterpret_cast<const capture::spool::FileHeader*>(bytes_.data());
  }

 private:
  void AddRecords(const char* begin, uint32_t bytes) {
    for (uint32_t at = 0; at < bytes;) {
      capture::spool::RecordHeader header;
      memcpy(&header, begin + at, sizeof(header));
      if (header.bytes < sizeof(header) || header.bytes % 8 != 0) throw std::runtime_error("record of odd size");
      records_.push_back(begin + at);
      at += header.bytes;
    }
  }

  std::vector<char> bytes_;
  std::vector<const char*> records_;
  std::map<uint32_t, std::string> strings_;
};

}  // namespace stallhound::record

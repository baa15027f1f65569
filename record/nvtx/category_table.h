#pragma once

// Names of NVTX categories, by domain and number; lookups are lock-free. A number may be named again: the last name
// counts.

#include <atomic>
#include <cstdint>

#include "record/nvtx/text_table.h"

namespace stallhound::record {

class CategoryTable {
 public:
  // `name` is a handle of the table of names. False when the table is full.
  bool SetName(TextTable::Handle domain, uint32_t category, TextTable::Handle name);
  // 0: unnamed.
  TextTable::Handle NameOf(TextTable::Handle domain, uint32_t category) const;

 private:
  static constexpr uint32_t kSlots = 4096;

  struct Slot {
    std::atomic<uint64_t> key{0};  // domain and category, plus one
    std::atomic<TextTable::Handle> name{0};
  };

  static uint64_t Key(TextTable::Handle domain, uint32_t category) {
    return (static_cast<uint64_t>(domain) << 32 | category) + 1;
  }

  Slot slots_[kSlots];
};

}  // namespace stallhound::record

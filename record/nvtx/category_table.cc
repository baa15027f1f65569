#include "record/nvtx/category_table.h"

#include "record/stacks/hash.h"

namespace stallhound::record {

bool CategoryTable::SetName(TextTable::Handle domain, uint32_t category, TextTable::Handle name) {
  const uint64_t key = Key(domain, category);
  for (uint32_t probe = 0; probe < kSlots; ++probe) {
    Slot& slot = slots_[(MixHash(0, key) + probe) % kSlots];
    uint64_t found = 0;
    if (slot.key.compare_exchange_strong(found, key, std::memory_order_relaxed) || found == key) {
      slot.name.store(name, std::memory_order_release);
      return true;
    }
  }
  return false;
}

TextTable::Handle CategoryTable::NameOf(TextTable::Handle domain, uint32_t category) const {
  const uint64_t key = Key(domain, category);
  for (uint32_t probe = 0; probe < kSlots; ++probe) {
    const Slot& slot = slots_[(MixHash(0, key) + probe) % kSlots];
    const uint64_t found = slot.key.load(std::memory_order_relaxed);
    if (found == key) return slot.name.load(std::memory_order_acquire);
    if (found == 0) return 0;
  }
  return 0;
}

}  // namespace stallhound::record

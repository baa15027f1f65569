#include "record/nvtx/text_table.h"

#include <cstring>
#include <new>

#include "record/stacks/hash.h"

namespace stallhound::record {

TextTable::Entry* TextTable::Find(Handle handle) const {
  if (handle == 0 || handle > count_.load(std::memory_order_acquire)) return nullptr;
  const uint32_t index = handle - 1;
  return chunks_[index / kChunkEntries].load(std::memory_order_relaxed) + index % kChunkEntries;
}

bool TextTable::Get(Handle handle, std::string_view& text) const {
  const Entry* entry = Find(handle);
  if (entry == nullptr) return false;
  text = std::string_view(entry->text, entry->bytes);
  return true;
}

TextTable::Handle TextTable::Add(std::string_view text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Handle& bucket = buckets_[HashBytes(0, text.data(), text.size()) % kBuckets];
  for (Handle handle = bucket; handle != 0; handle = Find(handle)->next) {
    const Entry* entry = Find(handle);
    if (std::string_view(entry->text, entry->bytes) == text) return handle;
  }
  const Handle added = Append(text, bucket);
  if (added != 0) bucket = added;
  return added;
}

TextTable::Handle TextTable::Append(std::string_view text, Handle next) {
  const uint32_t index = count_.load(std::memory_order_relaxed);
  if (index >= kChunks * kChunkEntries) return 0;
  std::atomic<Entry*>& chunk = chunks_[index / kChunkEntries];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    auto* entries = static_cast<Entry*>(MapPages(kChunkEntries * sizeof(Entry)));
    if (entries == nullptr) return 0;
    chunk.store(entries, std::memory_order_relaxed);
  }
  char* copy = static_cast<char*>(arena_.Allocate(text.size()));
  if (copy == nullptr) return 0;
  memcpy(copy, text.data(), text.size());
  new (chunk.load(std::memory_order_relaxed) + index % kChunkEntries)
      Entry{copy, static_cast<uint32_t>(text.size()), next, 0};
  count_.store(index + 1, std::memory_order_release);
  return index + 1;
}

void TextTable::UnlockInChild() { new (&mutex_) std::mutex; }

}  // namespace stallhound::record

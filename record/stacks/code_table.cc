#include "record/stacks/code_table.h"

#include <new>

#include "record/stacks/hash.h"
#include "record/stacks/python_text.h"

namespace stallhound::record {
namespace {

// A record fits into a unit of the spool with room to spare; no line is known behind the cut of a longer table.
constexpr uint32_t kMaxTableBytes = 48 * 1024;
// Long tables are compared at both ends only: a new code object at an old address, with the same file, name, first line
// and table length, that differs in the middle alone, is not worth reading kilobytes for on every stack.
constexpr uint32_t kHeadBytes = 768;
constexpr uint32_t kTailBytes = 256;

bool SameTable(const uint8_t* left, const uint8_t* right, uint32_t bytes) {
  if (bytes <= kHeadBytes + kTailBytes) return memcmp(left, right, bytes) == 0;
  return memcmp(left, right, kHeadBytes) == 0 &&
         memcmp(left + bytes - kTailBytes, right + bytes - kTailBytes, kTailBytes) == 0;
}

PythonBytes ReadLineTable(const PythonLayout& layout, Address code) {
  PythonBytes table = ReadPythonBytes(layout, ReadAt<Address>(code, layout.code_table));
  if (table.size_bytes > kMaxTableBytes) table.size_bytes = kMaxTableBytes;
  return table;
}

}  // namespace

const KnownCode* CodeTable::Intern(const PythonRuntime& runtime, Address code, StackSink& sink) {
  const PythonLayout& layout = runtime.layout();
  const PythonBytes table = ReadLineTable(layout, code);
  PythonCode record = {.first_line = ReadAt<int32_t>(code, layout.code_first_line),
                       .python_version = layout.version,
                       .table = table.data,
                       .table_bytes = table.size_bytes};
  const std::lock_guard<std::mutex> lock(mutex_);
  if (generation_ != sink.Generation()) StartOver(sink.Generation());
  const size_t file_bytes = CopyPythonText(layout, ReadAt<Address>(code, layout.code_file), file_, kFileBytes);
  const size_t name_bytes = CopyPythonText(layout, ReadAt<Address>(code, layout.code_name), name_, kNameBytes);
  uint64_t hash = HashBytes(static_cast<uint32_t>(record.first_line), file_, file_bytes);
  hash = HashBytes(hash, name_, name_bytes);
  hash = HashBytes(hash, table.data, table.size_bytes);
  for (KnownCode* known = buckets_[hash % kBuckets]; known != nullptr; known = known->next) {
    if (known->content_hash == hash && known->table_bytes == table.size_bytes) return known;
  }
  return Add(record, hash, static_cast<uint32_t>(name_bytes), static_cast<uint32_t>(file_bytes), sink);
}

KnownCode* CodeTable::Add(const PythonCode& code, uint64_t hash, uint32_t name_bytes, uint32_t file_bytes,
                          StackSink& sink) {
  auto* memory = static_cast<char*>(arena_.Allocate(sizeof(KnownCode) + code.table_bytes));
  if (memory == nullptr) return nullptr;
  PythonCode record = code;
  record.file = sink.AddString(file_, file_bytes);
  record.name = sink.AddString(name_, name_bytes);
  const uint32_t code_id = sink.AddPythonCode(record);
  if (code_id == 0) return nullptr;
  auto* copy = reinterpret_cast<uint8_t*>(memory + sizeof(KnownCode));
  if (code.table_bytes != 0) memcpy(copy, code.table, code.table_bytes);
  KnownCode*& bucket = buckets_[hash % kBuckets];
  bucket = new (memory) KnownCode{hash, copy, code.table_bytes, code_id, bucket};
  return bucket;
}

void CodeTable::UnlockInChild() { new (&mutex_) std::mutex; }

void CodeTable::StartOver(uint64_t generation) {
  generation_ = generation;
  arena_.Reset();
  memset(buckets_, 0, sizeof(buckets_));
}

bool CodeCache::Matches(const PythonLayout& layout, const Entry& entry) {
  const Address code = entry.code;
  if (ReadAt<Address>(code, layout.code_file) != entry.file || ReadAt<Address>(code, layout.code_name) != entry.name ||
      ReadAt<Address>(code, layout.code_table) != entry.table ||
      ReadAt<int32_t>(code, layout.code_first_line) != entry.first_line) {
    return false;
  }
  // Strings and tables are objects too, whose addresses come again. A str keeps its hash once it was computed.
  if (ReadAt<int64_t>(entry.name, layout.text_length) != entry.name_length ||
      ReadAt<int64_t>(entry.name, layout.text_hash) != entry.name_hash ||
      ReadAt<int64_t>(entry.file, layout.text_length) != entry.file_length ||
      ReadAt<int64_t>(entry.file, layout.text_hash) != entry.file_hash) {
    return false;
  }
  const PythonBytes table = ReadLineTable(layout, code);
  return table.size_bytes == entry.known->table_bytes && SameTable(table.data, entry.known->table, table.size_bytes);
}

void CodeCache::Fill(const PythonLayout& layout, Address code, const KnownCode* known, Entry& entry) {
  entry.code = code;
  entry.file = ReadAt<Address>(code, layout.code_file);
  entry.name = ReadAt<Address>(code, layout.code_name);
  entry.table = ReadAt<Address>(code, layout.code_table);
  entry.first_line = ReadAt<int32_t>(code, layout.code_first_line);
  entry.known = known;
  entry.file_length = ReadAt<int64_t>(entry.file, layout.text_length);
  entry.file_hash = ReadAt<int64_t>(entry.file, layout.text_hash);
  entry.name_length = ReadAt<int64_t>(entry.name, layout.text_length);
  entry.name_hash = ReadAt<int64_t>(entry.name, layout.text_hash);
}

uint32_t CodeCache::Find(const PythonRuntime& runtime, Address code, CodeTable& table, StackSink& sink) {
  const size_t set = (code >> 4) % kSets;
  Entry* entries = entries_[set];
  Entry* chosen = nullptr;
  for (size_t way = 0; way < kWays; ++way) {
    if (entries[way].code != code) continue;
    if (Matches(runtime.layout(), entries[way])) return entries[way].known->code_id;
    chosen = &entries[way];
    break;
  }
  const PythonLayout& layout = runtime.layout();
  if (!IsPlausible(ReadAt<Address>(code, layout.code_file)) || !IsPlausible(ReadAt<Address>(code, layout.code_name))) {
    return 0;
  }
  const KnownCode* known = table.Intern(runtime, code, sink);
  if (known == nullptr) return 0;
  if (chosen == nullptr) chosen = &entries[next_way_[set]++ % kWays];
  Fill(layout, code, known, *chosen);
  return known->code_id;
}

}  // namespace stallhound::record

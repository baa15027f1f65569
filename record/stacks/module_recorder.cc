#include "record/stacks/module_recorder.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <cstring>

#include "record/stacks/hash.h"
#include "record/stacks/native_walk.h"

namespace stallhound::record {
namespace {

using capture::spool::ModuleRecord;

void ReadBuildId(const dl_phdr_info& info, const ElfW(Phdr) & segment, ModuleRecord& record) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(info.dlpi_addr + segment.p_vaddr);
  for (uint64_t at = 0; at + sizeof(ElfW(Nhdr)) <= segment.p_memsz;) {
    ElfW(Nhdr) note;
    memcpy(&note, bytes + at, sizeof(note));
    const uint64_t name_at = at + sizeof(note);
    const uint64_t content_at = name_at + ((uint64_t{note.n_namesz} + 3) & ~uint64_t{3});
    const uint64_t end = content_at + ((uint64_t{note.n_descsz} + 3) & ~uint64_t{3});
    if (end > segment.p_memsz) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(bytes + name_at, "GNU", 4) == 0) {
      record.build_id_bytes =
          note.n_descsz < sizeof(record.build_id) ? note.n_descsz : static_cast<uint32_t>(sizeof(record.build_id));
      memcpy(record.build_id, bytes + content_at, record.build_id_bytes);
      return;
    }
    at = end;
  }
}

ModuleRecord Describe(const dl_phdr_info& info) {
  ModuleRecord record{};
  record.begin = ~uint64_t{0};
  record.load_bias = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type == PT_NOTE && record.build_id_bytes == 0) ReadBuildId(info, segment, record);
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    if (begin < record.begin) record.begin = begin;
    if (begin + segment.p_memsz > record.end) record.end = begin + segment.p_memsz;
  }
  return record;
}

}  // namespace

struct ModuleVisit {
  // Stops at the first module when none was added since.
  static int OnModule(dl_phdr_info* info, size_t, void* argument) {
    auto& recorder = *static_cast<ModuleRecorder*>(argument);
    if (info->dlpi_adds == recorder.seen_adds_) return 1;
    ModuleRecord record = Describe(*info);
    if (record.begin >= record.end) return 0;
    const char* path = info->dlpi_name != nullptr ? info->dlpi_name : "";
    char executable[PATH_MAX];
    if (path[0] == '\0') {
      const ssize_t bytes = readlink("/proc/self/exe", executable, sizeof(executable) - 1);
      executable[bytes > 0 ? bytes : 0] = '\0';
      path = executable;
    }
    uint64_t key = HashBytes(record.begin, path, strlen(path));
    key = HashBytes(key, record.build_id, sizeof(record.build_id));
    if (!recorder.Remember(key)) return 0;
    record.path = recorder.writer_.InternString(path);
    recorder.writer_.AddDictionary(record);
    return 0;
  }
};

bool ModuleRecorder::Remember(uint64_t key) {
  if (key == 0) key = 1;
  size_t slot = key % kMaxModules;
  while (known_[slot] != 0) {
    if (known_[slot] == key) return false;
    slot = (slot + 1) % kMaxModules;
  }
  if (known_count_ >= kMaxModules * 3 / 4) return false;
  known_[slot] = key;
  ++known_count_;
  return true;
}

void ModuleRecorder::Refresh() {
  if (!writer_.EnsureOpen()) return;
  if (writer_.generation() != generation_) {
    generation_ = writer_.generation();
    seen_adds_ = 0;
    known_count_ = 0;
    memset(known_, 0, sizeof(known_));
  }
  // Counted before the walk: what is added meanwhile is looked at again.
  const unsigned long long adds = CountMappedModules();
  dl_iterate_phdr(ModuleVisit::OnModule, this);
  seen_adds_ = adds;
}

}  // namespace stallhound::record

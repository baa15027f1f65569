#pragma once

// What the dictionary records of one spool say: names, threads, stacks, shapes. Ids are the recorder's; 0 is none.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/spool/format.h"
#include "capture/symbolize/module.h"

namespace stallhound::capture::spool {

struct PythonCode {
  uint32_t file = 0;  // string ids of the spool
  uint32_t name = 0;
  int32_t first_line = 0;
  uint32_t python_version = 0;
  std::vector<uint8_t> line_table;
};

struct RawStack {
  std::vector<PythonFrame> python;
  std::vector<uint64_t> native;
};

class Dictionary {
 public:
  // Takes a dictionary record in; false if it is damaged.
  bool Add(const RecordHeader* record);

  // The text of a string id; "" for 0 and for ids never written.
  std::string_view String(uint32_t id) const;
  // The name of a CUDA call with its suffixes; "" if it was never written.
  std::string_view ApiName(uint32_t layer, uint32_t cbid) const;
  // The index of a thread by the operating system's id; 0: not recorded.
  uint32_t ThreadIndexOf(uint32_t tid) const;
  bool HasString(uint32_t id) const { return strings_.contains(id); }
  // The id of an equal shape; one that an undelivered buffer needed is added.
  uint32_t AddShape(ShapeRecord shape);

  const absl::flat_hash_map<uint32_t, ThreadRecord>& threads() const { return threads_; }
  const absl::flat_hash_map<uint32_t, PythonCode>& codes() const { return codes_; }
  const absl::flat_hash_map<uint32_t, RawStack>& stacks() const { return stacks_; }
  const absl::flat_hash_map<uint32_t, ShapeRecord>& shapes() const { return shapes_; }
  const absl::flat_hash_map<uint64_t, uint32_t>& pointer_names() const { return pointer_names_; }
  const absl::flat_hash_map<uint32_t, uint32_t>& domains() const { return domains_; }
  const absl::flat_hash_map<uint32_t, ContextRecord>& contexts() const { return contexts_; }
  const std::vector<StreamRecord>& streams() const { return streams_; }
  const std::vector<GraphRecord>& graphs() const { return graphs_; }
  const std::vector<KeyValueRecord>& key_values() const { return key_values_; }
  const std::vector<Module>& modules() const { return modules_; }

 private:
  bool AddString(const RecordHeader* record);
  bool AddModule(const RecordHeader* record);
  bool AddCode(const RecordHeader* record);
  bool AddStack(const RecordHeader* record);

  absl::flat_hash_map<uint32_t, std::string> strings_;
  absl::flat_hash_map<uint32_t, ThreadRecord> threads_;
  absl::flat_hash_map<uint32_t, PythonCode> codes_;
  absl::flat_hash_map<uint32_t, RawStack> stacks_;
  absl::flat_hash_map<uint32_t, ShapeRecord> shapes_;
  absl::flat_hash_map<uint64_t, uint32_t> pointer_names_;
  absl::flat_hash_map<uint64_t, uint32_t> api_names_;  // by layer << 32 | cbid
  absl::flat_hash_map<uint32_t, uint32_t> thread_of_tid_;
  absl::flat_hash_map<uint32_t, uint32_t> domains_;
  absl::flat_hash_map<uint32_t, ContextRecord> contexts_;
  std::vector<StreamRecord> streams_;
  std::vector<GraphRecord> graphs_;
  std::vector<KeyValueRecord> key_values_;
  std::vector<Module> modules_;
  absl::flat_hash_map<std::string, uint32_t> shape_ids_;  // by content; filled when AddShape is first called
  uint32_t next_shape_id_ = 0x80000000u;                  // above the recorder's own
};

}  // namespace stallhound::capture::spool

#include "capture/spool/dictionary.h"

#include <algorithm>

#include "capture/spool/spool_file_reader.h"

namespace stallhound::capture::spool {
namespace {

// Bytes that follow the struct of a record.
template <typename Record>
const uint8_t* TailOf(const Record* record) {
  return reinterpret_cast<const uint8_t*>(record) + sizeof(Record);
}
template <typename Record>
size_t TailBytes(const Record* record) {
  return record->header.bytes - sizeof(Record);
}

// Puts a record under its id; false if it is too short.
template <typename Record, typename Map>
bool Put(const RecordHeader* header, Map& map, uint32_t Record::*id) {
  const auto* record = RecordAs<Record>(header);
  if (record == nullptr) return false;
  map[record->*id] = *record;
  return true;
}

template <typename Record>
bool Append(const RecordHeader* header, std::vector<Record>& records) {
  const auto* record = RecordAs<Record>(header);
  if (record == nullptr) return false;
  records.push_back(*record);
  return true;
}

}  // namespace

bool Dictionary::Add(const RecordHeader* record) {
  switch (record->type) {
    case RecordType::kString:
      return AddString(record);
    case RecordType::kThread: {
      if (!Put(record, threads_, &ThreadRecord::thread_index)) return false;
      const auto* thread = RecordAs<ThreadRecord>(record);
      thread_of_tid_[static_cast<uint32_t>(thread->tid)] = thread->thread_index;
      return true;
    }
    case RecordType::kKeyValue:
      return Append(record, key_values_);
    case RecordType::kModule:
      return AddModule(record);
    case RecordType::kPythonCode:
      return AddCode(record);
    case RecordType::kStack:
      return AddStack(record);
    case RecordType::kShape:
      return Put(record, shapes_, &ShapeRecord::shape_id);
    case RecordType::kPointerName: {
      const auto* name = RecordAs<PointerNameRecord>(record);
      if (name == nullptr) return false;
      pointer_names_[name->pointer] = name->name;
      return true;
    }
    case RecordType::kApiName: {
      const auto* name = RecordAs<ApiNameRecord>(record);
      if (name == nullptr) return false;
      api_names_[uint64_t{name->layer} << 32 | name->cbid] = name->name;
      return true;
    }
    case RecordType::kStream:
      return Append(record, streams_);
    case RecordType::kContext:
      return Put(record, contexts_, &ContextRecord::context_id);
    case RecordType::kGraph:
      return Append(record, graphs_);
    case RecordType::kDomain: {
      const auto* domain = RecordAs<DomainRecord>(record);
      if (domain == nullptr) return false;
      domains_[domain->domain_id] = domain->name;
      return true;
    }
    default:
      return false;
  }
}

std::string_view Dictionary::String(uint32_t id) const {
  const auto it = strings_.find(id);
  return it == strings_.end() ? std::string_view() : it->second;
}

std::string_view Dictionary::ApiName(uint32_t layer, uint32_t cbid) const {
  const auto it = api_names_.find(uint64_t{layer} << 32 | cbid);
  return it == api_names_.end() ? std::string_view() : String(it->second);
}

uint32_t Dictionary::ThreadIndexOf(uint32_t tid) const {
  const auto it = thread_of_tid_.find(tid);
  return it == thread_of_tid_.end() ? 0 : it->second;
}

uint32_t Dictionary::AddShape(ShapeRecord shape) {
  const auto content = [](const ShapeRecord& record) {
    // What follows the id.
    const auto* begin = reinterpret_cast<const char*>(&record.name);
    return std::string(begin, reinterpret_cast<const char*>(&record + 1));
  };
  if (shape_ids_.empty()) {
    for (const auto& [id, known] : shapes_) shape_ids_[content(known)] = id;
  }
  const auto [it, is_new] = shape_ids_.try_emplace(content(shape), next_shape_id_);
  if (!is_new) return it->second;
  shape.shape_id = next_shape_id_++;
  shapes_[shape.shape_id] = shape;
  return shape.shape_id;
}

bool Dictionary::AddString(const RecordHeader* record) {
  const auto* string = RecordAs<StringRecord>(record);
  if (string == nullptr || string->length > TailBytes(string)) return false;
  strings_[string->string_id] = std::string(reinterpret_cast<const char*>(TailOf(string)), string->length);
  return true;
}

bool Dictionary::AddModule(const RecordHeader* record) {
  const auto* module = RecordAs<ModuleRecord>(record);
  if (module == nullptr || module->build_id_bytes > sizeof module->build_id || module->end < module->begin)
    return false;
  modules_.push_back({std::string(String(module->path)),
                      {module->build_id, module->build_id + module->build_id_bytes},
                      module->begin,
                      module->end,
                      module->load_bias});
  return true;
}

bool Dictionary::AddCode(const RecordHeader* record) {
  const auto* code = RecordAs<PythonCodeRecord>(record);
  if (code == nullptr || code->table_bytes > TailBytes(code)) return false;
  const uint8_t* table = TailOf(code);
  codes_[code->code_id] = {
      code->file, code->name, code->first_line, code->python_version, {table, table + code->table_bytes}};
  return true;
}

bool Dictionary::AddStack(const RecordHeader* record) {
  const auto* stack = RecordAs<StackRecord>(record);
  if (stack == nullptr) return false;
  const size_t python_bytes = stack->python_count * sizeof(PythonFrame);
  const size_t native_bytes = stack->native_count * sizeof(uint64_t);
  if (python_bytes + native_bytes > TailBytes(stack)) return false;
  const auto* python = reinterpret_cast<const PythonFrame*>(TailOf(stack));
  const auto* native = reinterpret_cast<const uint64_t*>(TailOf(stack) + python_bytes);
  stacks_[stack->stack_id] = {{python, python + stack->python_count}, {native, native + stack->native_count}};
  return true;
}

}  // namespace stallhound::capture::spool

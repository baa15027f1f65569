#include "capture/import/nsys/shapes.h"

#include <optional>

#include "base/status_macros.h"
#include "capture/import/nsys/emitter.h"

namespace stallhound::capture::nsys {

Shapes::Key Shapes::KeyOf(const Rows& rows, int first_column) {
  constexpr int kNameColumns = 3;
  Key key;
  key[0] = kAbsent;
  for (int i = 0; i < kNameColumns && key[0] == kAbsent; ++i) {
    key[0] = rows.MaybeInt(first_column + i).value_or(kAbsent);
  }
  for (size_t i = 1; i < key.size(); ++i) {
    key[i] = rows.MaybeInt(first_column + kNameColumns - 1 + static_cast<int>(i)).value_or(kAbsent);
  }
  return key;
}

uint32_t Shapes::Id(const Key& key) {
  if (last_id_ != UINT32_MAX && key == last_key_) return last_id_;
  const auto [it, is_new] = ids_.try_emplace(key, static_cast<uint32_t>(keys_.size()));
  if (is_new) keys_.push_back(key);
  last_key_ = key;
  last_id_ = it->second;
  return it->second;
}

absl::Status Shapes::Emit(Names& names, CaptureVisitor& visitor) const {
  const auto known = [](int64_t value) { return value == kAbsent ? std::nullopt : std::optional(value); };
  Emitter<KernelShapeBatch> emitter(visitor);
  for (size_t i = 0; i < keys_.size(); ++i) {
    const Key& key = keys_[i];
    const std::optional<StringId> name = key[0] == kAbsent ? std::nullopt : names.Find(key[0]);
    KernelShapeRow row;
    row.kernel_shape_id = static_cast<uint32_t>(i);
    row.name = name ? *name : names.Intern("unknown");
    row.grid_x = known(key[1]);
    row.grid_y = known(key[2]);
    row.grid_z = known(key[3]);
    row.block_x = known(key[4]);
    row.block_y = known(key[5]);
    row.block_z = known(key[6]);
    row.registers_per_thread = known(key[7]);
    row.static_shared_bytes = known(key[8]);
    row.dynamic_shared_bytes = known(key[9]);
    SH_RETURN_IF_ERROR(emitter.Add(row));
  }
  return emitter.Flush();
}

}  // namespace stallhound::capture::nsys

#include "record/cupti/layout/layout.h"

namespace stallhound::record {

const capture::spool::ActivityLayout* LayoutFor(uint32_t version) noexcept {
  const capture::spool::ActivityLayout* found = nullptr;
  for (int i = 0; i < kLayoutCount && kLayouts[i].cupti_version <= version; ++i) found = &kLayouts[i];
  return found;
}

bool HasOwnLayout(uint32_t version) noexcept {
  const capture::spool::ActivityLayout* layout = LayoutFor(version);
  return layout != nullptr && layout->cupti_version == version;
}

}  // namespace stallhound::record

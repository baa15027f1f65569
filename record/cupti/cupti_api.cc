#include "record/cupti/cupti_api.h"

#include <dlfcn.h>

namespace stallhound::record {

const char* ResolveCupti(void* library, CuptiApi& api) noexcept {
#define SH_CUPTI_RESOLVE(member, symbol, type) api.member = reinterpret_cast<type>(dlsym(library, symbol));
  SH_CUPTI_REQUIRED(SH_CUPTI_RESOLVE)
  SH_CUPTI_OPTIONAL(SH_CUPTI_RESOLVE)
#undef SH_CUPTI_RESOLVE
#define SH_CUPTI_CHECK(member, symbol, type) \
  if (api.member == nullptr) return symbol;
  SH_CUPTI_REQUIRED(SH_CUPTI_CHECK)
#undef SH_CUPTI_CHECK
  if (void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) {
    api.get_pointer_attributes =
        reinterpret_cast<decltype(&cuPointerGetAttributes)>(dlsym(driver, "cuPointerGetAttributes"));
    api.is_capturing = reinterpret_cast<decltype(&cuStreamIsCapturing)>(dlsym(driver, "cuStreamIsCapturing"));
  }
  return nullptr;
}

}  // namespace stallhound::record

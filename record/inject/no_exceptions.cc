// What the standard library's headers call where they would throw. The recorder is built without exceptions and gives
// none of these calls a reason; defining them keeps libstdc++'s exception machinery, and with it locales, random
// devices and their newer glibc symbols, out of the profiled program. Weak, so that a build that needs the originals
// gets them.

#include <string_view>

namespace std {

[[noreturn]] __attribute__((weak)) void __throw_out_of_range_fmt(const char*, ...) { __builtin_trap(); }
[[noreturn]] __attribute__((weak)) void __throw_system_error(int) { __builtin_trap(); }

}  // namespace std

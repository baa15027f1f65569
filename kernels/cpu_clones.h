#pragma once

// Marks a function that the compiler translates for several generations of x86 processors; the best is chosen when the
// program starts. What it calls must be inlined into it to profit. Elsewhere it has no effect. The only place of the
// project that knows one processor family.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SH_CPU_CLONES __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define SH_CPU_CLONES
#endif

#define SH_ALWAYS_INLINE inline __attribute__((always_inline))

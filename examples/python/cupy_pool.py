"""CuPy: a loop that empties the memory pool every step, and reads a maximum back."""

import cupy

WARMUP, STEPS = 5, 20

values = cupy.random.rand(1 << 20, dtype=cupy.float32)
largest = 0.0
for step in range(WARMUP + STEPS):
    scratch = cupy.sqrt(values) * step
    largest = max(largest, float(scratch.max()))  # waits for the value
    del scratch
    cupy.get_default_memory_pool().free_all_blocks()  # frees for real: cudaFree waits
print(f"cupy_pool: {STEPS} steps, largest {largest:.3f}")

"""The PyTorch example under torch.profiler with Python stacks: a trace of another tool, $OUT/pytorch.kineto.json.gz."""

import os
import runpy
import sys

from torch.profiler import ProfilerActivity, profile

LIMIT_BYTES = 2_000_000


def main():
    target = os.path.join(os.environ["OUT"], "pytorch.kineto.json.gz")
    script = os.path.join(os.environ["BUNDLE"], "examples", "train.py")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=True) as profiler:
        runpy.run_path(script, run_name="__main__")
    profiler.export_chrome_trace(target)
    size = os.path.getsize(target)
    print(f"{target}: {size} bytes")
    return 0 if size < LIMIT_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())

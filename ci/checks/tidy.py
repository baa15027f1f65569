#!/usr/bin/env python3
"""Runs clang-tidy (version 14, the tree's .clang-tidy) over the .cc files: tidy.py [ROOT] [--budget-s N] [--jobs N]

A file is looked at again only if it, a project header it includes or .clang-tidy changed; clean results are kept in
the user's cache folder. With a budget, changed files that time did not suffice for are named, and are no problem: the
next run goes on with them. Without one (the default) all files are looked at.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import tree

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"(?P<path>[^"]+)"', re.MULTILINE)
# Of errors only tidy's own: where clang 14 rejects what GCC takes, the build decides.
_FINDING = re.compile(
    r"^(?P<path>/[^:]+):(?P<line>\d+):\d+: (?:warning|error): (?P<text>.*\[(?!clang-diagnostic)[^\]]+\])$", re.MULTILINE
)
# LibTorch's headers take longer than a file's share of the budget.
_SKIPPED = re.compile(r"<(torch|ATen|c10)/")


def _cuda_headers():
    toolkit = os.path.join(os.environ.get("CUDA_PATH", "/usr/local/cuda"), "include")
    unpacked = os.path.expanduser("~/.cache/stallhound/cuda-headers/include")
    return toolkit if os.path.isfile(os.path.join(toolkit, "cupti.h")) else os.environ.get("STALLHOUND_CUDA_HEADERS", unpacked)


class Tidy:
    def __init__(self, root, program, cache):
        self.root, self.program, self.cache = root, program, cache
        self.keys = {}
        self.flags = ["-std=c++20", "-I" + root, "-isystem" + _cuda_headers(), "-DFMT_HEADER_ONLY=1"]

    def _included(self, path, seen):
        """Adds `path` and the project files it includes, directly or not."""
        if path in seen or not os.path.isfile(os.path.join(self.root, path)):
            return
        seen.add(path)
        for match in _INCLUDE.finditer(tree.read(self.root, path)):
            self._included(match.group("path"), seen)

    def marker(self, path):
        """The file whose presence says that this content was clean."""
        seen = set()
        self._included(path, seen)
        digest = hashlib.sha256(tree.read(self.root, ".clang-tidy").encode())
        for name in sorted(seen):
            digest.update(name.encode() + b"\0" + tree.read(self.root, name).encode() + b"\0")
        return os.path.join(self.cache, digest.hexdigest())

    def problems(self, path):
        command = [self.program, "--quiet", path, "--", *self.flags]
        run = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        return [
            f"{os.path.relpath(match.group('path'), self.root)}:{match.group('line')}: {match.group('text')}"
            for match in _FINDING.finditer(run.stdout)
        ]


def problems(root, budget_s=None, jobs=None):
    """(problems, files that time did not suffice for)"""
    program = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if program is None:
        return ["clang-tidy is not installed: run ci/setup.sh"], []
    cache = os.path.expanduser("~/.cache/stallhound/tidy")
    os.makedirs(cache, exist_ok=True)
    tidy = Tidy(os.path.abspath(root), program, cache)
    changed = []
    for path in tree.files(root, (".cc",)):
        marker = tidy.marker(path)
        if not os.path.exists(marker) and not _SKIPPED.search(tree.read(root, path)):
            changed.append((path, marker))
    deadline = time.monotonic() + budget_s if budget_s is not None else None

    def look(job):
        path, marker = job
        if deadline is not None and time.monotonic() > deadline:
            return path, None
        found = tidy.problems(path)
        if not found:
            open(marker, "w", encoding="utf-8").close()
        return path, found

    with ThreadPoolExecutor(max_workers=jobs or os.cpu_count()) as pool:
        results = list(pool.map(look, changed))
    found = sorted({problem for _, file_problems in results if file_problems for problem in file_problems})
    return found, [path for path, file_problems in results if file_problems is None]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    parser.add_argument("--budget-s", type=float)
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    all_problems, left = problems(options.root, options.budget_s, options.jobs)
    print("\n".join(all_problems + [f"not looked at, out of time: {path}" for path in left]))
    sys.exit(1 if all_problems else 0)

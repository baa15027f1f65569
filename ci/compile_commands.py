#!/usr/bin/env python3
"""Writes compile_commands.json for clangd from what Bazel would run: ci/compile_commands.py [PATTERN], by default //...

Start it again when targets or flags change. Build once before: headers of external repositories are found where a build
puts them.
"""

import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What GCC gets and clang does not know.
_DROPPED = {"-fno-canonical-system-headers", "-Wunused-but-set-parameter", "-Wno-free-nonheap-object"}


def commands(query, execution_root):
    """Entries of compile_commands.json from the JSON of `bazel aquery`; external paths below `execution_root`."""
    entries = []
    for action in query.get("actions", []):
        arguments = [
            os.path.join(execution_root, argument) if argument.startswith("external/") else argument
            for argument in action.get("arguments", [])
            if argument not in _DROPPED
        ]
        if "-c" not in arguments:
            continue
        source = arguments[arguments.index("-c") + 1]
        if not source.startswith((execution_root, "bazel-out/")):
            entries.append({"directory": ROOT, "file": source, "arguments": arguments})
    return sorted(entries, key=lambda entry: entry["file"])


def _bazel(*arguments):
    return subprocess.run(["bazel", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def main(patterns):
    pattern = " + ".join(patterns or ["//..."])
    query = json.loads(_bazel("aquery", "--output=jsonproto", "--keep_going", f'mnemonic("CppCompile", {pattern})'))
    entries = commands(query, _bazel("info", "execution_root").strip())
    with open(os.path.join(ROOT, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(entries, file, indent=1)
    print(f"compile_commands.json: {len(entries)} files")


if __name__ == "__main__":
    main(sys.argv[1:])

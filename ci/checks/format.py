#!/usr/bin/env python3
"""Checks that clang-format (version 14, the tree's .clang-format) would change nothing."""

import re
import shutil
import subprocess

import tree

_WARNING = re.compile(r"^(?P<path>.+?):(?P<line>\d+):\d+: error: code should be clang-formatted", re.MULTILINE)


def problems(root):
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    if program is None:
        return ["clang-format is not installed: run ci/setup.sh"]
    paths = tree.files(root, tree.CPP_SUFFIXES)
    if not paths:
        return []
    run = subprocess.run(
        [program, "--dry-run", "-Werror", "--style=file", *paths], cwd=root, capture_output=True, text=True, check=False
    )
    first_lines = {}
    for match in _WARNING.finditer(run.stderr):
        first_lines.setdefault(match.group("path"), match.group("line"))
    found = [f"{path}:{line}: not formatted; run {program} -i {path}" for path, line in first_lines.items()]
    if run.returncode != 0 and not found:
        found.append(f"{program} failed: {run.stderr.strip()[:500]}")
    return found


if __name__ == "__main__":
    tree.main(problems)

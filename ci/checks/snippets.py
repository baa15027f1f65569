#!/usr/bin/env python3
"""Runs the snippets of READMEs: snippets.py [ROOT] [--bin FOLDER]

A fenced block opened with ```console run is a session: lines that start with `$ ` are commands, what follows is their
output, where `...` stands for anything (within a line or as a line of its own) and a run of blanks for any blanks. A
block without output lines only has to succeed. Commands run with bash in one empty folder per file, FOLDER (by default the
package's bin) first in PATH and $STALLHOUND_SOURCE naming the tree. `console run gpu` blocks run where a GPU is.
"""

import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

import tree

_BLOCK = re.compile(r"^```console run(?P<gpu> gpu)?\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)
_LIMIT_S = 120


def parse(body):
    """[(command, expected output)] of one block; a command goes on while its lines end in a backslash."""
    steps = []
    for line in body.splitlines():
        if line.startswith("$ "):
            steps.append([line[2:], []])
        elif steps and steps[-1][0].endswith("\\") and not steps[-1][1]:
            steps[-1][0] += "\n" + line
        elif steps:
            steps[-1][1].append(line)
    return [(command, "\n".join(output)) for command, output in steps]


def _as_pattern(part):
    if part == "...":
        return ".*?"
    return r"[ \t]+" if part.isspace() and "\n" not in part else re.escape(part)


def matches(expected, actual):
    pattern = "".join(_as_pattern(part) for part in re.split(r"(\.\.\.|[ \t]+)", expected.strip()))
    lines = re.sub(r"[ \t]+$", "", actual, flags=re.MULTILINE)
    return re.fullmatch(pattern, lines.strip(), re.DOTALL) is not None


def _run(command, folder, environment):
    try:
        run = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LIMIT_S, check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"took longer than {_LIMIT_S} s"
    return run.returncode, run.stdout + run.stderr


def _block_problems(where, steps, folder, environment):
    for command, expected in steps:
        code, output = _run(command, folder, environment)
        if code is None:
            return [f"{where}: `{command}` {output}"]
        if expected and not matches(expected, output):
            return [f"{where}: `{command}` printed something else:\n{output.rstrip()}"]
        if not expected and code != 0:
            return [f"{where}: `{command}` ended with {code}:\n{output.rstrip()}"]
    return []


def problems(root, bin_folder):
    environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}", STALLHOUND_SOURCE=os.path.abspath(root), NO_COLOR="1")
    has_gpu = os.path.exists("/dev/nvidiactl")
    found = []
    for path in tree.files(root, (".md",)):
        text = tree.read(root, path)
        with tempfile.TemporaryDirectory() as folder:
            environment["STALLHOUND_HOME"] = os.path.join(folder, ".stallhound")
            for match in _BLOCK.finditer(text):
                if match.group("gpu") and not has_gpu:
                    continue
                where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
                found += _block_problems(where, parse(match.group("body")), folder, environment)
    return found


if __name__ == "__main__":
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=own)
    parser.add_argument("--bin", default=None)
    options = parser.parse_args()
    packaged = sorted(glob.glob(os.path.join(own, "dist", "stallhound-*", "bin")))
    if options.bin is None and not packaged:
        sys.exit("no package in dist/: run ci/package.sh, or say --bin FOLDER")
    all_problems = problems(options.root, os.path.abspath(options.bin or packaged[-1]))
    print("\n".join(all_problems))
    sys.exit(1 if all_problems else 0)

"""What every check of this folder shares: the files of a tree, code without its comments, and the command line."""

import os
import re
import subprocess
import sys

CPP_SUFFIXES = (".h", ".cc", ".cu", ".cuh")
PRODUCT_SUFFIXES = CPP_SUFFIXES + (".py", ".sh", ".bzl", ".js", ".sql")


def files(root, suffixes):
    """Paths relative to `root`, sorted: what git tracks or would track; without a repository, what lies there."""
    if os.path.isdir(os.path.join(root, ".git")):
        command = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
        names = [name for name in names if os.path.isfile(os.path.join(root, name))]
    else:
        names = [
            os.path.relpath(os.path.join(folder, name), root)
            for folder, _, members in os.walk(root)
            for name in members
        ]
    return sorted(name for name in set(names) if name.endswith(tuple(suffixes)))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def is_test(path):
    """Test code and test data, as opposed to the product."""
    stem = os.path.splitext(os.path.basename(path))[0]
    folders = path.split("/")[:-1]
    return (
        stem.endswith(("_test", "_fuzz", "_benchmark", "_generator"))
        or stem.startswith(("test_", "fake_"))
        or bool({"testdata", "testing"} & set(folders))
    )


_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<raw>R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*')""",
    re.DOTALL,
)


def without_comments(text, keep_strings=False):
    """C++ text whose comments (and string contents) are blanked; line numbers stay."""

    def blank(match):
        if keep_strings and match.group("comment") is None:
            return match.group(0)
        inside = re.sub(r"[^\n]", " ", match.group(0))
        return inside if match.group("comment") is not None else '"' + inside[1:-1] + '"'

    return _TOKEN.sub(blank, text)


def main(problems):
    """Runs `problems(root)` on the tree named on the command line, by default the repository of this file."""
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    root = sys.argv[1] if len(sys.argv) > 1 else own
    found = problems(root)
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)

#!/usr/bin/env python3
"""Checks a built recorder: exports.py LIBRARY. Only the listed symbols exported, none of glibc newer than listed, no
library needed beyond the listed ones (exports.json)."""

import json
import os
import re
import subprocess
import sys

_SYMBOL = re.compile(r"^\s*\d+:\s+\S+\s+\S+\s+(?P<type>\S+)\s+(?P<bind>\S+)\s+(?P<visibility>\S+)\s+(?P<section>\S+)\s+(?P<name>[^\s@]+)")
_VERSION = re.compile(r"Name: (?P<name>GLIBC_(?P<version>[0-9.]+))")
_NEEDED = re.compile(r"\(NEEDED\).*\[(?P<name>[^\]]+)\]")


def _readelf(*arguments):
    return subprocess.run(["readelf", *arguments], check=True, capture_output=True, text=True).stdout


def _number(version):
    return tuple(int(part) for part in version.split("."))


def problems(library):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "exports.json"), encoding="utf-8") as file:
        allowed = json.load(file)
    found = []
    exported = {
        match.group("name")
        for match in map(_SYMBOL.match, _readelf("--wide", "--dyn-syms", library).splitlines())
        if match and match.group("section") != "UND" and match.group("bind") != "LOCAL" and match.group("section") != "ABS"
    }
    found += [f"exports {name}, which is not listed" for name in sorted(exported - set(allowed["exported"]))]
    found += [f"does not export {name}" for name in sorted(set(allowed["exported"]) - exported)]
    versions = {match.group("version") for match in _VERSION.finditer(_readelf("--wide", "--version-info", library))}
    found += [
        f"needs glibc {version}; newest allowed is {allowed['newest_glibc']}"
        for version in sorted(versions, key=_number)
        if _number(version) > _number(allowed["newest_glibc"])
    ]
    needed = {match.group("name") for match in _NEEDED.finditer(_readelf("--wide", "--dynamic", library))}
    found += [f"needs {name}, which is not listed" for name in sorted(needed - set(allowed["needed"]))]
    return [f"{os.path.basename(library)}: {problem}" for problem in found]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    all_problems = problems(sys.argv[1])
    print("\n".join(all_problems) or "no objection")
    sys.exit(1 if all_problems else 0)

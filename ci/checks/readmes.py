#!/usr/bin/env python3
"""Checks the README of every folder with code: there, at most 60 lines besides generated tables; and that the links of all Markdown files lead
somewhere."""

import os
import re

import tree

MOST_LINES = 60
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)#\s]+)(#[^)]*)?\)")
# Tables that tools write (ci/readme_table.py) are as long as there are cases.
_GENERATED = re.compile(r"<!-- (?P<name>\w+): begin.*?<!-- (?P=name): end -->", re.DOTALL)
_CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _folders_with_code(root):
    """The top folders with product code, and the folders below them that have public headers."""
    paths = [path for path in tree.files(root, tree.PRODUCT_SUFFIXES) if not tree.is_test(path) and path[0] != "."]
    tops = {path.split("/")[0] for path in paths if "/" in path}
    return sorted(tops | {os.path.dirname(path) for path in paths if path.endswith(".h") and path.count("/") == 2})


def _link_problems(root, path, text):
    found = []
    for match in _LINK.finditer(_CODE_BLOCK.sub(lambda block: re.sub(r"[^\n]", " ", block.group(0)), text)):
        target = match.group("target")
        if "://" in target or target.startswith("mailto:"):
            continue
        if not os.path.exists(os.path.join(root, os.path.dirname(path), target)):
            found.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: link to {target}, which is not there")
    return found


def problems(root):
    found = []
    for folder in _folders_with_code(root):
        if not os.path.isfile(os.path.join(root, folder, "README.md")):
            found.append(f"{folder}: has code but no README.md")
    for path in tree.files(root, (".md",)):
        text = tree.read(root, path)
        lines = _GENERATED.sub("", text).count("\n")
        if os.path.basename(path) == "README.md" and "/" in path and lines > MOST_LINES:
            found.append(f"{path}:1: {lines} lines; at most {MOST_LINES}")
        found += _link_problems(root, path, text)
    return found


if __name__ == "__main__":
    tree.main(problems)

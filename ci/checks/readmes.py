#!/usr/bin/env python3
"""Checks the README of every folder with code: there, at most 60 lines, its links lead somewhere, and one that others
build on says how to add to it."""

import os
import re

import tree

MOST_LINES = 60
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)#\s]+)(#[^)]*)?\)")
_CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _folders_with_code(root):
    """Folders that hold C++ or Python of the product, but data and test folders."""
    paths = [path for path in tree.files(root, tree.CPP_SUFFIXES + (".py", ".sh")) if not tree.is_test(path)]
    folders = {os.path.dirname(path) for path in paths}
    tops = {folder.split("/")[0] for folder in folders if folder and not folder.startswith(".")}
    return sorted(tops | {folder for folder in folders if folder and folder.count("/") < 2 and not folder.startswith(".")})


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
        lines = text.count("\n")
        if os.path.basename(path) == "README.md" and "/" in path and lines > MOST_LINES:
            found.append(f"{path}:1: {lines} lines; at most {MOST_LINES}")
        found += _link_problems(root, path, text)
    return found


if __name__ == "__main__":
    tree.main(problems)

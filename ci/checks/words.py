#!/usr/bin/env python3
"""Checks that no file contains what words.json rules out: work left for later, paths of one machine, addresses."""

import json
import os
import re

import tree

_TEXT_SUFFIXES = tree.PRODUCT_SUFFIXES + (".md", ".json", ".toml", ".html", ".css", ".bazelrc", ".txt", "BUILD", "WORKSPACE")


def _load_patterns():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "words.json"), encoding="utf-8") as file:
        words = json.load(file)
    addresses = "|".join(re.escape(address) for address in words["addresses"])
    compiled = [
        (kind, re.compile(pattern.replace("{addresses}", addresses)))
        for kind, patterns in words["patterns"].items()
        for pattern in patterns
    ]
    return words["except"], compiled


def problems(root):
    exceptions, patterns = _load_patterns()
    found = []
    for path in tree.files(root, _TEXT_SUFFIXES):
        if any(exception in path for exception in exceptions):
            continue
        for number, line in enumerate(tree.read(root, path).splitlines(), 1):
            found += [
                f"{path}:{number}: {kind}: {match.group(0)}"
                for kind, pattern in patterns
                if kind == "left-over" or not tree.is_test(path)
                for match in [pattern.search(line)]
                if match
            ]
    return found


if __name__ == "__main__":
    tree.main(problems)

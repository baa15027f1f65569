#!/usr/bin/env python3
"""Checks the includes of C++ and CUDA files against include_table.json: which folder may use which other and which
library."""

import json
import os
import re

import tree

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<bracket>[<"])(?P<path>[^>"]+)[>"]', re.MULTILINE)


def _load_table():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "include_table.json"), encoding="utf-8") as file:
        return json.load(file)


def _starts(path, key):
    return path == key or path.startswith(key if key.endswith("/") else key + "/") or (
        "/" in key and path.startswith(key)
    )


def _rule_of(path, rules):
    """The key of the rule for `path`, or None."""
    matches = [(len(part), key) for key in rules for part in key.split() if _starts(path, part)]
    return max(matches)[1] if matches else None


def _library_of(include, prefixes):
    return next((name for name, starts in prefixes.items() if include.startswith(tuple(starts))), None)


def _objection(path, include, table, top_folders):
    """Why `path` must not include `include`, or None."""
    key = _rule_of(path, table["rules"])
    rule = table["rules"][key]
    owner = key if " " not in key else os.path.splitext(path)[0]
    extra = rule.get("test", {}) if tree.is_test(path) else {}
    folders = rule["folders"] + extra.get("folders", [])
    libraries = rule["libraries"] + extra.get("libraries", [])
    if include.split("/")[0] in top_folders:
        if any(_starts(include, allowed) for allowed in folders + key.split()):
            return None
        return f"{owner} may not use {os.path.dirname(include)}"
    library = _library_of(include, table["prefixes"])
    if library is not None and library not in libraries:
        return f"{owner} may not use {library}"
    return None


def problems(root):
    table = _load_table()
    top_folders = {key.split("/")[0] for key in table["rules"]} | {"python", "ci"}
    found = []
    for path in tree.files(root, tree.CPP_SUFFIXES):
        if _rule_of(path, table["rules"]) is None:
            if path.startswith("ci/"):
                continue
            found.append(f"{path}:1: no rule for this folder in ci/checks/include_table.json")
            continue
        text = tree.without_comments(tree.read(root, path), keep_strings=True)
        for match in _INCLUDE.finditer(text):
            objection = _objection(path, match.group("path"), table, top_folders)
            if objection:
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{path}:{line}: includes {match.group('path')}, but {objection}")
    return found


if __name__ == "__main__":
    tree.main(problems)

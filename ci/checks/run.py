#!/usr/bin/env python3
"""Runs the checks of this folder on the tree, one test case each: run.py [--junit FILE] [--tidy-budget-s N]

The checks of built files (exports, package, snippets) are Bazel tests.
"""

import argparse
import os
import sys
import time
import xml.etree.ElementTree as ElementTree

import format as clang_format
import include_table
import readmes
import sizes
import tidy
import words


def _tidy(root, budget_s):
    found, left = tidy.problems(root, budget_s)
    if left:
        print(f"tidy: out of time for {len(left)} changed files; ci/checks/tidy.py looks at all")
    return found


def _write_junit(path, results):
    suite = ElementTree.Element("testsuite", name="checks", tests=str(len(results)))
    for name, found, seconds in results:
        case = ElementTree.SubElement(suite, "testcase", classname="checks", name=name, time=f"{seconds:.1f}")
        if found:
            ElementTree.SubElement(case, "failure", message=f"{len(found)} problems").text = "\n".join(found)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def main():
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--junit")
    parser.add_argument("--tidy-budget-s", type=float, default=0)
    options = parser.parse_args()
    checks = {
        "includes": lambda: include_table.problems(own),
        "sizes": lambda: sizes.problems(own),
        "words": lambda: words.problems(own),
        "readmes": lambda: readmes.problems(own),
        "format": lambda: clang_format.problems(own),
    }
    if options.tidy_budget_s:
        checks["tidy"] = lambda: _tidy(own, options.tidy_budget_s)
    results = []
    for name, check in checks.items():
        start = time.monotonic()
        found = check()
        results.append((name, found, time.monotonic() - start))
        print(f"{name}: {len(found)} problems" if found else f"{name}: fine", flush=True)
        for problem in found:
            print(f"  {problem}")
    if options.junit:
        _write_junit(options.junit, results)
    return 1 if any(found for _, found, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())

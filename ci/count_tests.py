#!/usr/bin/env python3
"""Adds up test cases: count_tests.py BUILD_EVENTS.json [JUNIT.xml...]

Reads Bazel's build event file (which names the test.xml of every test that ran, from the cache too) and further JUnit
files. Prints each failure and, as the last line, `N passed, N failed, N skipped`. A test without cases of its own (a
shell script) counts as one; so does a target that did not build. Exit code: 0, or 1 on any failure or if nothing ran.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field


@dataclass
class Count:
    passed: int = 0
    skipped: int = 0
    failures: list = field(default_factory=list)

    def line(self):
        return f"{self.passed} passed, {len(self.failures)} failed, {self.skipped} skipped"

    def exit_code(self):
        return 1 if self.failures or self.passed == 0 else 0


def add_junit(count, path, label, ran_well):
    """Adds the cases of one JUnit file. `ran_well` is the runner's own verdict: a crash writes no cases."""
    try:
        cases = list(ElementTree.parse(path).iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        count.failures.append(f"{label}: no readable result ({error})")
        return
    failures_before = len(count.failures)
    for case in cases:
        name = f"{label}: {case.get('classname', '')}.{case.get('name', '')}"
        if case.find("failure") is not None or case.find("error") is not None:
            count.failures.append(name)
        elif case.find("skipped") is not None or case.get("result") in ("skipped", "suppressed"):
            count.skipped += 1
        else:
            count.passed += 1
    if not ran_well and len(count.failures) == failures_before:
        count.failures.append(f"{label}: the test program failed outside its cases")


def add_build_events(count, lines):
    last_attempts = {}
    for line in lines:
        event = json.loads(line)
        identity = event["id"]
        if "testResult" in identity:
            key = identity["testResult"]
            last_attempts[(key["label"], key.get("run"), key.get("shard"))] = event.get("testResult", {})
        elif "targetCompleted" in identity and not event.get("completed", {}).get("success"):
            count.failures.append(f"{identity['targetCompleted']['label']}: did not build")
        elif "aborted" in event and event["aborted"].get("reason") in ("LOADING_FAILURE", "ANALYSIS_FAILURE"):
            count.failures.append(f"{json.dumps(identity)}: {event['aborted'].get('description', 'could not be loaded')}")
    for (label, _, _), result in sorted(last_attempts.items(), key=lambda item: str(item[0])):
        xml = next((o["uri"] for o in result.get("testActionOutput", []) if o["name"] == "test.xml"), None)
        if xml is None:
            count.failures.append(f"{label}: no test.xml ({result.get('status', 'status unknown')})")
        else:
            path = urllib.parse.unquote(urllib.parse.urlparse(xml).path)
            add_junit(count, path, label, result.get("status") in ("PASSED", "FLAKY"))


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    count = Count()
    try:
        with open(arguments[0], encoding="utf-8") as events:
            add_build_events(count, events)
    except OSError as error:
        count.failures.append(f"Bazel wrote no events: {error}")
    for path in arguments[1:]:
        add_junit(count, path, path, True)
    for failure in count.failures:
        print(f"failed: {failure}")
    print(count.line())
    return count.exit_code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

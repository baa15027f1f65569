"""Runs the unittest file named on the command line and writes its cases to $XML_OUTPUT_FILE, as Bazel expects them."""

import os
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree


class _Result(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        self.case_start = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        self.cases = getattr(self, "cases", [])
        self.cases.append((test, time.monotonic() - self.case_start))


def _write_xml(path, result):
    problems = {test.id(): text for test, text in result.failures + result.errors}
    skipped = {test.id(): reason for test, reason in result.skipped}
    suite = ElementTree.Element("testsuite", name="unittest")
    for test, seconds in getattr(result, "cases", []):
        group, _, name = test.id().rpartition(".")
        case = ElementTree.SubElement(suite, "testcase", classname=group, name=name, time=f"{seconds:.3f}")
        if test.id() in problems:
            ElementTree.SubElement(case, "failure", message="failed").text = problems[test.id()]
        elif test.id() in skipped:
            ElementTree.SubElement(case, "skipped", message=skipped[test.id()])
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def main():
    path = os.path.abspath(sys.argv[1])
    sys.path.insert(0, os.path.dirname(path))
    tests = unittest.defaultTestLoader.loadTestsFromName(os.path.splitext(os.path.basename(path))[0])
    result = unittest.TextTestRunner(resultclass=_Result, verbosity=2).run(tests)
    if "XML_OUTPUT_FILE" in os.environ:
        _write_xml(os.environ["XML_OUTPUT_FILE"], result)
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)


if __name__ == "__main__":
    main()

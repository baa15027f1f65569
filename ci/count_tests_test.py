"""What ci/count_tests.py makes of Bazel's events and JUnit files."""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import count_tests

GTEST_XML = """<testsuites><testsuite name="A">
<testcase name="Good" classname="A" status="run" result="completed"/>
<testcase name="Bad" classname="A" status="run"><failure message="no"/></testcase>
<testcase name="NoGpu" classname="A" status="run" result="skipped"><skipped message="no GPU"/></testcase>
</testsuite></testsuites>"""
SHELL_XML = '<testsuites><testsuite name="s"><testcase name="s" status="run"/></testsuite></testsuites>'


class CountTestsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def result(self, label, status, xml=None):
        outputs = [{"name": "test.xml", "uri": "file://" + xml}] if xml else []
        return json.dumps({"id": {"testResult": {"label": label, "run": 1, "shard": 1, "attempt": 1}}, "testResult": {"status": status, "testActionOutput": outputs}})

    def count(self, *lines):
        count = count_tests.Count()
        count_tests.add_build_events(count, lines)
        return count

    def test_adds_up_cases_of_both_kinds(self):
        count = self.count(
            self.result("//a:a_test", "FAILED", self.write("a.xml", GTEST_XML)),
            self.result("//b:b_test", "PASSED", self.write("b.xml", SHELL_XML)),
        )
        self.assertEqual(count.line(), "2 passed, 1 failed, 1 skipped")
        self.assertEqual(count.failures, ["//a:a_test: A.Bad"])
        self.assertEqual(count.exit_code(), 1)

    def test_a_crash_behind_good_cases_is_a_failure(self):
        count = self.count(self.result("//b:b_test", "FAILED", self.write("b.xml", SHELL_XML)))
        self.assertEqual(count.line(), "1 passed, 1 failed, 0 skipped")

    def test_a_target_that_does_not_build_is_a_failure(self):
        event = {"id": {"targetCompleted": {"label": "//c:c"}}, "completed": {}}
        self.assertEqual(self.count(json.dumps(event)).failures, ["//c:c: did not build"])

    def test_a_missing_or_broken_result_is_a_failure(self):
        count = self.count(self.result("//d:d_test", "TIMEOUT"), self.result("//e:e_test", "PASSED", self.write("e.xml", "<testsui")))
        self.assertEqual(len(count.failures), 2)

    def test_nothing_run_is_no_success(self):
        self.assertEqual(self.count().exit_code(), 1)


if __name__ == "__main__":
    unittest.main()

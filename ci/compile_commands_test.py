"""What ci/compile_commands.py makes of Bazel's action query."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import compile_commands


class CommandsTest(unittest.TestCase):
    def test_keeps_project_files_and_finds_external_headers(self):
        query = {
            "actions": [
                {"arguments": ["gcc", "-isystem", "external/cuda/include", "-fno-canonical-system-headers", "-c", "base/a.cc", "-o", "a.o"]},
                {"arguments": ["gcc", "-c", "external/other/b.cc"]},
                {"arguments": ["gcc", "-c", "bazel-out/gen/c.cc"]},
                {"arguments": ["ar", "x"]},
                {},
            ]
        }
        entries = compile_commands.commands(query, "/exec")
        self.assertEqual(len(entries), 1)
        self.assertEqual(entries[0]["file"], "base/a.cc")
        self.assertEqual(entries[0]["arguments"], ["gcc", "-isystem", "/exec/external/cuda/include", "-c", "base/a.cc", "-o", "a.o"])

    def test_an_empty_answer_gives_no_entries(self):
        self.assertEqual(compile_commands.commands({}, "/exec"), [])


if __name__ == "__main__":
    unittest.main()

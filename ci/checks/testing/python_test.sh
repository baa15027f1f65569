#!/usr/bin/env bash
# What python_test (ci/bazel/defs.bzl) runs: python_test.sh TEST_FILE
exec python3 ci/checks/testing/xml_unittest.py "$1"

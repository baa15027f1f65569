"""Every rule the project's BUILD files use comes from here, so that another Bazel touches this folder only."""

load("//ci/bazel:cuda_library.bzl", _cuda_library = "cuda_library")

_COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-missing-field-initializers",
]

def cc_library(name, copts = [], **kwargs):
    native.cc_library(name = name, copts = _COPTS + copts, **kwargs)

def cc_binary(name, copts = [], **kwargs):
    native.cc_binary(name = name, copts = _COPTS + copts, **kwargs)

def cc_test(name, copts = [], deps = [], **kwargs):
    """A GoogleTest test; gtest's main is linked unless the test brings its own."""
    native.cc_test(name = name, copts = _COPTS + copts, deps = deps + ["@system//:gtest"], **kwargs)

def torch_test(name, tags = [], **kwargs):
    """A test that runs LibTorch. Its threads sleep when they wait: spinning, they take minutes on a busy machine."""
    cc_test(name = name, tags = tags + ["torch"], env = {"OMP_WAIT_POLICY": "passive"}, **kwargs)

def cc_benchmark(name, deps = [], tags = [], **kwargs):
    """A Google Benchmark binary of host code, `bazel run` by hand; never a timed test."""
    cc_binary(name = name, testonly = True, deps = deps + ["@system//:benchmark"], tags = tags, **kwargs)

def cc_fuzz(name, linkopts = [], tags = [], **kwargs):
    """A libFuzzer target, its name ending in _fuzz; built with --config=fuzz only. ci/fuzz.sh finds it and runs it."""
    cc_binary(
        name = name,
        testonly = True,
        linkopts = linkopts + ["-fsanitize=fuzzer"],
        tags = tags + ["manual"],
        **kwargs
    )

def python_test(name, data = [], size = "small", **kwargs):
    """A unittest file NAME.py, its cases reported one by one; the system's python3, standard library only."""
    main = name + ".py"
    native.sh_test(
        name = name,
        size = size,
        srcs = ["//ci/checks:testing/python_test.sh"],
        args = ["$(location {})".format(main)],
        data = data + [main, "//ci/checks:python_testing"],
        **kwargs
    )

genrule = native.genrule
sh_test = native.sh_test
cuda_library = _cuda_library

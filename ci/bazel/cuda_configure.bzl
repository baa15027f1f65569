"""Finds CUDA: the toolkit if nvcc is there, else the headers alone from their PyPI wheels (ci/setup.sh unpacks them).

`CUDA_ENABLED` says whether .cu files can be compiled, to C++ code `STALLHOUND_HAS_NVCC` of `@cuda//:build` does, and
`STALLHOUND_NVCC_VERSION` of `@cuda//:compiler` ("13.0.88", without nvcc "") with what;
headers (CUDA, CUPTI, NVTX) exist either way.
"""

_HEADERS = """
package(default_visibility = ["//visibility:public"])

# Read by a test that every callback id is classified.
exports_files(["include/cupti_runtime_cbid.h", "include/cupti_driver_cbid.h"])

cc_library(
    name = "headers",
    hdrs = glob(["include/**"]),
    includes = ["include"],
)

cc_library(
    name = "build",
    defines = ["STALLHOUND_HAS_NVCC={enabled}"],
)

cc_library(
    name = "compiler",
    defines = [r'STALLHOUND_NVCC_VERSION=\\"{nvcc_version}\\"'],
)
"""

# Dynamic on purpose: a static cudart inside a shared library leaves __cudaPopCallConfiguration undefined.
_LIBRARIES = """
cc_library(
    name = "cudart",
    linkopts = ["-L{root}/lib64", "-Wl,-rpath,{root}/lib64", "-lcudart"],
    deps = [":headers"],
)

cc_library(
    name = "cuda_driver",
    linkopts = ["-L{root}/lib64/stubs", "-lcuda"],
    deps = [":headers"],
)

cc_library(
    name = "cublaslt",
    linkopts = ["-L{root}/lib64", "-Wl,-rpath,{root}/lib64", "-lcublasLt"],
    deps = [":headers"],
)
"""

_NO_LIBRARIES = """
[cc_library(name = name, deps = [":headers"]) for name in ["cudart", "cuda_driver", "cublaslt"]]
"""

def _nvcc_version(ctx, root):
    """The "V13.0.88" in nvcc's output, without the V."""
    result = ctx.execute([root + "/bin/nvcc", "--version"])
    if result.return_code != 0 or ", V" not in result.stdout:
        fail("cannot ask {}/bin/nvcc for its version: {}".format(root, result.stderr or result.stdout))
    return result.stdout.split(", V")[1].split("\n")[0].strip()

def _cuda_configure_impl(ctx):
    root = ctx.os.environ.get("CUDA_PATH", "/usr/local/cuda")
    enabled = ctx.path(root + "/bin/nvcc").exists
    if enabled:
        include = root + "/include"
    else:
        include = ctx.os.environ.get("STALLHOUND_CUDA_HEADERS", ctx.os.environ.get("HOME", "") + "/.cache/stallhound/cuda-headers/include")
        if not ctx.path(include + "/cupti.h").exists:
            fail("no CUDA toolkit at {} and no CUDA headers at {}: run ci/setup.sh, or set CUDA_PATH or STALLHOUND_CUDA_HEADERS".format(root, include))
    ctx.symlink(include, "include")
    headers = _HEADERS.replace("{enabled}", "1" if enabled else "0")
    headers = headers.replace("{nvcc_version}", _nvcc_version(ctx, root) if enabled else "")
    ctx.file("BUILD", headers + (_LIBRARIES.replace("{root}", root) if enabled else _NO_LIBRARIES))
    ctx.file("defs.bzl", "CUDA_ROOT = {}\nCUDA_ENABLED = {}\n".format(repr(root), enabled))

cuda_configure = repository_rule(
    implementation = _cuda_configure_impl,
    environ = ["CUDA_PATH", "STALLHOUND_CUDA_HEADERS", "HOME"],
    local = True,
)

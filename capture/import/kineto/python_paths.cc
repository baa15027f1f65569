#include "capture/import/kineto/python_paths.h"

#include <algorithm>
#include <array>

#include "capture/symbolize/source_paths.h"

namespace stallhound::capture {
namespace {

constexpr std::string_view kSitePackages[] = {"/site-packages/", "/dist-packages/"};

// Modules and packages of the standard library that call other code, or are called with a stack below them.
constexpr std::string_view kStandardLibrary[] = {
    "abc",         "argparse",    "ast",          "asyncio",
    "bisect",      "codecs",      "collections",  "concurrent",
    "contextlib",  "contextvars", "copy",         "copyreg",
    "csv",         "ctypes",      "dataclasses",  "datetime",
    "decimal",     "difflib",     "dis",          "email",
    "encodings",   "enum",        "fnmatch",      "fractions",
    "functools",   "gc",          "genericpath",  "getpass",
    "glob",        "gzip",        "hashlib",      "heapq",
    "html",        "http",        "importlib",    "inspect",
    "io",          "ipaddress",   "itertools",    "json",
    "keyword",     "linecache",   "locale",       "logging",
    "lzma",        "math",        "mimetypes",    "multiprocessing",
    "numbers",     "opcode",      "operator",     "os",
    "pathlib",     "pdb",         "pickle",       "pkgutil",
    "platform",    "posixpath",   "pprint",       "queue",
    "random",      "re",          "reprlib",      "runpy",
    "selectors",   "shlex",       "shutil",       "signal",
    "site",        "socket",      "socketserver", "sqlite3",
    "sre_compile", "sre_parse",   "ssl",          "stat",
    "statistics",  "string",      "struct",       "subprocess",
    "tarfile",     "tempfile",    "textwrap",     "threading",
    "timeit",      "tokenize",    "traceback",    "tracemalloc",
    "types",       "typing",      "unittest",     "urllib",
    "uuid",        "warnings",    "weakref",      "xml",
    "zipfile",     "zoneinfo",    "_weakrefset",  "_collections_abc",
};

// Packages that are installed, not written by the user: Kineto writes them relative to site-packages.
constexpr std::string_view kInstalled[] = {
    "torch",
    "torchvision",
    "torchaudio",
    "torchtext",
    "functorch",
    "triton",
    "numpy",
    "scipy",
    "pandas",
    "cupy",
    "cupy_backends",
    "numba",
    "jax",
    "jaxlib",
    "transformers",
    "accelerate",
    "diffusers",
    "datasets",
    "tokenizers",
    "safetensors",
    "huggingface_hub",
    "peft",
    "einops",
    "deepspeed",
    "apex",
    "megatron",
    "lightning",
    "pytorch_lightning",
    "lightning_fabric",
    "ignite",
    "timm",
    "xformers",
    "flash_attn",
    "bitsandbytes",
    "vllm",
    "sglang",
    "ray",
    "tqdm",
    "matplotlib",
    "PIL",
    "cv2",
    "sklearn",
    "torch_geometric",
    "torch_scatter",
    "torch_sparse",
    "torch_cluster",
    "pyg_lib",
    "dgl",
    "e3nn",
    "fsspec",
    "IPython",
    "ipykernel",
    "tornado",
    "traitlets",
    "pluggy",
    "pytest",
    "_pytest",
    "hydra",
    "omegaconf",
    "wandb",
    "tensorboard",
    "google",
    "fairscale",
    "torchrec",
    "fbgemm_gpu",
    "torchmetrics",
    "tensorrt",
    "onnx",
    "onnxruntime",
    "physicsnemo",
};

template <size_t size>
bool Contains(const std::string_view (&list)[size], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// The first component without ".py".
std::string_view FirstComponent(std::string_view path) {
  std::string_view first = path.substr(0, std::min(path.find('/'), path.size()));
  if (first.size() > 3 && first.substr(first.size() - 3) == ".py") first.remove_suffix(3);
  return first;
}

// The position behind "/lib/python3.11/" or "/lib64/python3.9/", or npos.
size_t StandardLibraryEnd(std::string_view path) {
  for (const std::string_view lib : {std::string_view("/lib/python"), std::string_view("/lib64/python")}) {
    const size_t at = path.find(lib);
    if (at == std::string_view::npos) continue;
    size_t i = at + lib.size();
    while (i < path.size() && (std::isdigit(static_cast<unsigned char>(path[i])) != 0 || path[i] == '.')) ++i;
    if (i < path.size() && path[i] == '/') return i + 1;
  }
  return std::string_view::npos;
}

}  // namespace

PythonPath ShortenPythonPath(std::string_view path) {
  PythonPath result;
  std::string slashes(path);
  std::replace(slashes.begin(), slashes.end(), '\\', '/');
  path = slashes;
  for (const std::string_view marker : kSitePackages) {
    if (const size_t at = path.rfind(marker); at != std::string_view::npos) {
      result.file = std::string(path.substr(at + marker.size()));
      return result;
    }
  }
  if (const size_t end = StandardLibraryEnd(path); end != std::string_view::npos) {
    result.file = std::string(path.substr(end));
    return result;
  }
  while (path.substr(0, 2) == "./") path.remove_prefix(2);
  result.file = HideHomes(path);
  const std::string_view first = FirstComponent(path);
  result.is_user =
      !first.empty() && first[0] != '<' && !Contains(kStandardLibrary, first) && !Contains(kInstalled, first);
  // An absolute path that is in none of the places above is the user's.
  if (path[0] == '/') result.is_user = true;
  return result;
}

}  // namespace stallhound::capture

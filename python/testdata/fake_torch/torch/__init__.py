"""As much of torch as the start-up hook sees, with torch's rule of one profiler a thread. NVTX_LIBRARY pushes ranges."""

import ctypes
import os
import sys
import threading
import types

_nvtx_library = ctypes.CDLL(os.environ["NVTX_LIBRARY"])
_active = threading.local()
log = []  # what was enabled and disabled, by thread


def _thread():
    return "main" if threading.get_ident() == threading.main_thread().ident else "other"


def _enable_profiler(config, activities, scopes=()):
    if getattr(_active, "profiler", None):
        raise RuntimeError("Profiler is already enabled on this thread.")
    if config == "refused":
        raise ValueError(config)
    _active.profiler = config
    log.append((_thread(), "enable", config, sorted(scopes)))


def _disable_profiler():
    log.append((_thread(), "disable", _active.profiler))
    _active.profiler = None


def operator(name, sequence=None):
    """What torch's NVTX observer does around an operator, where it is enabled."""
    if getattr(_active, "profiler", None) == "NVTX":
        number = "" if sequence is None else f", seq = {sequence}"
        _nvtx_library.push(f"{name}{number}, op_id = {len(log)}".encode())
        _nvtx_library.pop()


def _mark(text):
    log.append((_thread(), "mark", text))
    _nvtx_library.push(text.encode())
    _nvtx_library.pop()


_C = types.SimpleNamespace(
    _autograd=types.SimpleNamespace(_enable_profiler=_enable_profiler, _disable_profiler=_disable_profiler),
    _nvtx=types.SimpleNamespace(markA=_mark),
    _profiler=types.SimpleNamespace(
        ProfilerConfig=lambda state, *options: state,
        ProfilerState=types.SimpleNamespace(NVTX="NVTX"),
        RecordScope=types.SimpleNamespace(FUNCTION="function", BACKWARD_FUNCTION="backward"),
        _ExperimentalConfig=lambda: None,
    ),
)
if os.environ.get("FAKE_TORCH_WITHOUT_PROFILER"):
    del _C._profiler

import torch.autograd.profiler  # noqa: E402,F401

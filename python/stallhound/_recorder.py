"""The recorder of this process, through the functions that it exports (record/control/environment.h)."""

import ctypes
import os

_LIBRARY = "libstallhound_record.so"
_VARIABLES = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")
_loaded = None


class Recorder:
    """The control functions of a loaded recorder."""

    def __init__(self, library):
        self._library = library
        library.stallhound_window_start.argtypes = [ctypes.c_char_p]
        library.stallhound_range_start.argtypes = [ctypes.c_char_p]
        library.stallhound_range_start.restype = ctypes.c_uint64
        library.stallhound_range_end.argtypes = [ctypes.c_uint64]
        library.stallhound_range_end.restype = None
        library.stallhound_flush.argtypes = [ctypes.c_int64]

    def start_window(self, name):
        self._library.stallhound_window_start(name.encode())

    def stop_window(self):
        self._library.stallhound_window_stop()

    def start_range(self, name):
        """What to end the range with."""
        return self._library.stallhound_range_start(name.encode())

    def end_range(self, range_id):
        self._library.stallhound_range_end(range_id)

    def flush(self, limit_s):
        """Brings what was recorded into the spool. False: not within the limit."""
        return self._library.stallhound_flush(int(limit_s * 1e9)) == 0


def asked_for():
    """The path of the recorder that the environment has CUDA or NVTX load, or None."""
    for variable in _VARIABLES:
        path = os.environ.get(variable, "")
        if os.path.basename(path) == _LIBRARY:
            return path
    return None


def loaded():
    """The process's Recorder, or None: not asked for, or neither CUDA nor NVTX have been used yet."""
    global _loaded
    if _loaded is None:
        path = asked_for()
        if path is None:
            return None
        try:
            _loaded = Recorder(ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_NOLOAD))
        except (OSError, AttributeError):  # not loaded, or of a version without these functions
            return None
    return _loaded


def spools():
    """The spool files that this process writes: they are mapped into it."""
    own = f"/stallhound-{os.getpid()}-"
    paths = set()
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            path = line.rstrip("\n").split(maxsplit=5)[-1]
            if own in path and path.endswith(".spool"):
                paths.add(path)
    return sorted(paths)

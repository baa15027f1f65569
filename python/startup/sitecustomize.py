"""The start-up hook of `stallhound hunt --operators`: once torch is imported, its NVTX ranges of operators are on.

This folder comes first in PYTHONPATH, so Python's `site` imports this file before anything of the program runs. It takes
itself out of sys.path, runs the sitecustomize that it stands in front of, and waits for the program to import torch: it
imports nothing of its own but sys until then. What is switched on is what torch.autograd.profiler.emit_nvtx switches on,
for operators and autograd nodes alone, in every thread of `threading`. A profiler that the program starts takes our place
while it runs, and a mark says so in the recording. Python 3.8 and newer; any failure leaves the program as it was.
"""

import sys

OFF = "stallhound: operators off: a torch profiler started"
ON = "stallhound: operators on"


class Ranges:
    """torch's NVTX observer, which is one of the calling thread. `torch` is the imported module."""

    def __init__(self, torch):
        import threading

        profiler, autograd = torch._C._profiler, torch._C._autograd
        self._enable, self._disable, self._mark = autograd._enable_profiler, autograd._disable_profiler, torch._C._nvtx.markA
        self._config = profiler.ProfilerConfig(
            profiler.ProfilerState.NVTX, False, False, False, False, False, profiler._ExperimentalConfig()
        )
        self._scopes = {profiler.RecordScope.FUNCTION, profiler.RecordScope.BACKWARD_FUNCTION}
        self._thread = threading.local()  # `on`; `yielded`: off while a profiler of the program runs

    def start(self):
        self._enable(self._config, set(), self._scopes)
        self._thread.on = True

    def stop(self):
        if getattr(self._thread, "on", False):
            self._thread.on = False
            self._disable()

    def before_profiler(self):
        if getattr(self._thread, "on", False):
            self._mark(OFF)
            self.stop()
            self._thread.yielded = True

    def after_profiler(self):
        if getattr(self._thread, "yielded", False):
            self._thread.yielded = False
            self.start()
            self._mark(ON)


def yield_to_profilers(torch, ranges):
    """torch allows one profiler a thread: whatever starts another one gets ours out of its way."""

    def starting(original):
        def enable(*arguments, **named):
            ranges.before_profiler()
            try:
                return original(*arguments, **named)
            except BaseException:
                ranges.after_profiler()
                raise

        return enable

    def ending(original):
        def disable(*arguments, **named):
            try:
                return original(*arguments, **named)
            finally:
                ranges.after_profiler()

        return disable

    wrappers = {
        "_enable_profiler": starting,
        "_enable_profiler_legacy": starting,
        "_disable_profiler": ending,
        "_disable_profiler_legacy": ending,
    }
    owner = torch._C._autograd
    for name, wrap in wrappers.items():
        original = getattr(owner, name, None)
        if original is None:
            continue
        wrapper = wrap(original)
        # Modules that took the function by name have their own reference.
        for module in [owner] + [m for n, m in list(sys.modules.items()) if n.startswith("torch.autograd")]:
            if getattr(module, name, None) is original:
                setattr(module, name, wrapper)


def follow_threads(ranges):
    """Threads of the program have the ranges from their start to their end."""
    import threading

    original = threading.Thread._bootstrap_inner

    def _bootstrap_inner(self):
        try:
            ranges.start()
        except Exception:
            pass
        try:
            original(self)
        finally:
            ranges.stop()

    threading.Thread._bootstrap_inner = _bootstrap_inner


def switch_on(torch):
    import atexit

    ranges = Ranges(torch)
    ranges.start()
    yield_to_profilers(torch, ranges)
    follow_threads(ranges)
    atexit.register(ranges.stop)  # torch warns of an observer that is left


class TorchFinder:
    """Sees the first import of torch, leaves the finding of it to the others, and acts when it has been executed."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                self._watch(spec.loader)
                return spec
        sys.meta_path.insert(0, self)  # it may come later, as from another sys.path
        return None

    @staticmethod
    def _watch(loader):
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module):
            try:
                del loader.exec_module
            except AttributeError:
                pass
            execute(module)
            try:
                switch_on(module)
            except Exception:
                pass  # a torch without CUDA or NVTX, or one that we do not know: the report says that no operator came

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass


def run_next():
    """Imports the sitecustomize that would have run without us, in our name's place."""
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here or entry == ""]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise  # `site` reports it, as it would have
        if own is not None:
            sys.modules["sitecustomize"] = own  # nobody's: as good as none


sys.meta_path.insert(0, TorchFinder())
run_next()

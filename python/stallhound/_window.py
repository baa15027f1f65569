"""Windows: parts of a program that have a name and are worth recording."""

import contextlib
import inspect
import os
import threading

from stallhound import _recorder

_lock = threading.Lock()
_open_count = 0


def _renew_lock():
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


class RecorderRange:
    """A range from start() to stop() in the recording, and, where only windows are recorded, a window around it.

    Windows may nest and overlap, also between threads: recording goes on until the last one is closed.
    """

    def __init__(self, name):
        self._name = name
        self._recorder = None
        self._range_id = 0

    def start(self):
        """False: there is no recorder."""
        self._recorder = _recorder.loaded()
        if self._recorder is None:
            return False
        # Without --window-api everything is recorded, and closing a window would end that.
        if os.environ.get("STALLHOUND_WINDOW_API") == "1":
            self._change_window(1)
        self._range_id = self._recorder.start_range(self._name)
        return True

    def stop(self):
        if self._recorder is None:
            return
        self._recorder.end_range(self._range_id)
        if os.environ.get("STALLHOUND_WINDOW_API") == "1":
            self._change_window(-1)
        self._recorder = None

    def _change_window(self, change):
        global _open_count
        with _lock:
            was_open = _open_count > 0
            _open_count += change
            if not was_open:
                self._recorder.start_window(self._name)
            elif _open_count == 0:
                self._recorder.stop_window()


class Block(contextlib.ContextDecorator):
    """A context manager that is also a decorator of plain functions, of which each call is a block of its own."""

    def __call__(self, function):
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"decorating {function.__qualname__}: its calls return before its body has run; use `with` inside it")
        return super().__call__(function)


class window(Block):
    """Names the block for `stallhound hunt --range NAME`; with `hunt --window-api` only such blocks are recorded.

    Without a recorder in the process it does nothing; a name that cannot be recorded raises there too, so that a program
    does not first fail when it is recorded. Cost with one: two calls of about a microsecond.
    """

    def __init__(self, name):
        if not isinstance(name, str):
            raise TypeError(f"window({name!r}): a name is expected, a str")
        if not name or "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
            raise ValueError(f"window({name!r}): a name is text that is not empty and holds neither NUL nor surrogates")
        self._name = name
        self._range = RecorderRange(name)

    def _recreate_cm(self):
        return type(self)(self._name)

    def __enter__(self):
        self._range.start()
        return self

    def __exit__(self, *exception):
        self._range.stop()
        return False

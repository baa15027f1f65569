"""`pytest --stallhound`: starts the same pytest again under `stallhound hunt`, before CUDA is initialised."""

import os
import sys

from stallhound import _gpu, _install, _recorder


class CannotRelaunch(Exception):
    """The process cannot be started again; the message says why and what to do instead."""


def command_line():
    """This process's own, as the kernel knows it: with the interpreter's options."""
    with open("/proc/self/cmdline", "rb") as file:
        return [os.fsdecode(argument) for argument in file.read().split(b"\0")[:-1]]


def is_pytest(script):
    """Whether pytest is the program, as opposed to a program that calls pytest.main."""
    folder, name = os.path.split(script)
    return name in ("pytest", "py.test") or (name == "__main__.py" and os.path.basename(folder) == "pytest")


def hunt_command():
    """What to execute; None if nothing is to be done: the recorder is asked for already, or there is no GPU.

    Raises CannotRelaunch.
    """
    if _recorder.asked_for() is not None or _gpu.missing():
        return None
    by_hand = "start it as `stallhound hunt --mode light -- python -m pytest ...`"
    if not is_pytest(sys.argv[0]):
        raise CannotRelaunch(f"--stallhound: pytest is called by {sys.argv[0] or 'a program'}, which cannot be started again; {by_hand}")
    if _gpu.is_initialised():
        raise CannotRelaunch(f"--stallhound: CUDA is initialised already, so the recorder is too late; {by_hand}")
    try:
        program = _install.program()
    except _install.NotInstalled as error:
        raise CannotRelaunch(f"--stallhound: {error}") from error
    return [program, "hunt", "--mode", "light", "--", sys.executable, *command_line()[1:]]

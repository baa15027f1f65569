"""Where the program `stallhound` is: STALLHOUND_BIN, the wheel, PATH, in this order."""

import os
import shutil

# What ci/package/wheel.py puts beside this file: the relocatable folder of the tarball.
_PACKAGED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_package", "bin", "stallhound")


class NotInstalled(Exception):
    """There is no program to call; the message says where it was looked for."""


def program():
    """The program's path. Raises NotInstalled."""
    chosen = os.environ.get("STALLHOUND_BIN")
    if chosen:
        if os.access(chosen, os.X_OK):
            return chosen
        raise NotInstalled(f"finding the program: STALLHOUND_BIN is '{chosen}', which cannot be run")
    if os.access(_PACKAGED, os.X_OK):
        return _PACKAGED
    found = shutil.which("stallhound")
    # The script of this very package would only come back here.
    if found and not _is_script(found):
        return found
    raise NotInstalled(
        f"finding the program: no {_PACKAGED}, and none in PATH; install the wheel of this platform or set STALLHOUND_BIN"
    )


def _is_script(path):
    with open(path, "rb") as file:
        return file.read(2) == b"#!"

#!/usr/bin/env python3
"""wheel.py PACKAGE PYTHON OUTPUT: makes OUTPUT/stallhound-VERSION-py3-none-PLATFORM.whl and prints its path.

PACKAGE is the folder that assemble.sh made, PYTHON the source of the Python package. The platform is the oldest manylinux
whose libraries have what PACKAGE's files need. The same input gives the same bytes.
"""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile

_TIME = (2000, 1, 1, 0, 0, 0)
# glibc's version of the first manylinux with a libstdc++ of this symbol version.
_GLIBC_OF_LIBSTDCXX = {29: 34, 30: 35, 32: 38, 33: 39}
_NEEDED = re.compile(r"Name: (?P<library>GLIBC|GLIBCXX)_(?P<version>[0-9.]+)")

_METADATA = """Metadata-Version: 2.1
Name: stallhound
Version: {version}
Summary: Finds the lines of a CUDA program that make its host wait for the GPU
License: Apache-2.0
Requires-Python: >=3.8
Classifier: Framework :: Pytest
Classifier: Operating System :: POSIX :: Linux
Classifier: License :: OSI Approved :: Apache Software License
Description-Content-Type: text/markdown

"""
_WHEEL = "Wheel-Version: 1.0\nGenerator: stallhound\nRoot-Is-Purelib: false\nTag: {tag}\n"
_ENTRY_POINTS = """[console_scripts]
stallhound = stallhound.__main__:main

[pytest11]
stallhound = stallhound.pytest_plugin
"""


def needed_glibc(needed):
    """The minor version of glibc 2 for needed symbol versions [("GLIBC", "2.34"), ...]. Raises ValueError."""
    minor = 17  # manylinux2014, the oldest there is a tag of this form for
    for library, version in needed:
        number = [int(part) for part in version.split(".")]
        if library == "GLIBC":
            minor = max(minor, number[1])
        elif number[:2] == [3, 4] and len(number) > 2 and number[2] >= min(_GLIBC_OF_LIBSTDCXX):
            known = [symbol for symbol in _GLIBC_OF_LIBSTDCXX if symbol >= number[2]]
            if not known:
                raise ValueError(f"no manylinux is known whose libstdc++ has GLIBCXX_{version}")
            minor = max(minor, _GLIBC_OF_LIBSTDCXX[min(known)])
    return minor


def _platform_tag(package):
    needed = []
    for folder in ("bin", "lib"):
        for name in os.listdir(os.path.join(package, folder)):
            command = ["readelf", "--wide", "--version-info", os.path.join(package, folder, name)]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            needed += [(match.group("library"), match.group("version")) for match in _NEEDED.finditer(text)]
    return f"manylinux_2_{needed_glibc(needed)}_{platform.machine()}"


def _files(folder):
    """(path below folder, content, is executable), sorted."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                found.append((os.path.relpath(path, folder), file.read(), os.access(path, os.X_OK)))
    return sorted(found)


def _version(package):
    program = os.path.join(package, "bin", "stallhound")
    return subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]


def _members(package, python, version, tag):
    """(path in the wheel, content, is executable) of all but RECORD."""
    info = f"stallhound-{version}.dist-info"
    members = [(f"stallhound/{path}", content, False) for path, content, _ in _files(os.path.join(python, "stallhound"))]
    for path, content, is_executable in _files(package):
        if path.startswith("share/licenses/"):
            members.append((f"{info}/licenses/{os.path.basename(path)}", content, False))
        elif path != "README":
            members.append((f"stallhound/_package/{path}", content, is_executable))
    with open(os.path.join(python, "README.md"), encoding="utf-8") as file:
        description = file.read()
    texts = {
        "METADATA": _METADATA.format(version=version) + description,
        "WHEEL": _WHEEL.format(tag=tag),
        "entry_points.txt": _ENTRY_POINTS,
    }
    return members + [(f"{info}/{name}", text.encode(), False) for name, text in sorted(texts.items())]


def _write(path, members, record_path):
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, is_executable in members:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}\n")
            _add(archive, name, content, is_executable)
        _add(archive, record_path, ("".join(record) + f"{record_path},,\n").encode(), False)


def _add(archive, name, content, is_executable):
    member = zipfile.ZipInfo(name, _TIME)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = (0o100755 if is_executable else 0o100644) << 16
    archive.writestr(member, content)


def main(arguments):
    if len(arguments) != 3:
        sys.exit(__doc__)
    package, python, output = arguments
    version = _version(package)
    tag = f"py3-none-{_platform_tag(package)}"
    path = os.path.join(output, f"stallhound-{version}-{tag}.whl")
    _write(path, _members(package, python, version, tag), f"stallhound-{version}.dist-info/RECORD")
    print(path)


if __name__ == "__main__":
    main(sys.argv[1:])

"""`python -m stallhound ...` and the script `stallhound`: the program of the wheel, with the same arguments."""

import os
import sys

from stallhound import _install


def main():
    try:
        program = _install.program()
    except _install.NotInstalled as error:
        print(f"stallhound: {error}", file=sys.stderr)
        return 4
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

"""The console script: becomes the program, which tests what this interpreter has."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from kvconform import PROGRAM


def main() -> NoReturn:
    """Becomes the program. What it calls python3 is this interpreter, unless the user named another."""
    if sys.executable:
        os.environ.setdefault("KVCONFORM_INTERPRETER", sys.executable)
    try:
        os.execv(PROGRAM, ["kvconform", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"kvconform: {PROGRAM}: {error.strerror}; install the package again for this machine")


if __name__ == "__main__":
    main()

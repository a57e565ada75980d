"""The program kvconform, as pip installs it.

The program is C, and driven by its command line: `kvconform`, or `python -m kvconform`. What else a build or a test
may need of an installation are its places.
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent

PROGRAM = _HERE / "bin" / "kvconform"
"""The program itself. It finds its data from here."""

DATA = _HERE / "share" / "kvconform"
"""Specs, contracts, adapters and examples; in `cases`, minimal cases for `kvconform replay`."""

INCLUDE = DATA / "include"
"""For the compiler of a plugin: `-I` of it finds `kvconform/plugin.h`."""

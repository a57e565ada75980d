"""Finding the class statements of an installed package as text: nothing is imported."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CLASS = re.compile(rb"^class[ \t]+(\w+)[ \t]*(?:\(([^)]*)\))?[ \t]*:", re.MULTILINE)
"""A class statement at the top of a file, also one whose bases stand on several lines."""


@dataclass(frozen=True)
class Found:
    """A class statement: its name, the last parts of its bases' names, and the file below the package's folder."""

    name: str
    bases: frozenset[str]
    file: str


def class_statements(package: Path, without: str = "") -> Iterator[Found]:
    """All class statements at the top of files whose names do not begin with `without`."""
    for folder, folders, files in os.walk(package):
        folders.sort()
        for file in sorted(files):
            if not file.endswith(".py") or (without and file.startswith(without)):
                continue
            path = os.path.join(folder, file)
            with open(path, "rb") as handle:
                text = handle.read()
            relative = os.path.relpath(path, package)
            for statement in CLASS.finditer(text):
                bases = (statement.group(2) or b"").decode("utf-8", "replace")
                names = (base.split("[")[0].split(".")[-1].strip() for base in bases.split(",") if "=" not in base)
                yield Found(statement.group(1).decode(), frozenset(names), relative)


def grown(known: set[str], statements: list[Found]) -> set[str]:
    """`known` and all classes that derive from one of them, directly or not."""
    found = set(known)
    size = 0
    while size != len(found):
        size = len(found)
        found.update(statement.name for statement in statements if statement.bases & found)
    return found

"""Finding every cache class of an installed transformers, without importing its models.

A cache class is one that derives, directly or not, from one of `ROOTS`; or that a table of layer types in
`cache_utils` names; or, in the generation and model files, one whose name ends in `Cache` or `CacheLayer`, whatever it
derives from. The source is read as text: importing all models takes minutes, and registration by import would only
show what was imported.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOTS = frozenset({"CacheLayerMixin", "LinearAttentionCacheLayerMixin", "Cache"})

CLASS = re.compile(rb"^class[ \t]+(\w+)[ \t]*(?:\(([^)]*)\))?[ \t]*:", re.MULTILINE)
"""A class statement at the top of a file, also one whose bases stand on several lines."""

NAMED_CACHE = re.compile(r"\w(Cache|CacheLayer)$")
NAMED_FOLDERS = ("generation", "models")
"""Where a class counts by its name alone."""

GENERATED_FROM = "modular_"
"""Files that `modeling_` files are generated from: they hold the same classes."""


@dataclass(frozen=True)
class Found:
    """A class statement: its name, the last parts of its bases' names, and the file below the package's folder."""

    name: str
    bases: frozenset[str]
    file: str


def class_statements(package: Path) -> Iterator[Found]:
    """All class statements at the top of files."""
    for folder, folders, files in os.walk(package):
        folders.sort()
        for file in sorted(files):
            if not file.endswith(".py") or file.startswith(GENERATED_FROM):
                continue
            path = os.path.join(folder, file)
            with open(path, "rb") as handle:
                text = handle.read()
            relative = os.path.relpath(path, package)
            for statement in CLASS.finditer(text):
                bases = (statement.group(2) or b"").decode("utf-8", "replace")
                names = (base.split("[")[0].split(".")[-1].strip() for base in bases.split(",") if "=" not in base)
                yield Found(statement.group(1).decode(), frozenset(names), relative)


def registered_names(cache_utils: Path) -> set[str]:
    """The classes that a table at the top of `cache_utils` has as values under texts: layer types and their classes."""
    found: set[str] = set()
    for statement in ast.parse(cache_utils.read_text(encoding="utf-8")).body:
        table = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if (
            isinstance(table, ast.Dict)
            and table.keys
            and all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in table.keys)
        ):
            found.update(value.id for value in table.values if isinstance(value, ast.Name))
    return found


def cache_classes(package: Path) -> list[str]:
    """The names of all cache classes of the transformers that lies in `package`, sorted."""
    statements = list(class_statements(package))
    known = set(ROOTS) | registered_names(package / "cache_utils.py")
    size = 0
    while size != len(known):
        size = len(known)
        known.update(found.name for found in statements if found.bases & known)
    names = {found.name for found in statements if found.name in known}
    names.update(
        found.name
        for found in statements
        if found.file.split(os.sep)[0] in NAMED_FOLDERS and NAMED_CACHE.search(found.name)
    )
    return sorted(names)

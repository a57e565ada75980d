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
from pathlib import Path

from kvconform_adapter.class_statements import class_statements, grown

ROOTS = frozenset({"CacheLayerMixin", "LinearAttentionCacheLayerMixin", "Cache"})

NAMED_CACHE = re.compile(r"\w(Cache|CacheLayer)$")
NAMED_FOLDERS = ("generation", "models")
"""Where a class counts by its name alone."""

GENERATED_FROM = "modular_"
"""Files that `modeling_` files are generated from: they hold the same classes."""


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
    statements = list(class_statements(package, GENERATED_FROM))
    known = grown(set(ROOTS) | registered_names(package / "cache_utils.py"), statements)
    names = {found.name for found in statements if found.name in known}
    names.update(
        found.name
        for found in statements
        if found.file.split(os.sep)[0] in NAMED_FOLDERS and NAMED_CACHE.search(found.name)
    )
    return sorted(names)

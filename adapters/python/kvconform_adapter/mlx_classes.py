"""Finding every cache class of an installed mlx-lm.

A cache class is one that derives, directly or not, from `_BaseCache`, or one whose name ends in `Cache` or `CacheList`.
"""

from __future__ import annotations

import re
from pathlib import Path

from kvconform_adapter.class_statements import class_statements, grown

ROOT = "_BaseCache"
NAMED_CACHE = re.compile(r"\w(Cache|CacheList)$")


def cache_classes(package: Path) -> list[str]:
    """The names of all cache classes of the mlx-lm that lies in `package`, sorted."""
    statements = list(class_statements(package))
    known = grown({ROOT}, statements)
    known.update(statement.name for statement in statements if NAMED_CACHE.search(statement.name))
    known.discard(ROOT)
    return sorted(known)

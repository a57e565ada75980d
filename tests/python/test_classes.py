"""Finding the cache classes of an installation by its source."""

from __future__ import annotations

from pathlib import Path

from kvconform_adapter.transformers_classes import cache_classes, registered_names

CACHE_UTILS = """
class CacheLayerMixin(ABC): ...
class LinearAttentionCacheLayerMixin(ABC): ...
class Cache: ...
class FullLayer(CacheLayerMixin):
    class Cache: ...
class Placeholder:
    # stands in a table only
    ...
class Helper: ...
MAPPING: dict[str, type] = {"full": FullLayer, "none": Placeholder}
NUMBERS = {1: Helper}
"""

MODEL = """
class NewLayer(
    FullLayer,
):
    ...
class Newer(cache_utils.NewLayer, Generic[T]): ...
class StreamCache: ...
class CachedThing: ...
    class IndentedCache(Cache): ...
class Config(dict, metaclass=Cache): ...
"""


def package(folder: Path) -> Path:
    """A small stand-in for the folder of transformers."""
    top = folder / "transformers"
    (top / "models" / "new").mkdir(parents=True)
    (top / "utils").mkdir()
    (top / "cache_utils.py").write_text(CACHE_UTILS)
    (top / "models" / "new" / "modeling_new.py").write_text(MODEL)
    (top / "models" / "new" / "modular_new.py").write_text("class ModularCache(Cache): ...\n")
    (top / "models" / "new" / "notes.txt").write_text("class TextCache(Cache): ...\n")
    (top / "utils" / "generic.py").write_text("class DiskCache: ...\nclass Kept(Cache): ...\n")
    return top


def test_finds_by_base_registration_and_name(tmp_path: Path) -> None:
    assert cache_classes(package(tmp_path)) == [
        "Cache",
        "CacheLayerMixin",
        "FullLayer",
        "Kept",
        "LinearAttentionCacheLayerMixin",
        "NewLayer",
        "Newer",
        "Placeholder",
        "StreamCache",
    ]


def test_reads_the_tables(tmp_path: Path) -> None:
    assert registered_names(package(tmp_path) / "cache_utils.py") == {"FullLayer", "Placeholder"}

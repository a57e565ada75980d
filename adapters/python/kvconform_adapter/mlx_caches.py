"""The cache classes of mlx-lm as a table: how each is made, fed and read.

What is written here holds for mlx-lm 0.28 to 0.32; where versions differ, what a class has decides, never the version
number.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import mlx.core as mx

from kvconform_adapter.request import Params, RequestError

PACKAGE = "mlx-lm"
MODULE = "mlx_lm.models.cache"
BASE = "mlx_lm.models.base"

Cache = Any
"""A cache of mlx-lm."""
Array = Any
"""An mlx.core.array."""
NO_NUMBER = mx.zeros((0,), dtype=mx.int64)
"""What is shown of a number that a cache raises an error for."""


@lru_cache(maxsize=1)
def load_caches() -> Any:
    """The module of the caches, without the rest of mlx-lm: that imports transformers, which no cache needs."""
    if "mlx_lm" not in sys.modules:
        spec = importlib.util.find_spec("mlx_lm")
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError("No module named 'mlx_lm'")
        package = types.ModuleType("mlx_lm")
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules["mlx_lm"] = package
    return importlib.import_module(MODULE)


@lru_cache(maxsize=1)
def load_base() -> Any:
    """The module that makes masks for models."""
    load_caches()
    return importlib.import_module(BASE)


@dataclass(frozen=True)
class Variant:
    """One class of the subject.

    `size`: "" or what its constructor calls its length. `keep`: whether it may keep the first tokens. `group`: 0, or
    the elements that a quantised cache, or what the cache is turned into, has one scale for. `quantises`: from the
    start. `masks`: whether models ask it for masks. `states`: it has states instead of keys and values. `slots`:
    "" or what its constructor calls their number. `module`,
    `arguments`: of a class that derives from another one, where it is and what it is made with.
    """

    name: str
    owner: str
    size: str = ""
    keep: bool = False
    group: int = 0
    quantises: bool = False
    masks: bool = True
    states: bool = False
    slots: str = ""
    module: str = ""
    arguments: Callable[[Params], dict[str, Any]] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The settings that `parts` may name."""
        bits = tuple(f"bits{bits}" for bits in (2, 3, 4, 5, 6, 8)) if self.group else ()
        return ("plain", *(("causal", "window", "array") if self.masks else ()), "step2", "step3", *bits)


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("KVCache", "KVCache"),
        Variant("KVCache-quantized", "KVCache", group=64),
        Variant("ConcatenateKVCache", "ConcatenateKVCache"),
        Variant("QuantizedKVCache", "QuantizedKVCache", group=64, quantises=True),
        Variant("QuantizedKVCache-group32", "QuantizedKVCache", group=32, quantises=True),
        Variant("QuantizedKVCache-group128", "QuantizedKVCache", group=128, quantises=True),
        Variant("RotatingKVCache", "RotatingKVCache", size="max_size", keep=True),
        Variant("ChunkedKVCache", "ChunkedKVCache", size="chunk_size", masks=False),
        Variant("ArraysCache", "ArraysCache", masks=False, states=True, slots="size"),
        Variant("MambaCache", "MambaCache", masks=False, states=True),
    )
}
"""Single caches. Those of several stand in mlx_calls, those of rows with their own lengths in mlx_batches."""


def home_of(variant: Variant) -> Any:
    """The module that has the class."""
    return importlib.import_module(variant.module) if variant.module else load_caches()


def find_variant(name: str) -> Variant:
    """The entry of the table, or RequestError."""
    variant = VARIANTS.get(name)
    if variant is None or not hasattr(home_of(variant), variant.owner):
        raise RequestError(f'the subject has no cache "{name[:63]}" at this version')
    return variant


def available_variants() -> list[str]:
    """The variants of this table that this version of the subject has."""
    return [variant.name for variant in VARIANTS.values() if hasattr(load_caches(), variant.owner)]


def class_locations(owners: dict[str, str]) -> dict[str, dict[str, str | int]]:
    """Where the class of each variant is written: a file below the folder of packages, and a line."""
    lines = Path(load_caches().__file__).read_text(encoding="utf-8").splitlines()
    places = {
        line.partition(" ")[2].partition("(")[0].partition(":")[0]: number
        for number, line in enumerate(lines, start=1)
        if line.startswith(("class ", "def "))
    }
    file = MODULE.replace(".", "/") + ".py"
    return {name: {"file": file, "line": places[owner]} for name, owner in owners.items() if owner in places}


@dataclass(frozen=True)
class Settings:
    """What one cache is made with, besides its class."""

    arguments: dict[str, Any]
    step: int
    bits: int
    group: int
    mask: str
    """"", "causal" or "window"."""
    array: bool
    """Whether masks are asked for as arrays."""
    spreads: bool
    """Whether inputs are spread for quantising (mlx_values.Spread)."""


def settings_of(variant: Variant, params: Params, words: tuple[str, ...]) -> Settings:
    """Raises RequestError for a word that means nothing to the variant."""
    for word in words:
        if word not in variant.words:
            raise RequestError(f'{variant.name} has no part "{word[:40]}": it has {", ".join(variant.words)}')
    arguments: dict[str, Any] = {variant.size: params.capacity} if variant.size else {}
    if variant.keep:
        arguments["keep"] = params.keep
    if variant.slots:
        arguments[variant.slots] = params.states
    bits = next((int(word[4:]) for word in words if word.startswith("bits")), 8 if variant.quantises else 4)
    if variant.quantises:
        arguments |= {"group_size": variant.group, "bits": bits}
    if variant.arguments is not None:
        arguments = variant.arguments(params)
    step = next((int(word[4:]) for word in words if word.startswith("step")), 0)
    mask = next((word for word in words if word in ("causal", "window")), "")
    return Settings(arguments, step, bits, variant.group, mask, "array" in words, variant.group > 0)


def chosen_words(variant: Variant, params: Params, layers: bool) -> tuple[str, ...]:
    """The words of `parts`. In a cache of several layers each takes those that it knows."""
    words = tuple(params.parts.split("+")) if params.parts else ()
    if layers:
        words = tuple(word for word in words if word in variant.words)
    return words


def maker(variant: Variant, settings: Settings) -> Callable[[], Cache]:
    """A function that makes a new cache."""
    owner: Callable[..., Cache] = getattr(home_of(variant), variant.owner)
    arguments, step = settings.arguments, settings.step
    if not step:
        return lambda: owner(**arguments)

    def make() -> Cache:
        cache = owner(**arguments)
        cache.step = step
        return cache

    return make


# Reading


def is_quantised(held: Any) -> bool:
    """Whether keys or values are packed integers, scales and biases."""
    return isinstance(held, tuple | list)


def plain(cache: Cache, held: Any) -> Array:
    """Keys or values as numbers; None where what is packed does not fit together."""
    if not is_quantised(held):
        return held
    try:
        return mx.dequantize(*held, group_size=cache.group_size, bits=cache.bits)
    except ValueError:
        return None


def cut(held: Any, end: int) -> Any:
    """The first `end` tokens."""
    if is_quantised(held):
        return tuple(array[..., :end, :] for array in held)
    return held[..., :end, :]


def older_contents(cache: Cache) -> tuple[Any, Any]:
    """What versions without `keys_and_values` return after an append."""
    keys, values = cache.keys, cache.values
    names = {owner.__name__ for owner in type(cache).__mro__}
    if "ConcatenateKVCache" in names:
        return keys, values
    end = cache.offset - getattr(cache, "start_position", 0)
    if "RotatingKVCache" in names and end >= keys.shape[2]:
        return keys, values
    return cut(keys, end), cut(values, end)


def contents(cache: Cache) -> tuple[Any, Any] | None:
    """Keys and values as the cache hands them out, None while there are none."""
    if cache.keys is None:
        return None
    read = getattr(cache, "keys_and_values", None)
    return read() if read is not None else older_contents(cache)


def count(cache: Cache) -> int:
    """How many tokens the cache says that it holds: `size`, before 0.30 its length."""
    return int(cache.size()) if hasattr(cache, "size") else len(cache)


told_numbers: dict[Any, tuple[bool, bool, bool]] = {}


def numbers_of(owner: Any) -> tuple[bool, bool, bool]:
    """Whether a class itself, not only the one that all derive from, says its size, whether it is unused, its bytes."""
    found = told_numbers.get(owner)
    if found is None:
        base = load_caches()._BaseCache
        size = "size" if hasattr(owner, "size") else "__len__"
        said, unused, taken = (
            hasattr(owner, word) and getattr(owner, word) is not getattr(base, word, None)
            for word in (size, "empty", "nbytes")
        )
        found = told_numbers[owner] = (said, unused, taken)
    return found


ASKED: dict[str, Callable[[Cache], int]] = {
    "size": count,
    "unused": lambda cache: int(cache.empty()),
    "bytes": lambda cache: int(cache.nbytes),
}
"""How caches are asked for what they say of themselves, by its name in specs."""


class Answers:
    """What caches said of themselves after one op. `error`: the first that one raised instead, or None."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def ask(self, word: str, caches: list[Cache]) -> Array | int:
        """A number, of several caches the sum; an array of no numbers where one raises an error instead."""
        read = ASKED[word]
        try:
            return sum(map(read, caches))
        except MemoryError:
            raise
        except Exception as error:
            self.error = self.error or error
            return NO_NUMBER


def own_numbers(cache: Cache, parts: list[Cache], answers: Answers) -> list[tuple[str, Array | int]]:
    """What a cache of these parts says of itself, as far as this version can say it.

    Docstring of `_BaseCache.size`: "Not every cache is required to implement this". So that of a cache of several is
    read where all that have an offset implement it.
    """
    size, unused, taken = numbers_of(type(cache))
    size = size and all(numbers_of(type(part))[0] for part in parts if hasattr(part, "offset"))
    words = (("size", size), ("unused", unused), ("bytes", taken))
    return [(word, answers.ask(word, [cache])) for word, says in words if says]


def held_tokens(cache: Cache) -> int:
    """How many tokens a trim can remove, by the cache's own counters."""
    return int(cache.offset) - int(getattr(cache, "start_position", 0))


def restore(cache: Cache) -> Cache:
    """The cache made anew from its state; before 0.32 also from its meta state."""
    owner = type(cache)
    if hasattr(owner, "meta_state"):
        return owner.from_state(cache.state, cache.meta_state)
    return owner.from_state(cache.state)

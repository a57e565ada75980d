"""How the caches of mlx-lm are called: a plan for each variant and its parameters.

Ops on a list of caches go through the functions of `mlx_lm.models.cache` for lists, as generation and the server call
them. What has no such function is done cache by cache, as the callers do it.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import mlx.core as mx

from kvconform_adapter.formula import AMPLITUDE
from kvconform_adapter.mlx_caches import (
    Answers,
    Array,
    Cache,
    Settings,
    Variant,
    chosen_words,
    contents,
    find_variant,
    held_tokens,
    load_base,
    load_caches,
    maker,
    numbers_of,
    own_numbers,
    plain,
    restore,
    settings_of,
)
from kvconform_adapter.mlx_values import Spread, Table, TablePool
from kvconform_adapter.request import Params, RequestError
from kvconform_adapter.session import CacheSession

DTYPES = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16, "float64": mx.float64}
SALTS = {"keys": 0, "values": 1, "states": 2}

LISTS = {"CacheList": "CacheList", "prompt_cache": "trim_prompt_cache", "prompt_cache-quantized": "trim_prompt_cache"}
"""The variants that are made of several caches, and where their code stands."""


class Session(CacheSession):
    """Its layers are the caches without others in them."""

    __slots__ = ("inputs", "trimmed")

    def __init__(self, target: Any, rows: int, find: Callable[[Any], list[Cache]]) -> None:
        super().__init__(target, rows, find)
        self.trimmed: int | None = None
        """What the last op, if it was a trim that was done, gave back."""
        self.inputs: list[tuple[str, Array, Spread | None]] = []
        """Name, array, and what was done to its elements."""


@dataclass(frozen=True)
class Leaf:
    """One cache without others in it. `tables`: its inputs, where it is to be fed."""

    place: int
    prefix: str
    variant: Variant
    settings: Settings
    tables: tuple[Table, ...] = ()


@dataclass
class Plan:
    """All that a request needs to drive one variant."""

    open: Callable[[], Session]
    leaves: list[Leaf]
    trim: Callable[[Session, int], int]
    claim: Callable[[Session], bool]
    listed: bool
    """Whether the target is a list of caches."""
    folds: bool = False
    ops: dict[str, Callable[[Session], None]] = field(default_factory=dict)


class Refusal(Exception):
    """The subject removed fewer tokens than it was asked for and has: its way to refuse."""


def itself(cache: Cache) -> list[Cache]:
    """The leaves of a single cache."""
    return [cache]


def children(cache: Cache) -> list[Cache]:
    """The leaves of a CacheList."""
    return list(cache.caches)


def entries(caches: list[Cache]) -> list[Cache]:
    """The leaves of a list of caches."""
    return caches


class PlanMaker:
    """Makes plans; inputs come from a pool that all plans share."""

    def __init__(self, params: Params, pool: TablePool) -> None:
        self.params = params
        self.pool = pool
        self.number = 0

    def table(self, kind: str, salt: int, shape: tuple[int, ...], spread: Spread | None) -> Table:
        """A table of inputs that no other tensor of this plan uses."""
        params = self.params
        strided = params.layout == "strided"
        return self.pool.table(kind, salt, params.heads, shape, DTYPES[params.dtype], strided, spread)

    def make(self, name: str) -> Plan:
        """The plan for a variant. Raises RequestError when it cannot be made with these parameters."""
        if self.params.call != "position":
            raise RequestError(f'the caches of mlx-lm are called by position, not by "{self.params.call}"')
        if name in LISTS:
            return self.make_list(name)
        variant = find_variant(name)
        leaf = self.leaf(0, "", variant, False)
        make, rows = maker(variant, leaf.settings), self.params.batch
        return self.finish(lambda: Session(make(), rows, itself), [leaf], False)

    def make_list(self, name: str) -> Plan:
        """A plan for several caches."""
        words = self.params.layers.split("+") if self.params.layers else []
        if not words:
            raise RequestError(f'{name} needs the parameter "layers"')
        variants = [find_variant(word) for word in words]
        leaves = [self.leaf(place, f"layer{place}.", variant, True) for place, variant in enumerate(variants)]
        makers = [maker(leaf.variant, leaf.settings) for leaf in leaves]
        rows = self.params.batch
        if name == "CacheList":
            owner = load_caches().CacheList
            return self.finish(lambda: Session(owner(*(make() for make in makers)), rows, children), leaves, False)
        return self.finish(lambda: Session([make() for make in makers], rows, entries), leaves, True)

    def leaf(self, place: int, prefix: str, variant: Variant, layers: bool) -> Leaf:
        """What one cache of the plan is made with and fed."""
        params = self.params
        settings = settings_of(variant, params, chosen_words(variant, params, layers))
        if variant.states:
            shape = (params.key_dim, params.value_dim)
            tables = [
                self.table("state", (SALTS["states"] + number) % 7, shape, None) for number in range(params.states)
            ]
        else:
            kind = "levels" if params.values == "two_levels" else "heads"
            sizes = (("keys", params.key_dim), ("values", params.value_dim))
            tables = [self.table(kind, SALTS[name], (size,), spread_of(settings, name)) for name, size in sizes]
        return Leaf(place, prefix, variant, settings, tuple(tables))

    def finish(self, opener: Callable[[], Session], leaves: list[Leaf], listed: bool) -> Plan:
        """The plan with its ops."""
        module = load_caches()
        if listed:
            trim, can_trim = module.trim_prompt_cache, module.can_trim_prompt_cache
            plan = Plan(
                opener,
                leaves,
                lambda session, number: trim(session.target, number),
                lambda session: can_trim(session.target),
                listed,
            )
        else:
            plan = Plan(
                opener,
                leaves,
                lambda session, number: session.target.trim(number),
                lambda session: session.target.is_trimmable(),
                listed,
            )
        plan.folds = any(leaf.variant.states for leaf in leaves)
        plan.ops = {
            "copy": copy_cache,
            "save": save_list if listed else save_one,
            "state": restore_list if listed else restore_one,
            "trim_front": trim_fronts,
            "quantize": quantiser(leaves, listed),
        }
        return plan


# Ops


def trim(plan: Plan, session: Session, number: int) -> None:
    """One trim. Raises Refusal when fewer tokens were removed than could be."""
    # Caches of states alone do not count.
    held = max((held_tokens(leaf) for leaf in session.layers if hasattr(leaf, "offset")), default=session.start)
    done = int(plan.trim(session, number))
    if done < min(number, held):
        raise Refusal(f"it removed {done} of {min(number, held)} tokens")
    session.trimmed = done


def copy_cache(session: Session) -> None:
    """Go on with a deep copy; the original stays and is shown."""
    duplicate = copy.deepcopy(session.target)
    session.original = session.snapshot()
    session.go_on_with(duplicate)


def through_file(caches: list[Cache]) -> list[Cache]:
    """Saved and loaded. What was loaded is read at once: mlx reads files when it must, and this one is gone then."""
    module = load_caches()
    with tempfile.TemporaryDirectory(prefix="kvconform-") as folder:
        name = str(Path(folder) / "cache.safetensors")
        module.save_prompt_cache(name, caches)
        loaded: list[Cache] = module.load_prompt_cache(name)
        mx.eval([array for cache in loaded for array in arrays_of(vars(cache))])
    return loaded


def arrays_of(held: Any) -> list[Array]:
    """All arrays in what caches are made of."""
    if isinstance(held, mx.array):
        return [held]
    if isinstance(held, dict):
        return arrays_of(list(held.values()))
    if isinstance(held, list | tuple):
        return [array for entry in held for array in arrays_of(entry)]
    return arrays_of(vars(held)) if hasattr(held, "__dict__") else []


def save_one(session: Session) -> None:
    """Go on with what was saved to a file and loaded."""
    session.go_on_with(through_file([session.target])[0])


def save_list(session: Session) -> None:
    """Go on with what was saved to a file and loaded."""
    session.go_on_with(through_file(session.target))


def restore_one(session: Session) -> None:
    """Go on with a cache made from the state of this one."""
    session.go_on_with(restore(session.target))


def restore_list(session: Session) -> None:
    """Go on with caches made from the states of these."""
    session.go_on_with([restore(cache) for cache in session.target])


def trim_fronts(session: Session) -> None:
    """What models do with their chunked caches before each pass."""
    for leaf in session.layers:
        if hasattr(leaf, "maybe_trim_front"):
            leaf.maybe_trim_front()


def quantiser(leaves: list[Leaf], listed: bool) -> Callable[[Session], None]:
    """What `maybe_quantize_kv_cache` of generation does once its start is reached."""

    def quantise(session: Session) -> None:
        made = []
        for leaf, cache in zip(leaves, session.layers, strict=True):
            turn = hasattr(cache, "to_quantized")
            made.append(cache.to_quantized(group_size=leaf.settings.group, bits=leaf.settings.bits) if turn else cache)
        session.go_on_with(made if listed else made[0])

    return quantise


# Appending


def append(session: Session, leaf: Leaf, given: list[Array], count: int) -> list[tuple[str, Array]]:
    """Feeds one cache `count` tokens. Gives back what it returned, by name."""
    cache = session.layers[leaf.place]
    if leaf.variant.states:
        # Models write the states that they have computed from their new tokens.
        for place, state in enumerate(given):
            if count:
                cache[place] = state
        return []
    keys, values = cache.update_and_fetch(*given)
    return [("keys", shown(cache, keys, leaf, "keys")), ("values", shown(cache, values, leaf, "values"))]


def spread_of(settings: Settings, name: str) -> Spread | None:
    """What is done to the keys or values of a cache."""
    return Spread(AMPLITUDE, SALTS[name], settings.group) if settings.spreads else None


def shown(cache: Cache, held: Any, leaf: Leaf, name: str) -> Array:
    """Keys or values as they are sent: a new name, which no later write of the cache changes."""
    array = plain(cache, held)
    if array is None:
        return None
    spread = spread_of(leaf.settings, name)
    return array[...] if spread is None else spread.undo(array)


Shown = Array | int | None
"""An array, a number that stands for a tensor of one, or nothing."""


def stored(cache: Cache, leaf: Leaf) -> list[tuple[str, Shown]]:
    """What a cache holds, by name; None for what there is not."""
    if leaf.variant.states:
        return [(f"states.{place}", None if held is None else held[...]) for place, held in enumerate(cache.cache)]
    held = contents(cache)
    names = ("keys", "values")
    arrays = [None if held is None else shown(cache, held[at], leaf, name) for at, name in enumerate(names)]
    found: list[tuple[str, Shown]] = list(zip(names, arrays, strict=True))
    if leaf.variant.name == "ChunkedKVCache":
        found.append(("start_position", int(cache.start_position)))
    return found


def numbers(session: Session, leaf: Leaf, answers: Answers) -> list[tuple[str, Shown]]:
    """What a cache says of itself. How much memory it takes nobody asks of a single one that was never fed."""
    cache = session.layers[leaf.place]
    size, unused, taken = numbers_of(type(cache))
    found: list[tuple[str, Shown]] = []
    if size and not leaf.variant.group:
        # What is quantised later says no size any more.
        found.append(("size", answers.ask("size", [cache])))
    if unused:
        found.append(("unused", answers.ask("unused", [cache])))
    if taken and session.appends:
        found.append(("bytes", answers.ask("bytes", [cache])))
    return found


def list_numbers(plan: Plan, session: Session, asked: bool, answers: Answers) -> list[tuple[str, Shown]]:
    """What a cache of several says of itself; of a list, where it is `asked`, what LRUPromptCache adds up.

    It is asked after what changes nothing or adds tokens, so that what is wrong with the answer is not taken for a
    fault of each op.
    """
    if plan.listed:
        sums = asked and all(numbers_of(type(cache))[2] for cache in session.layers)
        return [("list_bytes", answers.ask("bytes", session.target))] if sums else []
    if len(plan.leaves) < 2:
        return []
    return [(f"list_{name}", number) for name, number in own_numbers(session.target, session.layers, answers)]


# Masks


def ask_mask(cache: Cache, leaf: Leaf, count: int, window: int) -> Any:
    """The mask that models of this version make before they append `count` tokens."""
    return load_base().create_attention_mask(
        mx.zeros((1, count, 1)),
        cache,
        window_size=window if leaf.settings.mask == "window" else None,
        return_array=leaf.settings.array,
    )


@lru_cache(maxsize=1024)
def usual_mask(causal: bool, rows: int, queries: int, width: int) -> Array:
    """All returned tokens for each new one; `causal`: none that is newer, aligned at the newest token."""
    seen = mx.ones((queries, width), dtype=mx.int64)
    if causal:
        seen = mx.arange(width)[None] <= mx.arange(width - queries, width)[:, None]
    made = mx.contiguous(mx.broadcast_to(seen[None].astype(mx.int64), (rows, queries, width)))
    mx.eval(made)
    return made


def spread_mask(mask: Any, rows: int, queries: int, width: int) -> Array:
    """What attention makes of a mask: for each row and new token, which of `width` returned tokens it sees."""
    if mask is None or isinstance(mask, str):
        # The only word is "causal"; how it is aligned says mx.fast.scaled_dot_product_attention.
        return usual_mask(mask is not None, rows, queries, width)
    if mask.ndim == 4:
        mask = mask[:, 0]
    mask = mask.reshape((1,) * (3 - mask.ndim) + tuple(mask.shape)).astype(mx.int64)
    wanted = (rows, queries, width)
    fits = all(have in (1, want) for have, want in zip(mask.shape, wanted, strict=True)) and mask.shape[2] == width
    return mx.broadcast_to(mask, wanted) if fits else mask

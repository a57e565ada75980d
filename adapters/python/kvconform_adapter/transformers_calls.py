"""How each op of docs/protocol.md is called on transformers, in each of the calling styles.

A plan is made once for a request: the closures in it are all that runs for an op.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import torch

from kvconform_adapter.request import Params, RequestError
from kvconform_adapter.session import CacheSession
from kvconform_adapter.transformers_blocks import FIRST_SALT, Compressor, make_compressors
from kvconform_adapter.transformers_caches import (
    CACHE_UTILS,
    MINIMAX,
    MINIMAX_CACHE,
    Variant,
    accepts,
    chosen_parts,
    constructor_arguments,
    crop_keyword,
    find_variant,
    load_class,
    stored_tensors,
    takes_positions,
)
from kvconform_adapter.transformers_containers import CONTAINERS, CROSS_TOKENS, Container, Recipe
from kvconform_adapter.transformers_keep import keep_ops
from kvconform_adapter.transformers_quantised import Fetch, prepare
from kvconform_adapter.values import PLANES, Table, TablePool

DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float64": torch.float64,
}

SALTS = {
    "keys": 0,
    "values": 1,
    "indexer_keys": 2,
    "idx_keys": 2,
    "cross_keys": 2,
    "cross_values": 3,
    "conv_states": 3,
    "recurrent_states": 5,
}
SALTS |= {f"buffer_kv.{name}": salt for name, salt in FIRST_SALT.items()}
SALTS |= {f"buffer_gate.{name}": salt + 1 for name, salt in FIRST_SALT.items()}


class Session(CacheSession):
    """With a `Watch` each for inputs and results, where they are watched."""

    __slots__ = ("inputs", "results")

    def __init__(self, target: Any, rows: int, find: Callable[[Any], list[Any]]) -> None:
        super().__init__(target, rows, find)
        self.inputs: Any = None
        self.results: Any = None


Call = Callable[[Session, Any], Any]
"""Feeds its inputs to the cache; gives back what the cache returned."""


@dataclass(frozen=True)
class Feed:
    """One call of a compound append: which inputs it takes and what it returns, in the order of `names`.

    `slots`: where in the plan's `stored` the tensors of `names` stand. `returns`: False for a call that returns
    nothing. `constant`: if not 0, its inputs are always the same so many tokens of their own.
    """

    prefix: str
    names: tuple[str, ...]
    slots: tuple[int, ...]
    tables: tuple[Table, ...]
    call: Call
    returned_names: tuple[str, ...] = ()
    returns: bool = True
    folded: bool = False
    constant: int = 0
    prepare: Callable[[Session, Any], Any] | None = None


@dataclass
class Plan:
    """All that a request needs to drive one variant."""

    open: Callable[[], Session]
    feeds: list[Feed] = field(default_factory=list)
    stored: list[tuple[str, int, Fetch]] = field(default_factory=list)
    lengths: list[Callable[[Session], Any] | None] = field(default_factory=list)
    masks: list[Callable[[Session, int], Any] | None] = field(default_factory=list)
    positions: list[Callable[[Session], Any]] = field(default_factory=list)
    ops: dict[str, Callable[[Session, Any], Any]] = field(default_factory=dict)
    before_append: Callable[[Session], None] | None = None
    addresses: bool = False
    recurrent: bool = False


NUMBERS_MAX = 1024
known_numbers: dict[tuple[int, ...], tuple[Any, int]] = {}
"""Tensors of whole numbers, and how often each had been written to when it was made."""


def whole_numbers(numbers: tuple[int, ...]) -> Any:
    """Row numbers or lengths as a tensor, made once: that takes longer than most calls on a cache."""
    found = known_numbers.get(numbers)
    if found is None or found[0]._version != found[1]:
        if len(known_numbers) >= NUMBERS_MAX:
            known_numbers.clear()
        # A tensor of inference mode would not count writes.
        with torch.inference_mode(mode=False):
            made = torch.tensor(numbers)
        found = known_numbers[numbers] = (made, made._version)
    return found[0]


class PlanMaker:
    """Builds the plan of one variant with its parameters."""

    def __init__(self, params: Params, pool: TablePool | None = None) -> None:
        self.params = params
        self.pool = TablePool() if pool is None else pool
        self.tables = 0
        self.container = params.call.startswith("container")
        self.keyword = params.call.endswith(("keyword", "deprecated"))
        self.deprecated = params.call.endswith("deprecated")
        self.cross = self.drafted = False
        self.positioned = takes_positions()
        self.dtype = DTYPES[params.dtype]

    def table(self, kind: str, name: str, shape: tuple[int, ...], number: int = 0, heads: int | None = None) -> Table:
        """The inputs of one tensor."""
        salt = SALTS.get(name, 0) + number
        rows = self.params.heads if heads is None else heads
        self.tables += 1
        return self.pool.table(kind, salt, rows, shape, self.dtype, self.params.layout == "strided", self.tables)

    def make(self, name: str) -> Plan:
        """The plan of variant `name`; RequestError where the version or the parameters do not allow it."""
        if name == MINIMAX_CACHE:
            plan = self.make_minimax()
        elif name in CONTAINERS:
            plan = self.make_container(CONTAINERS[name])
        else:
            plan = self.make_layer(find_variant(name))
        if not plan.feeds:
            raise RequestError('field "params.parts": no part of this cache is in use')
        if self.params.call == "inference":
            plan.feeds = [replace(feed, call=torch.inference_mode()(feed.call)) for feed in plan.feeds]
            plan.ops = {op: torch.inference_mode()(call) for op, call in plan.ops.items()}
        return plan

    # Layers, alone or in a container

    def make_layer(self, variant: Variant) -> Plan:
        """A plan for one layer, called by itself or through a container that holds nothing else."""
        through = self.container
        owner = load_class(variant.module, variant.name)
        prepare(variant.quantised)
        arguments = constructor_arguments(variant, self.params, owner)
        cache_class = load_class(CACHE_UTILS, "Cache")
        params = self.params
        rows = params.batch

        def open_session() -> Session:
            layer = owner(**arguments)
            return Session(cache_class(layers=[layer]), rows, layers_of) if through else Session(layer, rows, itself)

        plan = Plan(open_session, addresses=variant.static or variant.linear)
        self.add_layer(plan, variant, 0, "", chosen_parts(variant, self.params, False), through)
        if params.keep > 0 and variant.prefix:
            plan.before_append = declare_prefix(params.keep)
        plan.ops = self.common_ops(cache_class if through else owner)
        plan.ops["record"] = record_container if through else record_layer
        check_tensors(plan)
        plan.ops |= keep_ops(self.params, self.dtype, through, self.keyword)
        return plan

    def make_container(self, container: Container) -> Plan:
        """A plan for a container of several layers."""
        recipe = Recipe(container, self.params)
        opener = recipe.opener()
        rows, count = self.params.batch, len(recipe.variants)

        def open_session() -> Session:
            cache = opener()
            return Session(cache, rows, lambda made: [made] * count if container.lazy else layers_of(made))

        plan = Plan(open_session, addresses=any(variant.static or variant.linear for variant in recipe.variants))
        self.cross, self.drafted = container.cross, hasattr(recipe.owner, "set_previous_accepted_tokens")
        for index, variant in enumerate(recipe.variants):
            prefix = f"layer{index}."
            self.add_layer(plan, variant, index, prefix, chosen_parts(variant, self.params, True), True)
            if container.cross:
                self.add_cross(plan, index, count, prefix)
        if container.lazy:
            plan.stored = [(name, index, through_cache(index, fetch)) for name, index, fetch in plan.stored]
        plan.ops = self.common_ops(recipe.owner, container.old_word)
        plan.ops["record"] = record_container
        plan.ops |= keep_ops(self.params, self.dtype, True, self.keyword)
        check_tensors(plan)
        return plan

    def add_cross(self, plan: Plan, index: int, layers: int, prefix: str) -> None:
        """The cross-attention beside one layer."""
        params = self.params
        slot = len(plan.stored)
        for name in ("keys", "values"):
            plan.stored.append((f"{prefix}cross_{name}", layers, through_cross(through_cache(index, attrgetter(name)))))
        plan.stored.append((f"{prefix}is_updated", layers, updated_flag(index)))
        tables = (
            self.table("heads", "cross_keys", (params.key_dim,)),
            self.table("heads", "cross_values", (params.value_dim,)),
        )
        plan.feeds.append(
            Feed(
                prefix,
                ("cross_keys", "cross_values"),
                (slot, slot + 1),
                tables,
                cross_call(index, self.keyword),
                returns=False,
                constant=CROSS_TOKENS,
            )
        )

    def add_layer(
        self, plan: Plan, variant: Variant, index: int, prefix: str, parts: tuple[str, ...], through: bool
    ) -> None:
        """Feeds, tensors and observers of one layer."""
        slots = {}
        compressors = make_compressors(parts, variant.overlap, self.params, self.dtype, self.keyword)
        stored = stored_tensors(variant, parts, self.params.states)
        for name, fetch in stored + [pair for compressor in compressors for pair in compressor.stored()]:
            slots[name] = len(plan.stored)
            plan.stored.append((prefix + name, index, fetch))

        def add(names: tuple[str, ...], tables: tuple[Table, ...], call: Call, **more: Any) -> None:
            plan.feeds.append(
                Feed(
                    prefix,
                    names,
                    tuple(slots[name] for name in names),
                    tables,
                    call,
                    tuple(f"{prefix}returned.{name}" for name in names),
                    **more,
                )
            )

        # A hybrid layer runs its convolution before its attention; others have one half only.
        if variant.linear:
            self.add_linear(add, variant, index, parts, through)
            plan.recurrent = plan.recurrent or "recurrent" in parts
        params = self.params
        # Models pass by a layer that stands in a container only to be counted.
        if "attention" in parts and (variant.stores or prefix == ""):
            kind = "levels" if params.values == "two_levels" else "heads"
            keys = self.table(kind, "keys", (params.key_dim,))
            # DeepSeek V4 has one tensor for both.
            tables = (keys, keys if variant.blocks else self.table(kind, "values", (params.value_dim,)))
            add(("keys", "values"), tables, self.attention_call(index, through))
        for compressor in compressors:
            names = tuple(name for name, _ in compressor.stored())
            given = tuple(self.table("flat", name, (compressor.width,)) for name in names[:2])
            add(names, given, compress(index, compressor))
        if "index" in parts:
            flat = variant.index == "indexer_keys"
            heads = 1
            table = self.table("flat" if flat else "heads", variant.index, (params.index_dim,), heads=heads)
            add(
                (variant.index,), (table,), self.indexer_call(index, through) if flat else self.sparse_index_call(index)
            )
        if "positions" in parts:
            name = "indexer_position_ids"
            table = self.table("planes", name, (), heads=PLANES)
            add((name,), (table,), positions_call(index), returns=False)
        if "attention" in parts and variant.stores:
            plan.lengths.append(self.length_reader(index, through))
            plan.masks.append(self.mask_reader(index, through))
            if through and hasattr(load_class("transformers.cache_utils", "Cache"), "get_query_offset"):
                plan.positions.append(drafted_position_reader(index) if self.drafted else position_reader(index))
        else:
            plan.lengths.append(None)
            plan.masks.append(None)

    def add_linear(
        self, add: Callable[..., None], variant: Variant, index: int, parts: tuple[str, ...], through: bool
    ) -> None:
        """Feeds of convolution states, then of recurrent states."""
        params = self.params
        owner = load_class(variant.module, variant.name)
        numbered = accepts(owner.update_conv_state, "state_idx")
        sized = accepts(owner.update_conv_state, "conv_kernel_size")
        for number in range(params.states):
            if "convolution" in parts:
                name = f"conv_states.{number}"
                table = self.table("columns", "conv_states", (params.channels,), number)
                more = {"conv_kernel_size": params.kernel} if sized else {}
                call = self.state_call("update_conv_state", "conv_states", index, number, through, numbered, more)
                add((name,), (table,), call, prepare=None if sized else fit_to_kernel(index, params.kernel))
        for number in range(params.states):
            if "recurrent" in parts:
                name = f"recurrent_states.{number}"
                table = self.table("state", "recurrent_states", (params.key_dim, params.value_dim), number)
                call = self.state_call(
                    "update_recurrent_state", "recurrent_states", index, number, through, numbered, {}
                )
                add((name,), (table,), call, folded=True)

    def attention_call(self, index: int, through: bool) -> Call:
        """`update` with keys and values."""
        if self.positioned:
            return self.positioned_call(index, through)
        if self.cross and self.keyword:
            return lambda session, given: session.target.self_attention_cache.update(
                key_states=given[0], value_states=given[1], layer_idx=index
            )
        if self.cross:
            return lambda session, given: session.target.self_attention_cache.update(given[0], given[1], index)
        if through and self.keyword:
            return lambda session, given: session.target.update(
                key_states=given[0], value_states=given[1], layer_idx=index
            )
        if through:
            return lambda session, given: session.target.update(given[0], given[1], index)
        if self.keyword:
            return lambda session, given: session.target.update(key_states=given[0], value_states=given[1])
        return lambda session, given: session.target.update(given[0], given[1])

    def positioned_call(self, index: int, through: bool) -> Call:
        """`update` of a version whose models say where the tokens go: behind those that are held."""
        places = (index,) if through else ()
        words = {"layer_idx": index} if through else {}

        def call(session: Session, given: Any) -> Any:
            target = session.target.self_attention_cache if self.cross else session.target
            options = {"cache_position": positions_ahead(target, given[0].shape[-2], places)}
            if self.keyword:
                return target.update(key_states=given[0], value_states=given[1], cache_kwargs=options, **words)
            return target.update(given[0], given[1], *places, options)

        return call

    def indexer_call(self, index: int, through: bool) -> Call:
        """`update_indexer` of a layer or of its container."""
        if through and self.keyword:
            return lambda session, given: (session.target.update_indexer(indexer_key_states=given[0], layer_idx=index),)
        if through:
            return lambda session, given: (session.target.update_indexer(given[0], index),)
        if self.keyword:
            return lambda session, given: (session.target.update_indexer(indexer_key_states=given[0]),)
        return lambda session, given: (session.target.update_indexer(given[0]),)

    def sparse_index_call(self, index: int) -> Call:
        """`update_index`: containers have none, models call it on the layer."""
        if self.keyword:
            return lambda session, given: (session.layers[index].update_index(idx_k=given[0]),)
        return lambda session, given: (session.layers[index].update_index(given[0]),)

    def state_call(
        self, method: str, argument: str, index: int, number: int, through: bool, numbered: bool, more: dict[str, int]
    ) -> Call:
        """`update_conv_state` or `update_recurrent_state`. `more` goes by keyword, as models pass it."""
        places = ((index,) if through else ()) + ((number,) if numbered else ())
        words = ({"layer_idx": index} if through else {}) | ({"state_idx": number} if numbered else {}) | more
        if self.keyword:
            return lambda session, given: (getattr(session.target, method)(**{argument: given[0]}, **words),)
        return lambda session, given: (getattr(session.target, method)(given[0], *places, **more),)

    def length_reader(self, index: int, through: bool) -> Callable[[Session], Any]:
        """`get_seq_length`."""
        if through:
            return lambda session: session.target.get_seq_length(index)
        return lambda session: session.target.get_seq_length()

    def mask_reader(self, index: int, through: bool) -> Callable[[Session, int], Any]:
        """`get_mask_sizes` for a number of new tokens."""
        if self.drafted:
            return drafted_mask_reader(index, self.params.block, self.keyword)
        if self.positioned:
            return positioned_mask_reader((index,) if through else (), self.keyword)
        if through and self.keyword:
            return lambda session, count: session.target.get_mask_sizes(query_length=count, layer_idx=index)
        if through:
            return lambda session, count: session.target.get_mask_sizes(count, index)
        if self.keyword:
            return lambda session, count: session.target.get_mask_sizes(query_length=count)
        return lambda session, count: session.target.get_mask_sizes(count)

    def common_ops(self, owner: Any, old_word: str = "max_length") -> dict[str, Callable[[Session, Any], Any]]:
        """The ops that layers and containers call alike. A class without an op raises AttributeError: a refusal."""
        if not self.keyword:
            return {
                "crop": lambda session, count: session.target.crop(count),
                "reset": lambda session, _: session.target.reset(),
                "reorder": lambda session, rows: session.target.reorder_cache(whole_numbers(rows)),
                "select": lambda session, rows: session.target.batch_select_indices(whole_numbers(rows)),
                "repeat": lambda session, times: session.target.batch_repeat_interleave(times),
            }
        word = old_word if self.deprecated else crop_keyword(owner)
        return {
            "crop": lambda session, count: session.target.crop(**{word: count}),
            "reset": lambda session, _: session.target.reset(),
            "reorder": lambda session, rows: session.target.reorder_cache(beam_idx=whole_numbers(rows)),
            "select": lambda session, rows: session.target.batch_select_indices(indices=whole_numbers(rows)),
            "repeat": lambda session, times: session.target.batch_repeat_interleave(repeats=times),
        }

    # MiniMaxCache: a container with a linear layer 0, kept in a list of its own, and an attention layer 1

    def make_minimax(self) -> Plan:
        """A plan for MiniMaxCache."""
        params = self.params
        allowed = ("attention", "recurrent")
        parts = allowed if params.parts == "" else tuple(params.parts.split("+"))
        if not set(parts) <= set(allowed):
            raise RequestError(f"{MINIMAX_CACHE} has the parts {', '.join(allowed)}")
        try:
            owner = load_class(MINIMAX, MINIMAX_CACHE)
        except (ImportError, AttributeError) as error:
            raise RequestError(f'the subject has no cache "{MINIMAX_CACHE}" at this version') from error

        def open_session() -> Session:
            cache = owner()
            return Session(cache, params.batch, itself)

        plan = Plan(open_session)
        if "attention" in parts:
            plan.stored += [(name, 0, through_cache(1, attrgetter(name))) for name in ("keys", "values")]
        if "recurrent" in parts:
            plan.recurrent = True
            slot = len(plan.stored)
            plan.stored.append(("linear_cache", 0, linear_cache))
            table = self.table("state", "recurrent_states", (params.key_dim, params.value_dim))
            call = set_linear_by_keyword if self.keyword else set_linear
            plan.feeds.append(Feed("", ("linear_cache",), (slot,), (table,), call, returns=False, folded=True))
        if "attention" in parts:
            tables = (
                self.table("heads", "keys", (params.key_dim,)),
                self.table("heads", "values", (params.value_dim,)),
            )
            plan.feeds.append(
                Feed(
                    "",
                    ("keys", "values"),
                    (0, 1),
                    tables,
                    self.attention_call(1, True),
                    ("returned.keys", "returned.values"),
                )
            )
            plan.lengths.append(self.length_reader(1, True))
            plan.masks.append(self.mask_reader(1, True))
        else:
            plan.lengths.append(None)
            plan.masks.append(None)
        plan.ops = self.common_ops(owner)
        plan.ops["record"] = record_container
        plan.ops |= keep_ops(params, self.dtype, True, self.keyword)
        return plan


def compress(index: int, compressor: Compressor) -> Call:
    """One pass of a compressor: containers have no such methods, models call them on the layer."""
    return lambda session, given: compressor.call(session.layers[index], given[0], given[1])


def set_linear(session: Session, given: Any) -> Any:
    """`set_linear_cache` by position."""
    return session.target.set_linear_cache(0, given[0])


def set_linear_by_keyword(session: Session, given: Any) -> Any:
    """`set_linear_cache` by keyword."""
    return session.target.set_linear_cache(layer_idx=0, linear_cache=given[0])


def linear_cache(cache: Any) -> Any:
    """Reads the linear layer of a MiniMaxCache; an empty list stands for none."""
    held = cache.linear_cache
    return held[0] if held and isinstance(held[0], torch.Tensor) else None


def declare_prefix(length: int) -> Callable[[Session], None]:
    """What the model's `_prefill` does: on an empty cache it says how long the prefix will be."""

    def declare(session: Session) -> None:
        for layer in session.layers:
            if hasattr(layer, "set_prefill_length") and layer.get_seq_length() == 0:
                layer.set_prefill_length(length)

    return declare


def position_reader(index: int) -> Callable[[Session], Any]:
    """The position that a container announces for the next query of a layer. Layers by themselves announce none."""
    return lambda session: session.target.get_query_offset(index)


def positions_call(index: int) -> Call:
    """Position ids are joined by the model itself, not by a method of the layer."""

    def call(session: Session, given: Any) -> None:
        layer = session.layers[index]
        held = layer.indexer_position_ids
        layer.indexer_position_ids = given[0] if held is None else torch.cat([held, given[0]], dim=-1)

    return call


def fit_to_kernel(index: int, kernel: int) -> Callable[[Session, Any], Any]:
    """What models did before layers knew their kernel size: the first input is padded or cut to it on the left."""

    def prepare(session: Session, given: Any) -> Any:
        layer = session.layers[index]
        held = layer.has_previous_state
        if (all(held.values()) if isinstance(held, dict) else held) or getattr(layer, "record_past", False):
            return given
        width = given.shape[-1]
        if width < kernel:
            return torch.nn.functional.pad(given, (kernel - width, 0))
        return given[..., width - kernel :].clone()

    return prepare


def record_layer(session: Session, on: int) -> None:
    """Recording of one layer. There is no official "off": generation clears the same attribute."""
    if on:
        session.target.activate_past_recording()
    elif hasattr(session.target, "record_past"):
        session.target.record_past = False
    else:
        raise AttributeError(f"{type(session.target).__name__} records no past")


def record_container(session: Session, on: int) -> None:
    """Recording of all layers of a container that can."""
    if on:
        session.target.activate_past_recording()
        return
    for layer in layers_of(session.target):
        if hasattr(layer, "record_past"):
            layer.record_past = False


def itself(cache: Any) -> list[Any]:
    """The layers of what is one layer, or is read as one."""
    return [cache]


def layers_of(cache: Any) -> Any:
    """What the tensors of a container are read from: its layers, behind them the cache itself if it has two halves."""
    if hasattr(cache, "self_attention_cache"):
        return [*cache.self_attention_cache.layers, cache]
    return cache.layers


def check_tensors(plan: Plan) -> None:
    """Raise RequestError when a fresh cache lacks an attribute that is to be read."""
    first = plan.open()
    for name, index, fetch in plan.stored:
        try:
            fetch(first.layers[index])
        except AttributeError as error:
            raise RequestError(f"at this version the cache has no {name}") from error


def through_cross(fetch: Fetch) -> Fetch:
    """Reads the cross-attention of a container."""
    return lambda cache: fetch(cache.cross_attention_cache)


def through_cache(index: int, fetch: Fetch) -> Fetch:
    """Reads a layer of a container that makes its layers when they are needed."""

    def read(cache: Any) -> Any:
        return fetch(cache.layers[index]) if len(cache.layers) > index else None

    return read


def updated_flag(index: int) -> Fetch:
    """Whether the cross-attention of a layer was filled, as models ask for it: a layer that has no flag yet was not."""
    return lambda cache: torch.tensor([int(bool(cache.is_updated.get(index)))])


def cross_call(index: int, keyword: bool) -> Call:
    """What models do with a cross-attention: they fill it once, and say so."""

    def call(session: Session, given: Any) -> None:
        cache = session.target
        if cache.is_updated.get(index):
            return
        if keyword:
            cache.cross_attention_cache.update(key_states=given[0], value_states=given[1], layer_idx=index)
        else:
            cache.cross_attention_cache.update(given[0], given[1], index)
        cache.is_updated[index] = True

    return call


def positions_ahead(target: Any, count: int, places: tuple[int, ...]) -> Any:
    """The positions of `count` new tokens of a layer, as models count them."""
    length = int(target.get_seq_length(*places))
    return torch.arange(length, length + count)


def positioned_mask_reader(places: tuple[int, ...], keyword: bool) -> Callable[[Session, int], Any]:
    """`get_mask_sizes` of a version that wants the positions of the new tokens."""
    words = {"layer_idx": places[0]} if places else {}

    def read(session: Session, count: int) -> Any:
        positions = positions_ahead(session.target, count, places)
        if keyword:
            return session.target.get_mask_sizes(cache_position=positions, **words)
        return session.target.get_mask_sizes(positions, *places)

    return read


def drafted_mask_reader(index: int, block: int, keyword: bool) -> Callable[[Session, int], Any]:
    """The mask of a drafter: the newest `block` tokens are queries, those before were accepted and come with them."""

    def read(session: Session, count: int) -> Any:
        cache, queries = session.target, min(count, block)
        cache.set_previous_accepted_tokens(count - queries)
        if keyword:
            return cache.get_mask_sizes(query_length=queries, layer_idx=index)
        return cache.get_mask_sizes(queries, index)

    return read


def drafted_position_reader(index: int) -> Callable[[Session], Any]:
    """The position of a drafter's next query when nothing was accepted since."""

    def read(session: Session) -> Any:
        session.target.set_previous_accepted_tokens(0)
        return session.target.get_query_offset(index)

    return read

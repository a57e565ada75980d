"""Which of its methods a class is driven by, and how: names that caches have in the field, or what the user said."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kvconform_adapter.any_arrays import Library
from kvconform_adapter.any_class import LAYER_WORDS, parameters_of
from kvconform_adapter.any_spec import Told
from kvconform_adapter.request import RequestError

METHODS: dict[str, tuple[str, ...]] = {
    "append": ("append", "update", "update_and_fetch", "add", "put", "push", "extend", "insert", "write", "store"),
    "crop": ("crop", "trim", "truncate", "rollback", "rewind", "pop"),
    "reset": ("reset", "clear", "empty"),
    "reorder": ("reorder_cache", "reorder", "reorder_rows", "reorder_beams"),
    "select": ("batch_select_indices", "select", "select_rows", "batch_select"),
    "repeat": ("batch_repeat_interleave", "repeat", "repeat_interleave", "repeat_rows"),
    "copy": ("clone", "copy", "fork"),
}
"""The methods that an op is looked for under, the likeliest first."""
BATCH = ("reorder", "select", "repeat")

LENGTHS = {
    "get_seq_length": "seen",
    "length": "seen",
    "offset": "seen",
    "seq_len": "seen",
    "seq_length": "seen",
    "seen_tokens": "seen",
    "__len__": "held",
    "size": "held",
}
"""Where a class reports its length, and whether evicted tokens count in it."""
PAIRS = ("keys_and_values", "state", "get", "gather", "fetch", "materialize", "contents", "get_kv", "kv")
SINGLES = (
    *(("keys", "values"), ("key_cache", "value_cache"), ("k_cache", "v_cache"), ("k", "v"), ("key", "value")),
    *(("_keys", "_values"), ("_k", "_v"), ("key_states", "value_states")),
)
KEEPING_WORDS = (
    "length",
    "new_length",
    "new_len",
    "max_length",
    "max_len",
    "size",
    "keep",
    "to",
    "seq_len",
    "seq_length",
    "end",
)
"""What the argument of a crop is called that says how many tokens stay."""


class Refusal(Exception):
    """The cache refused without raising: it said `False`, or removed fewer tokens than it could."""


@dataclass
class Method:
    """A method. `style`: of a crop `-n`, `n` or `length - n`. `layer`: the name of an argument that gets 0."""

    name: str
    style: str = ""
    layer: str = ""

    def of(self, cache: Any) -> Callable[..., Any]:
        """What to call."""
        bound: Callable[..., Any] = getattr(cache, self.name)
        if not self.layer:
            return bound
        return lambda *given: bound(*given, **{self.layer: 0})

    def spelled(self, given: str) -> str:
        """The same as a program has it."""
        more = f"{self.layer}=0" if self.layer else ""
        return f"cache.{self.name}({', '.join(part for part in (given, more) if part)})"


@dataclass
class Calls:
    """How the class is called and read. `pair`: one reader gives keys and values; otherwise `keys` and `values` do."""

    ops: dict[str, Method]
    keys: str = ""
    values: str = ""
    pair: str = ""
    length: Method | None = None
    counts: str = ""
    mask: Method | None = None
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def bind(owner: type, name: str, wanted: int, what: str) -> Method:
    """The method with `wanted` arguments, and perhaps a layer. Raises RequestError with what is in the way."""
    parameters = parameters_of(getattr(owner, name))
    if parameters is None:
        return Method(name)
    names = [word for word, one in parameters.items() if word != "self"]
    layer = next((word for word in names if word in LAYER_WORDS), "")
    names = [word for word in names if word != layer]
    needed = [word for word in names if parameters[word].default is inspect.Parameter.empty]
    variable = any(
        one.kind is inspect.Parameter.VAR_POSITIONAL
        for one in inspect.signature(getattr(owner, name)).parameters.values()
    )
    if len(needed) > wanted or (len(names) < wanted and not variable):
        raise RequestError(
            f"{owner.__name__}.{name}({', '.join(names)}): expected {what}; write a class around it (kvconform new), "
            "or name another method in a spec file"
        )
    return Method(name, layer=layer)


def argument_word(owner: type, name: str) -> str:
    """What the first argument of a method is called."""
    parameters = parameters_of(getattr(owner, name)) or {}
    return next((word for word in parameters if word != "self" and word not in LAYER_WORDS), "")


def crop_style(owner: type, name: str) -> str:
    """How a crop is told what to remove, by its name and that of its argument."""
    if name == "truncate" or argument_word(owner, name) in KEEPING_WORDS:
        return "length - n"
    return "-n" if name == "crop" else "n"


def find_method(owner: type, op: str, told: Told) -> Method | None:
    """The method of an op: what the user said, else the first that there is."""
    wanted, what = {"append": (2, "keys and values")}.get(
        op, (0, "no argument") if op in ("reset", "copy") else (1, "one")
    )
    said = told.calls.get(op, "")
    if said:
        name, _, rest = said.partition("(")
        style = rest.rstrip(")").strip()
        if not callable(getattr(owner, name, None)) or (op == "crop" and style not in ("", "-n", "n", "length - n")):
            raise RequestError(
                f'{told.file}: field "calls.{op}": "{said[:60]}": expected a method of {owner.__name__}'
                + (", such as trim(n), crop(-n) or truncate(length - n)" if op == "crop" else "")
            )
        method = bind(owner, name, wanted, what)
        method.style = (style or crop_style(owner, name)) if op == "crop" else ""
        return method
    for name in METHODS[op]:
        if callable(getattr(owner, name, None)):
            method = bind(owner, name, wanted, what)
            method.style = crop_style(owner, name) if op == "crop" else ""
            return method
    return None


def find_calls(owner: type, told: Told) -> Calls:
    """How to drive a class. How it is read, `find_readers` finds in a cache that holds a token."""
    unknown = [op for op in told.calls if op not in METHODS]
    if unknown:
        raise RequestError(f'{told.file}: field "calls": unknown op "{unknown[0][:40]}": expected {", ".join(METHODS)}')
    calls = Calls({})
    absent = []
    for op in METHODS:
        method = find_method(owner, op, told)
        if method is not None:
            calls.ops[op] = method
        elif op == "append":
            raise RequestError(
                f"{owner.__name__} has no method to append keys and values (append, update, put, ...); "
                'name it in a spec file: "calls"'
            )
        elif op != "copy":
            absent.append(op)
    if absent:
        calls.missing.append(f'{", ".join(absent)}: the class has no such method (a spec file names it: "calls")')
    if "crop" in calls.ops:
        crop = calls.ops["crop"]
        calls.notes.append(f"{crop.name}({crop.style}) removes the newest n tokens")
    if callable(getattr(owner, "get_mask_sizes", None)) and argument_word(owner, "get_mask_sizes") != "cache_position":
        calls.mask = bind(owner, "get_mask_sizes", 1, "the number of new tokens")
    else:
        calls.missing.append("mask sizes: the class has no get_mask_sizes(query_length)")
    return calls


def find_readers(calls: Calls, cache: Any, library: Library, told: Told) -> None:
    """How to see what a cache holds, of which one is given that holds a token."""
    owner = type(cache)
    find_length(calls, owner, cache, told)
    if told.read:
        for name in told.read:
            if name not in ("keys", "values", "both"):
                raise RequestError(
                    f'{told.file}: field "read": unknown field "{name[:40]}": expected keys and values, or both'
                )
        calls.keys, calls.values = told.read.get("keys", ""), told.read.get("values", "")
        calls.pair = told.read.get("both", "")
        if bool(calls.pair) == bool(calls.keys and calls.values):
            raise RequestError(f'{told.file}: field "read": expected keys and values, or both')
        return
    # Of mlx-lm's interface `keys` may be longer than what is held.
    pair = next((name for name in PAIRS if hasattr(cache, name)), "")
    single = next(((keys, values) for keys, values in SINGLES if hasattr(cache, keys) and hasattr(cache, values)), None)
    layers = getattr(cache, "layers", None)
    if pair and (single is None or hasattr(owner, "update_and_fetch")):
        calls.pair = pair
    elif single is not None:
        # One array for each layer.
        layered = library.name != "list" and all(isinstance(getattr(cache, name), list | tuple) for name in single)
        calls.keys, calls.values = (f"{name}[0]" for name in single) if layered else single
        if layered:
            calls.notes.append(f"what it holds is read from {calls.keys} and {calls.values}: one layer is tested")
    elif isinstance(layers, list):
        calls.keys, calls.values = "layers[0].keys", "layers[0].values"
        calls.notes.append("what it holds is read from layers[0]")
    else:
        raise RequestError(
            f"{owner.__name__} shows nowhere what it holds (keys and values, or {', '.join(PAIRS[:4])}, ...); "
            'name it in a spec file: "read"'
        )
    if (calls.keys or calls.pair).startswith("_"):
        calls.notes.append(f"{calls.keys} and {calls.values}, which are private, are what it holds")


def find_length(calls: Calls, owner: type, cache: Any, told: Told) -> None:
    """Where a cache reports its length."""
    if told.length == "none":
        calls.missing.append("length: the spec file says that it reports none")
        return
    # What it is made with is no length, unless the spec file says so: of many a `size` is the capacity.
    made_with = {} if told.length else parameters_of(owner) or {}
    found = (word for word in LENGTHS if hasattr(cache, word))
    name = next((word for word in found if word not in made_with or callable(getattr(cache, word))), "")
    if not name:
        calls.missing.append(f"length: the class reports none (looked for {', '.join(LENGTHS)})")
        return
    calls.length = bind(owner, name, 0, "no argument") if callable(getattr(owner, name, None)) else Method(name)
    calls.counts = told.length or LENGTHS[name]


def read(cache: Any, path: str) -> Any:
    """`keys`, `keys()` or `layers[0].keys` of a cache; what can be called is called."""
    held = cache
    for part in path.split("."):
        name, _, index = part.partition("[")
        held = getattr(held, name.removesuffix("()"))
        if callable(held) and not hasattr(held, "shape"):
            held = held()
        if index:
            place = int(index.rstrip("]"))
            if held is None or len(held) <= place:
                return None
            held = held[place]
    return held


def held_by(calls: Calls, cache: Any) -> tuple[Any, Any]:
    """Keys and values as the cache shows them; None where there are none."""
    if calls.pair:
        both = read(cache, calls.pair)
        if both is None:
            return None, None
        keys, values = both
        return keys, values
    return read(cache, calls.keys), read(cache, calls.values)


def length_of(calls: Calls, cache: Any) -> int:
    """The length that the cache reports."""
    assert calls.length is not None
    if calls.length.name == "__len__":
        return len(cache)
    held = getattr(cache, calls.length.name)
    return int(calls.length.of(cache)() if callable(held) else held)


def crop(calls: Calls, cache: Any, count: int, held: int) -> None:
    """Remove the newest `count` tokens of `held`. Raises Refusal when the cache says that it did not."""
    method = calls.ops["crop"]
    argument = {"-n": -count, "n": count}.get(method.style, max(0, held - count))
    result = method.of(cache)(argument)
    if result is False:
        raise Refusal(f"{method.name} returned False")
    if method.style == "n" and type(result) is int and result < min(count, held):
        raise Refusal(f"{method.name} removed {result} of {min(count, held)} tokens")


def duplicate(calls: Calls, cache: Any) -> Any:
    """A copy, by the method that the class has for it, else a deep copy."""
    return calls.ops["copy"].of(cache)() if "copy" in calls.ops else copy.deepcopy(cache)


def restored(cache: Any, library: Library) -> Any:
    """What was saved and loaded again: of torch as torch does it, for a bare pickle parts tensors that share memory."""
    if library.name != "torch":
        return pickle.loads(pickle.dumps(cache))
    saved = io.BytesIO()
    torch: Any = library.package  # type: ignore[attr-defined]
    torch.save(cache, saved)
    saved.seek(0)
    return torch.load(saved, weights_only=False)

"""Puts a class to a first harmless use, and writes down its spec and contract, what was assumed and what is not tested.

The first use is one token into a new cache: whether it is taken, in which types and sizes, and whether something comes
back. Which tokens a cache then holds is never looked at: what it must hold follows from the spec alone.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kvconform_adapter.any_arrays import LIBRARIES, Array, Axes, Library
from kvconform_adapter.any_calls import BATCH, Calls, duplicate, find_calls, find_readers, held_by, restored
from kvconform_adapter.any_class import Arguments, Found, arguments_of, short
from kvconform_adapter.any_spec import KINDS, PREFIX, Kind, Told, choose_kind, make_rules, size_names, views
from kvconform_adapter.any_values import Inputs, levels
from kvconform_adapter.reply import WORDS
from kvconform_adapter.request import Params, RequestError

NOTE_MAX = 380
NARROW = {"float64": 3, "float32": 2, "float16": 1, "bfloat16": 1}
"""Wider types have larger numbers."""
ROOM = 4096
"""Of a size that the kind of cache does not speak of."""


@dataclass
class Description:
    """All that is needed to drive a class and to judge it."""

    found: Found
    arguments: Arguments
    library: Library
    axes: Axes
    calls: Calls
    kind: Kind
    spec: dict[str, Any]
    contract: dict[str, Any]
    assumed: list[str]
    untested: list[str]
    counts_held: bool

    def make(self, params: Params) -> Any:
        """A new cache."""
        return self.found.owner(**self.arguments.fill(params, self.library.dtypes))

    def inputs(self, params: Params) -> tuple[Inputs, Inputs]:
        """The tables of keys and of values."""
        made = []
        for salt, channels in enumerate((params.key_dim, params.value_dim)):
            table = Inputs(self.library, self.axes, salt, params.heads, channels, params.dtype)
            table.strided = params.layout == "strided"
            if params.values == "two_levels":
                table.formula = levels
            made.append(table)
        return made[0], made[1]


def guess_library(found: Found, told: Told) -> str:
    """The library by what the class and the modules of its bases know."""
    if told.library:
        return told.library
    owner = found.owner
    modules = [inspect.getmodule(base) for base in owner.__mro__] if inspect.isclass(owner) else [found.module]
    for module in modules:
        words = {getattr(held, "__name__", "") for held in vars(module).values()} if module else set()
        for name, word in (("torch", "torch"), ("mlx", "mlx.core"), ("numpy", "numpy")):
            if word in words or any(getattr(held, "__module__", None) == word for held in vars(module).values()):
                return name
    return "list"


def open_library(name: str) -> Library:
    """The library, or RequestError."""
    try:
        return LIBRARIES[name]()
    except ImportError as error:
        raise RequestError(
            f"cannot import {name}: {short(error)}; --python PATH names an interpreter that has it"
        ) from error


def sized(params: Params, sizes: dict[str, int]) -> Params:
    """The parameters with other sizes."""
    more: dict[str, Any] = dict(sizes)
    return replace(params, **more)


class Describer:
    """Works out a description step by step."""

    def __init__(self, found: Found, told: Told) -> None:
        self.found = found
        self.told = told
        self.assumed: list[str] = []
        self.untested: list[str] = []
        self.arguments = arguments_of(found, told.init)
        name, because, said = choose_kind(told, self.arguments.sizes, self.arguments.bits, found.name)
        self.kind_name, self.kind, self.said = name, KINDS[name], said
        if not said:
            self.assumed.append(because)
        self.library = open_library(guess_library(found, told))
        if not told.library:
            self.assumed.append(
                f"it takes {'lists of lists of floats' if self.library.name == 'list' else self.library.name}"
            )
        axes = told.axes or list(Axes.ALL)
        if not set(axes) <= set(Axes.ALL) or len(set(axes)) != len(axes) or not {"tokens", "channels"} <= set(axes):
            raise RequestError(
                f'{told.file}: field "axes": expected tokens, channels and perhaps batch and heads, in any order'
            )
        self.axes = Axes(axes, self.library)
        self.params = self.ranges()

    # Sizes

    def ranges(self) -> dict[str, list[int]]:
        """The parameters and the values that are tried."""
        arguments, told, kind = self.arguments, self.told, self.kind
        found: dict[str, list[int]] = {
            "batch": [1, 3] if "batch" in self.axes.names else [1, 1],
            "heads": [1, 2] if "heads" in self.axes.names else [1, 1],
        }
        equal = "key_dim" in arguments.sizes and "value_dim" not in arguments.sizes
        wide = self.kind_name == "quantised"
        found["key_dim"] = [32, 64, 32] if wide and not equal else [32, 32] if wide else [8, 8] if equal else [8, 9]
        found["value_dim"] = [32, 64, 32] if wide and not equal else [32, 32] if wide else [8, 8] if equal else [8, 11]
        for name, usual in (("block", [2, 4]), ("residual", [1, 5])):
            if name in arguments.sizes:
                found[name] = usual
        names = size_names(kind, arguments.sizes)
        for name, usual_range in kind.params:
            if name in names or name in told.params:
                found[name] = list(usual_range)
            elif name in kind.needs[:1] or self.kind_name == "prefix_window":
                raise RequestError(
                    f"like {self.kind_name}: which argument of {self.found.name} is its {name}? Say it with "
                    f'--init \'{{"NAME": "${name}"}}\', or in a spec file with "params": {{"{name}": [4, 4]}}'
                )
            else:
                found[name] = [0, 0]
        for name, other in names.items():
            if name != other:
                self.rename(other, name)
        found |= {name: [value, value] for name, value in arguments.values.items() if name in found}
        for name, value in arguments.values.items():
            if name not in found and name in names.values():
                target = next(wanted for wanted, other in names.items() if other == name)
                found[target] = [value, value]
        found |= told.params
        for word, entry in list(arguments.template.items()):
            if isinstance(entry, str) and entry.startswith("$") and entry != "$dtype" and entry[1:] not in found:
                arguments.template[word] = ROOM
                arguments.notes.append(f"{word} is {ROOM}: this kind of cache has no such size; --init says otherwise")
        return found

    def rename(self, other: str, name: str) -> None:
        """An argument that is called after one size and means another."""
        template = self.arguments.template
        for word, entry in template.items():
            if entry == f"${other}":
                template[word] = f"${name}"

    def smallest(self) -> Params:
        """The parameters of the first use."""
        dtype = "float32" if "float32" in self.library.dtypes else next(iter(self.library.dtypes))
        if self.told.dtypes:
            dtype = self.told.dtypes[0]
        values = "two_levels" if self.kind_name == "quantised" else "digits"
        least = {name: entry[0] for name, entry in self.params.items()}
        return replace(sized(Params(), least), dtype=dtype, values=values)

    # The first use

    def make(self, params: Params) -> Any:
        """A new cache."""
        return self.found.owner(**self.arguments.fill(params, self.library.dtypes))

    def feed(self, calls: Calls, params: Params) -> tuple[Any, Any]:
        """A new cache with one token, and what the append returned."""
        cache = self.make(params)
        inputs = [
            Inputs(self.library, self.axes, salt, params.heads, channels, params.dtype).take((0,), params.batch)
            for salt, channels in enumerate((params.key_dim, params.value_dim))
        ]
        return cache, calls.ops["append"].of(cache)(*inputs)

    def first_use(self) -> Calls:
        """Makes a cache and gives it a token. Raises RequestError with what was in the way."""
        params = self.smallest()
        told = ", ".join(
            f"{name}={value!r}" for name, value in self.arguments.fill(params, {params.dtype: params.dtype}).items()
        )
        try:
            cache = self.make(params)
        except MemoryError:
            raise
        except Exception as error:
            raise RequestError(
                f"{self.found.name}({told}) raises {short(error)}; --init '{{\"NAME\": VALUE}}' gives other arguments"
            ) from error
        calls = find_calls(type(cache), self.told)
        try:
            fed = self.feed(calls, params)[0]
        except MemoryError:
            raise
        except Exception as error:
            sizes = [
                {"batch": 1, "heads": 1, "tokens": 1, "channels": params.key_dim}[axis] for axis in self.axes.names
            ]
            raise RequestError(
                f"{calls.ops['append'].name} refuses keys of shape {sizes} ({', '.join(self.axes.names)}), "
                f"{params.dtype}, {self.library.name}: {short(error)[:80]}; "
                "a spec file says library, axes, dtypes, params"
            ) from error
        find_readers(calls, fed, self.library, self.told)
        return calls

    def shown(self, calls: Calls, cache: Any) -> Sequence[Array]:
        """Keys and values of a cache with one token."""
        try:
            held = held_by(calls, cache)
        except MemoryError:
            raise
        except Exception as error:
            raise RequestError(
                f'what {self.found.name} holds cannot be read: {short(error)}; name it in a spec file: "read"'
            ) from error
        for name, array in zip(("keys", "values"), held, strict=True):
            if array is not None and not self.library.is_array(array):
                raise RequestError(
                    f"{name} of {self.found.name} is {type(array).__name__}, expected an array of {self.library.name}; "
                    'name what gives it as numbers in a spec file: "read": {"keys": "...", "values": "..."}'
                )
            if array is not None and self.library.word(array) not in WORDS:
                raise RequestError(
                    f"{name} of {self.found.name} are of type {self.library.word(array)}: expected the numbers that "
                    'they stand for; name what gives those in a spec file: "read"'
                )
        return held

    def dtypes(self, calls: Calls) -> list[str]:
        """The types that are tried: those that the class takes and keeps, or narrows."""
        if self.told.dtypes:
            return self.told.dtypes
        taken, wider = [], []
        for word in self.library.dtypes:
            params = replace(self.smallest(), dtype=word)
            try:
                cache, _ = self.feed(calls, params)
            except MemoryError:
                raise
            except Exception as error:
                self.untested.append(f"{word}: refused by the first append: {short(error)}")
                continue
            keys = self.shown(calls, cache)[0]
            kept = word if keys is None else self.library.word(keys)
            if kept != word and NARROW.get(kept, 0) > NARROW[word]:
                wider.append(word)
                self.untested.append(f"{word}: is kept as {kept}")
            else:
                taken.append(word)
        if self.library.name == "list":
            self.untested.append("types: plain Python has one type of floats")
        return taken or wider

    def narrow(self, calls: Calls) -> None:
        """Sizes that the first append refuses are not tried again."""
        tries = (("batch", "batch"), ("heads", "heads"), ("key_dim", "value_dim"), ("value_dim", "key_dim"))
        for name, other in tries:
            low, high = self.params[name][:2]
            if low == high or name in self.told.params:
                continue
            try:
                self.feed(calls, sized(self.smallest(), {name: high}))
            except MemoryError:
                raise
            except Exception as error:
                self.params[name] = [low, low]
                more = (
                    f"{name} of {high} beside {other} of {self.params[other][0]}" if "dim" in name else f"{high} {name}"
                )
                self.untested.append(f"{more}: refused by the first append: {short(error)}")

    def returned(self, calls: Calls) -> str:
        """What an append returns."""
        if self.told.returns:
            return self.told.returns
        result = self.feed(calls, self.smallest())[1]
        pair = isinstance(result, tuple | list) and len(result) == 2
        if not pair or not all(self.library.is_array(array) for array in result):
            what = "nothing" if result is None else "no pair of arrays"
            self.untested.append(f"returned tensors: {calls.ops['append'].name} returns {what}")
            return "nothing"
        if self.kind_name == "opaque":
            self.untested.append("returned tensors: which tokens they are is not known")
            return "nothing"
        if self.kind.rule == "fixed" and self.width(result[0]) == self.smallest().capacity:
            return "buffer"
        return self.kind.returned

    def width(self, array: Array) -> int:
        """How many tokens an array has room for."""
        shape = self.library.shape(array)
        place = self.axes.names.index("tokens")
        return shape[place] if len(shape) == len(self.axes.names) else -1

    def keeps(self, calls: Calls) -> str:
        """The field of the views: for a static buffer, whether all of it is shown."""
        if self.told.keeps:
            return self.told.keeps
        if self.kind.rule != "fixed":
            return self.kind.keeps
        keys = self.shown(calls, self.feed(calls, self.smallest())[0])[0]
        whole = keys is not None and self.width(keys) == self.smallest().capacity
        part = "all cells, of which those up to the length count" if whole else "the cells up to the length"
        self.assumed.append(f"of its buffer it shows {part}")
        return "buffer" if whole else "length"

    def storing(self, calls: Calls) -> list[str]:
        """Which of copy and pickle can be done: a method that the class has for it must work, like any other."""
        found = []
        cache = self.feed(calls, self.smallest())[0]
        tries: dict[str, Callable[[], Any]] = {
            "copy": lambda: "copy" in calls.ops or duplicate(calls, cache),
            "pickle": lambda: restored(cache, self.library),
        }
        for name, perform in tries.items():
            try:
                perform()
                found.append(name)
            except MemoryError:
                raise
            except Exception as error:
                self.untested.append(f"{name}: the first one raises {short(error)}")
        return found

    # What comes of it

    def ops(self, calls: Calls) -> list[str]:
        """The ops of the spec."""
        found = ["append"]
        if "crop" in calls.ops and self.kind_name != "opaque":
            found.append("trim" if calls.ops["crop"].style == "n" else "crop")
        elif "crop" in calls.ops:
            self.untested.append("crop: which tokens it keeps is its own choice")
        if "reset" in calls.ops:
            found.append("reset")
        if "batch" in self.axes.names:
            found += [op for op in BATCH if op in calls.ops]
        found += self.storing(calls)
        return [op for op in found if op in self.told.ops] if self.told.ops else found

    def source(self) -> dict[str, str]:
        """Where it is said what the class keeps."""
        if self.told.source:
            return {"source": self.told.source[:390]}
        said = f"said by {self.said}: {self.kind.says}" if self.said else PREFIX + self.kind.says
        return {"source": said[:390], "basis": "inferred"}

    def describe(self) -> Description:
        """The whole."""
        calls = self.first_use()
        self.shown(calls, self.feed(calls, self.smallest())[0])
        dtypes = self.dtypes(calls)
        if not dtypes:
            raise RequestError(
                f"{self.found.name} takes no type of {self.library.name}: {'; '.join(self.untested)[:300]}"
            )
        if self.smallest().dtype not in dtypes:
            self.told.dtypes = dtypes
        self.narrow(calls)
        returned, keeps, ops = self.returned(calls), self.keeps(calls), self.ops(calls)
        counts_held = calls.length is not None and calls.counts == "held" and self.kind.evicts
        if calls.length is not None and self.kind.evicts and not self.told.length:
            word = "those that it holds" if counts_held else "all tokens, evicted ones too"
            self.assumed.append(f"{calls.length.name} counts {word}")
        if counts_held and self.kind.rule == "opaque":
            counts_held, calls.length = False, None
            self.untested.append("length: how many tokens it keeps is its own choice")
        variant = self.found.variant
        spec: dict[str, Any] = {"schema": "kvconform-spec/1", "subject": self.found.subject, "variant": variant}
        spec |= {"title": self.kind.title, "kind": self.kind.kind, **self.source(), "ops": ops, "params": self.params}
        spec |= {"dtypes": dtypes, "length": calls.length is not None and not counts_held}
        spec["views"] = views(self.kind, returned, keeps, counts_held)
        if self.kind_name == "quantised":
            spec["values"] = "two_levels"
        left = [op for op in ("copy", "pickle") if op not in ops]
        rules = make_rules(self.told, self.kind, self.kind_name, variant, [op for op in BATCH if op in ops], left)
        said = json.dumps([repr(self.told), spec, rules], sort_keys=True)
        contract: dict[str, Any] = {
            "schema": "kvconform-contract/1",
            "id": f"class-{hashlib.sha256(said.encode()).hexdigest()[:8]}",
        }
        contract |= {"subject": self.found.subject, "from": "0", "rules": rules}
        self.notes(calls, ops)
        return Description(
            *(self.found, self.arguments, self.library, self.axes, calls, self.kind, spec, contract),
            *([text[:NOTE_MAX] for text in self.assumed], [text[:NOTE_MAX] for text in self.untested], counts_held),
        )

    def notes(self, calls: Calls, ops: list[str]) -> None:
        """What was taken for granted of calls, and what is never tested."""
        said = {str(rule.get("rule")) for rule in self.told.rules}
        self.assumed += [note for note in calls.notes if not self.told.calls]
        if "crop" in ops or "trim" in ops:
            words = ["none when n is 0"] if "crop_zero" not in said else []
            words += ["all when there are fewer"] if "crop_over" not in said else []
            words += (
                ["and refuses what evicted tokens would be needed for"]
                if self.kind.evicts and "unrecorded" not in said
                else []
            )
            if words:
                self.assumed.append(f"a crop removes {', '.join(words)}")
            if "crop_positive" not in said:
                self.untested.append("a crop in the other direction (rule crop_positive)")
        self.assumed += self.arguments.notes
        self.untested += calls.missing
        if "returned_tensors" not in said:
            self.untested.append("whether returned tensors stay as they are (rule returned_tensors)")
        self.untested.append("precision, speed, devices, and rows of different lengths")

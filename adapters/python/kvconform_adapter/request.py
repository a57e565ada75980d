"""Requests, read from JSON and checked: nothing that comes over the pipe is believed.

Every fault is a `RequestError`, whose text names the field and what was expected. It becomes the `error` of the reply.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

TOKENS_MAX = 117_649
"""Token numbers that the value formula can tell apart: 7 to the power of 6."""
SEQUENCES_MAX = 65_536
OPS_MAX = 4_096
ROWS_MAX = 1_024
"""Rows that a batch may grow to by `repeat`."""

Op = tuple[str, int | tuple[int, ...] | None]
"""Name and argument: a number, a tuple of rows or of tokens for rows, or None. Of `split` the number comes first."""

Origins = list[list[int]]
"""For each token of a sequence, which rows its rows stand for."""

DTYPES = ("float32", "float16", "bfloat16", "float64")
LAYOUTS = ("contiguous", "strided")
VALUES = ("digits", "two_levels")
CALLS = ("position", "keyword", "deprecated", "container", "container_keyword", "container_deprecated", "inference")


class RequestError(Exception):
    """The request cannot be answered: a fault of the request or of the adapter, never of the subject."""


class AbsentError(RequestError):
    """The subject has no such cache, which shows only now: no fault of anything."""


@dataclass(frozen=True)
class Params:
    """The parameters of docs/protocol.md. `window`, `capacity`, `kernel` and `block` are counted in tokens."""

    batch: int = 1
    heads: int = 1
    key_dim: int = 8
    value_dim: int = 8
    index_dim: int = 8
    channels: int = 8
    window: int = 4
    capacity: int = 8
    kernel: int = 3
    states: int = 1
    block: int = 4
    keep: int = 0
    residual: int = 4
    dtype: str = "float32"
    layout: str = "contiguous"
    values: str = "digits"
    call: str = "position"
    watch: int = 0
    parts: str = ""
    layers: str = ""
    chunk: int = 0
    left: int = 0


BOUNDS = {
    "batch": (1, 64),
    "heads": (1, 64),
    "key_dim": (1, 4096),
    "value_dim": (1, 4096),
    "index_dim": (1, 4096),
    "channels": (1, 4096),
    "window": (1, 65_536),
    "capacity": (1, 65_536),
    "kernel": (1, 4096),
    "states": (1, 8),
    "block": (1, 65_536),
    "keep": (0, 65_536),
    "residual": (1, 65_536),
    "watch": (0, 1),
    "chunk": (0, 65_536),
    "left": (0, 1),
}
WORDS = {"dtype": DTYPES, "layout": LAYOUTS, "values": VALUES, "call": CALLS}
NAMES = frozenset(field.name for field in fields(Params))


@dataclass(frozen=True)
class RunRequest:
    """One `run`: for each sequence its ops, and its token numbers where they are not 0, 1, 2, ...

    `origins`: which rows they are those of, where these are not the rows into which they go.
    """

    variant: str
    params: Params
    sequences: list[list[Op]]
    numbers: list[list[int] | None]
    origins: list[Origins | None]
    places: int = 0
    """1: to be told which places of the subject's code are run."""


@dataclass(frozen=True)
class ScriptRequest:
    """One `script`: the ops up to the one at `step` are performed, then `expected` is compared."""

    variant: str
    params: Params
    ops: list[Op]
    step: int
    title: str
    law: str
    tensor: str
    expected: dict[str, Any]
    source: str
    basis: str


@dataclass(frozen=True)
class LayersRequest:
    """One `layers`: which cache of a whole model is asked about."""

    variant: str
    params: Params


def read_int(value: object, name: str, low: int, high: int) -> int:
    """`value` as a whole number between `low` and `high`; True and False are none."""
    if type(value) is not int or not low <= value <= high:
        raise RequestError(f'field "{name}": expected a whole number from {low} to {high}')
    return value


def read_text(value: object, name: str, longest: int = 1000) -> str:
    """`value` as a text of at most `longest` characters."""
    if not isinstance(value, str) or len(value) > longest:
        raise RequestError(f'field "{name}": expected a text of at most {longest} characters')
    return value


def read_list(value: object, name: str, longest: int) -> list[Any]:
    """`value` as a list of at most `longest` entries."""
    if not isinstance(value, list) or len(value) > longest:
        raise RequestError(f'field "{name}": expected a list of at most {longest} entries')
    return value


def read_params(value: object) -> Params:
    """The field `params`."""
    if not isinstance(value, dict):
        raise RequestError('field "params": expected an object')
    known: dict[str, Any] = {}
    for name, entry in value.items():
        if name not in NAMES:
            raise RequestError(f'field "params": unknown parameter "{str(name)[:40]}"')
        if name in BOUNDS:
            low, high = BOUNDS[name]
            known[name] = read_int(entry, f"params.{name}", low, high)
        else:
            word = read_text(entry, f"params.{name}", 400)
            if name in WORDS and word not in WORDS[name]:
                raise RequestError(f'field "params.{name}": expected one of {", ".join(WORDS[name])}')
            known[name] = word
    return Params(**known)


def is_rows(value: object) -> bool:
    """Whether `value` is a list of row numbers."""
    return (
        type(value) is list
        and 1 <= len(value) <= ROWS_MAX
        and all(type(row) is int and 0 <= row < ROWS_MAX for row in value)
    )


KNOWN_OPS: dict[str, tuple[int, int]] = {
    "append": (0, TOKENS_MAX),
    "crop": (-(2**31), 2**31 - 1),
    "trim": (-(2**31), 2**31 - 1),
    "repeat": (1, ROWS_MAX),
    "record": (0, 1),
    "extract": (0, ROWS_MAX - 1),
}
"""Ops with one number, and the smallest and largest that it may be."""
NO_NUMBER = (1, 0)
"""The bounds of all others: nothing lies between them."""


BARE_OPS = frozenset(
    {"reset", "offload", "prefetch", "initialize", "copy", "pickle", "trim_front", "save", "state", "quantize"}
)
"""Ops without an argument."""


LIST_OPS = frozenset({"reorder", "select", "append_rows", "merge", "extend"})
"""Ops with a list: of rows, or of tokens for each row."""


def read_op(value: object) -> Op:
    """One op: `["append", 3]`, `["reset"]`, `["reorder", [1, 0]]`, `["split", 1, [0]]`."""
    if type(value) is list and value:
        name = value[0]
        if len(value) == 2:
            argument = value[1]
            if type(argument) is int:
                if type(name) is str and name in KNOWN_OPS:
                    low, high = KNOWN_OPS[name]
                    if low <= argument <= high:
                        return (name, argument)
            elif type(name) is str and name in LIST_OPS and is_rows(argument):
                return (name, tuple(argument))
        elif len(value) == 3 and name == "split":
            count, rows = value[1:]
            if type(count) is int and 0 <= count <= TOKENS_MAX and is_rows(rows):
                return (name, (count, *rows))
        elif len(value) == 1 and type(name) is str and name in BARE_OPS:
            return (name, None)
    raise RequestError(f'field "sequences": {str(value)[:60]} is not an op of docs/protocol.md')


def read_ops(value: object, name: str) -> list[Op]:
    """A list of ops that appends no more tokens than can be told apart."""
    ops: list[Op] = []
    tokens = 0
    for entry in read_list(value, name, OPS_MAX):
        # Most ops have one number: calling nothing for them takes half the time.
        if type(entry) is list and len(entry) == 2 and type(entry[1]) is int and type(entry[0]) is str:
            op, number = entry
            low, high = KNOWN_OPS.get(op, NO_NUMBER)
            if low <= number <= high:
                ops.append((op, number))
                if op == "append":
                    tokens += number
                continue
        ops.append(read_op(entry))
    if tokens > TOKENS_MAX:
        raise RequestError(f'field "{name}": a sequence may append at most {TOKENS_MAX} tokens')
    return ops


def check_rows(ops: list[Op], rows: int) -> None:
    """Whether the rows that ops speak of can be there: any op before may have been done or refused."""
    possible = {rows}
    for name, argument in ops:
        if name == "extend" and isinstance(argument, tuple):
            possible |= {held + len(argument) for held in possible}
        elif name == "extract" and isinstance(argument, int):
            possible.add(1)
        elif isinstance(argument, tuple) and name not in ("append_rows", "split"):
            last, count = max(argument), len(argument)
            if not any(last < held and (name != "reorder" or count == held) for held in possible):
                counts = " or ".join(map(str, sorted(possible)))
                raise RequestError(f'field "sequences": {name} {list(argument)} does not fit {counts} rows')
            possible.add(count)
        elif name == "repeat" and isinstance(argument, int):
            repeated = {held * argument for held in possible if held * argument <= ROWS_MAX}
            if not repeated:
                raise RequestError(f'field "sequences": a batch may have at most {ROWS_MAX} rows')
            possible |= repeated


def read_numbers(value: object, rows: int) -> tuple[list[int], Origins | None]:
    """The numbers of the tokens of one sequence, `[0, 1]`, or those with the rows that they are of, `[[0, [1, 0]]]`."""
    entries = read_list(value, "numbers", TOKENS_MAX)
    numbers: list[int] = []
    origins: Origins = []
    for entry in entries:
        number = entry
        if type(entry) is list:
            if len(entry) != 2 or not is_rows(entry[1]) or len(entry[1]) != rows:
                raise RequestError(f'field "numbers": expected a number and a list of {rows} rows')
            number = entry[0]
            origins.append(entry[1])
        numbers.append(read_int(number, "numbers", 0, TOKENS_MAX - 1))
    if origins and len(origins) != len(numbers):
        raise RequestError('field "numbers": expected rows with every number or with none')
    return numbers, origins or None


def read_run(message: dict[str, Any]) -> RunRequest:
    """A `run` request."""
    sequences = [
        read_ops(entry, "sequences") for entry in read_list(message.get("sequences"), "sequences", SEQUENCES_MAX)
    ]
    params = read_params(message.get("params", {}))
    for ops in sequences:
        check_rows(ops, params.batch)
    numbers: list[list[int] | None] = [None] * len(sequences)
    origins: list[Origins | None] = [None] * len(sequences)
    if message.get("numbers") is not None:
        lists = read_list(message["numbers"], "numbers", SEQUENCES_MAX)
        if len(lists) != len(sequences):
            raise RequestError('field "numbers": expected one entry for each sequence')
        for position, entry in enumerate(lists):
            if entry is None:
                continue
            given, origins[position] = read_numbers(entry, params.batch)
            if len(given) < sum(op[1] for op in sequences[position] if op[0] == "append"):  # type: ignore[misc]
                raise RequestError('field "numbers": a list is shorter than the tokens that its sequence appends')
            numbers[position] = given
    return RunRequest(
        variant=read_text(message.get("variant"), "variant", 63),
        params=params,
        sequences=sequences,
        numbers=numbers,
        origins=origins,
        places=read_int(message.get("places", 0), "places", 0, 1),
    )


def read_script(message: dict[str, Any]) -> ScriptRequest:
    """A `script` request. `law`, `tensor`, `source` and `basis` are optional."""
    ops = read_ops(message.get("ops"), "ops")
    if not ops:
        raise RequestError('field "ops": expected at least one op')
    expected = message.get("expected", {})
    if not isinstance(expected, dict):
        raise RequestError('field "expected": expected an object')
    return ScriptRequest(
        variant=read_text(message.get("variant"), "variant", 63),
        params=read_params(message.get("params", {})),
        ops=ops,
        step=read_int(message.get("step", len(ops) - 1), "step", 0, len(ops) - 1),
        title=read_text(message.get("title", ""), "title"),
        law=read_text(message.get("law", expected.get("law", "")), "law", 40),
        tensor=read_text(message.get("tensor", ""), "tensor", 100),
        expected=expected,
        source=read_text(message.get("source", ""), "source", 4000),
        basis=read_text(message.get("basis", ""), "basis", 40),
    )


def read_layers(message: dict[str, Any]) -> LayersRequest:
    """A `layers` request."""
    return LayersRequest(
        variant=read_text(message.get("variant"), "variant", 63), params=read_params(message.get("params", {}))
    )

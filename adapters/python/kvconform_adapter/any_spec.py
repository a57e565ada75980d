"""From what is known of a class to its spec and contract, and what was taken for granted (docs/python-classes.md).

Everything here looks at names, signatures and what the user said; what a cache does with its tokens is never asked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvconform_adapter.request import RequestError

SCHEMA = "kvconform-class/1"
FILE_MAX = 1 << 20
PREFIX = "assumed by kvconform: "


@dataclass(frozen=True)
class Kind:
    """A kind of cache: what it is called, what it keeps, and which parameters that needs.

    `keeps`: the field of the views. `needs`: one of these parameters must be an argument of the constructor.
    """

    title: str
    kind: str
    rule: str
    returned: str
    says: str
    needs: tuple[str, ...] = ()
    params: tuple[tuple[str, tuple[int, int]], ...] = ()
    keeps: str = ""
    evicts: bool = False


KINDS = {
    "full": Kind("Every token", "full", "all", "all", "it keeps every token, and attention may see all of them"),
    "fixed": Kind(
        *("Static buffer", "static", "fixed", "all"),
        "it keeps every token up to its capacity, and refuses an append past that",
        *(("capacity",), (("capacity", (4, 8)),), "length"),
    ),
    "window": Kind(
        *("Sliding window", "window", "window", "window"),
        "it keeps the newest window - 1 or window tokens, and attention sees for each new one the window up to it",
        *(("window", "capacity"), (("window", (2, 6)),), "window", True),
    ),
    "prefix_window": Kind(
        *("First tokens that stay, and a window", "window", "prefix_window", "window"),
        "it keeps the first tokens and the newest window - 1 or window behind them, in order, and attention sees for "
        "each new one the first ones and the window that ends at it",
        *(("window", "capacity"), (("window", (2, 6)), ("keep", (1, 3))), "window", True),
    ),
    "ring": Kind(
        *("Ring that keeps its first tokens", "static window", "ring", "held"),
        "it keeps as many tokens as its capacity: the first ones that stay, and the newest, in any order",
        *(("capacity", "window"), (("capacity", (4, 8)), ("keep", (0, 2))), "", True),
    ),
    "quantised": Kind(
        *("Every token, in fewer bits", "quantised", "all", "all"),
        "it keeps every token in fewer bits; content is tested with values of two levels, precision is not",
    ),
    "opaque": Kind(
        *("Tokens of its own choice", "compressed", "opaque", "none"),
        "which tokens it keeps is its own choice: what it holds is only compared with what a fresh cache holds",
    ),
}

RULES: tuple[tuple[str, str, str], ...] = (
    ("crop_zero", "nothing", "to remove no tokens changes nothing"),
    ("crop_unused", "nothing", "to remove tokens from a cache that was never used does nothing"),
    ("crop_over", "empty", "to remove more tokens than there are empties the cache"),
    ("crop_positive", "unspecified", "a crop in the other direction is not tried"),
    ("unrecorded", "exact", "a crop that would have to bring back evicted tokens is refused"),
    ("returned_tensors", "live", "what an append returned may change with later calls"),
    ("append_parts", "together", "keys and values are appended in one call"),
    ("copy", "offered", "a copy holds what the cache holds, and shares nothing with it"),
    ("pickle", "offered", "a cache that was saved and loaded holds what it held"),
)
"""Rules of the contract for a class that says nothing, each with its sentence."""


@dataclass
class Told:
    """What the user says of a class, in a spec file and on the command line. Empty: nothing was said."""

    file: str = ""
    like: str = ""
    init: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    library: str = ""
    axes: list[str] = field(default_factory=list)
    calls: dict[str, str] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    length: str = ""
    keeps: str = ""
    ops: list[str] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    params: dict[str, list[int]] = field(default_factory=dict)
    rules: list[dict[str, Any]] = field(default_factory=list)


FIELDS: dict[str, tuple[type, str]] = {
    "like": (str, "a kind of cache"),
    "init": (dict, "an object"),
    "source": (str, "a text"),
    "library": (str, "torch, numpy, mlx or list"),
    "axes": (list, "a list of batch, heads, tokens and channels"),
    "calls": (dict, "an object of ops and methods"),
    "read": (dict, "an object with keys and values, or both"),
    "returns": (str, "all, window, held, buffer or nothing"),
    "length": (str, "seen, held or none"),
    "keeps": (str, "window, window-1, length or buffer"),
    "ops": (list, "a list of ops"),
    "dtypes": (list, "a list of types"),
    "params": (dict, "an object of [smallest, largest]"),
    "rules": (list, "a list of rules"),
}
WORDS = {
    "library": ("torch", "numpy", "mlx", "list"),
    "returns": ("all", "window", "held", "buffer", "nothing"),
    "length": ("seen", "held", "none"),
    "keeps": ("window", "window-1", "length", "buffer"),
}


def read_object(text: str, what: str) -> dict[str, Any]:
    """A JSON object, in which lines that begin with // are comments."""
    lines = ["" if line.lstrip().startswith("//") else line for line in text.splitlines()]
    try:
        found = json.loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{what}: not JSON: {str(error)[:120]}") from error
    if not isinstance(found, dict):
        raise RequestError(f"{what}: expected an object such as {{}}")
    return found


def read_file(path: str) -> Told:
    """A spec file. Raises RequestError, which names the field."""
    try:
        if Path(path).stat().st_size > FILE_MAX:
            raise RequestError(f"{path}: larger than {FILE_MAX} bytes")
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"--spec {path}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from error
    found = read_object(text, path)
    if found.pop("schema", "") != SCHEMA:
        raise RequestError(f'{path}: field "schema": expected "{SCHEMA}"')
    told = Told(file=path)
    for name, value in found.items():
        if name not in FIELDS:
            raise RequestError(f'{path}: unknown field "{name[:40]}": expected {", ".join(FIELDS)}')
        kind, expected = FIELDS[name]
        if not isinstance(value, kind) or (name in WORDS and value not in WORDS[name]):
            raise RequestError(f'{path}: field "{name}": expected {expected}')
        setattr(told, name, value)
    for name in ("axes", "ops", "dtypes"):
        check_words(path, name, getattr(told, name))
    for name in ("calls", "read"):
        check_words(path, name, list(getattr(told, name).values()))
    for name, value in told.params.items():
        if not isinstance(value, list) or len(value) not in (2, 3) or any(type(entry) is not int for entry in value):
            raise RequestError(f'{path}: field "params.{name[:40]}": expected [smallest, largest]')
    if any(not isinstance(rule, dict) for rule in told.rules):
        raise RequestError(
            f'{path}: field "rules": expected rules such as {{"rule": "crop_positive", "value": "refuse"}}'
        )
    return told


def check_words(path: str, name: str, words: list[Any]) -> None:
    """Raise RequestError unless all are texts."""
    if any(not isinstance(word, str) or not word for word in words):
        raise RequestError(f'{path}: field "{name}": expected {FIELDS[name][1]}')


def choose_kind(told: Told, sizes: dict[str, str], bits: bool, name: str) -> tuple[str, str, str]:
    """The kind, why, and where that is said: "" for what was assumed."""
    if told.like:
        if told.like not in KINDS:
            raise RequestError(
                f'--like "{told.like[:40]}": expected {", ".join(KINDS)}, or transformers:NAME or mlx-lm:NAME '
                "(kvconform list variants)"
            )
        return told.like, KINDS[told.like].says, told.file or f"--like {told.like}"
    if bits:
        kind, because = "quantised", "its constructor takes a number of bits"
    elif "window" in sizes and "keep" in sizes:
        kind, because = "prefix_window", f"its constructor takes {sizes['window']} and {sizes['keep']}"
    elif "window" in sizes:
        kind, because = "window", f"its constructor takes {sizes['window']}"
    elif "capacity" in sizes and "keep" in sizes:
        kind, because = "ring", f"its constructor takes {sizes['capacity']} and {sizes['keep']}"
    elif "capacity" in sizes:
        kind, because = "fixed", f"its constructor takes {sizes['capacity']}"
    else:
        return "full", f"{KINDS['full'].says}; nothing says otherwise (--like NAME does: {', '.join(KINDS)})", ""
    return kind, f"{KINDS[kind].says} (like {kind}: {because}; --like NAME says otherwise)", ""


def size_names(kind: Kind, sizes: dict[str, str]) -> dict[str, str]:
    """Which argument holds each parameter of the kind: a window may be called a capacity, and the other way round."""
    found = {}
    for name, _ in kind.params:
        if name in sizes:
            found[name] = name
        elif name in kind.needs:
            other = next((need for need in kind.needs if need in sizes), "")
            if other:
                found[name] = other
    return found


def views(kind: Kind, returned: str, keeps: str, held: bool) -> list[dict[str, Any]]:
    """The views of keys and values, and of their number where the class reports that."""
    found: list[dict[str, Any]] = []
    for salt, (name, law, dim) in enumerate((("keys", "KEYS", "key_dim"), ("values", "VALUES", "value_dim"))):
        view: dict[str, Any] = {"name": name, "salt": salt, "law": law, "rule": kind.rule}
        view["dims"] = ["batch", "heads", "tokens", dim]
        if keeps in ("window", "window-1", "length"):
            view["keeps"] = keeps
        if returned != "nothing":
            view["returned"] = returned
        found.append(view)
    if held:
        count = {"name": "held", "salt": 0, "law": "LENGTH", "rule": "count", "dims": ["one"], "dtype": "int64"}
        found.append(count)
    return found


def make_rules(
    told: Told, kind: Kind, name: str, variant: str, batch: list[str], left: list[str]
) -> list[dict[str, Any]]:
    """The rules of the contract: what is assumed, then what the spec file says. `left`: rules that have no op."""
    rules = [(rule, value, says) for rule, value, says in RULES if rule not in left]
    rules.append(("batch_ops", batch, "the ops on rows that the class has"))  # type: ignore[arg-type]
    overflow = "evict" if kind.evicts else "refuse"
    rules.append(("overflow", overflow, "an append past the capacity is refused" if kind.needs else "there is room"))
    rules.append(
        ("chunk", "unspecified" if name == "opaque" else "same", "any split of the same tokens is the same cache")
    )
    made: list[dict[str, Any]] = [
        {"rule": rule, "value": value, "variants": [variant], "basis": "inferred", "source": PREFIX + says}
        for rule, value, says in rules
    ]
    for rule in told.rules:
        said = dict(rule)
        if "source" not in said:
            said |= {"source": f"said in {told.file}", "basis": "inferred"}
        said.setdefault("basis", "documented")
        said.setdefault("variants", [variant])
        made.append(said)
    return made

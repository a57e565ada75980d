"""Finding a class, or a function that makes caches, by its name, and what can be said of it without running its ops."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvconform_adapter.request import Params, RequestError

KNOWN_SUBJECTS = frozenset({"builtin", "transformers", "mlx-lm", "llama.cpp"})
TEXT_MAX = 180

SIZES: dict[str, tuple[str, ...]] = {
    "window": ("sliding_window", "window", "window_size", "window_length", "attention_window", "local_window"),
    "capacity": (
        *("max_cache_len", "max_size", "maxsize", "capacity", "max_length", "max_len", "max_tokens", "max_seq_len"),
        *("max_seq_length", "max_context", "cache_size", "size"),
    ),
    "keep": (
        *("keep", "sinks", "num_sinks", "n_sinks", "sink", "sink_size", "sink_tokens", "num_sink_tokens"),
        *("attention_sinks", "n_sink", "start_size"),
    ),
    "block": ("block_size", "page_size", "chunk_size", "block_len", "page_len", "block_length"),
    "residual": ("residual_length", "residual"),
    "batch": ("batch_size", "batch", "max_batch_size", "max_batch", "bsz", "rows", "n_batch"),
    "heads": ("num_heads", "heads", "n_heads", "num_kv_heads", "n_kv_heads", "num_key_value_heads", "kv_heads"),
    "key_dim": ("head_dim", "key_dim", "k_dim", "d_head", "dim", "d_k", "head_size", "channels"),
    "value_dim": ("value_dim", "v_dim", "v_head_dim", "d_v", "value_head_dim"),
}
"""Names that arguments of constructors have in the field, by the parameter of docs/protocol.md that they are."""

ONE = {
    "num_layers": 1,
    "n_layers": 1,
    "num_hidden_layers": 1,
    "layers": 1,
    "n_layer": 1,
    "layer_idx": 0,
    "device": "cpu",
}
"""Arguments that get the same value always, where they must be given."""
BITS = ("nbits", "bits", "n_bits", "num_bits", "kv_bits")
GROUPS = ("q_group_size", "group_size")
LAYER_WORDS = ("layer_idx", "layer_index", "layer_id", "layer")


def short(error: BaseException) -> str:
    """An exception in a few words."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:TEXT_MAX]}" if text else type(error).__name__


@dataclass
class Found:
    """What stands behind `MODULE:NAME`. `folder`: what a program puts in front of its path to import it, or ""."""

    module: types.ModuleType
    name: str
    owner: Callable[..., Any]
    folder: str

    @property
    def subject(self) -> str:
        """What reports call the subject."""
        return self.module.__name__[:95]

    @property
    def variant(self) -> str:
        """What reports call the class."""
        return self.name.replace("+", "-")[:60]

    def version(self) -> str:
        """That of the package, or 0."""
        top = sys.modules.get(self.module.__name__.partition(".")[0], self.module)
        said = getattr(top, "__version__", None)
        if said is None:
            try:
                said = importlib.metadata.version(top.__name__)
            except (importlib.metadata.PackageNotFoundError, ValueError):
                said = "0"
        return str(said)[:63] or "0"

    def library_version(self, library: str) -> str:
        """That of an array library."""
        return str(getattr(sys.modules.get(library), "__version__", "")) or "?"

    def locations(self) -> dict[str, dict[str, str | int]]:
        """Where the variant is written, as far as that is known: a file below the folder on the path, and a line."""
        try:
            line = inspect.getsourcelines(self.owner)[1]
        except (OSError, TypeError):
            return {}
        inside = self.module.__name__.replace(".", "/")
        package = hasattr(self.module, "__path__")
        return {self.variant: {"file": f"{inside}/__init__.py" if package else f"{inside}.py", "line": max(1, line)}}


def load_file(path: Path) -> types.ModuleType:
    """The module of a file, under the name of the file."""
    name = path.stem
    if not path.is_file():
        raise RequestError(f"{path}: no such file")
    if name in sys.modules or not name.isidentifier():
        raise RequestError(
            f"{path}: cannot be imported as {name}: "
            + ("a module of that name is loaded already" if name in sys.modules else "that is no name in Python")
        )
    sys.path.insert(0, str(path.resolve().parent))
    return importlib.import_module(name)


def find(text: str) -> Found:
    """The class or function of `MODULE:NAME` or `FILE.py:NAME`. Raises RequestError with one sentence."""
    where, _, name = text.rpartition(":")
    is_file = where.endswith(".py") or "/" in where
    before = [os.path.realpath(entry) for entry in sys.path if entry]
    try:
        if is_file:
            module = load_file(Path(where))
        else:
            sys.path.insert(0, str(Path.cwd()))
            module = importlib.import_module(where)
    except (RequestError, MemoryError):
        raise
    except BaseException as error:
        # A module may raise anything while it is imported, SystemExit too.
        if isinstance(error, KeyboardInterrupt):
            raise
        hint = "; --python PATH names an interpreter that has it" if isinstance(error, ModuleNotFoundError) else ""
        raise RequestError(f"cannot import {where}: {short(error)}{hint}") from error
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            classes = [
                word for word, held in vars(module).items() if inspect.isclass(held) and held.__module__ == where
            ]
            has = f": it has {', '.join(sorted(classes)[:8])}" if classes else ""
            raise RequestError(f"{where} has no {name}{has}")
        found = getattr(found, part)
    if not callable(found):
        raise RequestError(f"{where}:{name} is no class and no function but {type(found).__name__}")
    if module.__name__ in KNOWN_SUBJECTS:
        raise RequestError(f"kvconform knows a subject called {module.__name__}: give the module another name")
    file = getattr(module, "__file__", None)
    folder = ""
    if file is not None:
        root = Path(file).resolve().parents[module.__name__.count(".") + (1 if hasattr(module, "__path__") else 0)]
        folder = "" if str(root) in before else str(root)
    return Found(module, name, found, folder)


@dataclass
class Arguments:
    """What a cache is made with. A text such as `$window` stands for a parameter; `sizes`: which parameters are used.

    `notes`: what was taken for granted. `values`: of parameters that are fixed, by name.
    """

    template: dict[str, Any]
    sizes: dict[str, str]
    values: dict[str, int]
    notes: list[str]
    bits: bool

    def fill(self, params: Params, dtypes: dict[str, Any]) -> dict[str, Any]:
        """The arguments for these parameters."""

        def spelled(value: Any) -> Any:
            if isinstance(value, str) and value.startswith("$"):
                return dtypes[params.dtype] if value == "$dtype" else getattr(params, value[1:])
            if isinstance(value, list):
                return [spelled(entry) for entry in value]
            return {key: spelled(entry) for key, entry in value.items()} if isinstance(value, dict) else value

        return {name: spelled(value) for name, value in self.template.items()}


def parameters_of(call: Any) -> dict[str, inspect.Parameter] | None:
    """The parameters that can be given by name or place, None where they cannot be known."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        return None
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: one for name, one in signature.parameters.items() if one.kind not in variable}


def find_size(name: str) -> str:
    """The parameter that an argument of this name is, or ""."""
    return next((size for size, names in SIZES.items() if name.lower() in names), "")


def arguments_of(found: Found, given: dict[str, Any]) -> Arguments:
    """What to make a cache with. `given`: what --init or the spec file says. Raises RequestError."""
    arguments = Arguments({}, {}, {}, [], False)
    parameters = parameters_of(found.owner)
    if parameters is None:
        parameters = {}
        if not given:
            arguments.notes.append(f"{found.name} is made without arguments: its signature cannot be read")
    for name in given:
        if name not in parameters and parameters_of(found.owner) is not None and not takes_any_name(found.owner):
            taken = ", ".join(parameters) or "none"
            raise RequestError(f"--init: {found.name} takes no argument {name}: it takes {taken}")
    for name, value in given.items():
        arguments.template[name] = value
        size = find_size(name)
        if isinstance(value, str) and value.startswith("$"):
            if value != "$dtype" and value[1:] not in Params.__dataclass_fields__:
                raise RequestError(
                    f'--init: argument {name}: "{value}": expected $window, $capacity, $keep, $batch, ...'
                )
            arguments.sizes[value[1:]] = name
        elif size and type(value) is int and value >= 0:
            arguments.sizes[size] = name
            arguments.values[size] = value
        arguments.bits = arguments.bits or name.lower() in BITS
    for name, parameter in parameters.items():
        if name not in given:
            add_argument(arguments, found, name, parameter)
    return arguments


def takes_any_name(call: Any) -> bool:
    """Whether it has `**kwargs`."""
    return any(one.kind is inspect.Parameter.VAR_KEYWORD for one in inspect.signature(call).parameters.values())


def add_argument(arguments: Arguments, found: Found, name: str, parameter: inspect.Parameter) -> None:
    """One argument that nobody said anything of."""
    needed = parameter.default is inspect.Parameter.empty
    word = name.lower()
    size = find_size(word)
    if size and size not in arguments.sizes:
        arguments.template[name] = f"${size}"
        arguments.sizes[size] = name
        return
    if word == "dtype":
        arguments.template[name] = "$dtype"
    elif word in BITS:
        arguments.bits = True
        if needed:
            arguments.template[name] = 4
            arguments.notes.append(f"{name} is 4; --init says otherwise")
    elif word in GROUPS:
        arguments.template[name] = 32
        arguments.notes.append(f"{name} is 32, and so are the channels a multiple of it; --init says otherwise")
    elif needed and word in ONE:
        arguments.template[name] = ONE[word]
        arguments.notes.append(f"{name} is {ONE[word]!r}: one layer is tested")
    elif needed:
        example = '{"' + name + '": ...}'
        raise RequestError(
            f"{found.name} needs the argument {name}, which kvconform cannot guess; give it with --init '{example}'"
        )
    else:
        arguments.notes.append(f"{name} keeps its default, {str(parameter.default)[:40]}; --init says otherwise")

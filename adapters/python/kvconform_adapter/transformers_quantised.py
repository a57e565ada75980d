"""Quantised layers of transformers: the packages that they need, how they are made, and how what they hold is read.

The docstring of BaseQuantizedLayer says where the states are: `_quantized_keys` and `_quantized_values`, whose layout
belongs to the backend, which also gives the way back. Versions before it have the same attributes in QuantizedLayer.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

Fetch = Callable[[Any], Any]
"""From a layer to one of its tensors, or to None while there is none."""

PACKAGES = {"quanto": "optimum-quanto", "hqq": "hqq"}
"""What each backend is installed as."""

SETTINGS = {
    "quanto": ("nbits2", "group32"),
    "hqq": ("nbits1", "nbits2", "nbits3", "nbits8", "axis_key1", "axis_value1", "group32"),
    "fp8": (),
}
"""Words of the parameter `parts` that choose how a backend is set up."""

GROUP = 16
"""Elements with one scale, unless a setting says otherwise."""


@contextmanager
def plain_compile() -> Iterator[None]:
    """No compiler while hqq is imported, which cache_utils does itself.

    hqq marks functions to be compiled, and the marks alone import a compiler for many seconds. A compiled function does
    the same as a plain one.
    """
    compiler = torch.compile

    def plain(model: Any = None, **_: Any) -> Any:
        return model if model is not None else lambda function: function

    torch.compile = plain
    try:
        yield
    finally:
        torch.compile = compiler


def missing(backend: str) -> str:
    """Why a backend cannot be used here, or "". Imports nothing."""
    package = PACKAGES.get(backend)
    if package is None:
        return ""
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return f"the package {package} is not installed{known_reason(package)}"
    if known := known_reason(package):
        return f"the package {package} does not work here{known}"
    if backend == "quanto" and extension() is None:
        return (
            "the package optimum-quanto builds an extension at its first use, which takes minutes and has not been "
            "done for this version of torch; quantise a tensor once to build it"
        )
    return ""


def known_reason(package: str) -> str:
    """What the program that made this environment found out, to be put behind a sentence."""
    try:
        found = json.loads((Path(sys.prefix) / "without.json").read_text(encoding="utf-8"))
        reason = found.get(package, found.get("", ""))
    except (OSError, ValueError, AttributeError):
        return ""
    return f": {str(reason)[:200]}" if reason else ""


def extension() -> Path | None:
    """The C++ extension of optimum-quanto, if it was built for this version of torch."""
    spec = importlib.util.find_spec("optimum")
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        built = Path(folder) / "quanto" / "library" / "extensions" / "cpp" / "build"
        library, version = built / "quanto_cpp.so", built / "pytorch_version.txt"
        if library.exists() and version.exists() and version.read_text().strip() == torch.__version__:
            return library
    return None


def prepare(backend: str) -> None:
    """Imports what the first layer of a backend would import, without what takes long and is not needed."""
    library = extension() if backend == "quanto" and "optimum.quanto" not in sys.modules else None
    if library is None:
        return
    # Its wrappers of whole models import half of transformers; layers use none of them.
    sys.modules.setdefault("optimum.quanto.models", types.ModuleType("optimum.quanto.models"))
    with plain_compile():
        extensions = importlib.import_module("optimum.quanto.library.extensions")
    spec = importlib.util.spec_from_file_location("quanto_cpp", library)
    if spec is None or spec.loader is None:
        return
    # Asking torch for it would call ninja and a compiler in every process, to find that nothing is to be done.
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    extensions.get_extension("quanto_cpp")._lib = module


def arguments(backend: str, parts: tuple[str, ...], residual: int) -> dict[str, int]:
    """What a layer is made with."""
    if backend == "fp8":
        return {}
    chosen = {"nbits": 4, "q_group_size": GROUP, "residual_length": residual}
    for word in parts:
        if word.startswith("nbits"):
            chosen["nbits"] = int(word.removeprefix("nbits"))
        elif word.startswith("axis_"):
            chosen[word[:-1]] = int(word[-1])
        elif word == "group32":
            chosen["q_group_size"] = 32
    return chosen


def whole(attribute: str) -> Fetch:
    """Reads `keys` or `values` as an update would hand them out: the quantised part, then the residual.

    Where the two do not fit together only the quantised part is shown, and nothing where that cannot be read back.
    """

    def fetch(layer: Any) -> Any:
        quantised = getattr(layer, f"_quantized_{attribute}", None)
        rest = getattr(layer, attribute)
        if quantised is None:
            return rest
        try:
            older = layer._dequantize(quantised)
            # The docstring of QuantizedLayer: until the next update the quantised states may be left in the old order.
            pending = getattr(layer, "_pending_beam_idx", None)
            if pending is not None:
                older = older.index_select(0, pending)
        except (RuntimeError, IndexError):
            return None
        if rest is None or rest.numel() == 0 or rest.shape[:2] != older.shape[:2] or rest.shape[-1] != older.shape[-1]:
            return older
        return torch.cat([older, rest], dim=-2)

    return fetch

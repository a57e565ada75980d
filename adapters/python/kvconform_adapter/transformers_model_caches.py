"""The caches that a whole model is run with: the one its config asks for, a static one, and one that quantises.

Each is made as the documentation makes it. What the library does not say of a model is not tried: then the model has no
such cache, and that is told as such.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from kvconform_adapter.request import AbsentError, Params, RequestError
from kvconform_adapter.transformers_caches import CACHE_UTILS, load_class
from kvconform_adapter.transformers_quantised import missing, prepare

BACKEND = "quanto"
"""That of `generate` where none is named."""
BITS = 4
GROUP = 8
"""Elements with one scale: no head of a tiny model has fewer."""
TEXT_CONFIG = "config.get_text_config(decoder=True)"


@dataclass(frozen=True)
class MadeCache:
    """How an empty cache is made: by a call, and spelled in a program with the classes that it imports."""

    make: Callable[[], Any]
    spelled: str
    classes: set[str] = field(default_factory=set)
    loses: bool = False
    """Whether it does not give back exactly what was put into it."""


def accepts_config(owner: Any) -> bool:
    """Whether the class can be made from a config."""
    return "config" in inspect.signature(owner.__init__).parameters


def default_cache(model: Any, asked: Any) -> MadeCache:
    """A cache of the kind that the model makes itself when it is given none, which `asked` is an example of."""
    inner = model.config.get_text_config(decoder=True)
    owner = type(asked)
    if owner.__name__ == "EncoderDecoderCache":
        half = load_class(CACHE_UTILS, "DynamicCache")
        return MadeCache(
            # As `generate` makes it: the cross-attention has no window.
            lambda: owner(half(config=inner), half()),
            f"EncoderDecoderCache(DynamicCache(config={TEXT_CONFIG}), DynamicCache())",
            {owner.__name__, half.__name__},
        )
    if accepts_config(owner):
        return MadeCache(lambda: owner(config=inner), f"{owner.__name__}(config={TEXT_CONFIG})", {owner.__name__})
    return MadeCache(owner, f"{owner.__name__}()", {owner.__name__})


def check_general(model: Any, name: str) -> None:
    """AbsentError where `generate` leaves the model to make a cache of its own kind."""
    supports = getattr(model, "_supports_default_dynamic_cache", None)
    if supports is not None and not supports():
        raise AbsentError(f"{name} has a cache of its own, in the place of which no other can be put")


def static_cache(model: Any, name: str, capacity: int, encoded: int) -> MadeCache:
    """A static cache for `capacity` tokens; beside it, where there is an encoder, one for what it has read.

    The tests of the library ask `_can_compile_fullgraph` whether a model supports the static cache format.
    """
    check_general(model, name)
    if not model._can_compile_fullgraph:
        raise AbsentError(f"the library does not say that {name} supports a static cache (_can_compile_fullgraph)")
    inner = model.config.get_text_config(decoder=True)
    owner = load_class(CACHE_UTILS, "StaticCache")
    spelled = f"StaticCache(config={TEXT_CONFIG}, max_cache_len=%d)"
    if not model.config.is_encoder_decoder:
        return MadeCache(lambda: owner(config=inner, max_cache_len=capacity), spelled % capacity, {"StaticCache"})
    both = load_class(CACHE_UTILS, "EncoderDecoderCache")
    return MadeCache(
        lambda: both(owner(config=inner, max_cache_len=capacity), owner(config=inner, max_cache_len=encoded)),
        f"EncoderDecoderCache({spelled % capacity}, {spelled % encoded})",
        {"EncoderDecoderCache", "StaticCache"},
    )


def quantised_cache(model: Any, name: str, residual: int) -> MadeCache:
    """A cache of quantised layers, which keep `residual` tokens as they are.

    By the documentation it has no sliding layers, and by an error of `generate` no encoder.
    """
    if problem := missing(BACKEND):
        raise RequestError(problem)
    check_general(model, name)
    if model.config.is_encoder_decoder:
        raise AbsentError(f"{name} has an encoder: such models have no quantised cache")
    inner = model.config.get_text_config(decoder=True)
    plain = load_class(CACHE_UTILS, "DynamicLayer")
    layers = {type(layer) for layer in load_class(CACHE_UTILS, "DynamicCache")(config=inner).layers}
    if others := sorted(layer.__name__ for layer in layers if layer is not plain):
        raise AbsentError(f"{name} has layers that no quantised cache has: {', '.join(others)}")
    prepare(BACKEND)
    owner = load_class(CACHE_UTILS, "QuantizedCache")
    settings = {"nbits": BITS, "q_group_size": GROUP, "residual_length": residual}
    told = ", ".join(f"{word}={value}" for word, value in settings.items())
    return MadeCache(
        lambda: owner(backend=BACKEND, config=inner, **settings),
        f'QuantizedCache(backend="{BACKEND}", config={TEXT_CONFIG}, {told})',
        {"QuantizedCache"},
        loses=True,
    )


def model_cache(model: Any, name: str, kind: str, asked: Any, params: Params, encoded: int) -> MadeCache:
    """The cache of a kind: `dynamic` for what the model asks for, `static` or `quantised`."""
    if kind == "static":
        return static_cache(model, name, params.capacity, encoded)
    if kind == "quantised":
        return quantised_cache(model, name, params.residual)
    return default_cache(model, asked)


PIECES = ((3, 1, 2, 1), (1, 2, 4, 1), (5, 3), (7, 1))
"""In which a cache that loses is fed to see how much it loses."""


def measure_loss(
    forward: Callable[[Any, Any], Any], lossy: Callable[[], Any], exact: Callable[[], Any], words: Any
) -> float:
    """How far what is predicted with a cache is from what is predicted with an exact one.

    `words` has a row for each batch row and eight columns; the difference is in parts of the largest logit.
    """
    largest = 0.0
    for pieces in PIECES:
        caches = lossy(), exact()
        start = 0
        for count in pieces:
            seen, right = (forward(words[:, start : start + count], cache) for cache in caches)
            largest = max(largest, float((seen - right).abs().max() / right.abs().max()))
            start += count
    return largest


def loss_tensor(loss: float) -> Any:
    """The number as it is shown."""
    return torch.tensor([loss], dtype=torch.float64)

"""What the cache of a whole model is made of: the class of each layer, and the variant that is the same by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvconform_adapter.transformers_caches import VARIANTS, Variant

RATES = ("compress_rate", "compression_rate")
"""What layers with compressed blocks call the number of tokens in one."""


def held_states(layer: Any, attribute: str) -> list[Any]:
    """The states of a linear layer that hold something: from 5.14 on there may be several."""
    held = getattr(layer, attribute, None)
    states = list(held.values()) if isinstance(held, Mapping) else [held]
    return [state for state in states if state is not None]


def used_parts(layer: Any, variant: Variant) -> list[str]:
    """The parts of a layer that was fed which hold something, in the order of the variant's table."""
    holds = {
        "attention": getattr(layer, "keys", None) is not None,
        "compressor": True,
        "indexer": True,
        "index": bool(variant.index) and getattr(layer, variant.index, None) is not None,
        "convolution": bool(held_states(layer, "conv_states")),
        "recurrent": bool(held_states(layer, "recurrent_states")),
        "positions": getattr(layer, "indexer_position_ids", None) is not None,
    }
    return [part for part in variant.parts if holds.get(part, False)]


def layer_params(layer: Any, variant: Variant) -> dict[str, int | str]:
    """The parameters with which the variant is the same as this layer, which was fed."""
    found: dict[str, int | str] = {}
    if variant.sliding and type(window := getattr(layer, "sliding_window", None)) is int:
        found["window"] = window
    if variant.static and type(capacity := getattr(layer, "max_cache_len", None)) is int:
        found["capacity"] = capacity
    if variant.linear:
        convolutions = held_states(layer, "conv_states")
        found["states"] = max(1, len(convolutions), len(held_states(layer, "recurrent_states")))
        if convolutions:
            found["kernel"] = convolutions[0].shape[-1]
    if variant.blocks:
        rates = [rate for name in RATES if type(rate := getattr(layer, name, None)) is int]
        if rates:
            found["block"] = rates[0]
    if variant.quantised and type(residual := getattr(layer, "residual_length", None)) is int:
        found["residual"] = residual
    parts = used_parts(layer, variant)
    if len(variant.parts) > 1 and parts:
        found["parts"] = "+".join(parts)
    return found


def describe_layer(layer: Any, variants: list[str]) -> dict[str, Any]:
    """One layer as docs/protocol.md has it; without `variant` where nothing is driven that is the same."""
    name = type(layer).__name__
    described: dict[str, Any] = {"class": name}
    if name in VARIANTS and name in variants:
        described |= {"variant": name, "params": layer_params(layer, VARIANTS[name])}
    return described


def describe_cache(cache: Any, variants: list[str]) -> dict[str, Any]:
    """The class of a cache that was fed, and its layers: of one with two halves those that grow with the words."""
    half = getattr(cache, "self_attention_cache", cache)
    layers = getattr(half, "layers", [])
    return {"cache": type(cache).__name__, "layers": [describe_layer(layer, variants) for layer in layers]}

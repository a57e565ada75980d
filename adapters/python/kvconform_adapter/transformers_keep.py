"""Ops that leave what a cache holds as it is: offload, prefetch, early initialisation, copies, saving and restoring.

Where a container has two halves, models call `update` on each of them, so that is what is offloaded; and they
initialise the self-attention before the other half is put beside it (`integrations/executorch.py`).
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from kvconform_adapter.request import Params
from kvconform_adapter.transformers_caches import accepts

if TYPE_CHECKING:
    from kvconform_adapter.transformers_calls import Session

KeepOp = Callable[["Session", Any], Any]


def keep_ops(params: Params, dtype: torch.dtype, through: bool, keyword: bool) -> dict[str, KeepOp]:
    """The ops of a layer, or of a container when they go `through` one."""
    if not through:
        return {
            "offload": lambda session, _: session.target.offload(),
            "prefetch": lambda session, _: session.target.prefetch(),
            "initialize": lambda session, _: initialize_layer(session, session.target, params, dtype, keyword),
            "copy": copy_cache,
            "pickle": restore_cache,
        }
    return {
        "offload": offload_by_keyword if keyword else offload,
        "prefetch": prefetch,
        "initialize": lambda session, _: initialize(session, params, dtype, keyword),
        "copy": copy_cache,
        "pickle": restore_cache,
    }


def halves(cache: Any) -> list[Any]:
    """The containers of layers that a cache consists of: self-attention and cross-attention, or the cache itself."""
    if hasattr(cache, "self_attention_cache"):
        return [cache.self_attention_cache, cache.cross_attention_cache]
    return [cache]


def offload(session: Session, _: Any) -> None:
    """Every layer of a container, sliding ones too."""
    for half in halves(session.target):
        for index in range(len(half.layers)):
            half.offload(index, False)


def offload_by_keyword(session: Session, _: Any) -> None:
    """The same by keyword."""
    for half in halves(session.target):
        for index in range(len(half.layers)):
            half.offload(layer_idx=index, only_non_sliding=False)


def prefetch(session: Session, _: Any) -> None:
    """Layer by layer: `Cache.prefetch` needs the stream of a container that was made for offloading, and that a GPU."""
    for half in halves(session.target):
        for layer in half.layers:
            layer.prefetch()


def no_tokens(rows: int, heads: int, channels: int, dtype: torch.dtype) -> torch.Tensor:
    """States of no tokens, which say what the cache will hold."""
    return torch.zeros((rows, heads, 0, channels), dtype=dtype)


def initialize_layer(session: Session, layer: Any, params: Params, dtype: torch.dtype, keyword: bool) -> None:
    """What `Cache.early_initialization` does to each of its layers, each of which is new then."""
    keys = no_tokens(session.rows, params.heads, params.key_dim, dtype)
    values = no_tokens(session.rows, params.heads, params.value_dim, dtype)
    if not accepts(layer.lazy_initialization, "value_states"):
        layer.lazy_initialization(keys)
    elif keyword:
        layer.lazy_initialization(key_states=keys, value_states=values)
    else:
        layer.lazy_initialization(keys, values)


def initialize(session: Session, params: Params, dtype: torch.dtype, keyword: bool) -> None:
    """`Cache.early_initialization`. It knows one number of channels: where those of values differ, layer by layer."""
    cache = halves(session.target)[0]
    if params.key_dim != params.value_dim:
        for layer in cache.layers:
            if getattr(layer, "supports_early_init", hasattr(layer, "keys")):
                initialize_layer(session, layer, params, dtype, keyword)
    elif keyword:
        cache.early_initialization(
            batch_size=session.rows,
            num_heads=params.heads,
            head_dim=params.key_dim,
            dtype=dtype,
            device=torch.device("cpu"),
        )
    else:
        cache.early_initialization(session.rows, params.heads, params.key_dim, dtype, torch.device("cpu"))


def copy_cache(session: Session, _: Any) -> None:
    """Go on with a deep copy; the original stays and is shown."""
    duplicate = copy.deepcopy(session.target)
    session.original = session.snapshot()
    session.go_on_with(duplicate)


def restore_cache(session: Session, _: Any) -> None:
    """Go on with what was saved and loaded again, as torch does it: a bare pickle parts tensors that share memory."""
    saved = io.BytesIO()
    torch.save(session.target, saved)
    saved.seek(0)
    session.go_on_with(torch.load(saved, weights_only=False))

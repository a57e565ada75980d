"""The cache classes of transformers as a table: how each is made, fed and read.

What is written here holds for transformers 4.57 and 5.12 to 5.24; where versions differ, the signature of the class
decides, never the version number. See docs/protocol.md for the names of the tensors.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch

from kvconform_adapter import transformers_quantised
from kvconform_adapter.request import Params, RequestError
from kvconform_adapter.transformers_quantised import Fetch

CACHE_UTILS = "transformers.cache_utils"
CONFIGURATION = "transformers.configuration_utils"
MINIMAX = "transformers.models.minimax.modeling_minimax"
MINIMAX_M3 = "transformers.models.minimax_m3_vl.modeling_minimax_m3_vl"
UNLIMITED_OCR = "transformers.models.unlimited_ocr.modeling_unlimited_ocr"
DEEPSEEK = "transformers.models.deepseek_v4.modeling_deepseek_v4"
DEEPSEEK_CONFIG = "transformers.models.deepseek_v4.configuration_deepseek_v4"


@dataclass(frozen=True)
class Variant:
    """One class of the subject.

    `attention`, `linear`: the halves it has. `index`: "" or the attribute that holds its index keys. `sliding`,
    `static`: whether it is made with a window, with a maximal length. `blocks`: "" or what its configuration calls the
    rate of its compressed blocks; `overlap`: whether those overlap and an indexer has some of its own. `stores`: False
    for a placeholder. `prefix`: whether the first tokens are kept apart and never evicted. `quantised`: "" or the
    backend. `arguments`: of a class that derives from another one, what it is made with.
    """

    name: str
    module: str = CACHE_UTILS
    attention: bool = True
    linear: bool = False
    index: str = ""
    sliding: bool = False
    static: bool = False
    blocks: str = ""
    overlap: bool = False
    stores: bool = True
    prefix: bool = False
    quantised: str = ""
    arguments: Callable[[Params], dict[str, Any]] | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that may be in use, then the settings; `chosen_parts` says which are when nothing is said."""
        found = []
        if self.attention:
            found.append("attention")
        if self.blocks:
            found.append("compressor")
        if self.overlap:
            found.append("indexer")
        if self.index:
            found.append("index")
        if self.linear:
            found += ["convolution", "recurrent"]
        if self.index == "indexer_keys":
            found.append("positions")
        return (*found, *transformers_quantised.SETTINGS.get(self.quantised, ()))


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("DynamicLayer"),
        Variant("DynamicSlidingWindowLayer", sliding=True),
        Variant("DynamicIndexedLayer", index="indexer_keys"),
        Variant("StaticLayer", static=True),
        Variant("StaticSlidingWindowLayer", sliding=True, static=True),
        Variant("StaticIndexedLayer", index="indexer_keys", static=True),
        Variant("LinearAttentionLayer", attention=False, linear=True),
        Variant("LinearAttentionAndFullAttentionLayer", linear=True),
        Variant("LinearAttentionAndSlidingWindowAttentionLayer", linear=True, sliding=True),
        Variant("LinearAttentionAndStaticFullAttentionLayer", linear=True, static=True),
        Variant("LinearAttentionAndStaticSlidingWindowAttentionLayer", linear=True, sliding=True, static=True),
        Variant("QuantoQuantizedLayer", quantised="quanto"),
        Variant("HQQQuantizedLayer", quantised="hqq"),
        Variant("Fp8QuantizedLayer", quantised="fp8"),
        Variant("MiniMaxM3VLSparseCacheLayer", module=MINIMAX_M3, index="idx_keys"),
        Variant("MiniMaxM3VLSparseStaticCacheLayer", module=MINIMAX_M3, index="idx_keys", static=True),
        Variant("DeepseekV4HCACache", module=DEEPSEEK, sliding=True, blocks="heavily_compressed_attention"),
        Variant(
            "DeepseekV4CSACache", module=DEEPSEEK, sliding=True, blocks="compressed_sparse_attention", overlap=True
        ),
        Variant("DummyLayer", stores=False),
        Variant("UnlimitedOcrDynamicReferenceSlidingWindowLayer", module=UNLIMITED_OCR, sliding=True, prefix=True),
        Variant(
            "UnlimitedOcrStaticReferenceSlidingWindowLayer",
            module=UNLIMITED_OCR,
            sliding=True,
            static=True,
            prefix=True,
        ),
    )
}
"""Single layers. Containers stand in `transformers_containers`."""

MINIMAX_CACHE = "MiniMaxCache"

COUNTERS = (
    "cumulative_length",
    "cumulative_length_int",
    "prefill_cumulative_length",
    "prefill_length",
    "indexer_cumulative_length",
    "idx_cumulative_length",
)
"""Hidden counters of static layers, each an int or a tensor with one element."""


@lru_cache(maxsize=256)
def module_defines(module: str, name: str) -> bool:
    """Whether `module` defines class `name`, found out without importing it: model files take seconds."""
    if module == CACHE_UTILS:
        return hasattr(importlib.import_module(module), name)
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:
        return False
    if spec is None or spec.origin is None:
        return False
    return f"class {name}(" in Path(spec.origin).read_text(encoding="utf-8")


def available_variants() -> list[str]:
    """The variants of this table that this version of the subject has, and MiniMaxCache."""
    names = [variant.name for variant in VARIANTS.values() if module_defines(variant.module, variant.name)]
    if module_defines(MINIMAX, MINIMAX_CACHE):
        names.append(MINIMAX_CACHE)
    return names


def class_locations(names: list[str]) -> dict[str, dict[str, str | int]]:
    """Where the class of each variant is written: a file below the folder of packages, and a line. Imports nothing."""
    found: dict[str, dict[str, str | int]] = {}
    lines: dict[str, dict[str, int]] = {}
    for name in names:
        module = VARIANTS[name].module if name in VARIANTS else MINIMAX if name == MINIMAX_CACHE else CACHE_UTILS
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            continue
        if module not in lines:
            text = Path(spec.origin).read_text(encoding="utf-8").splitlines()
            lines[module] = {
                head.removeprefix("class ").partition("(")[0].partition(":")[0]: number
                for number, head in enumerate(text, start=1)
                if head.startswith("class ")
            }
        # Several variants may be one class: what tells them apart stands behind a hyphen.
        if line := lines[module].get(name.partition("-")[0]):
            found[name] = {"file": module.replace(".", "/") + ".py", "line": line}
    return found


def find_variant(name: str) -> Variant:
    """The entry of the table, or RequestError."""
    variant = VARIANTS.get(name)
    if variant is None or not (variant.arguments is not None or module_defines(variant.module, name)):
        raise RequestError(f'the subject has no cache "{name}" at this version')
    return variant


@lru_cache(maxsize=256)
def load_class(module: str, name: str) -> Any:
    """The class itself."""
    return getattr(importlib.import_module(module), name)


@lru_cache(maxsize=256)
def accepts(function: Any, parameter: str) -> bool:
    """Whether `function` has a parameter of this name of its own (`**kwargs` does not count)."""
    return parameter in inspect.signature(function).parameters


@lru_cache(maxsize=256)
def crop_keyword(owner: Any) -> str:
    """What the argument of `owner.crop` is called: `max_length` up to 5.14, `tokens_to_remove` from 5.15."""
    crop = getattr(owner, "crop", None)
    if crop is None:
        return "tokens_to_remove"
    return next(name for name in inspect.signature(crop).parameters if name != "self")


def unavailable_variants() -> dict[str, str]:
    """The variants that this version has and that need a package which is not there, with the reason."""
    found = {}
    for variant in VARIANTS.values():
        reason = transformers_quantised.missing(variant.quantised)
        if reason and module_defines(variant.module, variant.name):
            found[variant.name] = reason
    return found


def takes_positions() -> bool:
    """Whether models of this version say where new tokens go, as in 4.57; later ones leave that to the cache."""
    return accepts(load_class(CACHE_UTILS, "DynamicLayer").update, "cache_kwargs")


def block_settings(variant: Variant, params: Params) -> dict[str, Any]:
    """What the configuration of a layer with compressed blocks is made with."""
    rates = dict.fromkeys(("heavily_compressed_attention", variant.blocks), params.block)
    return {"sliding_window": params.window, "compress_rates": rates}


def constructor_arguments(variant: Variant, params: Params, owner: Any, layers: bool = False) -> dict[str, Any]:
    """What the class is made with. `layers`: as one of several."""
    arguments: dict[str, Any] = {}
    if variant.arguments is not None:
        return variant.arguments(params)
    if variant.quantised:
        parts = chosen_parts(variant, params, layers)
        return dict(transformers_quantised.arguments(variant.quantised, parts, params.residual))
    if variant.blocks:
        config = load_class(DEEPSEEK_CONFIG, "DeepseekV4Config")
        return {"config": config(**block_settings(variant, params))}
    if variant.static:
        arguments["max_cache_len"] = params.capacity
    if variant.sliding and accepts(owner.__init__, "sliding_window"):
        arguments["sliding_window"] = params.window
    elif variant.sliding:
        # The sliding hybrid of 5.13 reads its window from a config.
        arguments["config"] = load_class(CONFIGURATION, "PreTrainedConfig")(sliding_window=params.window)
    if variant.linear and accepts(owner.__init__, "number_of_states"):
        arguments["number_of_states"] = params.states
    elif variant.linear and params.states != 1:
        raise RequestError("at this version a linear layer has one state only")
    return arguments


def spell_arguments(arguments: dict[str, Any]) -> str:
    """The same as a program would have it."""
    spelled = []
    for name, value in arguments.items():
        if type(value).__name__ == "PreTrainedConfig":
            spelled.append(f"{name}=PreTrainedConfig(sliding_window={value.sliding_window})")
        else:
            spelled.append(f"{name}={value!r}")
    return ", ".join(spelled)


def chosen_parts(variant: Variant, params: Params, layers: bool) -> tuple[str, ...]:
    """The parts in use, in the order of the table. In a cache of several layers each takes what it has of them."""
    if params.parts == "":
        unusual = ("positions", *transformers_quantised.SETTINGS.get(variant.quantised, ()))
        return tuple(part for part in variant.parts if part not in unusual)
    words = params.parts.split("+")
    wrong = [word for word in words if word not in variant.parts]
    if wrong and not layers:
        raise RequestError(f'{variant.name} has no part "{wrong[0][:40]}": it has {", ".join(variant.parts)}')
    return tuple(part for part in variant.parts if part in words)


def fetch_state(attribute: str, number: int) -> Fetch:
    """Reads `conv_states` or `recurrent_states`: a dict of tensors, in 5.12 a single tensor."""

    def fetch(layer: Any) -> Any:
        held = getattr(layer, attribute)
        return held[number] if isinstance(held, dict) else held

    return fetch


def fetch_whole(variant: Variant, name: str) -> Fetch:
    """Reads keys or values with the prefix in front of them, as attention sees them."""
    if variant.static:
        return attrgetter(f"all_{name}")
    front = f"prefill_{name}"

    def fetch(layer: Any) -> Any:
        # What the layer holds while it says that it is not initialised is dropped by its next update.
        if not layer.is_initialized:
            return None
        prefix, held = getattr(layer, front), getattr(layer, name)
        if prefix is None or prefix.numel() == 0:
            return held
        if held.numel() == 0:
            return prefix
        # What differs in more than its tokens cannot be joined. Rows are wrong in the prefix, which batch ops forget.
        if held.shape[0] != prefix.shape[0]:
            return prefix
        if held.shape[:-2] != prefix.shape[:-2] or held.shape[-1] != prefix.shape[-1]:
            return held
        return torch.cat([prefix, held], dim=-2)

    return fetch


def fetch_counter(attribute: str) -> Fetch:
    """Reads a counter as a tensor of shape [1]; a counter that is a tensor is not copied."""

    def fetch(layer: Any) -> Any:
        held = getattr(layer, attribute, None)
        if held is None:
            return None
        return held.reshape(1) if isinstance(held, torch.Tensor) else torch.tensor([held])

    return fetch


def stored_tensors(variant: Variant, parts: tuple[str, ...], states: int) -> list[tuple[str, Fetch]]:
    """Names of the tensors that a layer stores, and how to read them."""
    found: list[tuple[str, Fetch]] = []
    if variant.quantised:
        found += [(name, transformers_quantised.whole(name)) for name in ("keys", "values")]
    elif "attention" in parts and variant.prefix:
        found += [(name, fetch_whole(variant, name)) for name in ("keys", "values")]
    elif "attention" in parts:
        found += [("keys", attrgetter("keys")), ("values", attrgetter("values"))]
    if variant.quantised in transformers_quantised.PACKAGES:
        found += [("residual_keys", attrgetter("keys")), ("residual_values", attrgetter("values"))]
    if "index" in parts:
        found.append((variant.index, attrgetter(variant.index)))
    if "positions" in parts:
        found.append(("indexer_position_ids", attrgetter("indexer_position_ids")))
    for part, attribute in (("convolution", "conv_states"), ("recurrent", "recurrent_states")):
        if part in parts:
            found += [(f"{attribute}.{number}", fetch_state(attribute, number)) for number in range(states)]
    if variant.static or variant.prefix:
        found += [(name, fetch_counter(name)) for name in COUNTERS if counts(name, variant, parts)]
    return found


def counts(name: str, variant: Variant, parts: tuple[str, ...]) -> bool:
    """Whether the counter belongs to a part that is in use."""
    if name.startswith(("idx_", "indexer_")):
        return "index" in parts and variant.index.startswith(name.partition("_")[0])
    if name.startswith("prefill_"):
        return variant.prefix
    return "attention" in parts and (variant.sliding or name != "cumulative_length_int")

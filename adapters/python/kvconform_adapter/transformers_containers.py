"""The containers of transformers as a table: how each is made, from layers or from the config of a model.

A variant of a container is named after its class, with the model behind a dash where a config of that model decides
which layers there are: `DynamicCache-gemma3`. What the layers should be is said by the parameter `layers`, as names of
classes; the config is made so that it asks for them, and a cache that has others is not driven.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kvconform_adapter.request import Params, RequestError
from kvconform_adapter.transformers_caches import (
    CACHE_UTILS,
    CONFIGURATION,
    VARIANTS,
    Variant,
    block_settings,
    constructor_arguments,
    find_variant,
    load_class,
    module_defines,
    spell_arguments,
)
from kvconform_adapter.transformers_quantised import missing, prepare

LAYERS_MAX = 8
PLACEHOLDER = "DummyLayer"

CROSS_TOKENS = 2
"""Tokens of a cross-attention; it is set once, so their number does not matter."""


@dataclass(frozen=True)
class Model:
    """A model whose config says which layers a cache has.

    `types`: for each class of layers what the config calls it. `listed`: whether the config is given a list of them.
    `registers`: whether the classes are known only once the model's own file is imported. `shares`: its last layers may
    use the keys and values of earlier ones; then they are placeholders.
    """

    name: str
    config: str
    types: dict[str, str]
    listed: bool = True
    registers: bool = False
    shares: bool = False

    def names(self, words: list[str]) -> list[str] | None:
        """What the config calls these layers; None when it cannot ask for them."""
        own = [word for word in words if word != PLACEHOLDER]
        shared = len(words) - len(own)
        if (shared and not self.shares) or words[len(own) :] != [PLACEHOLDER] * shared or shared > len(own):
            return None
        # Placeholders are of the kinds of the layers before them, which they share.
        plain = own + own[len(own) - shared :]
        return [self.types[word] for word in plain] if all(word in self.types for word in plain) else None

    @property
    def module(self) -> str:
        """Where the config is."""
        return f"transformers.models.{self.name}.configuration_{self.name}"

    @property
    def modeling(self) -> str:
        """Where the model is."""
        return f"transformers.models.{self.name}.modeling_{self.name}"


FULL = {"DynamicLayer": "full_attention", "StaticLayer": "full_attention"}
QUANTISED = dict.fromkeys(("QuantoQuantizedLayer", "HQQQuantizedLayer", "Fp8QuantizedLayer"), "full_attention")
SLIDING = {"DynamicSlidingWindowLayer": "sliding_attention", "StaticSlidingWindowLayer": "sliding_attention"}

MODELS = {
    model.name: model
    for model in (
        Model("gemma3", "Gemma3TextConfig", FULL | SLIDING),
        Model("gemma4", "Gemma4TextConfig", FULL | SLIDING, shares=True),
        Model("qwen3_next", "Qwen3NextConfig", FULL | {"LinearAttentionLayer": "linear_attention"}),
        Model("lfm2", "Lfm2Config", FULL | {"LinearAttentionLayer": "conv"}),
        Model(
            "glm_moe_dsa",
            "GlmMoeDsaConfig",
            {"DynamicIndexedLayer": "indexed_attention", "StaticIndexedLayer": "indexed_attention"},
            listed=False,
        ),
        Model(
            "minimax_m3_vl",
            "MiniMaxM3VLTextConfig",
            FULL
            | {
                "MiniMaxM3VLSparseCacheLayer": "minimax_m3_sparse",
                "MiniMaxM3VLSparseStaticCacheLayer": "minimax_m3_sparse",
            },
            registers=True,
        ),
        Model(
            "deepseek_v4",
            "DeepseekV4Config",
            SLIDING
            | {
                "DeepseekV4HCACache": "heavily_compressed_attention",
                "DeepseekV4CSACache": "compressed_sparse_attention",
            },
            registers=True,
        ),
        # Full attention and nothing else, and no list of layers that would say so.
        Model("llama", "LlamaConfig", QUANTISED, listed=False),
    )
}
"""In the order in which they are tried for a container that names none."""


@dataclass(frozen=True)
class Container:
    """One way to make a container.

    `owner`: its class. `given`: its layers are made one by one and handed over. `lazy`: it makes a layer when its first
    tokens come. Otherwise a config decides, that of `model` or of the first model that has such layers. `cross`: it
    has a cross-attention cache beside that of the self-attention. `static`: it is made with a maximal length.
    `backend`: what quantises its layers, if anything does.
    """

    name: str
    owner: str
    given: bool = False
    lazy: bool = False
    model: str = ""
    cross: bool = False
    static: bool = False
    backend: str = ""

    @property
    def old_word(self) -> str:
        """What the argument of crop was called before it counted the tokens to remove."""
        return "maximum_length" if self.cross else "max_length"


CONTAINERS = {
    container.name: container
    for container in (
        Container("DynamicCache", "Cache", given=True),
        Container("DynamicCache-lazy", "DynamicCache", lazy=True),
        Container("DynamicCache-gemma3", "DynamicCache", model="gemma3"),
        Container("DynamicCache-gemma4", "DynamicCache", model="gemma4"),
        Container("DynamicCache-qwen3_next", "DynamicCache", model="qwen3_next"),
        Container("DynamicCache-lfm2", "DynamicCache", model="lfm2"),
        Container("DynamicCache-glm_moe_dsa", "DynamicCache", model="glm_moe_dsa"),
        Container("DynamicCache-minimax_m3_vl", "DynamicCache", model="minimax_m3_vl"),
        Container("DynamicCache-deepseek_v4", "DynamicCache", model="deepseek_v4"),
        Container("StaticCache", "StaticCache", static=True),
        # The backend that `generate` takes where none is named.
        Container("QuantizedCache", "QuantizedCache", backend="quanto"),
        Container("QuantizedCache-hqq", "QuantizedCache", backend="hqq"),
        Container("QuantizedCache-fp8", "QuantizedCache", backend="fp8"),
        Container("EncoderDecoderCache", "EncoderDecoderCache", cross=True),
        Container("EncoderDecoderCache-static", "EncoderDecoderCache", cross=True, static=True),
        Container("MtpCache", "MtpCache"),
        Container("DFlashCache", "DFlashCache"),
    )
}
"""Containers of layers. `MiniMaxCache` keeps its linear states itself and stands beside this table."""


def available_containers() -> list[str]:
    """The containers that this version of the subject has."""
    return [
        container.name
        for container in CONTAINERS.values()
        if module_defines(CACHE_UTILS, container.owner)
        and (container.model == "" or has_model(MODELS[container.model]))
        and (container.backend == "" or module_defines(CACHE_UTILS, quantised_layer(container.backend)))
    ]


def has_model(model: Model) -> bool:
    """Whether this version has the config and all layers that it may ask for: in 4.57 some models had own caches."""
    return module_defines(model.module, model.config) and all(
        word in VARIANTS and module_defines(VARIANTS[word].module, word) for word in model.types
    )


def unavailable_containers() -> dict[str, str]:
    """The containers that need a package which is not there, with the reason."""
    reasons = {name: missing(CONTAINERS[name].backend) for name in available_containers()}
    return {name: reason for name, reason in reasons.items() if reason}


def quantised_layer(backend: str) -> str:
    """The class of layers that a backend has."""
    return next(variant.name for variant in VARIANTS.values() if variant.quantised == backend)


@dataclass(frozen=True)
class Call:
    """A call of a class of the subject, to be made or to be written down."""

    module: str
    name: str
    arguments: dict[str, Any]

    def make(self) -> Any:
        """The object."""
        return load_class(self.module, self.name)(**self.arguments)

    def spell(self) -> str:
        """The call as a program would have it."""
        return f"{self.name}({spell_arguments(self.arguments)})"


class Recipe:
    """How the cache of one container and its parameters is made."""

    def __init__(self, container: Container, params: Params) -> None:
        words = params.layers.split("+")
        if params.layers == "" or len(words) > LAYERS_MAX:
            raise RequestError(f'field "params.layers": expected 1 to {LAYERS_MAX} layers joined by "+"')
        self.container = container
        self.variants: list[Variant] = [find_variant(word) for word in words]
        self.owner = load_class(CACHE_UTILS, container.owner)
        self.settings: dict[str, Any] = {}
        """What the container is told besides its config."""
        self.given: list[Call] = []
        self.config: Call | None = None
        self.registers = ""
        if container.given:
            for variant in self.variants:
                arguments = constructor_arguments(variant, params, load_class(variant.module, variant.name))
                self.given.append(Call(variant.module, variant.name, dict(arguments)))
        elif not container.lazy:
            if container.static:
                self.settings = {"max_cache_len": params.capacity}
            elif container.backend:
                prepare(container.backend)
                layer = self.variants[0]
                made = constructor_arguments(layer, params, load_class(layer.module, layer.name), layers=True)
                self.settings = {"backend": container.backend, **made}
            model = self.find_model(words)
            self.config = Call(model.module, model.config, self.config_arguments(model, words, params))
            if model.registers:
                self.registers = model.modeling

    def find_model(self, words: list[str]) -> Model:
        """The model of the container, or the first one that has such layers."""
        for model in MODELS.values():
            if self.container.model in ("", model.name) and model.names(words) is not None:
                return model
        raise RequestError(f'field "params.layers": no model has the layers {"+".join(words)[:200]}')

    def config_arguments(self, model: Model, words: list[str], params: Params) -> dict[str, Any]:
        """What the config is told."""
        arguments: dict[str, Any] = {"num_hidden_layers": len(words)}
        if model.listed:
            arguments["layer_types"] = model.names(words)
        if model.shares and not hasattr(importlib.import_module(CACHE_UTILS), PLACEHOLDER):
            # Layers that share are left out of the container then, and a config without any means none at all.
            arguments["num_hidden_layers"] += len(words)
            arguments["layer_types"] *= 2
            arguments["num_kv_shared_layers"] = len(words)
        elif model.shares:
            arguments["num_kv_shared_layers"] = words.count(PLACEHOLDER)
        if self.slides():
            arguments["sliding_window"] = params.window
        for variant in self.variants:
            if variant.blocks:
                rates = block_settings(variant, params)["compress_rates"]
                arguments["compress_rates"] = arguments.get("compress_rates", {}) | rates
        return arguments

    def opener(self) -> Callable[[], Any]:
        """A function that makes a new cache."""
        if self.registers:
            importlib.import_module(self.registers)
        owner: Callable[..., Any] = self.owner
        config = self.config.make() if self.config is not None else None
        if self.container.given:
            makers = [(load_class(call.module, call.name), call.arguments) for call in self.given]
            return lambda: owner(layers=[maker(**arguments) for maker, arguments in makers])
        if config is None:
            return owner
        if self.container.cross:
            half = load_class(CACHE_UTILS, self.half)
            self.check(half(config=config, **self.settings).layers)
            if self.container.static:
                lengths = (self.settings["max_cache_len"], CROSS_TOKENS)
                return lambda: owner(*(half(config=config, max_cache_len=length) for length in lengths))
            if self.slides():
                return lambda: owner(half(config=config), half())
            return lambda: owner(half(config=config), half(config=config))
        settings = self.settings
        self.check(owner(config=config, **settings).layers)
        return lambda: owner(config=config, **settings)

    @property
    def half(self) -> str:
        """The class of the two halves of a container that has them."""
        return "StaticCache" if self.container.static else "DynamicCache"

    def slides(self) -> bool:
        """Whether any layer has a window. Models make the cache of a cross-attention without a config then."""
        return any(variant.sliding for variant in self.variants)

    def check(self, layers: list[Any]) -> None:
        """Raise RequestError when the config led to other layers than were asked for."""
        found = [type(layer).__name__ for layer in layers]
        wanted = [variant.name for variant in self.variants]
        if found != wanted:
            raise RequestError(
                f"at this version {self.container.name} has the layers {'+'.join(found)[:200]}, "
                f"not {'+'.join(wanted)[:200]}"
            )

    def modules(self) -> dict[str, set[str]]:
        """The imports of a program that makes the cache."""
        found: dict[str, set[str]] = {CACHE_UTILS: {self.container.owner}}
        for call in self.given + ([self.config] if self.config is not None else []):
            found.setdefault(call.module, set()).add(call.name)
            if "config" in call.arguments:
                found.setdefault(CONFIGURATION, set()).add("PreTrainedConfig")
        if self.container.cross:
            found[CACHE_UTILS].add(self.half)
        return found

    def spell(self) -> list[str]:
        """The lines of a program that make `cache` and `layers`, which tensors are read from."""
        owner = self.container.owner
        lines = [f"import {self.registers}  # its layers are known only then", ""] if self.registers else []
        if self.container.given:
            layers = ", ".join(call.spell() for call in self.given)
            return [*lines, f"cache = {owner}(layers=[{layers}])", "layers = cache.layers"]
        if self.config is None:
            return [*lines, f"cache = {owner}()", "layers = cache.layers"]
        lines.append(f"config = {self.config.spell()}")
        if self.container.cross:
            # `generate` makes the cross-attention as long as what the encoder returned.
            sizes = (*self.settings.values(), CROSS_TOKENS) if self.container.static else ()
            own, crossed = [f", max_cache_len={length}" for length in sizes] or ["", ""]
            other = "" if self.slides() and not self.container.static else f"config=config{crossed}"
            return [
                *lines,
                f"cache = {owner}({self.half}(config=config{own}), {self.half}({other}))",
                "layers = cache.self_attention_cache.layers",
                "cross = cache.cross_attention_cache.layers",
            ]
        told = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return [*lines, f"cache = {owner}(config=config{told})", "layers = cache.layers"]

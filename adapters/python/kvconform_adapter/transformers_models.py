"""Whole models with their caches: an append is a forward, and what is shown is what the model predicts.

A variant is called `model/NAME`, with the name of the architecture in transformers; with another cache than the one its
config asks for `model-static/NAME` or `model-quantised/NAME`.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kvconform_adapter.reply import Reply, Table
from kvconform_adapter.request import AbsentError, Op, Origins, Params, RequestError
from kvconform_adapter.transformers_architectures import FIRST_WORD, WORDS, architectures, make_model
from kvconform_adapter.transformers_layers import describe_cache
from kvconform_adapter.transformers_model_caches import loss_tensor, measure_loss, model_cache

FAMILIES = {"model": "dynamic", "model-static": "static", "model-quantised": "quantised"}
"""What stands before the slash of a variant, and the kind of cache that it means."""
ENCODER_WORDS = (5, 11, 7)
"""What the encoder of a model that has one reads, the same in every row."""
CACHE_WORDS = ("cache", "past_key_values", "cache_params")
"""What models call the argument for their cache, the newest word first."""


ONE_AT_A_TIME = frozenset({"prophetnet"})
"""Models that take one word at a time once their cache holds some, as they themselves say: "At the moment `use_cache`
is only supported for `decoder_input_ids` of length 1"."""

NO_LENGTH = torch.tensor([-1])


def is_model(variant: str) -> bool:
    """Whether a variant is a whole model."""
    return variant.partition("/")[0] in FAMILIES


def model_variants(package: str) -> list[str]:
    """The variants for whole models; those of one architecture follow each other, so that its model is made once."""
    return [f"{family}/{name}" for name in architectures(package) for family in (*FAMILIES, "model-generate")]


def word_of(number: int, row: int) -> int:
    """The word that stands for a token: neighbours and rows differ, and the same number is always the same word."""
    return FIRST_WORD + (31 * number + 17 * row + number // 61) % (WORDS - FIRST_WORD)


class ModelPlan:
    """One model, built once, and how its cache is made."""

    def __init__(self, variant: str, params: Params) -> None:
        import transformers  # noqa: PLC0415

        family, _, name = variant.partition("/")
        attention, _, kind = (params.parts or f"eager+{FAMILIES[family]}").partition("+")
        if kind != FAMILIES[family]:
            raise RequestError(f'field "params.parts": {family} has a cache that is {FAMILIES[family]}, not {kind}')
        self.rows = params.batch
        self.model = make_model(name, str(Path(transformers.__file__).parent), attention)
        self.config = self.model.config
        self.attention = str(self.config._attn_implementation)
        self.crossed = bool(self.config.is_encoder_decoder)
        self.one_at_a_time = name in ONE_AT_A_TIME
        self.wide = False
        """Whether it predicts more than the words that it is given: prompts that were learned, for example."""
        taken = inspect.signature(self.model.forward).parameters
        self.word = next((word for word in CACHE_WORDS if word in taken), "")
        asked = self.find_cache(name)
        self.cache = model_cache(self.model, name, kind, asked, params, len(ENCODER_WORDS))
        self.loss: Any = None
        """What the cache loses, as it is shown; None of one that loses nothing."""
        if self.cache.loses:
            exact = model_cache(self.model, name, "dynamic", asked, params, len(ENCODER_WORDS))
            words = [[word_of(number, row) for number in range(8)] for row in range(3)]
            self.loss_in_parts = measure_loss(self.predict, self.cache.make, exact.make, torch.tensor(words))
            self.loss = loss_tensor(self.loss_in_parts)

    def find_cache(self, name: str) -> Any:
        """A cache that the model made itself when it was given none; it holds a word."""
        try:
            output = self.model(**self.inputs(torch.tensor([[FIRST_WORD]]), None), use_cache=True)
            made = self.read_cache(output)
            self.wide = output.logits.shape[-1] > WORDS
        except MemoryError:
            raise
        except Exception as error:
            text = " ".join(str(error).split())[:200]
            raise RequestError(f"a tiny {name} cannot read a word: {type(error).__name__}: {text}") from error
        if made is None or not self.word or not hasattr(made, "reset"):
            raise AbsentError(f"{name} keeps no cache that can be handed to it")
        return made

    def predict(self, words: Any, cache: Any) -> Any:
        """The logits of a forward over these words: rows, words, vocabulary."""
        pieces = words.split(1, dim=1) if self.one_at_a_time and cache.get_seq_length() > 0 else [words]
        logits = [self.model(**self.inputs(piece, cache), use_cache=True).logits for piece in pieces]
        whole = torch.cat(logits, dim=1) if len(logits) > 1 else logits[0]
        return (whole[..., :WORDS] if self.wide else whole).to(torch.float64).contiguous()

    def describe_cache(self, variants: list[str]) -> dict[str, Any]:
        """What its cache is made of. Some layers, and parts of them, are there from the first words on."""
        cache = self.cache.make()
        self.model(**self.inputs(torch.tensor([[FIRST_WORD, FIRST_WORD + 1]] * self.rows), cache), use_cache=True)
        return describe_cache(cache, variants)

    def read_cache(self, output: Any) -> Any:
        """The cache in what a forward returned."""
        return next((found for word in CACHE_WORDS if (found := getattr(output, word, None)) is not None), None)

    def inputs(self, words: Any, cached: Any) -> dict[str, Any]:
        """The arguments of a forward over these words."""
        given: dict[str, Any] = {"decoder_input_ids" if self.crossed else "input_ids": words}
        if self.crossed:
            given["input_ids"] = torch.tensor([ENCODER_WORDS] * words.shape[0])
        if cached is not None:
            given[self.word] = cached
        return given


class Choices:
    """While it is entered, how close the choices of a model are: which experts, which tokens of a sparse attention.

    Where two scores are as good as equal, of which one is taken and one is left, the order of the arithmetic decides.
    What is chosen by `topk` is seen.
    """

    def __init__(self) -> None:
        self.margin = math.inf
        self.owners = (torch, torch.Tensor)
        self.topk = [owner.topk for owner in self.owners]

    def __enter__(self) -> None:
        self.margin = math.inf
        for owner, topk in zip(self.owners, self.topk, strict=True):
            owner.topk = self.watched(topk)

    def __exit__(self, *raised: object) -> None:
        for owner, topk in zip(self.owners, self.topk, strict=True):
            owner.topk = topk

    def watched(self, topk: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, which tells the smallest margin in parts of the largest score."""

        def look(*given: Any, **named: Any) -> Any:
            told = dict(zip(("input", "k", "dim"), given, strict=False)) | named
            scores, k, dim = told.get("input"), told.get("k"), told.get("dim", -1)
            if isinstance(scores, torch.Tensor) and isinstance(k, int) and 0 < k < scores.shape[dim]:
                best = topk(scores, k + 1, dim).values.movedim(dim, -1)
                apart = best[..., k - 1] - best[..., k]
                # What is masked out is no choice.
                apart = apart[best[..., k].isfinite() & best[..., k - 1].isfinite()]
                if apart.numel() > 0:
                    largest = best[best.isfinite()].abs().max()
                    self.margin = min(self.margin, float(apart.min() / largest) if largest > 0 else 0.0)
            return topk(*given, **named)

        return look


class ModelSession:
    """One cache while a sequence runs."""

    __slots__ = ("cache", "copied", "rows", "start")

    def __init__(self, cache: Any, rows: int) -> None:
        self.cache = cache
        self.rows = rows
        self.start = 0
        self.copied = False


def record(cache: Any, on: int) -> None:
    """Switch recording on, or off as `generate` does when it is done."""
    if on:
        cache.activate_past_recording()
        return
    for layer in getattr(getattr(cache, "self_attention_cache", cache), "layers", []):
        if hasattr(layer, "record_past"):
            layer.record_past = False


class ModelRunner:
    """Runs sequences on one model into one reply."""

    def __init__(self, plan: ModelPlan, reply: Reply[Table]) -> None:
        self.plan = plan
        self.reply = reply
        self.choices = Choices()

    def sequence(self, ops: list[Op], numbers: list[int] | None, origins: Origins | None = None) -> str:
        """All steps of one sequence, as JSON."""
        session = ModelSession(self.plan.cache.make(), self.plan.rows)
        return f"[{','.join([self.step(session, name, argument, numbers, origins) for name, argument in ops])}]"

    def step(
        self, session: ModelSession, name: str, argument: Any, numbers: list[int] | None, origins: Origins | None
    ) -> str:
        """One op, as JSON; what it predicts goes into the reply."""
        claim = "null"
        error = -1
        logits = None
        try:
            if name == "append":
                logits = self.append(session, argument, numbers, origins)
            else:
                if name == "crop":
                    said = getattr(session.cache, "is_croppable", None)
                    claim = "null" if said is None else "1" if said else "0"
                self.other(session, name, argument)
        except MemoryError:
            raise
        except Exception as raised:
            error = self.reply.error(raised)
        shown = []
        if logits is not None:
            shown.append(("returned.logits", logits))
            if self.choices.margin < math.inf:
                shown.append(("returned.margin", torch.tensor([self.choices.margin], dtype=torch.float64)))
            if self.plan.loss is not None:
                shown.append(("returned.loss", self.plan.loss))
        if session.copied:
            # Of the original nothing can be seen but that it is there.
            shown.append(("original.length", NO_LENGTH))
        entries = ",".join([self.show(*tensor) for tensor in shown])
        masks = "[null]" if name == "append" else "[]"
        return f"[{0 if error < 0 else 1},[null],{masks},[],{claim},[{entries}],{error}]"

    def show(self, name: str, tensor: Any) -> str:
        """The entry of a tensor, whose bytes go into the reply."""
        index, read = self.reply.table.show(name, tensor)
        self.reply.raw.append(read(tensor.data_ptr()).raw)
        return index

    def append(self, session: ModelSession, count: int, numbers: list[int] | None, origins: Origins | None) -> Any:
        """A forward over the next `count` words. Returns its logits: rows, words, vocabulary."""
        start = session.start
        session.start += count
        places = range(start, start + count)
        words = torch.tensor(
            [
                [word_of(numbers[at] if numbers else at, origins[at][row] if origins else row) for at in places]
                for row in range(session.rows)
            ]
        )
        with self.choices:
            return self.plan.predict(words, session.cache)

    def other(self, session: ModelSession, name: str, argument: Any) -> None:
        """One op that is no append."""
        cache = session.cache
        if name == "crop":
            cache.crop(argument)
        elif name == "reset":
            cache.reset()
        elif name == "record":
            record(cache, argument)
        elif name == "copy":
            session.cache = copy.deepcopy(cache)
            session.copied = True
        elif name == "reorder":
            if sorted(set(argument)) and (max(argument) >= session.rows or len(argument) != session.rows):
                raise IndexError(f"reorder {list(argument)} does not fit {session.rows} rows")
            cache.reorder_cache(torch.tensor(argument))
        else:
            raise RequestError(f'field "sequences": a model has no op {name}')

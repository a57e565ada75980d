"""The layers of DeepSeek V4, which keep entries of compressed blocks beside a sliding window.

These layers store what they are given and hand out what is to be compressed; the compressor of the model pools it and
gives the entry back. Here the adapter plays that compressor, in the order of calls of `DeepseekV4HCACompressor`,
`DeepseekV4CSACompressor` and `DeepseekV4Indexer`. Its entry of a block is the fold of the block's tokens, as
docs/protocol.md says, read from what the layer handed out: a wrong token there makes a wrong entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from kvconform_adapter.formula import fold
from kvconform_adapter.request import Params, RequestError
from kvconform_adapter.values import values

FIRST_SALT = {"compressor": 1, "indexer": 4}
"""Salt of the buffered keys; that of their gates and of the entries follow."""
DIGITS = 6
"""Channels that hold a token's number."""
ENTRIES_KEPT = 1 << 12

Fetch = Callable[[Any], Any]


def fetch_named(attribute: str, name: str) -> Fetch:
    """Reads one tensor of a dict of tensors; None while there is none."""
    return lambda layer: getattr(layer, attribute)[name]


def fetch_count(name: str) -> Fetch:
    """Reads the number of entries as a tensor of shape [1]."""
    return lambda layer: torch.tensor([layer.entry_count[name]])


@dataclass
class Compressor:
    """One compressor of a layer: its states are the entries `name` of the layer's dicts.

    `channels`: of an entry. `overlap`: tokens come with two series side by side, of which the first goes into the entry
    of the next block, so that the layer keeps it of the newest finished block.
    """

    name: str
    block: int
    channels: int
    overlap: bool
    dtype: Any
    keyword: bool
    kept: dict[Any, Any] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Channels of a token."""
        return 2 * self.channels if self.overlap else self.channels

    @property
    def salt(self) -> int:
        """Salt of the buffered keys."""
        return FIRST_SALT[self.name]

    def stored(self) -> list[tuple[str, Fetch]]:
        """Names of the tensors, in the order in which `call` returns them, and how to read them."""
        words = ["buffer_kv", "buffer_gate"]
        found = [(f"{word}.{self.name}", fetch_named(word, self.name)) for word in words]
        found.append((f"entry_count.{self.name}", fetch_count(self.name)))
        words = (["overlap_kv", "overlap_gate"] if self.overlap else []) + ["compressed_kv"]
        return found + [(f"{word}.{self.name}", fetch_named(word, self.name)) for word in words]

    def call(self, layer: Any, kv: Any, gate: Any) -> tuple[Any, ...]:
        """One pass of the compressor. What the layer returned, None for what it was not asked for."""
        if self.keyword:
            chunk, chunk_gate, start = layer.store_compression_weights(name=self.name, kv=kv, gate=gate)
        else:
            chunk, chunk_gate, start = layer.store_compression_weights(self.name, kv, gate)
        returned = [chunk, chunk_gate, torch.tensor([int(start)])]
        if self.overlap:
            returned += self.exchange(layer, chunk, chunk_gate) if chunk.shape[1] > 0 else (None, None)
        entries = self.pool(chunk)
        if self.keyword:
            returned.append(layer.update_compressor_states(name=self.name, compressed=entries))
        else:
            returned.append(layer.update_compressor_states(self.name, entries))
        return tuple(returned)

    def exchange(self, layer: Any, chunk: Any, gate: Any) -> tuple[Any, Any]:
        """`update_overlap_state`, with axes `[rows, blocks, tokens, channels]`."""
        shape = (chunk.shape[0], chunk.shape[1] // self.block, self.block, -1)
        if self.keyword:
            prior: tuple[Any, Any] = layer.update_overlap_state(
                name=self.name, chunk_kv=chunk.view(shape), chunk_gate=gate.view(shape), head_dim=self.channels
            )
            return prior
        prior = layer.update_overlap_state(self.name, chunk.view(shape), gate.view(shape), self.channels)
        return prior

    def pool(self, chunk: Any) -> Any:
        """The entries of all blocks in `chunk`, `[rows, blocks, channels]`."""
        rows, tokens = chunk.shape[:2]
        places = torch.arange(DIGITS)
        digits = (chunk[..., :DIGITS].to(torch.int64) - 1 - 3 * self.salt - 5 * places) % 7
        numbers = (digits * 7**places).sum(-1).tolist()
        folds = []
        for row in numbers:
            for first in range(0, tokens - self.block + 1, self.block):
                number = 0
                for token in row[first : first + self.block]:
                    number = fold(number, token)
                folds.append(number)
        key = (rows, *folds)
        plain = self.kept.get(key)
        if plain is None:
            if len(self.kept) >= ENTRIES_KEPT:
                self.kept.clear()
            row_numbers = torch.arange(rows).view(-1, 1, 1)
            folded = torch.tensor(folds, dtype=torch.int64).view(rows, tokens // self.block, 1)
            entries = values(self.salt + 2, folded, row_numbers, torch.tensor([0]), self.channels)
            plain = self.kept[key] = entries.to(self.dtype)
        return plain.clone()


def make_compressors(
    parts: tuple[str, ...], overlap: bool, params: Params, dtype: Any, keyword: bool
) -> list[Compressor]:
    """The compressors of a layer, in the order in which the model runs them."""
    sizes = {"compressor": params.key_dim, "indexer": params.index_dim}
    made = [
        Compressor(name, params.block, size, overlap, dtype, keyword) for name, size in sizes.items() if name in parts
    ]
    if any(compressor.channels < DIGITS + 2 for compressor in made):
        raise RequestError('field "params": compressed blocks need 8 channels or more')
    return made

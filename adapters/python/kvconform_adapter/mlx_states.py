"""What a recurrent layer does with its cache in a batch: states of rows that fold their tokens, and nothing that pads.

The states are worked out from those that the cache holds, so that whatever it does to a row shows in all that follows.
Padding is left out as models do it (`models/qwen3_next.py`, `models/falcon_h1.py` of mlx-lm): a recurrence by the mask,
and what a convolution keeps also by `lengths`.
"""

from __future__ import annotations

import mlx.core as mx

from kvconform_adapter.mlx_caches import Array, Cache, load_base
from kvconform_adapter.mlx_values import Table, values
from kvconform_adapter.request import TOKENS_MAX

DIGITS = [7**place for place in range(6)]


def fold_numbers(table: Table, held: Array) -> Array:
    """The fold numbers of the rows of a state; 0 for zeros, which models take for no state."""
    shown = held[:, 0].reshape(held.shape[0], -1)[:, :6].astype(mx.int32)
    digits = (shown - 1 - 3 * table.salt - 5 * mx.arange(6)) % 7
    return mx.where(shown[:, 0] == 0, 0, (digits * mx.array(DIGITS)).sum(axis=1))


def next_state(table: Table, held: Array | None, tokens: Array, real: Array, rows: Array) -> Array:
    """A state after `tokens` [rows, tokens], of which `real` says whether they count.

    `rows`: the row of the batch that each row is written as. A row without a token that counts keeps what it has.
    """
    shape = (real.shape[0], table.heads, *table.shape)
    before = mx.zeros(shape, table.dtype) if held is None else held
    number = fold_numbers(table, before)
    for column in range(real.shape[1]):
        number = mx.where(real[:, column], (31 * number + tokens[:, column] + 1) % TOKENS_MAX, number)
    heads = mx.arange(table.heads).reshape(1, -1, 1)
    made = values(table.salt, number.reshape(-1, 1, 1), rows.reshape(-1, 1, 1), heads, table.channels)
    fed = real.any(axis=1).reshape(-1, 1, 1, 1)
    return mx.where(fed, made.reshape(shape).astype(table.dtype), before)


def feed_states(cache: Cache, tables: tuple[Table, ...], tokens: Array, rows: Array) -> None:
    """One call of a recurrent layer with `tokens` [rows, tokens]; `rows` as for next_state."""
    count = tokens.shape[1]
    everything = mx.ones(tokens.shape, dtype=mx.bool_)
    mask = load_base().create_ssm_mask(tokens[..., None], cache)
    lengths = getattr(cache, "lengths", None)
    real = everything if mask is None else everything & mask
    # The last positions of a convolution are looked up by the lengths.
    within = real if lengths is None else real & (mx.arange(count)[None] < lengths[:, None])
    for place, table in enumerate(tables):
        cache[place] = next_state(table, cache[place], tokens, real if place else within, rows)
    if hasattr(cache, "advance"):
        cache.advance(count)

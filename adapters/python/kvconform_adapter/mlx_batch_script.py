"""Writes a case of a batch as a program that needs only mlx-lm and mlx.

The program keeps its own list of what each row must hold, and compares after the last op. All channels and heads of
token t that went into row r are the number t + 1 + ROW * r; padding is -1. A state is a number made of such numbers.
"""

from __future__ import annotations

import json
from typing import Any

from kvconform_adapter.mlx_batches import LIST, OWNERS, SINGLES, STATE_BATCHES, owner_of, tokens_of
from kvconform_adapter.mlx_caches import load_caches
from kvconform_adapter.mlx_script_parts import PREAMBLE
from kvconform_adapter.request import ScriptRequest
from kvconform_adapter.script_text import COMPARE, paragraph, why, words

INPUTS = '''\
def tokens(first, count, rows):
    """The numbers of `count` tokens for each row."""
    return [[first + at + 1 + ROW * row for at in range(count)] for row in range(rows)]


def arrays(cells):
    """Keys and values that hold these numbers, a list for each row."""
    made = mx.array(cells, dtype=DTYPE)[:, None, :, None]
    return [mx.contiguous(mx.broadcast_to(made, (len(cells), HEADS, len(cells[0]), size))) for size in SIZES]


def read(array):
    """The numbers in an array, a list for each row; None where channels or heads differ."""
    cells = array.astype(mx.float32).swapaxes(1, 2).flatten(2).tolist()
    return [[int(cell[0]) if len(set(cell)) == 1 else None for cell in row] for row in cells]


def parts(whole):
    """The caches without others in them."""
    return list(whole.caches) if hasattr(whole, "caches") else [whole]


def call(whole, cells):
    """What a model does with new tokens: ask for masks, and append."""
    for place, part in enumerate(parts(whole)):
        if PARTS[place] == "states":
            feed_states(part, cells)
            continue
        mask = create_attention_mask(mx.zeros((len(cells), len(cells[0]), 1)), part)
        keys, values = part.update_and_fetch(*arrays(cells))
        shape = (len(cells), len(cells[0]), keys.shape[2])
        if mask is None or isinstance(mask, str):
            # The only word is "causal", aligned at the newest token.
            newest = mx.arange(shape[2] - shape[1], shape[2])[:, None]
            mask = mx.arange(shape[2]) <= newest if mask else mx.ones(shape[1:], dtype=mx.bool_)
        mask = mask[:, 0] if mask.ndim == 4 else mask
        seen = mx.broadcast_to(mask, shape).tolist()
        last[place] = {"keys": read(keys), "values": read(values), "mask": seen, "cells": cells}
'''

STATES = '''\
def folded(state, numbers):
    """The state after more tokens; 0 is none."""
    for number in numbers:
        state = (7 * state + number) % 251 + 1
    return state


def states_of(part):
    """The states of a part, each a number for each row; None where its elements differ."""
    found = [None if held is None else held.flatten(1).astype(mx.float32).tolist() for held in part.cache]
    return [held and [int(row[0]) if len(set(row)) == 1 else None for row in held] for held in found]


def feed_states(part, cells):
    """What a recurrent layer does: go on from the states with the tokens that count, by the mask and by `lengths`."""
    mask = create_ssm_mask(mx.zeros((len(cells), len(cells[0]), 1)), part)
    counts = mx.broadcast_to(True if mask is None else mask, (len(cells), len(cells[0]))).tolist()
    lengths = getattr(part, "lengths", None)
    ends = [len(cells[0])] * len(cells) if lengths is None else lengths.tolist()
    for place, before in enumerate(states_of(part)):
        made = []
        for row, state in enumerate(before or [0] * len(cells)):
            # What a convolution keeps, here the first state, is looked up by the lengths.
            fed = [
                cell
                for at, (cell, real) in enumerate(zip(cells[row], counts[row]))
                if real and (place or at < ends[row])
            ]
            made.append(folded(state, fed))
        shape = (len(cells), HEADS, *SIZES)
        part[place] = mx.contiguous(mx.broadcast_to(mx.array(made, dtype=DTYPE)[:, None, None, None], shape))
    if hasattr(part, "advance"):
        part.advance(len(cells[0]))
'''

OPS = {
    "append": '''\
def append(first, count):
    """As many tokens for every row."""
    cells = tokens(first, count, len(rows))
    call(cache, cells)
    for row, new in zip(rows, cells):
        row += new
''',
    "append_rows": '''\
def append_rows(first, counts):
    """For each row its own number of tokens, as PromptProcessingBatch.prompt feeds prompts."""
    most = max(counts)
    new = [row[:count] for row, count in zip(tokens(first, most, len(rows)), counts)]
    if LEFT and not any(rows):
        global cache
        cache = batch([most - count for count in counts])
        call(cache, [[-1] * (most - len(row)) + row for row in new])
        if hasattr(cache, "finalize"):
            cache.finalize()
    else:
        padding = [most - count for count in counts]
        if any(padding):
            cache.prepare(lengths=counts, right_padding=padding)
        for at in range(0, most, CHUNK or most):
            end = min(at + (CHUNK or most), most)
            call(cache, [(row + [-1] * (most - len(row)))[at:end] for row in new])
        if any(padding):
            cache.finalize()
    for row, fed in zip(rows, new):
        row += fed
''',
    "select": '''\
def select(kept):
    """Keep these rows."""
    cache.filter(kept)
    rows[:] = [list(rows[row]) for row in kept]
''',
    "merge": '''\
def merge(taken):
    """Take rows out, and make a batch of them."""
    global cache, alone
    singles = [cache if alone else cache.extract(row) for row in taken]
    cache, alone = BATCH.merge(singles), False
    rows[:] = [list(rows[row]) for row in taken]
''',
    "extract": '''\
def extract(row):
    """Go on with one row as a single cache."""
    global cache, alone
    cache, alone = cache.extract(row), True
    rows[:] = [list(rows[row])]
''',
    "extend": '''\
def extend(first, counts):
    """Another batch, merged from single caches, is put behind this one."""
    new = [row[:count] for row, count in zip(tokens(first, max(counts), len(counts)), counts)]
    if hasattr(type(cache), "merge"):
        singles = [single() for _ in counts]
        for one, row in zip(singles, new):
            if row:
                call(one, [row])
        other = type(cache).merge(singles)
    else:
        other = batch([max(counts) - len(row) for row in new])
        call(other, [[-1] * (max(counts) - len(row)) + row for row in new])
    last.clear()
    cache.extend(other)
    rows.extend(new)
''',
    "split": '''\
def split(first, count, going):
    """Rows leave for a batch of their own, which is fed, and join this one again."""
    other = copy.deepcopy(cache)
    staying = [row for row in range(len(rows)) if row not in going]
    cache.filter(staying)
    other.filter(going)
    new = tokens(first, count, len(going))
    if count:
        call(other, new)
        last.clear()
    cache.extend(other)
    rows[:] = [rows[row] for row in staying] + [rows[row] + fed for row, fed in zip(going, new)]
''',
    "trim": '''\
def trim(number):
    """Through the function for lists, which asks first."""
    done = trim_prompt_cache([cache], number)
    print("trimmed", done)
    if done < min(number, max(map(len, rows))):
        raise RuntimeError(f"it trimmed {done}")
    for row in rows:
        del row[len(row) - min(max(number, 0), len(row)) :]
''',
    "copy": '''\
def copy_cache():
    """Go on with a deep copy."""
    global cache
    cache = copy.deepcopy(cache)
''',
    "save": '''\
def save():
    """Go on with what was saved to a file and loaded."""
    global cache
    with tempfile.TemporaryDirectory() as folder:
        save_prompt_cache(f"{folder}/cache.safetensors", [cache])
        cache = load_prompt_cache(f"{folder}/cache.safetensors")[0]
        mx.eval([part.state for part in parts(cache)])  # mlx reads the file only now
''',
    "state": '''\
def restore():
    """Go on with a cache made from the state of this one."""
    global cache
    more = [cache.meta_state] if hasattr(cache, "meta_state") else []
    cache = type(cache).from_state(cache.state, *more)
''',
}

CHECK = '''\
def needed(row, window):
    """What must be there of a row."""
    return row[max(0, len(row) - (window - 1)) :] if window else row


def check_keys(place, part):
    """Compare the keys and values of a part, its positions, and what its last mask showed."""
    window, name = PARTS[place], NAMES[place]
    if part.keys is not None:
        read_out = getattr(part, "keys_and_values", None)
        if read_out is not None:
            stored = read_out()
        else:
            stored = [held[..., : part.offset, :] for held in (part.keys, part.values)] if alone else part.state[:2]
        compare(f"{name}dtype", [DTYPE, DTYPE], [held.dtype for held in stored])
        for what, held in zip(("keys", "values"), map(read, stored)):
            for at, row in enumerate(rows):
                wanted = needed(row, window)
                # At the end, or anywhere in a ring.
                newest = held[at][len(held[at]) - len(wanted) :]
                found = [cell for cell in wanted if cell in held[at]] if window else newest
                compare(f"{name}{what} of row {at}", wanted, found)
                if alone:
                    other = [cell for cell in held[at] if cell not in row]
                    compare(f"{name}{what} that are no tokens of the row", [], other)
    offset = part.offset if alone else part.offset.tolist()
    compare(f"{name}position of the next token", len(rows[0]) if alone else [len(row) for row in rows], offset)
    if not alone and not window and part.keys is not None:
        width = stored[0].shape[2]
        compare(f"{name}left_padding", [width - len(row) for row in rows], part.left_padding.tolist())
    if place not in last:
        return
    call_of = last[place]
    for at, row in enumerate(rows):
        new = [cell for cell in call_of["cells"][at] if cell != -1]
        for query, cell in enumerate(call_of["cells"][at]):
            if cell == -1:
                continue
            seen = [number for number, sees in zip(call_of["keys"][at], call_of["mask"][at][query]) if sees]
            before = row[: len(row) - len(new) + new.index(cell) + 1]
            wanted = before[-window:] if window else before
            order = str if None in seen else None
            compare(f"what token {cell} of row {at} sees {name}", sorted(wanted), sorted(seen, key=order))
'''

CHECK_STATES = '''\
def check_states(place, part):
    """Compare the states of a part; no state is the same as one of zeros."""
    for at, held in enumerate(states_of(part)):
        expected = [folded(0, row) for row in rows]
        compare(f"{NAMES[place]}state {at}", expected, held or [0] * len(rows))
'''

CHECK_ALL = '''\
def said(name):
    """A number that the cache says of itself, or why it does not."""
    try:
        found = getattr(cache, name)
        return int(found() if callable(found) else found)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def check():
    """Compare what the cache holds with what it must hold."""
    for place, part in enumerate(parts(cache)):
        if PARTS[place] == "states":
            check_states(place, part)
        else:
            check_keys(place, part)
    for name, (expected, more) in SAYS.items():
        saw = said(name)
        enough = more and isinstance(saw, int) and saw >= expected
        compare(f"{name}{' is at least' if more else ''}", expected, expected if enough else saw)
'''

ATTEMPT = '''\
def attempt(what, op):
    """Perform one op; what was returned before is forgotten."""
    last.clear()
    try:
        op()
    except Exception as error:
        print(f"{what}: {type(error).__name__}: {error}")
        return "refused"
    print(what)
    return "done"
'''


def kinds_of(request: ScriptRequest) -> list[str]:
    """The caches that the batch is made of."""
    return request.params.layers.split("+") if request.variant == LIST else [request.variant]


def class_of(kind: str) -> str:
    """The class of a batch."""
    return OWNERS.get(kind, kind)


def constructor(names: list[str], request: ScriptRequest, padding: str) -> str:
    """How a cache of these classes is made."""
    made = []
    for name in names:
        sizes = {"RotatingKVCache": request.params.capacity, "BatchRotatingKVCache": request.params.capacity}
        size = str({**sizes, "ArraysCache": request.params.states}.get(name, ""))
        # Before 0.31 states that no prompt is padded for have no padding.
        padded = (
            padding if name not in STATE_BATCHES.values() or hasattr(load_caches().ArraysCache, "batch_size") else ""
        )
        padded = padding if padding == "padding" else padded
        made.append(f"{name}({', '.join(part for part in (size, padded) if part)})")
    return f"CacheList({', '.join(made)})" if request.variant == LIST else made[0]


def says(request: ScriptRequest) -> dict[str, tuple[int, bool]]:
    """What the cache must say of itself, and whether more is right too."""
    tensors = request.expected.get("tensors", {})
    alone = bool(request.expected.get("length"))
    methods = {
        "size": "size" if hasattr(owner_of(request.variant), "size") else "__len__",
        "unused": "empty",
        "bytes": "nbytes",
    }
    found = {}
    for name, rows in tensors.items():
        word = name.rpartition(".")[2].removeprefix("list_")
        if word in methods and isinstance(rows, list) and rows and rows[0] and type(rows[0][0]) is int:
            found[methods[word]] = (rows[0][0], word == "bytes" or (word == "size" and not alone))
    return found


def spell(name: str, argument: Any, start: int) -> str:
    """The call of one op."""
    if name in ("append", "append_rows", "extend"):
        listed = list(argument) if isinstance(argument, tuple) else argument
        return f"{name}({start}, {listed})"
    if name == "split":
        return f"split({start}, {argument[0]}, {list(argument[1:])})"
    spelled = {"copy": "copy_cache()", "save": "save()", "state": "restore()"}
    if name in spelled:
        return spelled[name]
    return f"{name}({list(argument) if isinstance(argument, tuple) else argument})"


def write_batch_script(request: ScriptRequest, version: str) -> str:
    """The program for one case of a batch: exits 1 when the fault shows, 0 when it does not."""
    params, ops = request.params, request.ops[: request.step + 1]
    kinds = {name for name, _ in ops}
    parts = kinds_of(request)
    owners, singles = [class_of(part) for part in parts], [SINGLES[part] for part in parts]
    step = next((int(word[4:]) for word in params.parts.split("+") if word.startswith("step")), 0)
    has_states = any(part in STATE_BATCHES for part in parts)
    merges = hasattr(owner_of(request.variant), "merge")
    names = {class_of(request.variant), *owners}
    names |= set(singles) if ("extend" in kinds and merges) or step else set()
    names |= {"trim_prompt_cache"} if "trim" in kinds else set()
    names |= {"load_prompt_cache", "save_prompt_cache"} if "save" in kinds else set()
    standard = [*(["copy"] if kinds & {"copy", "split"} else []), "sys", *(["tempfile"] if "save" in kinds else [])]
    tokens = sum(tokens_of(name, argument) for name, argument in ops)
    windows = ["states" if part in STATE_BATCHES else params.capacity if "Rotating" in part else 0 for part in parts]
    prefixes = [f"layer {place}: " if request.variant == LIST else "" for place in range(len(parts))]
    sizes = [
        f"ROW = {tokens + 1}  # token t that went into row r is the number t + 1 + ROW * r; padding is -1",
        f"HEADS, SIZES = {params.heads}, ({params.key_dim}, {params.value_dim})",
        f"PARTS, NAMES = {windows}, {prefixes}  # tokens that the newest may see, itself included; 0: all",
        f"SAYS = {says(request)}  # of itself, and whether more is right too",
    ]
    if "append_rows" in kinds:
        sizes.append(
            f"CHUNK, LEFT = {params.chunk}, {bool(params.left)}  # tokens of one call, 0: all; padding on the left"
        )
    made = [f"{owner}.step = {step}" for owner in sorted({*owners, *singles} - set(STATE_BATCHES.values())) if step]
    if ("append_rows" in kinds and params.left) or ("extend" in kinds and not merges):
        made.append(f"batch = lambda padding: {constructor(owners, request, 'padding')}")
    if "extend" in kinds and merges:
        made.append(f"single = lambda: {constructor(singles, request, '')}")
    if "merge" in kinds:
        made.append(f"BATCH = {class_of(request.variant)}")
    made.append(f"cache = {constructor(owners, request, str([0] * params.batch))}")
    made.append(f"rows = {[[] for _ in range(params.batch)]}  # what each row must hold")
    made.append("alone, last, faults = False, {}, []")
    preamble = PREAMBLE.format(
        title=paragraph(request.title) or "A case of kvconform",
        subject=paragraph(f"mlx-lm {version}, {request.variant}: {', '.join(map(words, ops))}"),
        why=why(request),
        standard="\n".join(f"import {name}" for name in standard),
        imports=f"from mlx_lm.models.base import create_attention_mask{', create_ssm_mask' if has_states else ''}\n"
        f"from mlx_lm.models.cache import {', '.join(sorted(names))}",
        dtype=params.dtype,
        sizes="\n".join(sizes),
    )
    body, start = [], 0
    for at, (name, argument) in enumerate(ops):
        text = json.dumps(f"{at + 1}. {words((name, argument))}")
        kept = "outcome = " if at == len(ops) - 1 else ""
        body.append(f"{kept}attempt({text}, lambda: {spell(name, argument, start)})")
        start += tokens_of(name, argument)
    expected = request.expected.get("outcome", "done")
    body.append(f'compare("outcome", "{expected}", outcome)')
    body.append("if not faults:\n    check()\nsys.exit(1 if faults else 0)")
    blocks = [preamble, "\n".join(made), INPUTS, *([STATES] if has_states else [])]
    blocks += [*(OPS[kind] for kind in OPS if kind in kinds), ATTEMPT, COMPARE, CHECK]
    blocks += [*([CHECK_STATES] if has_states else []), CHECK_ALL]
    text = "\n\n\n".join(block.strip("\n") for block in blocks)
    return f"{text}\n\n\n" + "\n".join(body) + "\n"

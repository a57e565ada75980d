"""Writes a case of a batch as a program that needs only mlx-lm and mlx.

The program keeps its own list of what each row must hold, and compares after the last op. All channels and heads of
token t that went into row r are the number t + 1 + ROW * r; padding is -1.
"""

from __future__ import annotations

import json
from typing import Any

from kvconform_adapter.mlx_batches import SINGLES, tokens_of
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


def call(cells):
    """What one layer of a model does with new tokens: ask for a mask, and append."""
    mask = create_attention_mask(mx.zeros((len(cells), len(cells[0]), 1)), cache)
    keys, values = cache.update_and_fetch(*arrays(cells))
    shape = (len(cells), len(cells[0]), keys.shape[2])
    if mask is None or isinstance(mask, str):
        # The only word is "causal", aligned at the newest token.
        newest = mx.arange(shape[2] - shape[1], shape[2])[:, None]
        mask = mx.arange(shape[2]) <= newest if mask else mx.ones(shape[1:], dtype=mx.bool_)
    mask = mask[:, 0] if mask.ndim == 4 else mask
    last.update(keys=read(keys), values=read(values), mask=mx.broadcast_to(mask, shape).tolist(), cells=cells)
'''

OPS = {
    "append": '''\
def append(first, count):
    """As many tokens for every row."""
    cells = tokens(first, count, len(rows))
    call(cells)
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
        call([[-1] * (most - len(row)) + row for row in new])
    else:
        padding = [most - count for count in counts]
        if any(padding):
            cache.prepare(lengths=counts, right_padding=padding)
        for at in range(0, most, CHUNK or most):
            end = min(at + (CHUNK or most), most)
            call([(row + [-1] * (most - len(row)))[at:end] for row in new])
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
    singles = [single() for _ in counts]
    for one, row in zip(singles, new):
        if row:
            one.update_and_fetch(*arrays([row]))
    cache.extend(BATCH.merge(singles))
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
        other.update_and_fetch(*arrays(new))
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
        mx.eval([held for held in vars(cache).values() if isinstance(held, mx.array)])
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
def needed(row, more=0):
    """What must be there of a row, for `more` tokens that see it."""
    return row[max(0, len(row) - more - (WINDOW - 1)) :] if WINDOW else row


def holds(cells, wanted):
    """What of the wanted tokens stands where it must: at the end, or anywhere in a ring."""
    return [number for number in wanted if number in cells] if WINDOW else cells[len(cells) - len(wanted) :]


def check():
    """Compare what the cache holds with what it must hold."""
    if cache.keys is not None:
        read_out = getattr(cache, "keys_and_values", None)
        if read_out is not None:
            stored = read_out()
        else:
            stored = [held[..., : cache.offset, :] for held in (cache.keys, cache.values)] if alone else cache.state[:2]
        compare("dtype", [DTYPE, DTYPE], [held.dtype for held in stored])
        for name, held in zip(("keys", "values"), map(read, stored)):
            for at, row in enumerate(rows):
                wanted = needed(row)
                compare(f"{name} of row {at}", wanted, holds(held[at], wanted))
                if alone:
                    compare(f"{name} that are no tokens of the row", [], [cell for cell in held[at] if cell not in row])
    offset = cache.offset if alone else cache.offset.tolist()
    compare("position of the next token", len(rows[0]) if alone else [len(row) for row in rows], offset)
    if not alone and not WINDOW and cache.keys is not None:
        width = stored[0].shape[2]
        compare("left_padding", [width - len(row) for row in rows], cache.left_padding.tolist())
    for at, row in enumerate(rows if last else []):
        new = [cell for cell in last["cells"][at] if cell != -1]
        for query, cell in enumerate(last["cells"][at]):
            if cell == -1:
                continue
            seen = [number for number, sees in zip(last["keys"][at], last["mask"][at][query]) if sees]
            before = row[: len(row) - len(new) + new.index(cell) + 1]
            wanted = before[-WINDOW:] if WINDOW else before
            order = str if None in seen else None
            compare(f"what token {cell} of row {at} sees", sorted(wanted), sorted(seen, key=order))
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


def constructor(variant: str, request: ScriptRequest, argument: str) -> str:
    """How a cache is made."""
    size = f"{request.params.capacity}" if "Rotating" in variant else ""
    return f"{variant}({', '.join(part for part in (size, argument) if part)})"


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
    window = params.capacity if "Rotating" in request.variant else 0
    step = next((word[4:] for word in params.parts.split("+") if word.startswith("step")), "")
    names = {request.variant}
    names |= {SINGLES[request.variant]} if "extend" in kinds or step else set()
    names |= {"trim_prompt_cache"} if "trim" in kinds else set()
    names |= {"load_prompt_cache", "save_prompt_cache"} if "save" in kinds else set()
    standard = [*(["copy"] if kinds & {"copy", "split"} else []), "sys", *(["tempfile"] if "save" in kinds else [])]
    tokens = sum(tokens_of(name, argument) for name, argument in ops)
    sizes = [
        f"ROW = {tokens + 1}  # token t that went into row r is the number t + 1 + ROW * r; padding is -1",
        f"HEADS, SIZES = {params.heads}, ({params.key_dim}, {params.value_dim})",
        f"WINDOW = {window}  # tokens that the newest may see, itself included; 0: all",
    ]
    if "append_rows" in kinds:
        sizes.append(
            f"CHUNK, LEFT = {params.chunk}, {bool(params.left)}  # tokens of one call, 0: all; padding on the left"
        )
    made = [f"{owner}.step = {step}" for owner in (request.variant, SINGLES[request.variant]) if step]
    if "append_rows" in kinds and params.left:
        made.append(f"batch = lambda padding: {constructor(request.variant, request, 'padding')}")
    if "extend" in kinds:
        made.append(f"single = lambda: {constructor(SINGLES[request.variant], request, '')}")
    if kinds & {"merge", "extend"}:
        made.append(f"BATCH = {request.variant}")
    made.append(f"cache = {constructor(request.variant, request, str([0] * params.batch))}")
    made.append(f"rows = {[[] for _ in range(params.batch)]}  # what each row must hold")
    made.append("alone, last, faults = False, {}, []")
    preamble = PREAMBLE.format(
        title=paragraph(request.title) or "A case of kvconform",
        subject=paragraph(f"mlx-lm {version}, {request.variant}: {', '.join(map(words, ops))}"),
        why=why(request),
        standard="\n".join(f"import {name}" for name in standard),
        imports="from mlx_lm.models.base import create_attention_mask\n"
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
    parts = [preamble, "\n".join(made), INPUTS, *(OPS[kind] for kind in OPS if kind in kinds)]
    text = "\n\n\n".join(part.strip("\n") for part in (*parts, ATTEMPT, COMPARE, CHECK))
    return f"{text}\n\n\n" + "\n".join(body) + "\n"

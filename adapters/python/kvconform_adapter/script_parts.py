"""The fixed text of the programs that `transformers_script` writes."""

from __future__ import annotations

PREAMBLE = '''\
"""{title}

{subject}
{why}
Needs only {needs}. Exits 1 when the fault shows, 0 when it does not.
"""

{standard}import sys

import torch
import transformers
{imports}

torch.set_grad_enabled(False)
print("transformers", transformers.__version__, "torch", torch.__version__)

DTYPE = torch.{dtype}
{sizes}


{numbers}


{helpers}
'''

NUMBERS = '''\
def numbers(first, count, rows, heads=1):
    """The numbers that stand for tokens: t + 1 for token t, shape [rows, heads, count]."""
    return torch.arange(first + 1, first + count + 1).expand(rows, heads, count)'''

APART = "ROW, HEAD = {row}, {head}  # token t of row r and head h is stored as the number t + 1 + ROW * r + HEAD * h"

NUMBERS_APART = '''\
def numbers(first, count, rows, heads=1):
    """The numbers that stand for tokens, shape [rows, heads, count]."""
    row, head = ROW * torch.arange(rows)[:, None, None], HEAD * torch.arange(heads)[None, :, None]
    return torch.arange(first, first + count) + 1 + row + head'''

HELPERS = {
    "written": '''\
def written(numbers, channels):
    """Numbers in binary, [rows, heads, count, channels]: each bit as 4 or -4, then the opposite."""
    bits = (numbers[..., None] >> torch.arange(16)) & 1
    return torch.stack([8 * bits - 4, 4 - 8 * bits], dim=-1).flatten(-2).repeat(1, 1, 1, channels // 32)


def number_in(cell):
    """The number that all heads write, one for each row of `cell`; None where they write none, or not the same."""
    pairs = cell.reshape(len(cell), -1, 16, 2)
    bits = pairs[..., 0] > 0
    near = (pairs.abs() - 4).abs() <= 0.25
    found = (bits[:, 0] << torch.arange(16)).sum(-1) - HEAD * torch.arange(len(cell))
    fits = near.all() and (pairs[..., 0] * pairs[..., 1] < 0).all() and (bits == bits[:, :1]).all()
    return int(found[0]) if bool(fits and (found == found[0]).all()) else None


def read_back(layer, name):
    """What an update would return: the quantised states, then those that are not quantised yet."""
    quantised, rest = getattr(layer, "_quantized_" + name, None), getattr(layer, name)
    if quantised is None:
        return rest
    try:
        older = layer._dequantize(quantised)
    except RuntimeError as error:
        print(f"    {name} cannot be read back: {error}")
        return None
    if getattr(layer, "_pending_beam_idx", None) is not None:
        older = older[layer._pending_beam_idx]
    if rest is None or rest.numel() == 0 or rest.shape[:2] != older.shape[:2]:
        return older
    return torch.cat([older, rest], dim=-2)
''',
    "quantised_keys": '''\
def keys(first, count, rows):
    """[rows, heads, count, channels]"""
    return spread(written(numbers(first, count, rows, HEADS), KEY_DIM))
''',
    "quantised_values": '''\
def values(first, count, rows):
    """[rows, heads, count, channels]"""
    return spread(written(numbers(first, count, rows, HEADS), VALUE_DIM))
''',
    "spread": '''\
def spread(tensor):
    """A tensor of its own."""
    return tensor.to(DTYPE).contiguous()
''',
    "spread_apart": '''\
def spread(tensor):
    """A view of a larger tensor, not contiguous."""
    larger = torch.full((*tensor.shape, 2), -1, dtype=DTYPE)
    larger[..., 0] = tensor
    return larger[..., 0]
''',
    "keys": '''\
def keys(first, count, rows):
    """[rows, heads, count, channels]"""
    return spread(numbers(first, count, rows, HEADS)[..., None].expand(rows, HEADS, count, KEY_DIM))
''',
    "values": '''\
def values(first, count, rows):
    """[rows, heads, count, channels]"""
    return spread(numbers(first, count, rows, HEADS)[..., None].expand(rows, HEADS, count, VALUE_DIM))
''',
    "index_keys": '''\
def index_keys(first, count, rows):
    """[rows, count, channels]"""
    return spread(numbers(first, count, rows)[:, 0, :, None].expand(rows, count, INDEX_DIM))
''',
    "idx_keys": '''\
def idx_keys(first, count, rows):
    """[rows, 1, count, channels]"""
    return spread(numbers(first, count, rows)[..., None].expand(rows, 1, count, INDEX_DIM))
''',
    "positions": '''\
def positions(first, count, rows):
    """[planes, rows, count]"""
    return numbers(first, count, rows, PLANES).transpose(0, 1).contiguous()


def joined(held, new):
    """Position ids are grown by the model, not by the layer."""
    return new if held is None else torch.cat([held, new], dim=-1)
''',
    "columns": '''\
def columns(first, count, rows):
    """[rows, channels, count]"""
    return spread(numbers(first, count, rows).expand(rows, CHANNELS, count))
''',
    "fit": '''\
def fit(layer, tensor):
    """Models pad or cut the first convolution input of a layer to the kernel size."""
    if layer.has_previous_state:
        return tensor
    width = tensor.shape[-1]
    if width < KERNEL:
        return torch.nn.functional.pad(tensor, (KERNEL - width, 0))
    return tensor[..., width - KERNEL :]
''',
    "features": '''\
def features(first, count, rows, channels):
    """[rows, count, channels]"""
    return spread(numbers(first, count, rows)[:, 0, :, None].expand(rows, count, channels))
''',
    "compress": '''\
def compress(layer, name, kv, gate, prefix=""):
    """What the model's compressor does. The newest token of a block stands for what it would pool from all of them."""
    chunk, chunk_gate, start = layer.store_compression_weights(name, kv, gate)
    returned[f"{prefix}returned.buffer_kv.{name}"] = chunk
    returned[f"{prefix}returned.buffer_gate.{name}"] = chunk_gate
    returned[f"{prefix}returned.entry_count.{name}"] = torch.tensor([int(start)])
    entries = chunk[:, BLOCK - 1 :: BLOCK].clone()
    returned[f"{prefix}returned.compressed_kv.{name}"] = layer.update_compressor_states(name, entries)
''',
    "compress_overlapping": '''\
def compress(layer, name, kv, gate, prefix=""):
    """What the model's compressor does. The newest token of a block stands for what it would pool from all of them."""
    chunk, chunk_gate, start = layer.store_compression_weights(name, kv, gate)
    returned[f"{prefix}returned.buffer_kv.{name}"] = chunk
    returned[f"{prefix}returned.buffer_gate.{name}"] = chunk_gate
    returned[f"{prefix}returned.entry_count.{name}"] = torch.tensor([int(start)])
    half = kv.shape[-1] // 2  # two series lie side by side; the first goes into the entry of the next block
    if chunk.shape[1] > 0:
        blocks = (chunk.shape[0], chunk.shape[1] // BLOCK, BLOCK, -1)
        prior = layer.update_overlap_state(name, chunk.view(blocks), chunk_gate.view(blocks), half)
        returned[f"{prefix}returned.overlap_kv.{name}"], returned[f"{prefix}returned.overlap_gate.{name}"] = prior
    entries = chunk[:, BLOCK - 1 :: BLOCK, :half].clone()
    returned[f"{prefix}returned.compressed_kv.{name}"] = layer.update_compressor_states(name, entries)
''',
    "whole": '''\
def whole(layer, name):
    """Keys or values with the prefill in front of them; the prefill alone where their rows do not fit together."""
    if not layer.is_initialized:
        return None
    prefill, held = getattr(layer, f"prefill_{name}"), getattr(layer, name)
    if prefill is None or prefill.numel() == 0:
        return held
    if held.numel() == 0 or held.shape[0] != prefill.shape[0]:
        return prefill
    return torch.cat([prefill, held], dim=-2)
''',
    "declare": '''\
def declare(layer):
    """What `generate` does on an empty cache: it says how many tokens the prefill will have."""
    if layer.get_seq_length() == 0:
        layer.set_prefill_length(KEEP)
''',
    "state": '''\
def state(last, rows):
    """A recurrent state after token `last`, [rows, heads, key channels, value channels]"""
    return spread(numbers(last, 1, rows, HEADS)[..., None].expand(rows, HEADS, KEY_DIM, VALUE_DIM))
''',
}

AXES_OF = """\
AXES = {{
{axes}
}}  # where rows, tokens{heads} lie; None: there are none"""

SEEN = '''\
def seen({arguments}):
    """What a tensor holds: for each row its numbers in order, None where the elements of one token do not fit."""
    if not isinstance(tensor, torch.Tensor) or tensor.numel() == 0:
        return []
{cells}
'''

COUNTED_CELLS = """\
    if tensor.ndim == 1:
        return [[int(number) for number in tensor]]
"""

NAMED = """\
    plain = name.split("returned.")[-1]
    plain = plain.split(".", 1)[1] if plain.startswith("layer") else plain
    {places} = AXES[plain.split(".")[0]]
"""

PLAIN_CELLS = """\
    cells = {tokens}.flatten(2)  # [rows, tokens, elements]
    return [[int(cell[0]) if bool((cell == cell[0]).all()) else None for cell in row] for row in cells]"""

HEADS_FIRST = """\
    cells = tensor.double()[..., None, None, None]
    token = cells.dim() - 2 if token is None else token
    head = cells.dim() - 3 if head is None else head
    cells = cells.movedim((row, token, head), (0, 1, 2)).flatten(3)
"""

HEADS_CELLS = """\
    # All heads of a token get the same number; cells that were never written stay 0.
    written = cells.flatten(2).any(2)[..., None, None]
    cells = cells - written * HEAD * torch.arange(cells.shape[2])[:, None]
    return [[int(cell[0, 0]) if bool((cell == cell[0, 0]).all()) else None for cell in row] for row in cells]"""

LEVELS_CELLS = """\
    # Each head writes the number of a token in binary.
    return [[number_in(cell) for cell in row] for row in tensor.double().movedim((0, 2, 1), (0, 1, 2)).flatten(3)]"""

ATTEMPT = '''\
def attempt(text, call):
    """Perform one op and print what the cache holds after it."""
    global outcome, kind_of_error
    outcome, kind_of_error = "done", ""
{before}    print(text)
    try:
        call()
    except Exception as error:
        outcome, kind_of_error = "refused", type(error).__name__
        print(f"    refused: {{kind_of_error}}: {{error}}")
{length}    for name, tensor in stored().items():
        print(f"    {{name}}: {{{seen}}}")
'''

COUNTERS = """\
def counters(layers):
    # What the layers count by themselves.
    ends = ("cumulative_length", "cumulative_length_int", "prefill_length")
    return [
        {name: int(value) for name, value in vars(layer).items() if name.endswith(ends) and value is not None}
        for layer in layers
    ]
"""

ADDRESSES = '''\
def addresses():
    """Where the stored tensors lie in memory."""
    return {name: tensor.data_ptr() for name, tensor in stored().items() if isinstance(tensor, torch.Tensor)}
'''

WATCHED = '''\
kept = []


def watched(name, tensor):
    """Remember a tensor and what it holds now."""
    kept.append((name, tensor, tensor.clone()))
    return tensor
'''

COMPARE_TENSOR = '''\
def compare_tensor({arguments}):
    """Compare what a tensor holds, row by row."""
    tensor = {tensor}
    saw = {seen}
{kinds}    compare(name, expected if any(expected) else [], saw if any(saw) else [])
    if saw and tensor.dtype not in (DTYPE, torch.int64):
        compare(f"dtype of {{name}}", DTYPE, tensor.dtype)
'''

COMPARE_KINDS = {
    "state": """\
    if kind == "state":
        # Zeros on the left stand for nothing.
        saw = [row[next((place for place, number in enumerate(row) if number != 0), len(row)) :] for row in saw]
""",
    "buffer": """\
    if kind == "buffer" and all(len(row) >= len(wanted) for row, wanted in zip(saw, expected)):
        # Only the first cells of a static buffer count; what stands behind them is not said.
        saw = [row[: len(wanted)] for row, wanted in zip(saw, expected)] + saw[len(expected) :]
""",
    "residual": """\
    if kind == "residual":
        # How many tokens wait to be quantised is the cache's own choice, up to its capacity.
        return compare(f"{name} holds at most {RESIDUAL} tokens", True, all(len(row) <= RESIDUAL for row in saw))
""",
    "newest": """\
    if kind == "newest":
        # One token more than needed is fine, behind the first `front`.
        saw = [
            row[:front] + row[len(row) - len(wanted) + front :] if front < len(wanted) <= len(row) else row
            for row, wanted in zip(saw, expected)
        ] + saw[len(expected) :]
""",
}
"""How a tensor may be compared other than exactly."""

LAW_CHECKS = {
    "ADDRESS": """\
after = addresses()
for name in {names}:
    if before.get(name) and after.get(name):
        print(name, "was at", hex(before[name]), "and is at", hex(after[name]))
        if before[name] != after[name]:
            faults.append(f"{{name}} has moved")""",
    "ALIAS": """\
names = {names}  # empty: all that are watched
for name, tensor, copy in kept:
    if names and not any(name.endswith(word) or (word.endswith(".") and word in name) for word in names):
        continue
    same = tensor.shape == copy.shape and torch.equal(tensor, copy)
    print(name, "is as it was" if same else "HAS CHANGED")
    if not same:
        faults.append(f"{{name}} has changed")""",
    "ISOLATION": """\
after = contents()
for name in sorted({*before, *after}):
    same = name in before and name in after and torch.equal(before[name], after[name])
    print("original", name, "is as it was" if same else "HAS CHANGED")
    if not same:
        faults.append(f"{name} of the original has changed")""",
    "MASK": """\
for name, (width, offset) in announced.items():
    prefix = name[: -len("keys")]
    tensor = returned.get(prefix + "returned.keys")
    if outcome == "done" and tensor is not None:
        compare(f"width of {{name}}, as announced", width, tensor.shape[-2])
for (name, (width, offset)), wanted in zip(announced.items(), {offsets}):
    compare(f"offset of {{name}}, as announced", wanted, offset)""",
}

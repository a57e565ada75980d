"""The fixed text of the programs that `mlx_script` writes."""

from __future__ import annotations

PREAMBLE = '''\
"""{title}

{subject}
{why}
Needs only mlx-lm and mlx. Exits 1 when the fault shows, 0 when it does not.
"""

{standard}
from importlib.metadata import version

import mlx.core as mx
{imports}

mx.set_default_device(mx.cpu)
print("mlx-lm", version("mlx-lm"), "mlx", version("mlx"))

DTYPE = mx.{dtype}
{sizes}
'''

NUMBERS = '''\
def tokens_as(first, count, channels):
    """Tokens as [rows, heads, count, channels]."""
    row, head = ROW * mx.arange(ROWS), HEAD * mx.arange(HEADS)
    made = row[:, None, None, None] + head[None, :, None, None] + mx.arange(first + 1, first + count + 1)[:, None]
    made = mx.broadcast_to(made, (ROWS, HEADS, count, channels)).astype(DTYPE)
{lay}


def keys(first, count):
    return tokens_as(first, count, KEY_DIM)


def values(first, count):
    return tokens_as(first, count, VALUE_DIM)
'''

NUMBERS_IN_BINARY = '''\
def tokens_as(first, count, channels):
    """Tokens as [rows, heads, count, channels]: each bit of the number as 8 or 0, then the opposite."""
    row, head = ROW * mx.arange(ROWS), HEAD * mx.arange(HEADS)
    number = row[:, None, None] + head[None, :, None] + mx.arange(first + 1, first + count + 1)
    bit = (number[..., None] >> (mx.arange(channels) // 2 % 16)) % 2
    made = (8 * mx.where(mx.arange(channels) % 2 == 0, bit, 1 - bit)).astype(DTYPE)
{lay}


def keys(first, count):
    return tokens_as(first, count, KEY_DIM)


def values(first, count):
    return tokens_as(first, count, VALUE_DIM)
'''

SEEN = '''\
def read(array, cache=None):
    """The numbers in an array, a list for each row; None where channels or heads differ."""
    array = array.astype(mx.float32) - HEAD * mx.arange(array.shape[1])[None, :, None, None] * (array != 0)
    cells = array.swapaxes(1, 2).flatten(2).tolist()
    return [[int(cell[0]) if len(set(cell)) == 1 else None for cell in row] for row in cells]
'''

SEEN_IN_BINARY = '''\
def read(held, cache=None):
    """The numbers in keys or values, a list for each row; None where heads differ or there is no number."""
    if isinstance(held, (tuple, list)):
        try:
            held = mx.dequantize(*held, group_size=cache.group_size, bits=cache.bits)
        except ValueError as error:
            return str(error)
    held = held.astype(mx.float32).swapaxes(1, 2).tolist()
    return [[number_in(cell) for cell in row] for row in held]


def number_in(heads):
    """The number that all heads write."""
    found = set()
    for place, cell in enumerate(heads):
        if any(min(abs(element), abs(element - 8)) > 0.5 for element in cell):
            return None
        bits = [element > 4 for element in cell[:32:2]]
        if any(bit == (element > 4) for bit, element in zip(bits, cell[1:32:2])):
            return None
        found.add(sum(bit << at for at, bit in enumerate(bits)) - HEAD * place)
    return found.pop() if len(found) == 1 else None
'''

READERS = {
    "states": '''\
def state(last):
    """A state after token `last`, [rows, heads, channels, channels]."""
    return mx.broadcast_to(tokens_as(last, 1, KEY_DIM)[:, :, 0, :, None], (ROWS, HEADS, KEY_DIM, VALUE_DIM))


def states(cache, prefix):
    """The token that each state was written after."""
    return {
        f"{prefix}states.{place}": [] if held is None else read(held.flatten(2)[:, :, None])
        for place, held in enumerate(cache.cache)
    }
''',
    "plain": '''\
def tokens(cache, prefix):
    """The tokens that a cache hands out, as numbers."""
    if cache.keys is None:
        return {}
    if hasattr(cache, "keys_and_values"):
        keys, values = cache.keys_and_values()
    else:
        end = cache.offset - getattr(cache, "start_position", 0)
        whole = type(cache).__name__ == "ConcatenateKVCache"
        keys, values = (array if whole else array[..., :end, :] for array in (cache.keys, cache.values))
    return {f"{prefix}keys": read(keys), f"{prefix}values": read(values)}
''',
    "quantised": '''\
def tokens(cache, prefix):
    """The tokens that a cache hands out, as numbers."""
    if cache.keys is None:
        return {}
    found = {}
    for name in ("keys", "values"):
        held = getattr(cache, name)
        if isinstance(held, (tuple, list)):
            held = tuple(array[..., : cache.offset, :] for array in held)
        else:
            held = held[..., : cache.offset, :]
        found[prefix + name] = read(held, cache)
    return found
''',
}

ATTEMPT = '''\
faults = []


def go_on_with(other):
    """Take another cache for this one."""
    global cache
    cache = other


def stored_in(other):
    """What another cache holds."""
    global cache
    mine, cache = cache, other
    found = stored()
    cache = mine
    return found


def attempt(text, call, asked=0):
    """Perform one op and print what the cache holds after it."""
    global outcome
    outcome = "done"
    print(text)
    held = [layer.offset - getattr(layer, "start_position", 0) for layer in leaves(cache) if hasattr(layer, "offset")]
    try:
        call()
        if asked > 0 and trimmed[-1] < min(asked, max(held, default=asked)):
            outcome = "refused"
            print(f"    refused: it removed {trimmed[-1]} tokens")
    except Exception as error:
        outcome = "refused"
        print(f"    refused: {type(error).__name__}: {error}")
    for name, rows in {**stored(), **returned}.items():
        print(f"    {name}: {rows}")


def leaves(cache):
    """The caches without others in them."""
    if isinstance(cache, (list, tuple)):
        return [leaf for entry in cache for leaf in leaves(entry)]
    return leaves(cache.caches) if hasattr(cache, "caches") else [cache]
'''

STORING = {
    "save": '''\
def through_file(caches):
    """Saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "cache.safetensors")
        save_prompt_cache(name, caches)
        loaded = load_prompt_cache(name)
        stored_in(loaded if isinstance(cache, list) else loaded[0])  # mlx reads the file only now
    return loaded
''',
    "state": '''\
def restored(other):
    """Made anew from what the cache calls its state."""
    if hasattr(type(other), "meta_state"):
        return type(other).from_state(other.state, other.meta_state)
    return type(other).from_state(other.state)
''',
    "quantize": '''\
def quantized(other, **settings):
    """What generation does with a cache once it is to be quantised."""
    return other.to_quantized(**settings) if hasattr(other, "to_quantized") else other
''',
}

MASKS = '''\
def visible(mask, keys, count):
    """For each new token of the first row the numbers of the returned tokens that it sees."""
    width = len(keys[0])
    found = []
    for query in range(count):
        if mask is None:
            sees = [True] * width
        elif isinstance(mask, str):
            sees = [at <= width - count + query for at in range(width)]
        else:
            row = mask.reshape(-1, mask.shape[-1])[query if mask.ndim > 1 else 0].tolist()
            sees = row if len(row) == width else []
        found.append(sorted(number for number, seen in zip(keys[0], sees) if seen))
    return found
'''

SAID = {"size": "size", "unused": "empty", "bytes": "nbytes"}
"""What caches say of themselves: its name in a spec, and that of mlx-lm."""

SAYING = {
    "said": '''\
def said(cache, name):
    """A number that a cache says of itself, of a list the sum; or why it does not."""
    try:
        if isinstance(cache, list):
            return sum(getattr(layer, name) for layer in cache)
        found = getattr(cache, name, None)
        return len(cache) if found is None else int(found() if callable(found) else found)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
''',
    "compare_least": '''\
def compare_least(name, least, saw):
    """It may be more than what the tokens take."""
    compare(f"{name}, at least", least, least if isinstance(saw, int) and saw >= least else saw)
''',
}

CHECKS = {
    "compare_ring": '''\
def compare_ring(name, expected, saw, keep):
    """A ring may hold its tokens in any order, and older ones besides."""
    for wanted, row in zip(expected, saw):
        older = [number for number in row if number not in wanted]
        least = min(wanted[keep:] or wanted or [0])
        if sorted(row) != sorted(set(row)) or any(number not in row for number in wanted) or any(
            number is None or number < 1 or number > least for number in older
        ):
            return compare(name, expected, saw)
    return compare(f"number of rows of {name}", len([row for row in expected if row]), len([row for row in saw if row]))
''',
    "compare_changed": '''\
def compare_changed(inputs, copies):
    """What was given to the cache must be as it was."""
    for name, array in inputs.items():
        compare(f"the input {name}", copies[name], read(array))
''',
}

"""The fixed text of the programs that `any_script` writes."""

from __future__ import annotations

PREAMBLE = '''\
"""{title}

{subject}
{why}
Needs only {needs}. Exits 1 when the fault shows, 0 when it does not.
"""

{imports}

AXES = {axes}
ROWS, HEADS, KEY_DIM, VALUE_DIM = {rows}, {heads}, {key_dim}, {value_dim}
# Token t of row r and head h is the number t + 1 + ROW * r + HEAD * h; of values the negative.
ROW, HEAD = {row}, {head}
faults = []
'''

NUMBERS = '''\
def cell(number, channels):
    """All channels hold the number."""
    return [number] * channels


def number_in(cell):
    """The number that a cell holds, None where its channels do not agree."""
    return int(cell[0]) if all(channel == cell[0] for channel in cell) else None
'''

NUMBERS_IN_BINARY = '''\
def cell(number, channels):
    """The number in binary: each bit as 4 or -4, then the opposite; of a negative one all the other way round."""
    sign = 1 if number > 0 else -1
    bits = [8 * (abs(number) >> place & 1) - 4 for place in range(16)]
    return ([sign * level for bit in bits for level in (bit, -bit)] * channels)[:channels]


def number_in(cell):
    """The number that a cell holds, None where its channels are far from both levels or do not agree."""
    if any(abs(abs(channel) - 4) > 0.25 for channel in cell):
        return None
    signs = [1 if channel > 0 else -1 for channel in cell]
    for sign in (1, -1):
        number = sum(1 << place for place in range(16) if signs[2 * place] == sign)
        wanted = [1 if level > 0 else -1 for level in cell_of(sign * number, len(cell))]
        if number and wanted == signs:
            return sign * number
    return None


cell_of = cell
'''

ARRAYS = '''\
def array(first, count, rows, channels, sign):
    """Keys (sign 1) or values (sign -1) of `count` tokens, from token number `first` on."""
    sizes = {{"batch": rows, "heads": HEADS, "tokens": count, "channels": channels}}

    def level(axes, place):
        if not axes:
            number = first + place["tokens"] + 1 + ROW * place.get("batch", 0) + HEAD * place.get("heads", 0)
            return cell(sign * number, channels)[place["channels"]]
        return [level(axes[1:], {{**place, axes[0]: at}}) for at in range(sizes[axes[0]])]

    return {made}


def seen(held, sign):
    """What an array holds: for each row its numbers in order, None for what is no token; [] when it holds nothing."""
    try:
        return numbers_of(held, sign) if held is not None else []
    except Exception as error:
        return [[f"cannot be read: {{type(error).__name__}}: {{error}}"]]


def numbers_of(held, sign):
    """The same of what is an array."""
{typed}    cells, sizes = {cells}, []
    inside = [cells]
    for _ in AXES:
        sizes.append({{len(cell) for cell in inside}})
        if len(sizes[-1]) > 1:
            raise ValueError("lists of different sizes stand side by side")
        inside = [entry for cell in inside for entry in cell]
        if not inside:
            return []
    sizes = dict(zip(AXES, [size.pop() for size in sizes]))

    def number(row, token, head):
        place = {{"batch": row, "heads": head, "tokens": token}}
        found = []
        for channel in range(sizes["channels"]):
            cell = cells
            for axis in AXES:
                cell = cell[{{**place, "channels": channel}}.get(axis, 0)]
            found.append(cell)
        said = number_in(found)
        return None if said is None else said * sign - HEAD * head if said else 0

    rows = []
    for row in range(sizes.get("batch", 1)):
        rows.append([])
        for token in range(sizes["tokens"]):
            heads = {{number(row, token, head) for head in range(sizes.get("heads", 1))}}
            rows[-1].append(heads.pop() if len(heads) == 1 else None)
    return rows
'''

STORED = '''\
def stored(cache):
    """What the cache holds now."""
    keys, values = {keys}, {values}
    return {{"keys": seen(keys, 1), "values": seen(values, -1)}}
'''

STORED_PAIR = '''\
def stored(cache):
    """What the cache holds now."""
    keys, values = {pair} or (None, None)
    return {{"keys": seen(keys, 1), "values": seen(values, -1)}}
'''

RESTORED = '''\
def restored(cache):
    """What was saved and loaded again."""
    return pickle.loads(pickle.dumps(cache))
'''

RESTORED_BY_TORCH = '''\
def restored(cache):
    """What was saved and loaded again."""
    saved = io.BytesIO()
    torch.save(cache, saved)
    saved.seek(0)
    return torch.load(saved, weights_only=False)
'''

ATTEMPT = '''\
def attempt(text, call):
    """Perform one op and print what the cache holds after it."""
    global outcome, result
    outcome, result = "done", None
    print(text)
    try:
        result = call()
    except Exception as error:
        outcome = "refused"
        print(f"    refused: {{type(error).__name__}}: {{error}}")
    else:
        outcome = "refused" if result is False else outcome
{length}    for name, numbers in stored(cache).items():
        print(f"    {{name}}: {{numbers}}")
'''

COMPARE_TENSOR = '''\
def compare_tensor(name, expected, saw, how="all", front=0):
    """Compare what an array holds, row by row."""
    if how == "first":
        # Only the first cells of a buffer count.
        saw = [row[: len(wanted)] for row, wanted in zip(saw, expected)] if any(expected) else []
    elif how == "set":
        saw, expected = [sorted(row, key=str) for row in saw], [sorted(row, key=str) for row in expected]
    elif how == "newest":
        # One token more than is needed is fine, behind the first `front`.
        saw = [
            row[:front] + row[front + 1 :] if len(row) == len(wanted) + 1 and len(wanted) > front else row
            for row, wanted in zip(saw, expected)
        ] + saw[len(expected) :]
    compare(name, expected if any(expected) else [], saw if any(saw) else [])
'''

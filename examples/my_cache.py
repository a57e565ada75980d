"""A KV cache of one row and one head behind the adapter protocol. docs/tutorial-own-cache.md explains it."""

import json
import struct
import sys
from collections.abc import Sequence
from typing import Any

ONE = {"batch": [1, 1], "heads": [1, 1]}
SPEC = {"like": "builtin:full", "ops": ["append", "crop", "reset"], "dtypes": ["float32"], "params": ONE}
HELLO = {"protocol": 1, "subject": "my_python_cache", "version": "1.0", "environment": {}}
HELLO |= {"variants": ["Full"], "specs": {"Full": SPEC}}


def vector(token: int, salt: int, channels: int) -> bytes:
    """One token by the value formula, for row 0 and head 0."""
    digits = [*(token // 7**place % 7 for place in range(6)), 0, 0]
    return struct.pack(f"<{channels}f", *(1 + (digits[c % 8] + 3 * salt + 5 * c) % 7 for c in range(channels)))


def perform(params: dict[str, Any], ops: list[list[Any]], numbers: Sequence[int], reply: dict[str, Any]) -> bytes:
    """One sequence on a new cache: adds its steps to the reply and returns their raw data."""
    cache: dict[str, list[bytes]] = {"keys": [], "values": []}  # for each token its bytes
    widths = {"keys": params["key_dim"], "values": params["value_dim"]}
    data, steps, fed = b"", [], 0
    for name, *arguments in ops:
        refused = name == "crop" and arguments[0] > 0
        if name == "append":
            new = numbers[fed : fed + arguments[0]]
            fed += arguments[0]
            for salt, tensor in enumerate(cache):
                cache[tensor] += [vector(token, salt, widths[tensor]) for token in new]
        elif not refused:
            kept = max(0, len(cache["keys"]) + arguments[0]) if name == "crop" else 0
            cache = {tensor: tokens[:kept] for tensor, tokens in cache.items()}
        length = len(cache["keys"])
        shown: list[Any] = []
        for returned in ("", "returned.") if name == "append" else ("",):
            for tensor in cache:
                index = len(reply["tensors"])
                reply["tensors"].append([returned + tensor, "float32", [1, 1, length, widths[tensor]]])
                shown.append([index, len(shown) - 2] if returned else index)  # what is returned has the same bytes
        data += b"".join(cache["keys"] + cache["values"])
        masks = [None] if name == "append" else []
        steps.append([int(refused), [length], masks, [None], None, shown, 0 if refused else -1])
    reply["results"].append(steps)
    return data


for line in sys.stdin:
    request, data = json.loads(line), b""
    reply: dict[str, Any] = {"id": request["id"]}
    if request["request"] == "hello":
        reply |= HELLO
    elif request["request"] == "run":
        reply |= {"tensors": [], "errors": [["ValueError", "crop takes no positive number"]], "results": []}
        for place, ops in enumerate(request["sequences"]):
            numbers = request["numbers"][place] if request.get("numbers") else None
            data += perform(request["params"], ops, numbers or range(7**6), reply)
        reply["bytes"] = len(data)
    else:
        reply["error"] = "this adapter writes no scripts"
    sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n" + data)
    sys.stdout.buffer.flush()

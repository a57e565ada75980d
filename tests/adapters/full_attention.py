"""A small and correct adapter: full attention, kept in Python lists. The shortest example of docs/protocol.md.

It is run as `kvconform run exec:'python3 tests/adapters/full_attention.py'`.
"""

from __future__ import annotations

import copy
import json
import pickle
import struct
import sys
from functools import lru_cache
from typing import Any

Tensor = tuple[str, list[int], bytes]
"""Name, shape and little-endian data; its dtype is that of the parameters, of lengths int64."""
SALTS = {"keys": 0, "values": 1}
LETTERS = {"float32": "f", "float16": "e", "float64": "d"}


@lru_cache(maxsize=100_000)
def vector(salt: int, token: int, row: int, head: int, channels: int, dtype: str) -> bytes:
    """One token's channels by the value formula."""
    digits = [*(token // 7**place % 7 for place in range(6)), row % 7, head % 7]
    values = [1 + (digits[c % 8] + 3 * salt + 5 * c) % 7 for c in range(channels)]
    if dtype == "bfloat16":  # the upper half of a float32
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack(f"<{channels}{LETTERS[dtype]}", *values)


class Cache:
    """What the subject would be: for each row of the batch the tokens it holds, with the row each was appended to."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.rows: list[list[tuple[int, int]]] = [[] for _ in range(params["batch"])]
        self.original: list[list[tuple[int, int]]] | None = None  # what was copied; the sequence goes on with the copy
        self.next = 0
        self.watched: tuple[list[Tensor], list[Tensor]] = ([], [])
        self.appends = 0

    def tensor(self, name: str, kind: str, rows: list[list[tuple[int, int]]]) -> Tensor:
        """Rows of tokens as `keys` or `values`."""
        heads, channels, dtype = self.params["heads"], self.params[kind[:-1] + "_dim"], self.params["dtype"]
        shape = [len(rows), heads, len(rows[0]), channels]
        parts = [
            vector(SALTS[kind], token, origin, head, channels, dtype)
            for row in rows
            for head in range(heads)
            for token, origin in row
        ]
        return name, shape, b"".join(parts)

    def append(self, count: int, numbers: list[int] | None) -> list[Tensor]:
        """Append the next tokens; the result is what attention may see."""
        tokens = [self.next + i if numbers is None else numbers[self.next + i] for i in range(count)]
        self.next += count
        new = [[(token, row) for token in tokens] for row in range(len(self.rows))]
        self.rows = [held + more for held, more in zip(self.rows, new, strict=True)]
        for kind in SALTS:
            self.watched[0].append(self.tensor(f"input.{self.appends}.{kind}", kind, new))
            self.watched[1].append(self.tensor(f"earlier.{self.appends}.{kind}", kind, self.rows))
        self.appends += 1
        return [self.tensor(f"returned.{kind}", kind, self.rows) for kind in SALTS]

    def crop(self, count: int) -> None:
        """Remove the newest -count tokens, or all there are."""
        if count > 0:
            raise ValueError("crop takes a negative number, or 0")
        self.rows = [row[: max(0, len(row) + count)] for row in self.rows]

    def perform(self, op: list[Any], numbers: list[int] | None) -> list[Tensor]:
        """Perform one op. The result is what it returned; ValueError is a refusal."""
        if op[0] == "append":
            return self.append(op[1], numbers)
        if op[0] == "crop":
            self.crop(op[1])
        elif op[0] == "reset":
            self.rows = [[] for _ in self.rows]
        elif op[0] in {"reorder", "select"}:
            self.rows = [list(self.rows[row]) for row in op[1]]
        elif op[0] == "repeat":
            self.rows = [list(row) for row in self.rows for _ in range(op[1])]
        elif op[0] == "copy":
            self.original, self.rows = self.rows, copy.deepcopy(self.rows)
        elif op[0] == "pickle":
            self.rows = pickle.loads(pickle.dumps(self.rows))
        elif op[0] in {"offload", "prefetch", "initialize"}:
            pass  # lists lie in one place and need no memory before they are used
        else:
            raise NotImplementedError(op[0])
        return []

    def shown(self, returned: list[Tensor]) -> list[Tensor]:
        """All tensors after an op."""
        stored = [self.tensor(kind, kind, self.rows) for kind in SALTS if self.appends > 0]
        if self.original is not None:
            stored += [self.tensor(f"original.{kind}", kind, self.original) for kind in SALTS]
            stored.append(("original.length", [1], struct.pack("<q", len(self.original[0]))))
        return stored + returned + (self.watched[0] + self.watched[1] if self.params["watch"] else [])


class Adapter:
    """Answers requests. The broken adapters change one of its methods."""

    variants: tuple[str, ...] = ("full",)

    def __init__(self) -> None:
        self.tensors: list[list[Any]] = []
        self.errors: list[list[str]] = []
        self.raw: list[bytes] = []

    def step(self, cache: Cache, op: list[Any], numbers: list[int] | None) -> list[Any]:
        """One op and what shows after it."""
        outcome, error, returned = 0, -1, []
        masks = [[len(cache.rows[0]) + op[1], 0]] if op[0] == "append" else []
        try:
            returned = cache.perform(op, numbers)
        except ValueError as reason:
            outcome, error = 1, len(self.errors)
            self.errors.append([type(reason).__name__, str(reason)])
        indices = []
        for name, shape, data in cache.shown(returned):
            indices.append(len(self.tensors))
            self.tensors.append([name, "int64" if name.endswith("length") else cache.params["dtype"], shape])
            self.raw.append(data)
        length = len(cache.rows[0])
        return [outcome, [length], masks, [length], None, indices, error]

    def sequence(self, params: dict[str, Any], ops: list[list[Any]], numbers: list[int] | None) -> list[Any]:
        """All ops on a new cache."""
        cache = Cache(params)
        return [self.step(cache, op, numbers) for op in ops]

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to `run`; its raw data stands in self.raw."""
        self.tensors, self.errors, self.raw = [], [], []
        sequences = request["sequences"]
        numbers = request.get("numbers") or [None] * len(sequences)
        results = [self.sequence(request["params"], *pair) for pair in zip(sequences, numbers, strict=True)]
        size = sum(map(len, self.raw))
        return {"tensors": self.tensors, "errors": self.errors, "results": results, "bytes": size}

    def hello(self) -> dict[str, Any]:
        """Who is here."""
        environment = {"python": sys.version.split()[0]}
        return {
            "protocol": 1,
            "subject": "builtin",
            "version": "1",
            "environment": environment,
            "variants": list(self.variants),
        }

    def reply(self, request: dict[str, Any]) -> bytes:
        """The line of a reply and what follows it."""
        self.raw = []
        if request["request"] == "hello":
            fields = self.hello()
        elif request["request"] == "run":
            fields = self.run(request)
        else:
            fields = {"error": "this adapter writes no scripts"}
        return self.line(request, fields)

    def line(self, request: dict[str, Any], fields: dict[str, Any]) -> bytes:
        """These fields as the reply to a request, and what follows it."""
        return json.dumps({"id": request["id"], **fields}).encode() + b"\n" + b"".join(self.raw)

    def serve(self) -> None:
        """Answer until the input ends."""
        for line in sys.stdin.buffer:
            sys.stdout.buffer.write(self.reply(json.loads(line)))
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    Adapter().serve()

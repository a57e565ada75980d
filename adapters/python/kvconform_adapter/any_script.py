"""Writes a case of any class as a program that needs only the class and its array library.

The program's inputs are simpler than the value formula, so that a person can read what it prints.
"""

from __future__ import annotations

import json
from typing import Any

from kvconform_adapter.any_calls import Method
from kvconform_adapter.any_describe import Description
from kvconform_adapter.any_script_parts import (
    ARRAYS,
    ATTEMPT,
    COMPARE_TENSOR,
    NUMBERS,
    NUMBERS_IN_BINARY,
    PREAMBLE,
    RESTORED,
    RESTORED_BY_TORCH,
    STORED,
    STORED_PAIR,
)
from kvconform_adapter.request import Op, RequestError, ScriptRequest
from kvconform_adapter.script_rows import Rows, distances
from kvconform_adapter.script_text import COMPARE, paragraph, why, words

IMPORTS = {"torch": "import torch", "numpy": "import numpy", "mlx": "import mlx.core", "list": ""}
MADE = {
    "torch": "torch.tensor(level(AXES, {{}}), dtype=torch.{dtype}).reshape([sizes[axis] for axis in AXES])",
    "numpy": "numpy.array(level(AXES, {{}}), dtype=numpy.{dtype}).reshape([sizes[axis] for axis in AXES])",
    "mlx": "mlx.core.array(level(AXES, {{}}), dtype=mlx.core.{dtype}).reshape([sizes[axis] for axis in AXES])",
    "list": "level(AXES, {{}})",
}
ROWS_OF = {
    "torch": "torch.tensor({rows})",
    "numpy": "numpy.array({rows})",
    "mlx": "mlx.core.array({rows})",
    "list": "{rows}",
}


GO_ON = 'cache = result if outcome == "done" else cache'
TYPED = '    if held.dtype != {wanted}:\n        raise TypeError(f"elements are {{held.dtype}}")\n'
TYPES = {"torch": "torch.{dtype}", "numpy": "numpy.{dtype}", "mlx": "mlx.core.{dtype}", "list": ""}


class Writer:
    """Writes one program."""

    def __init__(self, request: ScriptRequest, description: Description) -> None:
        self.request = request
        self.params = request.params
        self.description = description
        self.calls = description.calls
        self.library = description.library.name
        self.ops = request.ops[: request.step + 1]
        self.rows = Rows(self.params.batch)
        self.held = 0
        plan = Rows(self.params.batch)
        for op in self.ops:
            plan.follow(op, 0)
        tokens = sum(op[1] for op in self.ops if op[0] == "append" and isinstance(op[1], int))
        self.row, self.head = distances(self.params, plan.most, tokens, self.params.heads)

    def write(self) -> str:
        """The whole program."""
        if self.description.kind.rule == "opaque" and self.request.law in ("RESUME", "CHUNK", "RESET"):
            raise RequestError("what such a cache must hold is known only from another run of it")
        binary = self.params.values == "two_levels"
        made = MADE[self.library].format(dtype=self.params.dtype)
        wanted = TYPES[self.library].format(dtype=self.params.dtype)
        typed = TYPED.format(wanted=wanted) if wanted else ""
        cells = "held.tolist()" if wanted else "held"
        length = f'    print("    length:", {self.spelled_length()})\n' if self.calls.length is not None else ""
        blocks = [
            self.make_preamble(),
            NUMBERS_IN_BINARY if binary else NUMBERS,
            ARRAYS.format(made=made, typed=typed, cells=cells),
            self.make_stored(),
            ATTEMPT.format(length=length),
            COMPARE,
            COMPARE_TENSOR,
        ]
        if any(op[0] == "pickle" for op in self.ops):
            blocks.insert(-3, RESTORED_BY_TORCH if self.library == "torch" else RESTORED)
        text = "\n\n\n".join(block.strip("\n") for block in blocks)
        return f"{text}\n\n\n{self.make_body()}\n\n{self.make_check()}\n"

    def make_preamble(self) -> str:
        """Docstring, imports and sizes."""
        found = self.description.found
        kinds = {op[0] for op in self.ops}
        standard = [f"import {name}" for name in ("copy", "io", "pickle", "sys") if name in self.standard(kinds)]
        top = found.name.partition(".")[0]
        lines = ["\n".join(standard), ""]
        if self.library != "list":
            lines += [IMPORTS[self.library], ""]
        if found.folder:
            lines.append(f"sys.path.insert(0, {json.dumps(found.folder)})")
        lines.append(f"from {found.module.__name__} import {top}")
        needs = found.module.__name__ + ("" if self.library == "list" else f" and {self.library}")
        return PREAMBLE.format(
            title=paragraph(self.request.title) or "A case of kvconform",
            subject=paragraph(f"{found.module.__name__}, {found.name}: {', '.join(map(words, self.ops))}"),
            why=why(self.request),
            needs=needs,
            imports="\n".join(lines),
            axes=json.dumps(list(self.description.axes.names)),
            rows=self.params.batch,
            heads=self.params.heads,
            key_dim=self.params.key_dim,
            value_dim=self.params.value_dim,
            row=self.row,
            head=self.head,
        )

    def standard(self, kinds: set[str]) -> set[str]:
        """The standard modules that the program needs."""
        found = {"sys"}
        if ("copy" in kinds and "copy" not in self.calls.ops) or self.request.law == "ALIAS":
            found.add("copy")
        if "pickle" in kinds:
            found.add("io" if self.library == "torch" else "pickle")
        return found

    def make_stored(self) -> str:
        """The function that reads the cache."""
        calls = self.calls
        if calls.pair:
            return STORED_PAIR.format(pair=self.spelled_read(calls.pair))
        return STORED.format(keys=self.spelled_read(calls.keys), values=self.spelled_read(calls.values))

    def spelled_read(self, path: str) -> str:
        """How the program reads something of the cache."""
        owner = type(self.description.make(self.params))
        plain = path.removesuffix("()")
        if "[" in plain:
            list_name = plain.partition("[")[0]
            return f"(cache.{plain} if len(cache.{list_name}) > 0 else None)"
        return f"cache.{plain}()" if callable(getattr(owner, plain, None)) else f"cache.{plain}"

    def spelled_length(self) -> str:
        """How the program asks for the length."""
        method = self.calls.length
        assert method is not None
        if method.name == "__len__":
            return "len(cache)"
        owner = type(self.description.make(self.params))
        return method.spelled("") if callable(getattr(owner, method.name, None)) else f"cache.{method.name}"

    def spelled_state(self) -> str:
        """All that a refused call must leave as it was."""
        return f"[{self.spelled_length()}, stored(cache)]" if self.calls.length is not None else "stored(cache)"

    def spelled_arguments(self) -> str:
        """What the cache is made with."""
        dtypes = {self.params.dtype: f"{IMPORTS[self.library].partition(' ')[2]}.{self.params.dtype}".lstrip(".")}
        spelled = []
        for name, value in self.description.arguments.template.items():
            if value == "$dtype":
                spelled.append(f"{name}={dtypes[self.params.dtype] if self.library != 'list' else 'float'}")
            else:
                filled = self.description.arguments.fill(self.params, self.description.library.dtypes)[name]
                spelled.append(f"{name}={filled!r}")
        return ", ".join(spelled)

    # The ops

    def make_body(self) -> str:
        """The lines that perform the ops."""
        lines = [f"cache = {self.description.found.name}({self.spelled_arguments()})"]
        lines += ['outcome, result, original, inputs = "done", None, None, []', ""]
        start = 0
        rows = self.params.batch
        last = len(self.ops) - 1
        for place, op in enumerate(self.ops):
            if place == last and self.request.law == "ATOMIC":
                lines.append(f"before = {self.spelled_state()}")
            lines += self.op_lines(op, start, rows)
            self.rows.follow(op, start)
            self.follow(op)
            start += op[1] if op[0] == "append" and isinstance(op[1], int) else 0
            rows = len(self.rows.origins)
        return "\n".join(lines)

    def follow(self, op: Op) -> None:
        """How many tokens are held after an op that is done."""
        name, argument = op
        if name == "reset":
            self.held = 0
        elif isinstance(argument, int) and name in ("append", "crop", "trim"):
            self.held = max(0, self.held - argument if name == "trim" else self.held + argument)

    def op_lines(self, op: Op, start: int, rows: int) -> list[str]:
        """The lines that perform one op."""
        name, argument = op
        text = json.dumps(words(op))
        if name == "append":
            lines = [
                f"keys = array({start}, {argument}, {rows}, KEY_DIM, 1)",
                f"values = array({start}, {argument}, {rows}, VALUE_DIM, -1)",
            ]
            if self.request.law == "ALIAS":
                lines.append("inputs += [(keys, copy.deepcopy(keys), 1), (values, copy.deepcopy(values), -1)]")
            call = self.method("append").spelled("keys, values")
            if self.calls.mask is not None and self.request.law == "MASK":
                lines.append(f"announced = {self.calls.mask.spelled(str(argument))}")
            return [*lines, f"attempt({text}, lambda: {call})"]
        if name in ("crop", "trim") and isinstance(argument, int):
            count = -argument if name == "crop" else argument
            method = self.method("crop")
            if method.style == "length - n":
                length = self.spelled_length() if self.calls.length is not None else str(self.held)
                given = f"max(0, {length} - {count})"
            else:
                given = str(-count if method.style == "-n" else count)
            return [f"attempt({text}, lambda: {method.spelled(given)})"]
        if name in ("reorder", "select") and isinstance(argument, tuple):
            given = ROWS_OF[self.library].format(rows=list(argument))
            return [f"attempt({text}, lambda: {self.method(name).spelled(given)})"]
        if name == "repeat":
            return [f"attempt({text}, lambda: {self.method(name).spelled(str(argument))})"]
        if name == "reset":
            return [f"attempt({text}, lambda: {self.method(name).spelled('')})"]
        if name == "copy":
            made = self.method("copy").spelled("") if "copy" in self.calls.ops else "copy.deepcopy(cache)"
            return [
                "original, kept = cache, stored(cache)",
                f"attempt({text}, lambda: {made})",
                GO_ON,
            ]
        if name == "pickle":
            return [f"attempt({text}, lambda: restored(cache))", GO_ON]
        raise RequestError(f'there is no op "{name}" in a program')

    def method(self, op: str) -> Method:
        """The method of an op, or RequestError."""
        found = self.calls.ops.get(op)
        if found is None:
            raise RequestError(f'{self.description.found.name} has no op "{op}"')
        return found

    # What is compared

    def make_check(self) -> str:
        """The comparisons and the exit status."""
        law, expected = self.request.law, self.request.expected
        if law == "ALIAS":
            lines = [
                "for given, copied, sign in inputs:",
                '    compare("an input of an append", seen(copied, sign), seen(given, sign))',
            ]
        elif law == "ISOLATION":
            lines = ['compare("what the original holds", kept, stored(original))']
        elif law == "ATOMIC":
            lines = [
                'if outcome == "refused":',
                '    compare("what it holds after it refused", before, ' + f"{self.spelled_state()})",
            ]
        elif law == "MASK":
            lines = ['if outcome == "done":', "    width = max(len(row) for row in seen(result[0], 1))"]
            lines.append('    compare("width of the mask, as announced", width, announced[0])')
        else:
            lines = self.comparisons(expected)
        end = 'print("THE FAULT SHOWS: " + "; ".join(faults) if faults else "the fault does not show")'
        return "\n".join([*lines, "", end, "sys.exit(1 if faults else 0)"])

    def comparisons(self, expected: dict[str, Any]) -> list[str]:
        """Outcome, length and tensors."""
        lines = []
        if expected.get("outcome") in ("done", "refused"):
            lines.append(f'compare("outcome", {json.dumps(expected["outcome"])}, outcome)')
        lengths = [number for number in expected.get("length", []) if type(number) is int]
        counted = self.calls.length is not None and not self.description.counts_held
        if lengths and counted:
            lines.append(f'compare("length", {lengths[0]}, {self.spelled_length()})')
        tensors = expected.get("tensors", {})
        if not isinstance(tensors, dict):
            raise RequestError('field "expected.tensors": expected an object')
        for name, rows in tensors.items():
            lines += self.tensor_lines(name, rows)
        return lines or ['compare("outcome", "done", outcome)']

    def tensor_lines(self, name: str, rows: Any) -> list[str]:
        """The comparison of one tensor."""
        plain = name.rpartition(".")[2]
        if name == "held" and rows and self.calls.length is not None:
            return [f'compare("length", {rows[0][0]}, {self.spelled_length()})']
        if (
            plain not in ("keys", "values")
            or not isinstance(rows, list)
            or name.startswith(("input.", "earlier.", "original."))
        ):
            return []
        numbers = []
        for row, tokens in enumerate(rows):
            if not all(type(token) is int for token in tokens) or row >= len(self.rows.origins):
                return []
            origins = self.rows.origins[row]
            numbers.append([token + 1 + self.row * origins.get(token, row) for token in tokens])
        sign = 1 if plain == "keys" else -1
        if name.startswith("returned."):
            lines = ['if outcome == "done" and result is not None:']
            saw, space = f"seen(result[{0 if plain == 'keys' else 1}], {sign})", "    "
        else:
            lines, saw, space = [], f'stored(cache)["{plain}"]', ""
        how = self.how(name)
        more = f', "{how}"' if how != "all" else ""
        more += f", {self.params.keep}" if how == "newest" and self.description.kind.rule == "prefix_window" else ""
        return [*lines, f'{space}compare_tensor("{name}", {numbers}, {saw}{more})']

    def how(self, name: str) -> str:
        """How a tensor is compared, by its view."""
        view = self.description.spec["views"][0]
        if name.startswith("returned.") and view.get("returned") == "buffer":
            return "first"
        if view["rule"] == "fixed" and view.get("keeps") != "length":
            return "first"
        if view["rule"] == "ring":
            return "set"
        return "newest" if view.get("keeps") == "window" else "all"


def write_script(request: ScriptRequest, description: Description) -> str:
    """The program for one case: exits 1 when the fault shows, 0 when it does not."""
    return Writer(request, description).write()

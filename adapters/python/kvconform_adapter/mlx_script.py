"""Writes a case as a program that needs only mlx-lm and mlx.

The program's inputs are simpler than the value formula, so that a person can read what it prints: all channels of token
t in row r and head h hold the number t + 1 + ROW * r + HEAD * h. Caches that quantise get that number in binary.
"""

from __future__ import annotations

import json
from typing import Any

from kvconform_adapter.mlx_caches import chosen_words, find_variant, settings_of
from kvconform_adapter.mlx_calls import LISTS, Leaf
from kvconform_adapter.mlx_script_parts import (
    ATTEMPT,
    CHECKS,
    MASKS,
    NUMBERS,
    NUMBERS_IN_BINARY,
    PREAMBLE,
    READERS,
    SAID,
    SAYING,
    SEEN,
    SEEN_IN_BINARY,
    STORING,
)
from kvconform_adapter.request import Op, RequestError, ScriptRequest
from kvconform_adapter.script_text import COMPARE, FOLDERS, paragraph, why, words


class Writer:
    """Writes one program."""

    def __init__(self, request: ScriptRequest, version: str) -> None:
        self.request = request
        self.params = request.params
        self.version = version
        self.ops = request.ops[: request.step + 1]
        self.listed = request.variant in LISTS
        layers = self.params.layers.split("+") if self.listed else [request.variant]
        self.leaves = []
        for place, name in enumerate(layers):
            variant = find_variant(name)
            settings = settings_of(variant, self.params, chosen_words(variant, self.params, self.listed))
            self.leaves.append(Leaf(place, f"layer{place}." if self.listed else "", variant, settings))
        self.binary = any(leaf.settings.spreads for leaf in self.leaves)
        self.kinds = {op[0] for op in self.ops}
        self.tokens = sum(int(op[1]) for op in self.ops if op[0] == "append" and isinstance(op[1], int))

    def write(self) -> str:
        """The whole program."""
        body = self.make_ops()
        check = self.make_check()
        blocks = [self.make_numbers(), *self.make_readers(), self.make_cache(), self.make_append(), ATTEMPT]
        blocks += [STORING[kind] for kind in ("save", "state", "quantize") if kind in self.kinds]
        if self.masked():
            blocks.append(MASKS)
        blocks.append(COMPARE)
        blocks += [CHECKS[name] for name in ("compare_ring", "compare_changed") if f"{name}(" in check]
        blocks += [SAYING[name] for name in SAYING if f"{name}(" in check]
        text = "\n\n\n".join(block.strip("\n") for block in (self.make_preamble(), *blocks))
        return f"{text}\n\n\n{body}\n\n{check}\n"

    # The pieces

    def owners(self) -> list[str]:
        """The names that the program imports from `mlx_lm.models.cache`."""
        found = {leaf.variant.owner for leaf in self.leaves}
        if self.request.variant == "CacheList":
            found.add("CacheList")
        elif self.listed and "trim" in self.kinds:
            found.add("trim_prompt_cache")
        if "save" in self.kinds:
            found |= {"load_prompt_cache", "save_prompt_cache"}
        return sorted(found)

    def make_preamble(self) -> str:
        """Docstring, imports and sizes."""
        standard = ["copy"] if "copy" in self.kinds else []
        standard += ["os"] if "save" in self.kinds else []
        standard += ["sys"]
        standard += ["tempfile"] if "save" in self.kinds else []
        own = {leaf.variant.owner: leaf.variant.module for leaf in self.leaves if leaf.variant.module}
        owners = [owner for owner in self.owners() if owner not in own]
        imports = [f"from mlx_lm.models.cache import {', '.join(owners)}"] if owners else []
        folders = [FOLDERS[module] for module in own.values() if module in FOLDERS]
        imports += [f"sys.path.insert(0, {json.dumps(folder)})" for folder in folders]
        imports += [f"from {module} import {owner}" for owner, module in own.items()]
        if self.masked():
            imports.insert(0, "from mlx_lm.models.base import create_attention_mask")
        return PREAMBLE.format(
            title=paragraph(self.request.title) or "A case of kvconform",
            subject=paragraph(f"mlx-lm {self.version}, {self.request.variant}: {', '.join(map(words, self.ops))}"),
            why=why(self.request),
            standard="\n".join(f"import {name}" for name in standard),
            imports="\n".join(imports),
            dtype=self.params.dtype,
            sizes="\n".join(self.make_sizes()),
        )

    def make_sizes(self) -> list[str]:
        """The constants of the program."""
        params = self.params
        row = self.tokens + 1
        apart = params.batch > 1 or params.heads > 1
        sizes = [f"ROWS, HEADS = {params.batch}, {params.heads}"]
        note = "token t of row r and head h is the number t + 1 + ROW * r + HEAD * h"
        sizes.append(f"ROW, HEAD = {row if apart else 0}, {row * params.batch if apart else 0}  # {note}")
        sizes.append(f"KEY_DIM, VALUE_DIM = {params.key_dim}, {params.value_dim}")
        return sizes

    def make_numbers(self) -> str:
        """How inputs are made and how tensors are read back."""
        strided = self.params.layout == "strided" and not self.binary
        made = NUMBERS_IN_BINARY if self.binary else NUMBERS
        lay = (
            "    # Laid out as a model's projections are, tokens before heads.\n"
            "    return mx.contiguous(made.swapaxes(1, 2)).swapaxes(1, 2)"
            if strided
            else "    return mx.contiguous(made)"
        )
        return "\n\n\n".join([made.format(lay=lay).strip("\n"), (SEEN_IN_BINARY if self.binary else SEEN).strip("\n")])

    def make_readers(self) -> list[str]:
        """How the program reads what the caches hold."""
        found = [READERS["states"]] if any(leaf.variant.states for leaf in self.leaves) else []
        if any(not leaf.variant.states for leaf in self.leaves):
            found.append(READERS["quantised" if self.binary else "plain"])
        lines = ["def stored():", '    """What the caches hold now, by name."""', "    found = {}"]
        for leaf in self.leaves:
            cache, prefix = self.spelled(leaf), leaf.prefix
            if leaf.variant.states:
                lines.append(f'    found |= states({cache}, "{prefix}")')
                continue
            lines.append(f'    found |= tokens({cache}, "{prefix}") | {{"{prefix}offset": [[{cache}.offset]]}}')
            if leaf.variant.name == "ChunkedKVCache":
                lines.append(f'    found["{prefix}start_position"] = [[{cache}.start_position]]')
        lines.append("    return found")
        return [*found, "\n".join(lines)]

    def spelled(self, leaf: Leaf) -> str:
        """How the program names a cache."""
        if not self.listed:
            return "cache"
        return f"cache.caches[{leaf.place}]" if self.request.variant == "CacheList" else f"cache[{leaf.place}]"

    def make_cache(self) -> str:
        """The lines that make `cache`."""
        made, steps = [], []
        for leaf in self.leaves:
            arguments = ", ".join(f"{name}={value}" for name, value in leaf.settings.arguments.items())
            made.append(f"{leaf.variant.owner}({arguments})")
            if leaf.settings.step:
                steps.append(f"{self.spelled(leaf)}.step = {leaf.settings.step}")
        if self.request.variant == "CacheList":
            lines = [f"cache = CacheList({', '.join(made)})"]
        else:
            lines = [f"cache = [{', '.join(made)}]" if self.listed else f"cache = {made[0]}"]
        return "\n".join([*lines, *steps, "returned, inputs, trimmed, seen_by = {}, {}, [], {}"])

    def masked(self) -> bool:
        """Whether the program asks for masks."""
        return self.request.law == "MASK" and any(leaf.settings.mask for leaf in self.leaves)

    def make_append(self) -> str:
        """The function that appends tokens to all caches."""
        lines = [
            "def append(first, count):",
            '    """What a model does with new tokens: each layer gives its keys and values to its own cache."""',
            "    returned.clear()",
        ]
        for leaf in self.leaves:
            cache, prefix = self.spelled(leaf), leaf.prefix
            if leaf.variant.states:
                lines += [
                    "    if count:",
                    f"        for place in range({self.params.states}):",
                    f"            {cache}[place] = state(first + count - 1)",
                ]
                continue
            if self.masked() and leaf.settings.mask:
                window = self.params.window if leaf.settings.mask == "window" else None
                lines.append(
                    f"    mask = create_attention_mask(mx.zeros((1, count, 1)), {cache}, window_size={window}, "
                    f"return_array={leaf.settings.array})"
                )
            lines += [
                f'    inputs[f"{prefix}keys of tokens {{first}} on"] = given = keys(first, count)',
                f'    inputs[f"{prefix}values of tokens {{first}} on"] = other = values(first, count)',
            ]
            if self.request.law == "ALIAS":
                lines += [
                    f'    copies[f"{prefix}keys of tokens {{first}} on"] = read(given)',
                    f'    copies[f"{prefix}values of tokens {{first}} on"] = read(other)',
                ]
            name = f"{prefix}returned."
            lines += [
                f"    held = {cache}.update_and_fetch(given, other)",
                f'    returned["{name}keys"] = read(held[0], {cache})',
                f'    returned["{name}values"] = read(held[1], {cache})',
            ]
            if self.masked() and leaf.settings.mask:
                kind = "mask" if leaf.settings.mask == "causal" else "window_mask"
                lines.append(f'    seen_by["{name}{kind}"] = visible(mask, returned["{name}keys"], count)')
        return "\n".join(lines)

    def make_ops(self) -> str:
        """One call for each op."""
        lines: list[str] = []
        if self.request.law == "ALIAS":
            lines.append("copies = {}")
        start = 0
        for at, op in enumerate(self.ops):
            name, argument = op
            text = json.dumps(words(op))
            last = at == len(self.ops) - 1
            if last and self.request.law in ("ATOMIC", "SAVE"):
                lines.append("before = stored()")
            if name == "append" and isinstance(argument, int):
                lines.append(f"attempt({text}, lambda: append({start}, {argument}))")
                start += argument
            else:
                lines += self.spell(op, text)
            if last and self.request.law == "HONEST" and name == "trim":
                lines.insert(len(lines) - 1, f"claim = {self.claim()}\nprint('it can be trimmed, it says:', claim)")
        return "\n".join(lines)

    def claim(self) -> str:
        """What the cache says about trimming it."""
        if self.listed and self.request.variant != "CacheList":
            return "all(layer.is_trimmable() for layer in cache)"
        return "cache.is_trimmable()"

    def spell(self, op: Op, text: str) -> list[str]:
        """An op that is no append."""
        name, argument = op
        plain_list = self.listed and self.request.variant != "CacheList"
        if name == "trim":
            call = f"trim_prompt_cache(cache, {argument})" if plain_list else f"cache.trim({argument})"
            return [f"attempt({text}, lambda: trimmed.append({call}), {argument})"]
        if name == "trim_front":
            fronts = [
                f"{self.spelled(leaf)}.maybe_trim_front()"
                for leaf in self.leaves
                if leaf.variant.name == "ChunkedKVCache"
            ]
            return [f"attempt({text}, lambda: ({', '.join(fronts)}, None))"]
        if name == "copy":
            return [
                "original = cache",
                f"attempt({text}, lambda: go_on_with(copy.deepcopy(cache)))",
                "kept = stored_in(original)",
            ]
        if name == "save":
            call = "through_file(cache)" if plain_list else "through_file([cache])[0]"
            return [f"attempt({text}, lambda: go_on_with({call}))"]
        if name == "state":
            call = "[restored(layer) for layer in cache]" if plain_list else "restored(cache)"
            return [f"attempt({text}, lambda: go_on_with({call}))"]
        if name == "quantize":
            settings = self.leaves[0].settings
            words_of = f"group_size={settings.group}, bits={settings.bits}"
            call = (
                f"[quantized(layer, {words_of}) for layer in cache]" if plain_list else f"quantized(cache, {words_of})"
            )
            return [f"attempt({text}, lambda: go_on_with({call}))"]
        raise RequestError(f'the caches of mlx-lm have no op "{name}"')

    # The verdict

    def make_check(self) -> str:
        """What is compared, and the exit status."""
        law, expected = self.request.law, self.request.expected
        lines: list[str] = []
        if law == "ALIAS":
            lines.append("compare_changed(inputs, copies)")
        elif law == "ISOLATION":
            lines.append('compare("what the original holds", kept, stored_in(original))')
        elif law == "MASK":
            lines += self.mask_checks(expected)
        else:
            lines += self.state_checks(expected)
        lines += [
            "",
            'print("THE FAULT SHOWS: " + "; ".join(faults) if faults else "the fault does not show")',
            "sys.exit(1 if faults else 0)",
        ]
        if law == "HONEST":
            lines.insert(-2, "if not claim:\n    faults.clear()  # it did not say so")
        return "\n".join(lines)

    def mask_checks(self, expected: dict[str, Any]) -> list[str]:
        """What each new token must see, and does."""
        tensors = expected.get("tensors", {})
        lines = []
        for name, rows in tensors.items():
            if name.rpartition(".")[2] not in ("mask", "window_mask"):
                continue
            numbers = [[token + 1 for token in row if isinstance(token, int)] for row in rows]
            lines.append(f'compare("what each new token sees by {name}", {numbers}, seen_by[{json.dumps(name)}])')
        return lines or ['compare("outcome", "done", outcome)']

    def state_checks(self, expected: dict[str, Any]) -> list[str]:
        """Outcome, lengths and tensors."""
        lines = []
        outcome = expected.get("outcome")
        if outcome in ("done", "refused"):
            lines.append(f'compare("outcome", {json.dumps(outcome)}, outcome)')
        if self.request.law == "ATOMIC":
            lines = ['compare("what it holds after it refused", before, stored())']
            return [f'if outcome == "refused":\n    {lines[0]}']
        tensors = expected.get("tensors", {})
        if not isinstance(tensors, dict):
            raise RequestError('field "expected.tensors": expected an object')
        if self.request.law == "REFUSE":
            # What cannot be read is no answer either.
            said = [name for name in tensors if self.is_said(name)] if outcome == "done" else []
            return [*lines, *(line for name in said for line in self.number_check(name, tensors[name]))]
        lengths = [length for length in expected.get("length", []) if type(length) is int]
        leaves = [leaf for leaf in self.leaves if not leaf.variant.states]
        if lengths and len(lengths) == len(leaves):
            offsets = ", ".join(f"{self.spelled(leaf)}.offset" for leaf in leaves)
            lines.append(f'compare("offset", {lengths}, [{offsets}])')
        for name, rows in tensors.items():
            lines += self.tensor_check(name, rows)
        return lines or ['compare("outcome", "done", outcome)']

    def is_said(self, name: str) -> bool:
        """Whether it is a number that a cache says of itself."""
        return name.rpartition(".")[2].removeprefix("list_") in SAID

    def number_check(self, name: str, rows: Any) -> list[str]:
        """The comparison of a number that a cache says of itself."""
        plain = name.rpartition(".")[2]
        if not isinstance(rows, list) or not rows or not rows[0] or type(rows[0][0]) is not int:
            return []
        leaf = next((leaf for leaf in self.leaves if name.startswith(leaf.prefix)), self.leaves[0])
        listed = plain.startswith("list_")
        if listed and leaf is not self.leaves[0]:
            return []  # all layers say the same of what they stand in
        cache = "cache" if listed else self.spelled(leaf)
        method = SAID[plain.removeprefix("list_")]
        if method == "nbytes":
            return [f'compare_least("{name}", {rows[0][0]}, said({cache}, "nbytes"))']
        return [f'compare("{name}", {rows[0][0]}, said({cache}, "{method}"))']

    def tensor_check(self, name: str, rows: Any) -> list[str]:
        """The comparison of one tensor."""
        plain = name.rpartition(".")[2]
        leaf = next((leaf for leaf in self.leaves if name.startswith(leaf.prefix)), self.leaves[0])
        if not isinstance(rows, list) or any("..." in row or "?" in row for row in rows):
            return []
        if plain == "trimmed":
            return (
                [f'compare("tokens that it says it removed", {rows[0]}, trimmed[-1:])']
                if self.ops[-1][0] == "trim"
                else []
            )
        if self.is_said(name):
            return self.number_check(name, rows)
        if plain == "start_position":
            return [f'compare("{name}", {rows}, stored()[{json.dumps(name)}])']
        if plain not in ("keys", "values") and ".states." not in f".{name}":
            return []
        numbers = []
        for row, tokens in enumerate(rows):
            known = tokens[-1:] if leaf.variant.states else tokens
            if not all(type(token) is int for token in known):
                return []
            numbers.append([f"{token + 1} + {row} * ROW" if row else token + 1 for token in known])
        spelled = "[" + ", ".join("[" + ", ".join(map(str, row)) + "]" for row in numbers) + "]"
        source = "returned" if "returned." in name else "stored()"
        saw = f"{source}.get({json.dumps(name)}, [])"
        if leaf.variant.keep and ("returned." not in name or self.ops[-1][1] == 1):
            return [f'compare_ring("{name}", {spelled}, {saw}, {self.params.keep})']
        return [f'compare("{name}", {spelled if any(numbers) else "[]"}, [row for row in {saw} if row])']


def write_script(request: ScriptRequest, version: str) -> str:
    """The program for one case: exits 1 when the fault shows, 0 when it does not."""
    return Writer(request, version).write()

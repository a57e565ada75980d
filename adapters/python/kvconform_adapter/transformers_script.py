"""Writes a case as a program that needs only transformers and torch.

The program's inputs are simpler than the value formula, so that a person can read what it prints: all channels of token
t in row r and head h hold the number t + 1 + ROW * r + HEAD * h.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from kvconform_adapter.request import Op, RequestError, ScriptRequest
from kvconform_adapter.script_parts import (
    ADDRESSES,
    APART,
    ATTEMPT,
    AXES_OF,
    COMPARE_KINDS,
    COMPARE_TENSOR,
    COUNTED_CELLS,
    COUNTERS,
    HEADS_CELLS,
    HEADS_FIRST,
    HELPERS,
    LAW_CHECKS,
    LEVELS_CELLS,
    NAMED,
    NUMBERS,
    NUMBERS_APART,
    PLAIN_CELLS,
    PREAMBLE,
    SEEN,
    WATCHED,
)
from kvconform_adapter.script_rows import Rows, distances
from kvconform_adapter.script_text import COMPARE, FOLDERS, plain_text, why, words
from kvconform_adapter.transformers_blocks import Compressor, make_compressors
from kvconform_adapter.transformers_caches import (
    CONFIGURATION,
    DEEPSEEK_CONFIG,
    MINIMAX,
    MINIMAX_CACHE,
    Variant,
    accepts,
    block_settings,
    chosen_parts,
    constructor_arguments,
    crop_keyword,
    find_variant,
    load_class,
    spell_arguments,
    takes_positions,
)
from kvconform_adapter.transformers_containers import CONTAINERS, CROSS_TOKENS, Recipe
from kvconform_adapter.transformers_quantised import PACKAGES
from kvconform_adapter.values import PLANES

KEPT = {
    "offload": "offload",
    "prefetch": "prefetch",
    "initialize": "initialize",
    "copy": "copy_cache",
    "pickle": "restore_cache",
}
"""Ops that leave what the cache holds as it is, and the functions of the program that perform them."""

AXES: dict[str, tuple[int, int | None, int | None]] = {
    "keys": (0, 2, 1),
    "values": (0, 2, 1),
    "residual_keys": (0, 2, 1),
    "residual_values": (0, 2, 1),
    "cross_keys": (0, 2, 1),
    "cross_values": (0, 2, 1),
    "idx_keys": (0, 2, 1),
    "indexer_keys": (0, 1, None),
    "indexer_position_ids": (1, 2, 0),
    "conv_states": (0, 2, None),
    "recurrent_states": (0, None, 1),
    "linear_cache": (0, None, 1),
    "buffer_kv": (0, 1, None),
    "buffer_gate": (0, 1, None),
    "overlap_kv": (0, 1, None),
    "overlap_gate": (0, 1, None),
    "compressed_kv": (0, 1, None),
}
"""The axes of rows, tokens and heads."""


@dataclass(frozen=True)
class Part:
    """One layer of the script: how it is spelled and which of its parts are in use."""

    variant: Variant
    spelled: str
    place: int
    prefix: str
    parts: tuple[str, ...]
    owner: Any
    compressors: list[Compressor]


def plain_name(name: str) -> str:
    """`conv_states` for `layer0.returned.conv_states.1`."""
    plain = name.rpartition("returned.")[2]
    if plain.startswith("layer"):
        plain = plain.partition(".")[2]
    return plain.partition(".")[0]


class Writer:
    """Writes one program."""

    def __init__(self, request: ScriptRequest, version: str) -> None:
        self.request = request
        self.version = version
        self.params = request.params
        self.container = request.params.call.startswith("container")
        self.keyword = request.params.call.endswith(("keyword", "deprecated"))
        self.deprecated = request.params.call.endswith("deprecated")
        self.parts: list[Part] = []
        self.minimax = request.variant == MINIMAX_CACHE
        container = CONTAINERS.get(request.variant)
        self.recipe = Recipe(container, request.params) if container is not None else None
        self.several = self.recipe is not None
        self.cross = container is not None and container.cross
        self.drafted = self.recipe is not None and hasattr(self.recipe.owner, "set_previous_accepted_tokens")
        self.through = self.container or self.several or self.minimax
        self.target = "cache" if self.through else "layer"
        self.layers = "layers" if self.several else "cache.layers" if self.through else "[layer]"
        self.positioned = takes_positions()
        self.ops = request.ops[: request.step + 1]
        self.kinds: set[str] = set()
        self.rows = Rows(request.params.batch)

    # The program from top to bottom

    def write(self) -> str:
        """The whole program."""
        self.find_parts()
        tokens = sum(op[1] for op in self.ops if op[0] == "append" and isinstance(op[1], int))
        plan = Rows(self.params.batch)
        for op in self.ops:
            plan.follow(op, 0)
        self.distance, self.head_distance = distances(self.params, plan.most, tokens, self.heads())
        self.apart = self.distance > 0 or self.head_distance > 0 or self.quantised()
        self.axes = {base: AXES[base] for base in map(plain_name, dict(self.stored())) if base in AXES}
        blocks = ["\n".join(self.make_cache()), "\n".join(self.make_observers()), *self.make_reader()]
        kept = self.make_kept()
        if kept:
            blocks.append("\n".join(kept))
        if self.request.law == "ADDRESS":
            blocks.append(ADDRESSES)
        if self.request.law == "ATOMIC":
            blocks.append(COUNTERS)
        if self.request.law == "ALIAS":
            blocks.append(WATCHED)
        ops = "\n".join(self.make_ops())
        check = "\n".join(self.make_check())
        if "compare(" in check or "compare_tensor(" in check:
            blocks.append(COMPARE)
        if "compare_tensor(" in check:
            blocks.append(self.make_compare())
        blocks.append(ops)
        return "\n\n\n".join(block.strip("\n") for block in (self.preamble(), *blocks, check)) + "\n"

    def heads(self) -> int:
        """The most heads of a tensor; planes of positions count as heads."""
        return max(self.params.heads, PLANES if self.uses("positions") else 1)

    def find_parts(self) -> None:
        """Which layers there are."""
        if self.minimax:
            return
        variants = self.recipe.variants if self.recipe is not None else [find_variant(self.request.variant)]
        for place, variant in enumerate(variants):
            parts = chosen_parts(variant, self.params, self.several)
            self.parts.append(
                Part(
                    variant=variant,
                    spelled=f"layers[{place}]" if self.several else "layer",
                    place=place,
                    prefix=f"layer{place}." if self.several else "",
                    parts=parts,
                    owner=load_class(variant.module, variant.name),
                    compressors=make_compressors(parts, variant.overlap, self.params, None, self.keyword),
                )
            )

    def gives_back(self) -> bool:
        """Whether what an append gives back is looked at."""
        tensors = self.request.expected.get("tensors", {})
        return (
            self.request.law in ("MASK", "ALIAS")
            or self.uses("compressor")
            or (isinstance(tensors, dict) and any("returned." in name for name in tensors))
        )

    def seen(self) -> str:
        """How the program spells that a tensor is read."""
        return "seen(tensor)" if len(set(self.axes.values())) == 1 or self.quantised() else "seen(name, tensor)"

    def make_reader(self) -> list[str]:
        """What reads a tensor, and what performs an op and prints what the cache holds then."""
        named = "name" in self.seen()
        lines = ["faults = []"]
        if self.gives_back():
            lines.append("returned = {}  # what the newest append gave back")
        shown = {base: axes if self.apart else axes[:2] for base, axes in self.axes.items()}
        if named:
            entries = "\n".join(f"    {json.dumps(base)}: {axes}," for base, axes in shown.items())
            lines.append(AXES_OF.format(axes=entries, heads=" and heads" if self.apart else ""))
        counted = any(plain_name(name) not in AXES for name, _ in self.stored())
        cells = COUNTED_CELLS if counted else ""
        if self.quantised():
            cells += LEVELS_CELLS
        elif self.apart:
            places = "row, token, head"
            cells += NAMED.format(places=places) if named else f"    {places} = {next(iter(shown.values()))}\n"
            cells += HEADS_FIRST + HEADS_CELLS
        else:
            cells += NAMED.format(places="row, token") if named else ""
            moved = "(tensor[:, None] if token is None else tensor.movedim((row, token), (0, 1)))"
            if not named:
                row, token, _ = next(iter(self.axes.values()))
                moved = "tensor[:, None]" if token is None else f"tensor.movedim(({row}, {token}), (0, 1))"
            cells += PLAIN_CELLS.format(tokens=moved)
        attempt = ATTEMPT.format(
            before="    returned.clear()\n" if self.gives_back() else "",
            length='    print("    length", *lengths())\n' if self.attention_places() else "",
            seen=self.seen(),
        )
        if self.request.params.call == "inference":
            attempt = attempt.replace("        call()\n", "        with torch.inference_mode():\n            call()\n")
        return ["\n".join(lines), SEEN.format(arguments=self.seen()[5:-1], cells=cells), attempt]

    def make_compare(self) -> str:
        """The function that compares a tensor, with the kinds of comparison that are used."""
        arguments = "name, expected"
        if self.kinds:
            arguments += ', kind="exact"' + (", front=0" if "newest" in self.kinds else "")
        tensor = "stored().get(name)"
        return COMPARE_TENSOR.format(
            arguments=arguments,
            tensor=f'returned.get(name) if "returned." in name else {tensor}' if self.gives_back() else tensor,
            seen=self.seen(),
            kinds="".join(text for kind, text in COMPARE_KINDS.items() if kind in self.kinds),
        )

    def uses(self, part: str) -> bool:
        """Whether any layer uses this part."""
        if self.minimax:
            return part in ("attention", "recurrent") and part in (self.params.parts or "attention+recurrent")
        return any(part in entry.parts for entry in self.parts)

    def preamble(self) -> str:
        """Docstring, imports and helpers, of which only those that are used."""
        title = "\n".join(wrap(plain_text(self.request.title), 110))
        modules: dict[str, set[str]] = {}
        if self.minimax:
            modules[MINIMAX] = {MINIMAX_CACHE}
        elif self.recipe is not None:
            modules = self.recipe.modules()
        else:
            for part in self.parts:
                modules.setdefault(part.variant.module, set()).add(part.variant.name)
                if part.variant.blocks:
                    modules[DEEPSEEK_CONFIG] = {"DeepseekV4Config"}
                elif "config" in constructor_arguments(part.variant, self.params, part.owner):
                    modules[CONFIGURATION] = {"PreTrainedConfig"}
            if self.through:
                modules.setdefault("transformers.cache_utils", set()).add("Cache")
        kept = {name for name, _ in self.ops}
        standard = [f"import {name}" for name, op in (("copy", "copy"), ("io", "pickle")) if op in kept]
        folders = [FOLDERS[module] for module in sorted(modules) if module in FOLDERS]
        imports = [f"sys.path.insert(0, {json.dumps(folder)})" for folder in folders]
        imports += [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(modules.items())]
        sizes = {
            "HEADS": self.params.heads,
            "KEY_DIM": self.params.key_dim,
            "VALUE_DIM": self.params.value_dim,
            "INDEX_DIM": self.params.index_dim,
            "CHANNELS": self.params.channels,
            "KERNEL": self.params.kernel,
            "BLOCK": self.params.block,
            "KEEP": self.params.keep,
            "PLANES": PLANES,
            "RESIDUAL": self.params.residual,
        }
        wanted = ["spread"]
        if self.quantised():
            wanted += ["written", "quantised_keys", "quantised_values"]
        elif self.uses("attention"):
            wanted += ["keys", "values"]
        if self.uses("index"):
            wanted.append(
                "index_keys" if any(part.variant.index == "indexer_keys" for part in self.parts) else "idx_keys"
            )
        if self.uses("positions"):
            wanted.append("positions")
        if self.uses("convolution"):
            wanted += ["columns"] + ([] if self.sized() else ["fit"])
        if self.uses("recurrent"):
            wanted.append("state")
        if self.uses("compressor"):
            overlap = any(part.variant.overlap for part in self.parts)
            wanted += ["features", "compress_overlapping" if overlap else "compress"]
        if any(part.variant.prefix and not part.variant.static for part in self.parts):
            wanted.append("whole")
        if self.declared():
            wanted.append("declare")
        if self.params.layout == "strided":
            wanted[0] = "spread_apart"
        backends = dict.fromkeys(part.variant.quantised for part in self.parts)
        packages = [PACKAGES[backend] for backend in backends if backend in PACKAGES]
        helpers = "\n\n".join(HELPERS[name] for name in wanted)
        used = [APART.format(row=self.distance, head=self.head_distance)] if self.apart else []
        used += [
            f"{name} = {size}"
            for name, size in sizes.items()
            if name in helpers or (name == "KERNEL" and self.sized()) or (name == "RESIDUAL" and self.quantised())
        ]
        return PREAMBLE.format(
            title=title or "A case of kvconform",
            subject="\n".join(
                wrap(f"transformers {self.version}, {self.request.variant}: {', '.join(map(words, self.ops))}", 110)
            ),
            why=why(self.request),
            standard="".join(f"{line}\n" for line in standard),
            imports="\n".join(imports),
            needs=", ".join(["transformers", *packages]) + " and torch",
            dtype=self.params.dtype,
            sizes="\n".join(used),
            numbers=NUMBERS_APART if self.apart else NUMBERS,
            helpers=helpers,
        )

    def declared(self) -> list[Part]:
        """Layers that are told how long their prefix will be."""
        return [part for part in self.parts if part.variant.prefix and self.params.keep > 0]

    def quantised(self) -> bool:
        """Whether this is a quantised layer."""
        return any(part.variant.quantised for part in self.parts)

    def sized(self) -> bool:
        """Whether linear layers of this version are told their kernel size; false too when there are none."""
        linear = [part for part in self.parts if part.variant.linear and "convolution" in part.parts]
        return bool(linear) and accepts(linear[0].owner.update_conv_state, "conv_kernel_size")

    def make_cache(self) -> list[str]:
        """Where the cache is made."""
        if self.minimax:
            return ["cache = MiniMaxCache()"]
        if self.recipe is not None:
            return self.recipe.spell()
        part = self.parts[0]
        if part.variant.blocks:
            settings = block_settings(part.variant, self.params)
            spelled = ", ".join(f"{name}={json.dumps(value)}" for name, value in settings.items())
            made = f"{part.variant.name}(DeepseekV4Config({spelled}))"
        else:
            arguments = constructor_arguments(part.variant, self.params, part.owner)
            made = f"{part.variant.name}({spell_arguments(arguments)})"
        return [f"layer = {made}", *(["cache = Cache(layers=[layer])"] if self.container else [])]

    def make_observers(self) -> list[str]:
        """Functions that read the cache: `stored`, `lengths`, `masks`."""
        entries = [f"        {json.dumps(name)}: {expression}," for name, expression in self.stored()]
        lengths, masks, positions = [], [], []
        for place, name in self.attention_places():
            lengths.append(f"int({self.target}.get_seq_length({place if self.through else ''}))")
            count = "query_length=count" if self.keyword else "count"
            if self.positioned:
                ahead = f"ahead(count{f', {place}' if self.through else ''})"
                count = f"cache_position={ahead}" if self.keyword else ahead
            layer = (f", layer_idx={place}" if self.keyword else f", {place}") if self.through else ""
            masks.append(f"{json.dumps(name)}: {self.target}.get_mask_sizes({count}{layer})")
            positions.append(f"{self.target}.get_query_offset({place})")
        # A drafter's newest tokens are queries, those before them were accepted and come with them.
        before = [
            f"    queries = min(count, {self.params.block})",
            "    cache.set_previous_accepted_tokens(count - queries)",
            "    count = queries",
        ]
        announced = [
            "",
            "",
            "def positions():",
            '    """The position that each layer announces for the next token."""',
            *(["    cache.set_previous_accepted_tokens(0)"] if self.drafted else []),
            f"    return [{', '.join(positions)}]",
        ]
        lines = ["def stored():", '    """The tensors that the cache holds now."""', "    return {", *entries, "    }"]
        if lengths or self.request.law == "ISOLATION":
            about = '    """The length of each layer that reports one."""'
            lines += ["", "", "def lengths():", about, f"    return [{', '.join(lengths)}]"]
        if self.positioned:
            lines += ["", "", *self.counting()]
        if self.request.law == "MASK":
            about = (
                '    """What each layer announces for `count` new tokens: the width of its keys and their offset."""'
            )
            lines += ["", "", "def masks(count):", about, *(before if self.drafted else [])]
            lines.append(f"    return {{{', '.join(masks)}}}")
        return lines + (announced if self.request.law == "POSITION" else [])

    def counting(self) -> list[str]:
        """A function for versions whose models say where the tokens go."""
        return [
            f"def ahead(count{', place' if self.through else ''}):",
            '    """The positions of `count` new tokens, behind those that are held."""',
            f"    held = int({self.target}.get_seq_length({'place' if self.through else ''}))",
            "    return torch.arange(held, held + count)",
        ]

    def attention_places(self) -> list[tuple[int, str]]:
        """Index in the container and name of the keys, for each layer with a length."""
        if self.minimax:
            return [(1, "keys")] if self.uses("attention") else []
        parts = [part for part in self.parts if "attention" in part.parts and part.variant.stores]
        return [(part.place, f"{part.prefix}keys") for part in parts]

    def stored(self) -> list[tuple[str, str]]:
        """Names and expressions of the stored tensors."""
        if self.minimax:
            second = "cache.layers[1].{} if len(cache.layers) > 1 else None"
            found = [(name, second.format(name)) for name in ("keys", "values")] if self.uses("attention") else []
            if self.uses("recurrent"):
                found.append(("linear_cache", "cache.linear_cache[0] if cache.linear_cache else None"))
            return found
        found = []
        for part in self.parts:
            if "attention" in part.parts:
                found += [(f"{part.prefix}{name}", self.held(part, name)) for name in ("keys", "values")]
            if part.variant.quantised in PACKAGES:
                found += [(f"{part.prefix}residual_{name}", f"{part.spelled}.{name}") for name in ("keys", "values")]
            if "index" in part.parts:
                found.append((part.prefix + part.variant.index, f"{part.spelled}.{part.variant.index}"))
            for compressor in part.compressors:
                for name, _ in compressor.stored():
                    attribute = name.partition(".")[0]
                    held = f'{part.spelled}.{attribute}["{compressor.name}"]'
                    counted = attribute == "entry_count"
                    found.append((part.prefix + name, f"torch.tensor([{held}])" if counted else held))
            if "positions" in part.parts:
                found.append((f"{part.prefix}indexer_position_ids", f"{part.spelled}.indexer_position_ids"))
            for word, name in (("convolution", "conv_states"), ("recurrent", "recurrent_states")):
                if word in part.parts:
                    numbered = accepts(part.owner.update_conv_state, "state_idx")
                    for number in range(self.params.states):
                        index = f"[{number}]" if numbered else ""
                        found.append((f"{part.prefix}{name}.{number}", f"{part.spelled}.{name}{index}"))
            if self.cross:
                made = f"cross[{part.place}].{{}} if len(cross) > {part.place} else None"
                found += [(f"{part.prefix}cross_{name}", made.format(name)) for name in ("keys", "values")]
                flag = f"torch.tensor([int(bool(cache.is_updated.get({part.place})))])"
                found.append((f"{part.prefix}is_updated", flag))
        if self.recipe is not None and self.recipe.container.lazy:
            made = "{} if len(layers) > {} else None"
            found = [(name, made.format(text, text.partition("[")[2].partition("]")[0])) for name, text in found]
        return found

    def held(self, part: Part, name: str) -> str:
        """The expression for the keys or values of a layer."""
        if part.variant.quantised:
            return f"read_back({part.spelled}, {json.dumps(name)})"
        if not part.variant.prefix:
            return f"{part.spelled}.{name}"
        return f"{part.spelled}.all_{name}" if part.variant.static else f"whole({part.spelled}, {json.dumps(name)})"

    def make_kept(self) -> list[str]:
        """Functions for those ops of the case that leave what the cache holds as it is."""
        used = {name for name, _ in self.ops}
        halves = ["cache.self_attention_cache", "cache.cross_attention_cache"] if self.cross else ["cache"]
        layers = " + ".join(f"{half}.layers" for half in halves) if self.through else "[layer]"
        lines: list[str] = []

        def define(name: str, words: str, *body: str) -> None:
            lines.extend(([""] * 2 if lines else []) + [f"def {name}():", f'    """{words}"""', *body])

        if "offload" in used and self.through:
            arguments = "layer_idx=index, only_non_sliding=False" if self.keyword else "index, False"
            define(
                "offload",
                "Every layer, sliding ones too.",
                f"    for container in [{', '.join(halves)}]:",
                "        for index in range(len(container.layers)):",
                f"            container.offload({arguments})",
            )
        elif "offload" in used:
            define("offload", "The tensors of the layer.", "    layer.offload()")
        if "prefetch" in used:
            define("prefetch", "Layer by layer.", f"    for one in {layers}:", "        one.prefetch()")
        if "initialize" in used:
            define("initialize", "Early initialisation.", *self.initialization())
        if used & {"copy", "pickle"}:
            moved = self.target
            names, follow = f"{moved}, original", []
            if self.cross:
                names = f"{names}, layers, cross"
                follow = [f"    {name} = {half}.layers" for name, half in zip(("layers", "cross"), halves, strict=True)]
            elif self.several:
                names, follow = f"{names}, layers", ["    layers = cache.layers"]
            elif self.container:
                names, follow = f"{names}, layer", ["    layer = cache.layers[0]"]
            if "copy" in used:
                define(
                    "copy_cache",
                    "Go on with a deep copy; the original is kept.",
                    f"    global {names}",
                    f"    original = {moved}",
                    *(["    before.update(contents())"] if self.request.law == "ISOLATION" else []),
                    f"    {moved} = copy.deepcopy(original)",
                    *follow,
                )
            if "pickle" in used:
                define(
                    "restore_cache",
                    "Go on with what was saved and loaded again.",
                    f"    global {names}",
                    "    saved = io.BytesIO()",
                    f"    torch.save({moved}, saved)",
                    "    saved.seek(0)",
                    f"    {moved} = torch.load(saved, weights_only=False)",
                    *follow,
                )
            if self.request.law == "ISOLATION":
                define(
                    "contents",
                    "What the original holds now.",
                    f"    global {names}",
                    f"    {moved}, original = original, {moved}",
                    *follow,
                    "    held = {name: tensor.clone() for name, tensor in stored().items() if tensor is not None}",
                    '    held["length"] = torch.tensor(lengths())',
                    f"    {moved}, original = original, {moved}",
                    *follow,
                    "    return held",
                )
                lines += ["", "", "before = {}  # what the original held when it was copied"]
        return lines

    def initialization(self) -> list[str]:
        """The body of `initialize`."""
        rows, heads = len(self.rows.origins), "HEADS"
        fake = "torch.zeros(({}, {}, 0, {}), dtype=DTYPE)"
        keys, values = fake.format(rows, heads, "KEY_DIM"), fake.format(rows, heads, "VALUE_DIM")
        cache = "cache.self_attention_cache" if self.cross else "cache"
        if self.through and self.params.key_dim == self.params.value_dim:
            if self.keyword:
                return [
                    f"    {cache}.early_initialization(",
                    f"        batch_size={rows}, num_heads={heads}, head_dim=KEY_DIM,",
                    '        dtype=DTYPE, device=torch.device("cpu"),',
                    "    )",
                ]
            return [f'    {cache}.early_initialization({rows}, {heads}, KEY_DIM, DTYPE, torch.device("cpu"))']
        arguments = f"key_states={keys}, value_states={values}" if self.keyword else f"{keys}, {values}"
        if not accepts(load_class("transformers.cache_utils", "DynamicLayer").lazy_initialization, "value_states"):
            arguments = keys
        if not self.through:
            return [f"    layer.lazy_initialization({arguments})"]
        return [
            "    # As Cache.early_initialization does it, which knows one head_dim only.",
            f"    for one in {cache}.layers:",
            '        if getattr(one, "supports_early_init", hasattr(one, "keys")):',
            f"            one.lazy_initialization({arguments})",
        ]

    # Ops

    def make_ops(self) -> list[str]:
        """One block for each op up to the one in question."""
        lines: list[str] = []
        functions: list[str] = []
        start = 0
        refused = self.request.expected.get("outcome") == "refused"
        for number, op in enumerate(self.ops):
            name, argument = op
            last = number == self.request.step
            text = json.dumps(words(op))
            if name == "append":
                lines += [f"declare({part.spelled})" for part in self.declared()]
            lines += self.before_last(op) if last else []
            if name == "append" and isinstance(argument, int):
                body = self.append(number, start, argument)
                if len(body) == 1 and not self.gives_back():
                    lines.append(f"attempt({text}, lambda: {body[0].strip()})")
                else:
                    functions += [f"def append_{number}():", *body, "", ""]
                    lines.append(f"attempt({text}, append_{number})")
            elif name in KEPT:
                lines.append(f"attempt({text}, {KEPT[name]})")
            elif name == "record" and not argument:
                lines.append(f"for recorder in {self.layers}:")
                lines.append("    recorder.record_past = False")
                lines.append(f"attempt({text}, lambda: None)")
            else:
                lines.append(f"attempt({text}, lambda: {self.call(op)})")
            if not (last and refused):
                self.rows.follow(op, start)
            if name == "append" and isinstance(argument, int):
                start += argument
        return functions + lines

    def call(self, op: Op) -> str:
        """The call of an op that is no append."""
        name, argument = op
        if name == "record":
            return f"{self.target}.activate_past_recording()"
        if name == "reset":
            return f"{self.target}.reset()"
        method, word, value = {
            "crop": ("crop", self.crop_word(), str(argument)),
            "reorder": ("reorder_cache", "beam_idx", f"torch.tensor({json.dumps(argument)})"),
            "select": ("batch_select_indices", "indices", f"torch.tensor({json.dumps(argument)})"),
            "repeat": ("batch_repeat_interleave", "repeats", str(argument)),
        }[name]
        return f"{self.target}.{method}({word + '=' if self.keyword else ''}{value})"

    def crop_word(self) -> str:
        """The name of crop's argument."""
        if self.deprecated:
            return self.recipe.container.old_word if self.recipe is not None else "max_length"
        if self.minimax:
            return crop_keyword(load_class(MINIMAX, MINIMAX_CACHE))
        if self.recipe is not None:
            return crop_keyword(self.recipe.owner)
        return crop_keyword(load_class("transformers.cache_utils", "Cache") if self.through else self.parts[0].owner)

    def append(self, number: int, start: int, count: int) -> list[str]:
        """The body of one append."""
        rows = len(self.rows.origins)
        given = f"{start}, {count}, {rows}"
        lines = []

        def watched(name: str, expression: str) -> str:
            return f"watched({json.dumps(name)}, {expression})" if self.request.law == "ALIAS" else expression

        def feed(names: list[str], prefix: str, method: str, inputs: list[tuple[str, str]], rest: list[str]) -> None:
            passed = []
            for name, (word, expression) in zip(names, inputs, strict=True):
                spelled = watched(f"input.{number}.{prefix}{name}", expression)
                passed.append(f"{word}={spelled}" if self.keyword else spelled)
            call = f"{method}({', '.join(passed + rest)})"
            if not self.gives_back():
                lines.append(f"    {call}")
                return
            targets = [f"returned[{json.dumps(prefix + 'returned.' + name)}]" for name in names]
            lines.append(f"    {', '.join(targets)} = {call}")
            if self.request.law == "ALIAS":
                for name, target in zip(names, targets, strict=True):
                    lines.append(f"    {watched(f'earlier.{number}.{prefix}{name}', target)}")

        def place_word(place: int) -> list[str]:
            return ([f"layer_idx={place}"] if self.keyword else [str(place)]) if self.through else []

        def position_word(place: int) -> list[str]:
            if not self.positioned:
                return []
            options = f'{{"cache_position": ahead({count}{f", {place}" if self.through else ""})}}'
            return [f"cache_kwargs={options}" if self.keyword else options]

        attention = [("key_states", f"keys({given})"), ("value_states", f"values({given})")]
        if self.minimax:
            if self.uses("recurrent"):
                word = "layer_idx=0, linear_cache=" if self.keyword else "0, "
                state = watched(f"input.{number}.linear_cache", f"state({start + count - 1}, {rows})")
                lines.append(f"    cache.set_linear_cache({word}{state})")
            if self.uses("attention"):
                feed(["keys", "values"], "", "cache.update", attention, place_word(1) + position_word(1))
            return lines
        for part in self.parts:
            owner = self.target if self.through else part.spelled
            if part.variant.linear:
                numbered = accepts(part.owner.update_conv_state, "state_idx")
                kernel = ["conv_kernel_size=KERNEL"] if self.sized() else []
                for index in range(self.params.states):
                    where = place_word(part.place)
                    if numbered:
                        where.append(f"state_idx={index}" if self.keyword else str(index))
                    if "convolution" in part.parts:
                        columns = f"columns({given})" if self.sized() else f"fit({part.spelled}, columns({given}))"
                        feed(
                            [f"conv_states.{index}"],
                            part.prefix,
                            f"{owner}.update_conv_state",
                            [("conv_states", columns)],
                            where + kernel,
                        )
                    if "recurrent" in part.parts:
                        feed(
                            [f"recurrent_states.{index}"],
                            part.prefix,
                            f"{owner}.update_recurrent_state",
                            [("recurrent_states", f"state({start + count - 1}, {rows})")],
                            where,
                        )
            if "attention" in part.parts:
                both = [(word, f"keys({given})") for word, _ in attention] if part.variant.blocks else attention
                store = "cache.self_attention_cache" if self.cross else owner
                rest = place_word(part.place) + position_word(part.place)
                feed(["keys", "values"], part.prefix, f"{store}.update", both, rest)
            for compressor in part.compressors:
                passed = ", ".join(f"features({given}, {compressor.width})" for _ in range(2))
                prefix = f', "{part.prefix}"' if part.prefix else ""
                lines.append(f'    compress({part.spelled}, "{compressor.name}", {passed}{prefix})')
            if "index" in part.parts and part.variant.index == "indexer_keys":
                keys = [("indexer_key_states", f"index_keys({given})")]
                feed(["indexer_keys"], part.prefix, f"{owner}.update_indexer", keys, place_word(part.place))
            elif "index" in part.parts:
                feed(["idx_keys"], part.prefix, f"{part.spelled}.update_index", [("idx_k", f"idx_keys({given})")], [])
            if "positions" in part.parts:
                lines.append("    # Models join the position ids themselves.")
                ids = watched(f"input.{number}.{part.prefix}indexer_position_ids", f"positions({given})")
                lines.append(
                    f"    {part.spelled}.indexer_position_ids = joined({part.spelled}.indexer_position_ids, {ids})"
                )
            if self.cross:
                halves = []
                for name, word in (("keys", "key_states"), ("values", "value_states")):
                    spelled = watched(f"input.{number}.{part.prefix}cross_{name}", f"{name}(0, {CROSS_TOKENS}, {rows})")
                    halves.append(f"{word}={spelled}" if self.keyword else spelled)
                lines += [
                    f"    if not cache.is_updated.get({part.place}):",
                    "        # Models fill the cross-attention once.",
                    f"        cache.cross_attention_cache.update({', '.join(halves + place_word(part.place))})",
                    f"        cache.is_updated[{part.place}] = True",
                ]
        return lines

    def before_last(self, op: Op) -> list[str]:
        """What is remembered before the op in question."""
        law = self.request.law
        if law == "ADDRESS":
            return ["before = addresses()"]
        if law == "ATOMIC":
            return [f"counted = counters({self.layers})"]
        if law == "MASK" and op[0] == "append":
            return [f"announced = masks({op[1]})"]
        if law == "HONEST":
            return [f"claim = {self.target}.is_croppable", 'print("is_croppable says", claim)']
        return []

    # The verdict

    def make_check(self) -> list[str]:
        """What is compared, and the exit status."""
        law = self.request.law
        expected = self.request.expected
        lines: list[str] = []
        if law in LAW_CHECKS:
            if law == "ADDRESS":
                names = [self.request.tensor] if self.request.tensor else self.static_names()
                lines.append(LAW_CHECKS[law].format(names=json.dumps(names)))
            elif law == "ALIAS":
                lines.append(LAW_CHECKS[law].format(names=json.dumps(self.alias_names())))
            elif law == "ISOLATION":
                lines.append(LAW_CHECKS[law])
            else:
                masks = [pair for pair in expected.get("masks", []) if isinstance(pair, list) and len(pair) == 2]
                offsets = [pair[1] for pair in masks if pair[1] is not None]
                lines.append(LAW_CHECKS[law].format(offsets=json.dumps(offsets)))
        else:
            compared = self.comparisons(expected)
            if law == "ATOMIC":
                inner = [f"    {line}" for line in compared if '"outcome"' not in line]
                compared = [
                    "# Only a call that is refused must leave everything as it was.",
                    'if outcome == "refused":',
                ]
                compared += [*inner, f'    compare("counters", counted, counters({self.layers}))']
            lines += compared
            if law == "HONEST":
                lines += [
                    "",
                    "if not claim:",
                    '    print("the cache did not claim that it can be cropped")',
                    "    faults.clear()",
                ]
        lines += [
            "",
            'print("THE FAULT SHOWS: " + "; ".join(faults) if faults else "the fault does not show")',
            "sys.exit(1 if faults else 0)",
        ]
        return lines

    def comparisons(self, expected: dict[str, Any]) -> list[str]:
        """One line for each expectation."""
        lines = []
        outcome = expected.get("outcome")
        if outcome in ("done", "refused"):
            lines.append(f'compare("outcome", {json.dumps(outcome)}, outcome)')
            if outcome == "refused" and isinstance(expected.get("errors"), list) and expected["errors"]:
                names = [str(name) for name in expected["errors"]]
                if len(names) == 1:
                    lines.append(f'compare("kind of error", {json.dumps(names[0])}, kind_of_error)')
                else:
                    lines.append(f'compare("kind of error is documented", True, kind_of_error in {json.dumps(names)})')
        if self.request.law == "HONEST" and expected.get("claim") is False:
            lines.append('compare("is_croppable", False, bool(claim))')
        tensors = expected.get("tensors", {})
        if not isinstance(tensors, dict):
            raise RequestError('field "expected.tensors": expected an object')
        only_returned = self.request.law == "RETURN" and any("returned." in name for name in tensors)
        for field, reader in (("length", "lengths"), ("positions", "positions")):
            given = expected.get(field)
            if isinstance(given, list) and not only_returned and (field == "length" or self.request.law == "POSITION"):
                known = [number for number in given if type(number) is int]
                if known and len(known) == len(self.attention_places()):
                    lines.append(f'compare("{field}", {known}, {reader}())')
        for name, rows in tensors.items():
            if only_returned and "returned." not in name:
                continue
            numbers, kind = self.numbers_of(name, rows)
            if kind:
                more = "" if kind == "exact" else f', "{kind}"'
                more += f", {self.front()}" if kind == "newest" and self.front() else ""
                lines.append(f"compare_tensor({json.dumps(name)}, {numbers}{more})")
                self.kinds |= {kind} - {"exact"}
        return lines or ['compare("outcome", "done", outcome)']

    def numbers_of(self, name: str, rows: Any) -> tuple[list[list[int]], str]:
        """The expected numbers of each row, and the kind of comparison; "" for a tensor that is unknown here."""
        base = plain_name(name)
        if base in ("entry_count", "is_updated") and isinstance(rows, list):
            return rows, "exact"
        folded = base in ("recurrent_states", "linear_cache")
        if not folded and base not in AXES:
            return [], ""
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise RequestError('field "expected.tensors": expected token numbers for each row')
        cut = any("..." in row for row in rows)
        numbers = []
        for row, tokens in enumerate(rows):
            origins = self.rows.origins[row] if row < len(self.rows.origins) else {}
            if base.startswith("cross_"):
                origins = dict.fromkeys(range(CROSS_TOKENS), self.rows.constant[row] if self.rows.constant else row)
            known = [token for token in tokens if token != "..."]
            if not all(type(token) is int for token in known):
                raise RequestError('field "expected.tensors": expected token numbers for each row')
            wanted = known[-1:] if folded else known
            numbers.append([token + 1 + self.distance * origins.get(token, row) for token in wanted])
        kind = self.kind_of(name, base, max((len(row) for row in numbers), default=0))
        if cut:
            # The list was too long to be written out: its beginning is compared, where it is sure to be the beginning.
            kind = "buffer" if kind in ("exact", "buffer") else ""
        return numbers, kind

    def kind_of(self, name: str, base: str, expected: int) -> str:
        """How a tensor of `expected` tokens is compared."""
        if base in ("recurrent_states", "linear_cache"):
            return "state"
        if base == "conv_states":
            return "state"
        if base.startswith("residual_"):
            return "residual"
        part = next((part for part in self.parts if name.startswith(part.prefix)), None)
        if part is None or not part.variant.static or base == "indexer_position_ids":
            return "exact"
        cells = min(self.params.capacity, self.params.window) if part.variant.sliding else self.params.capacity
        cells += self.front()
        lengths = [number for number in self.request.expected.get("length", []) if type(number) is int]
        if "returned." in name and max([*lengths, expected]) > cells:
            return "newest"
        return "buffer"

    def front(self) -> int:
        """Tokens that a static layer keeps in front of its window: declared, or those of the first append."""
        if not any(part.variant.prefix and part.variant.static for part in self.parts):
            return 0
        resets = [at for at, op in enumerate(self.ops) if op[0] == "reset"]
        appends = [op[1] for op in self.ops[resets[-1] if resets else 0 :] if op[0] == "append"]
        first = appends[0] if appends and isinstance(appends[0], int) else 0
        room = self.params.capacity - min(self.params.capacity, self.params.window)
        return min(self.params.keep or first, room)

    def static_names(self) -> list[str]:
        """Tensors that are documented to keep their address."""
        names = []
        for part in self.parts:
            if part.variant.static:
                wanted = ["keys", "values"] + ([part.variant.index] if "index" in part.parts else [])
                names += [
                    part.prefix + name for name in wanted if "attention" in part.parts or name == part.variant.index
                ]
            if part.variant.linear:
                names += [name for name, _ in self.stored() if "_states." in name and name.startswith(part.prefix)]
        return names or [name for name, _ in self.stored()]

    def alias_names(self) -> list[str]:
        """Tensors that may not change after they were passed in or given out; [] for all that are watched."""
        named = [name for name in (self.request.tensor, *self.request.expected.get("tensors", {})) if name]
        wanted = [name for name in named if "input." in name or "earlier." in name]
        if not wanted and any(part.variant.static or part.variant.linear for part in self.parts):
            # Static and linear layers give out their own buffers, which change by design.
            return ["input."]
        return wanted


def write_script(request: ScriptRequest, version: str) -> str:
    """The program for one case: exits 1 when the fault shows, 0 when it does not."""
    return Writer(request, version).write()

"""Writes a case of a whole model as a program that needs only transformers and torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kvconform_adapter.request import Op, ScriptRequest
from kvconform_adapter.script_text import plain_text, why, words
from kvconform_adapter.transformers_architectures import SEED, WORDS, architectures, config_class, make_told
from kvconform_adapter.transformers_models import ENCODER_WORDS, ModelPlan, word_of

BOUND = 1e-5

FORWARD = "    return model({arguments}, use_cache=True).logits{part}"
SPLIT_FORWARD = """\
    # Once its cache holds words it takes one at a time.
    count = 1 if cache.get_seq_length() > 0 else len(tokens[0])
    logits = []
    for at in range(0, len(tokens[0]), count):
        words = [row[at : at + count] for row in tokens]
        logits.append(model({arguments}, use_cache=True).logits{part})
    return torch.cat(logits, dim=1)"""

PROGRAM = '''\
"""{title}
{why}
transformers {version}, a tiny random {name}. Exit status: 1 when the fault shows, 0 when it does not.
"""

import copy
import sys

import torch
import transformers
from transformers.cache_utils import {caches}

torch.set_grad_enabled(False)
torch.manual_seed({seed})
config = transformers.CONFIG_MAPPING["{name}"](**{told})
{settings}config._attn_implementation = "{attention}"
model = transformers.{owner}._from_config(config).to(torch.float64).eval()


def new_cache():
    """An empty cache."""
    return {new_cache}


def forward(cache, tokens):
    """What the model predicts after these words, given as a list for each row."""
{forward}


def attempt(what, call):
    """Whether the call went through; a refusal is printed."""
    try:
        call()
    except Exception as error:
        print(f"{{what}}: {{type(error).__name__}}: {{error}}")
        return False
    print(f"{{what}}: done")
    return True


def record(cache, on):
    """Keep what a later crop would have to bring back."""
    if on:
        cache.activate_past_recording()
        return
    for layer in getattr(cache, "self_attention_cache", cache).layers:
        layer.record_past = False


cache = new_cache()
pieces = []  # what must be in the cache: for each append the words of each row


def shorten(removed):
    """Take so many words off the end of what must be in the cache."""
    for _ in range(min(removed, sum(len(piece[0]) for piece in pieces))):
        for row in pieces[-1]:
            row.pop()
        if not pieces[-1][0]:
            pieces.pop()


def append(tokens):
    """A forward; returns what it predicts, None where it is refused."""
    seen = []
    if attempt(f"append {{len(tokens[0])}}", lambda: seen.append(forward(cache, tokens))):
        pieces.append([list(row) for row in tokens])
    return seen[0] if seen else None


{steps}
{check}'''

COMPARE = """\
if seen is None:
    print("the append can be done, and was refused")
    sys.exit(1)
rows = len(pieces[0])
fresh = new_cache()
{record_fresh}whole = forward(fresh, [sum((piece[row] for piece in pieces), []) for row in range(rows)])
whole = whole[:, -seen.shape[1] :]
if seen.shape != whole.shape:
    print(f"shape of the logits: expected {{list(whole.shape)}}, saw {{list(seen.shape)}}")
    sys.exit(1)
difference = float((seen - whole).abs().max() / whole.abs().max())
print(f"largest difference to a fresh cache with the same words in one piece: {{difference:.3g}} of the largest logit")
sys.exit(1 if not difference <= {bound} else 0)
"""
"""How a program ends whose last op is a forward."""

LAST = """\
done = attempt({label}, {call})
print("expected: {outcome}")
sys.exit(0 if done is {wanted} else 1)
"""
"""How one ends whose last op is another: nothing is predicted after it, so that its outcome is what is wrong."""


def spell_call(op: Op) -> str:
    """What performs an op that is no append."""
    name, argument = op
    if name == "crop":
        return f"lambda: cache.crop({argument})"
    if name == "reset":
        return "cache.reset"
    if name == "reorder" and isinstance(argument, tuple):
        return f"lambda: cache.reorder_cache(torch.tensor({list(argument)}))"
    return "lambda: copy.deepcopy(cache)" if name == "copy" else f"lambda: record(cache, {argument})"


def spell_step(op: Op, start: int, rows: int) -> tuple[list[str], int]:
    """The lines of one op, and how many tokens it uses up."""
    name, argument = op
    if name == "append" and isinstance(argument, int):
        tokens = [[word_of(start + at, row) for at in range(argument)] for row in range(rows)]
        return [f"seen = append({tokens})"], argument
    attempt = f"attempt({json.dumps(words(op))}, {spell_call(op)})"
    after = ""
    if name == "crop" and isinstance(argument, int) and argument < 0:
        after = f"shorten({-argument})"
    elif name == "crop" and isinstance(argument, int) and argument > 0:
        after = f"shorten(max(0, sum(len(piece[0]) for piece in pieces) - {argument}))"
    elif name == "reset":
        after = "pieces.clear()"
    elif name == "reorder" and isinstance(argument, tuple):
        after = f"pieces = [[list(piece[row]) for row in {list(argument)}] for piece in pieces]"
    elif name == "copy":
        return ["cache = copy.deepcopy(cache)"], 0
    return [f"if {attempt}:", f"    {after}"] if after else [attempt], 0


def spell_settings(config: Any, path: str = "config") -> list[str]:
    """The lines that set what is no argument of a config."""
    lines = [f'{path}._experts_implementation = "eager"']
    for name in getattr(config, "sub_configs", {}):
        inner = getattr(config, name, None)
        if inner is not None and hasattr(inner, "to_dict"):
            lines += spell_settings(inner, f"{path}.{name}")
    return lines


def spell_config(config: Any, name: str, crossed: bool) -> list[str]:
    """The lines that make of the config of an architecture the one that its model is made from."""
    lines = [] if type(config) is config_class(name) else ["config = config.get_text_config(decoder=True)"]
    lines += spell_settings(config)
    if getattr(config, "is_decoder", False) and not crossed:
        lines.append("config.is_decoder = True")
    return lines


def write_model_script(request: ScriptRequest, version: str) -> str:
    """The program for one case."""
    import transformers  # noqa: PLC0415

    name = request.variant.partition("/")[2]
    plan = ModelPlan(request.variant, request.params)
    steps = ["seen = None"]
    start, rows = 0, request.params.batch
    *before, last = request.ops[: request.step + 1]
    for op in [*before, last] if last[0] == "append" else before:
        lines, used = spell_step(op, start, rows)
        steps += lines
        start += used
    recording = [argument for kind, argument in before if kind == "record"]
    if last[0] == "append":
        bound = BOUND if plan.loss is None else round(BOUND + 8 * plan.loss_in_parts, 4)
        check = COMPARE.format(record_fresh="record(fresh, 1)\n" if recording and recording[-1] else "", bound=bound)
    else:
        outcome = "refused" if request.expected.get("outcome") == "refused" else "done"
        label = json.dumps(words(last))
        check = LAST.format(label=label, call=spell_call(last), outcome=outcome, wanted=outcome == "done")
    given = "words" if plan.one_at_a_time else "tokens"
    reads = f"{plan.word}=cache, {'decoder_input_ids' if plan.crossed else 'input_ids'}=torch.tensor({given})"
    if plan.crossed:
        reads += f", input_ids=torch.tensor([{list(ENCODER_WORDS)}] * len({given}))"
    settings = spell_config(plan.config, name, plan.crossed)
    return PROGRAM.format(
        title=plain_text(request.title),
        why=why(request),
        version=version,
        name=name,
        caches=", ".join(sorted(plan.cache.classes)),
        seed=SEED,
        told=repr(make_told(name)),
        settings="".join(f"{line}\n" for line in settings),
        attention=plan.attention,
        owner=architectures(str(Path(transformers.__file__).parent))[name],
        new_cache=plan.cache.spelled,
        forward=(SPLIT_FORWARD if plan.one_at_a_time else FORWARD).format(
            arguments=reads, part=f"[..., :{WORDS}]" if plan.wide else ""
        ),
        steps="\n".join(steps),
        check=check,
    )

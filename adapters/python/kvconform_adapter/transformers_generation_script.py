"""Writes a case of what a model says by itself as a program that needs only transformers and torch."""

from __future__ import annotations

from pathlib import Path

from kvconform_adapter.request import ScriptRequest
from kvconform_adapter.script_text import plain_text, why
from kvconform_adapter.transformers_architectures import SEED, architectures, make_told
from kvconform_adapter.transformers_generation import CLOSE, FAMILY, START, GenerationPlan
from kvconform_adapter.transformers_model_script import spell_config
from kvconform_adapter.transformers_models import ENCODER_WORDS, word_of

PROGRAM = '''\
"""{title}
{why}
transformers {version}, a tiny random {name}. Exit status: 1 when the fault shows, 0 when it does not.
"""

import sys

import torch
import transformers

torch.set_grad_enabled(False)


def make_model(seed):
    """The same architecture with other weights for each seed; it ends with no word before it is told to."""
    torch.manual_seed(seed)
    config = transformers.CONFIG_MAPPING["{name}"](**{told})
{settings}
    config._attn_implementation = "eager"
    model = transformers.{owner}._from_config(config).to(torch.float64).eval()
    settings = model.generation_config
    settings.eos_token_id = settings.forced_eos_token_id = settings.forced_bos_token_id = None
    settings.pad_token_id, settings.decoder_start_token_id = 0, {start}
    return model


model = make_model({seed})
{drafts}


def say(text, count, **told):
    """What the model says after these words, greedily."""
    words = torch.tensor([text])
    given = {given}
    given["attention_mask"] = torch.ones_like(given["input_ids"])
    return model.generate(**given, max_new_tokens=count, do_sample=False, use_cache=True, **told)


text = {prompt}
for count in {counts}:
    made = say(text, count, output_logits=True, return_dict_in_generate=True)
    alone = made.sequences[0].tolist()
    try:
        drafted = say(text, count, **drafts)[0].tolist()
    except Exception as error:
        print(f"with drafts: {{type(error).__name__}}: {{error}}")
        sys.exit(1)
    print(f"alone:       {{alone}}")
    print(f"with drafts: {{drafted}}")
    for at, logits in enumerate(made.logits):
        best = logits[0].topk(2).values
        if not (best[0] - best[1]) / logits[0].abs().max() > {close}:
            print("two words are as good as equal here: nothing can be said of what follows")
            break
        if alone[: len(text) + at + 1] != drafted[: len(text) + at + 1]:
            print(f"they differ from word {{len(text) + at}} on")
            sys.exit(1)
    else:
        if len(alone) != len(drafted):
            print(f"{{len(drafted)}} words instead of {{len(alone)}}")
            sys.exit(1)
    text = alone
sys.exit(0)
'''


def write_generation_script(request: ScriptRequest, version: str) -> str:
    """The program for one case."""
    import transformers  # noqa: PLC0415

    name = request.variant.removeprefix(FAMILY)
    plan = GenerationPlan(request.variant, request.params)
    counts = [int(argument) for _, argument in request.ops[: request.step + 1] if isinstance(argument, int)]
    drafts = f'drafts = {{"prompt_lookup_num_tokens": {plan.block}}}'
    if plan.assistant is not None:
        drafts = "\n".join(
            [
                f"assistant = make_model({SEED + 1})",
                f"assistant.generation_config.num_assistant_tokens = {plan.block}",
                'assistant.generation_config.num_assistant_tokens_schedule = "constant"',
                "assistant.generation_config.assistant_confidence_threshold = 0.0",
                'drafts = {"assistant_model": assistant}',
            ]
        )
    given = '{"input_ids": words}'
    if plan.crossed:
        given = f'{{"input_ids": torch.tensor([{list(ENCODER_WORDS)}]), "decoder_input_ids": words}}'
    settings = spell_config(plan.model.config, name, plan.crossed)
    return PROGRAM.format(
        title=plain_text(request.title),
        why=why(request),
        version=version,
        name=name,
        told=repr(make_told(name)),
        settings="\n".join(f"    {line}" for line in settings),
        owner=architectures(str(Path(transformers.__file__).parent))[name],
        seed=SEED,
        drafts=drafts,
        given=given,
        start=START,
        prompt=[START] * plan.crossed + [word_of(at, 0) for at in range(counts[0])],
        counts=counts[1:],
        close=CLOSE,
    )

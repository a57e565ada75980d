"""What a whole model says by itself, greedily: with drafts that another model or a look-up makes, and without.

The variant is `model-generate/NAME`. Its first append is a prompt of so many words; each further one lets the model say
so many by `generate`, alone and with drafts, from all the words before it. What it says alone is what the text goes on
with, and what is shown is on how many words the two agree.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import torch

from kvconform_adapter.reply import Reply, Table
from kvconform_adapter.request import AbsentError, Op, Origins, Params, RequestError
from kvconform_adapter.transformers_architectures import SEED, make_model
from kvconform_adapter.transformers_models import ENCODER_WORDS, word_of

FAMILY = "model-generate/"
START = 1
"""The word with which the decoder of a model with an encoder begins."""
CLOSE = 1e-4
"""Choices whose two best words are no farther apart, in parts of the largest logit, are made by the arithmetic."""
TRIAL = (5, 4)
"""Words of the prompt, and words to be said, by which is found out whether the library takes such a model."""


def is_refusal(error: Exception) -> bool:
    """Whether the code of `generate` itself raised it on purpose, and so says what it does not do.

    What the model or its cache raises from within is none.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    return (last.line or "").startswith("raise ") and Path(last.filename).parent.name == "generation"


class GenerationPlan:
    """A model, and what makes its drafts."""

    def __init__(self, variant: str, params: Params) -> None:
        import transformers  # noqa: PLC0415

        name = variant.removeprefix(FAMILY)
        attention, _, self.drafts = (params.parts or "eager+lookup").partition("+")
        if self.drafts not in ("assistant", "lookup"):
            raise RequestError(f'field "params.parts": drafts of {self.drafts[:40]}, expected assistant or lookup')
        package = str(Path(transformers.__file__).parent)
        self.model = make_model(name, package, attention)
        self.block = params.block
        self.crossed = bool(self.model.config.is_encoder_decoder)
        self.assistant = make_model(name, package, attention, SEED + 1) if self.drafts == "assistant" else None
        for model in (self.model, self.assistant):
            if model is None:
                continue
            if not model.can_generate():
                raise AbsentError(f"{name} does not generate")
            settings = model.generation_config
            # It must say as many words as it is asked for.
            settings.eos_token_id = settings.forced_eos_token_id = settings.forced_bos_token_id = None
            settings.pad_token_id, settings.decoder_start_token_id = 0, START
        if self.assistant is not None:
            settings = self.assistant.generation_config
            settings.num_assistant_tokens = params.block
            settings.num_assistant_tokens_schedule = "constant"
            settings.assistant_confidence_threshold = 0.0
        self.try_out(name)

    def try_out(self, name: str) -> None:
        """Say some words, to find out what the library does not do with such a model."""
        text = [word_of(at, 0) for at in range(TRIAL[0])]
        try:
            self.say(text, TRIAL[1], False)
        except MemoryError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise RequestError(f"a tiny {name} cannot say a word: {type(error).__name__}: {reason}") from error
        try:
            self.say(text, TRIAL[1], True)
        except MemoryError:
            raise
        except Exception as error:
            if is_refusal(error):
                reason = " ".join(str(error).split())[:200]
                raise AbsentError(f"{name} says no words with drafts of this kind: {reason}") from error
            # All else is for the sequences to show.

    def say(self, text: list[int], count: int, drafted: bool) -> tuple[list[int], list[float]]:
        """The next words, and of each that is chosen alone how much better it was than the second."""
        told: dict[str, Any] = {"max_new_tokens": count, "do_sample": False, "use_cache": True}
        words = torch.tensor([[START, *text] if self.crossed else text])
        given = {"input_ids": words}
        if self.crossed:
            given = {"input_ids": torch.tensor([ENCODER_WORDS]), "decoder_input_ids": words}
        given["attention_mask"] = torch.ones_like(given["input_ids"])
        if drafted and self.assistant is not None:
            told["assistant_model"] = self.assistant
        elif drafted:
            told["prompt_lookup_num_tokens"] = self.block
        else:
            told |= {"output_logits": True, "return_dict_in_generate": True}
        made = self.model.generate(**given, **told)
        if drafted:
            return made[0, words.shape[1] :].tolist(), []
        margins = []
        for logits in made.logits:
            best = logits[0].topk(2).values
            margins.append(float((best[0] - best[1]) / logits[0].abs().max()))
        return made.sequences[0, words.shape[1] :].tolist(), margins

    def compare(self, text: list[int], count: int) -> tuple[list[int], int]:
        """What the model says alone, and on how many of these words it agrees when it has drafts."""
        alone, margins = self.say(text, count, False)
        drafted, _ = self.say(text, count, True)
        for at in range(max(len(alone), len(drafted))):
            if at < len(margins) and not margins[at] > CLOSE:
                break
            if alone[at : at + 1] != drafted[at : at + 1]:
                return alone, at
        return alone, len(alone)


class GenerationRunner:
    """Runs sequences on one model into one reply."""

    def __init__(self, plan: GenerationPlan, reply: Reply[Table]) -> None:
        self.plan = plan
        self.reply = reply

    def sequence(self, ops: list[Op], numbers: list[int] | None, origins: Origins | None) -> str:
        """All steps of one sequence, as JSON."""
        del numbers, origins
        text: list[int] = []
        steps = []
        for name, argument in ops:
            if name != "append" or not isinstance(argument, int):
                raise RequestError(f'field "sequences": what a model says has no op {name}')
            error = -1
            agreed = argument
            try:
                if text:
                    said, agreed = self.plan.compare(text, argument)
                else:
                    said = [word_of(at, 0) for at in range(argument)]
            except MemoryError:
                raise
            except Exception as raised:
                error = self.reply.error(raised)
                said, agreed = [], 0
            index, read = self.reply.table.show("agreed", shown := torch.tensor([len(text) + agreed]))
            self.reply.raw.append(read(shown.data_ptr()).raw)
            text += said
            steps.append(f"[{0 if error < 0 else 1},[null],[null],[],null,[{index}],{error}]")
        return f"[{','.join(steps)}]"

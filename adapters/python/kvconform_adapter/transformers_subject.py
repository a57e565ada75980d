"""Drives transformers: performs the ops of a request and shows what the cache holds after each.

This is the inner loop of every run, so it avoids work: replies are written as text piece by piece, descriptions of
tensors are made once for a reply, and a returned tensor that is the stored one is not copied again.
"""

from __future__ import annotations

import json
import platform
import sys
import warnings
from collections import OrderedDict
from ctypes import string_at
from typing import TYPE_CHECKING, Any

from kvconform_adapter.request import ROWS_MAX, Op, Params, RequestError, RunRequest, ScriptRequest

if TYPE_CHECKING:
    from kvconform_adapter.transformers_calls import Plan, Session

ERROR_TEXT_MAX = 300
PLANS_MAX = 32
"""Plans kept, each with its tables of inputs."""


class Reply:
    """What one reply gathers: descriptions of tensors, errors, raw bytes."""

    def __init__(self) -> None:
        self.definitions: dict[Any, str] = {}
        self.texts: list[str] = []
        self.errors: dict[tuple[str, str], int] = {}
        self.raw: list[bytes] = []

    def define(self, key: Any, tensor: Any) -> str:
        """The index of a description (name, dtype, shape) that is not known yet."""
        name, dtype, shape = key
        word = str(dtype).removeprefix("torch.")
        if word not in ("float32", "float16", "bfloat16", "float64", "int64") or tensor.device.type != "cpu":
            raise RequestError(f"{name} is a tensor of type {word} on {tensor.device}, which the protocol cannot carry")
        index = self.definitions[key] = str(len(self.texts))
        self.texts.append(json.dumps([name, word, list(shape)], separators=(",", ":")))
        return index

    def index(self, name: str, tensor: Any) -> str:
        """The index of a description."""
        key = (name, tensor.dtype, tensor.shape)
        return self.definitions.get(key) or self.define(key, tensor)

    def define_same(self, key: Any, tensor: Any) -> str:
        """An entry of a returned tensor that is the stored one in the entry at `place`."""
        name, _, place = key
        text = self.definitions[key] = f"[{self.index(name, tensor)},{place}]"
        return text

    def error(self, error: BaseException, observer: str = "") -> int:
        """The index of an error."""
        text = f"{observer}: {error}" if observer else str(error)
        key = (type(error).__name__, text[:ERROR_TEXT_MAX])
        return self.errors.setdefault(key, len(self.errors))

    def body(self, results: list[str]) -> str:
        """The fields of the reply between `id` and `bytes`."""
        errors = json.dumps(list(self.errors))
        return f'"tensors":[{",".join(self.texts)}],"errors":{errors},"results":[{",".join(results)}]'


def raw_bytes(tensor: Any) -> bytes:
    """The elements, row-major. Reading them in place is twice as fast as through numpy, and knows bfloat16."""
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    return string_at(tensor.data_ptr(), tensor.nbytes)


class Runner:
    """Runs sequences of one plan into one reply."""

    def __init__(self, plan: Plan, params: Params, reply: Reply) -> None:
        self.plan = plan
        self.params = params
        self.reply = reply
        self.watch = params.watch == 1

    def sequence(self, ops: list[Op], numbers: list[int] | None) -> str:
        """All steps of one sequence, as JSON."""
        session = self.plan.open()
        repeated = numbers is not None and len(set(numbers)) != len(numbers)
        steps = []
        for name, argument in ops:
            if name == "append":
                steps.append(self.append(session, argument, numbers, repeated))
            else:
                steps.append(self.other(session, name, argument))
        return f"[{','.join(steps)}]"

    def append(self, session: Session, count: Any, numbers: list[int] | None, repeated: bool) -> str:
        """One append, in all parts of all layers."""
        plan = self.plan
        observer_error = -1
        masks = []
        for mask in plan.masks:
            if mask is None:
                masks.append("null")
                continue
            try:
                length, offset = mask(session, count)
                masks.append(f"[{int(length)},{int(offset)}]")
            except MemoryError:
                raise
            except Exception as error:
                masks.append("null")
                observer_error = self.reply.error(error, "get_mask_sizes")
        inputs, folds = self.make_inputs(session, count, numbers, repeated)
        if self.watch:
            for feed, given in zip(plan.feeds, inputs, strict=True):
                for name, tensor in zip(feed.names, given, strict=True):
                    session.inputs.append((f"input.{session.appends}.{feed.prefix}{name}", tensor))
        returned = []
        error_index = -1
        at = 0
        try:
            for feed in plan.feeds:
                result = feed.call(session, inputs[at])
                at += 1
                if feed.returns:
                    returned.append((feed, result))
        except MemoryError:
            raise
        except Exception as error:
            error_index = self.reply.error(error)
            returned = []
        else:
            if plan.recurrent:
                session.folds = list(folds)
        session.start += count
        if self.watch:
            for feed, result in returned:
                for name, tensor in zip(feed.names, result, strict=False):
                    session.results.append((f"earlier.{session.appends}.{feed.prefix}{name}", tensor))
        session.appends += 1
        return self.observe(session, ",".join(masks), "null", returned, error_index, observer_error)

    def make_inputs(
        self, session: Session, count: int, numbers: list[int] | None, repeated: bool
    ) -> tuple[list[list[Any]], tuple[int, ...]]:
        """The inputs of each feed, and the fold numbers after this append."""
        plan, start, rows = self.plan, session.start, session.rows
        folds = self.folded(session, count, numbers) if plan.recurrent else ()
        inputs = []
        for feed in plan.feeds:
            if feed.folded:
                given = [table.take_state(folds, False) for table in feed.tables]
            elif numbers is None:
                given = [table.take(start, count, rows) for table in feed.tables]
            else:
                wanted = numbers[start : start + count]
                given = [table.take_numbers(wanted, rows, repeated) for table in feed.tables]
            if feed.prepare is not None:
                given = [feed.prepare(session, tensor) for tensor in given]
            inputs.append(given)
        return inputs, folds

    def folded(self, session: Session, count: int, numbers: list[int] | None) -> tuple[int, ...]:
        """The fold numbers of all rows after the new tokens."""
        from kvconform_adapter.values import fold  # noqa: PLC0415

        found = []
        for number in session.folds:
            for token in range(session.start, session.start + count):
                number = fold(number, token if numbers is None else numbers[token])  # noqa: PLW2901
            found.append(number)
        return tuple(found)

    def other(self, session: Session, name: str, argument: Any) -> str:
        """One op that is no append."""
        claim = "null"
        error_index = observer_error = -1
        if name == "crop":
            try:
                said = getattr(session.target, "is_croppable", None)
                if said is not None:
                    claim = "1" if said else "0"
            except MemoryError:
                raise
            except Exception as error:
                observer_error = self.reply.error(error, "is_croppable")
        try:
            # An op on rows comes out of step when the subject refused an earlier one: the call cannot be made then.
            if name in ("reorder", "select"):
                if max(argument) >= session.rows or (name == "reorder" and len(argument) != session.rows):
                    raise IndexError(f"{name} {list(argument)} does not fit {session.rows} rows")
            elif name == "repeat" and session.rows * argument > ROWS_MAX:
                raise IndexError(f"a batch may have at most {ROWS_MAX} rows")
            self.plan.ops[name](session, argument)
        except MemoryError:
            raise
        except Exception as error:
            error_index = self.reply.error(error)
        else:
            if name in ("reorder", "select"):
                session.folds = [session.folds[row] for row in argument]
                session.rows = len(argument)
            elif name == "repeat":
                session.folds = [number for number in session.folds for _ in range(argument)]
                session.rows *= argument
            elif name == "reset":
                session.folds = [0] * session.rows
        return self.observe(session, "", claim, (), error_index, observer_error)

    def observe(
        self, session: Session, masks: str, claim: str, returned: Any, error_index: int, observer_error: int
    ) -> str:
        """One step, as JSON; its raw bytes go into the reply."""
        plan, reply = self.plan, self.reply
        lengths = []
        for read in plan.lengths:
            if read is None:
                lengths.append("null")
                continue
            try:
                lengths.append(str(int(read(session))))
            except MemoryError:
                raise
            except Exception as error:
                lengths.append("null")
                observer_error = reply.error(error, "get_seq_length")
        if error_index < 0:
            error_index = observer_error
        length = ",".join(lengths)
        position = ""
        if plan.positions:
            try:
                position = ",".join([str(int(read(session))) for read in plan.positions])
            except MemoryError:
                raise
            except Exception as error:
                error_index = reply.error(error, "get_query_offset") if error_index < 0 else error_index
        head = f"[{0 if error_index < 0 else 1},[{length}],[{masks}],[{position}],{claim},["
        definitions, raw, layers = reply.definitions, reply.raw, session.layers
        entries: list[str] = []
        tensors: list[Any] = []  # one for each entry
        shown: list[Any] = []  # one for each stored tensor, None for one that does not exist
        for name, layer, fetch in plan.stored:
            tensor = fetch(layers[layer])
            shown.append(tensor)
            if tensor is None:
                continue
            key = (name, tensor.dtype, tensor.shape)
            entries.append(definitions.get(key) or reply.define(key, tensor))
            tensors.append(tensor)
            # As `raw_bytes`, written out: the most frequent line of all.
            raw.append(string_at(tensor.data_ptr(), tensor.nbytes) if tensor.is_contiguous() else raw_bytes(tensor))
        complete = len(shown) == len(tensors)
        for feed, result in returned:
            for at, tensor in enumerate(result):
                slot = feed.slots[at]
                if tensor is shown[slot]:
                    # What was not stored has no entry, so that entries may lie before their slot.
                    place = slot if complete else slot - sum(other is None for other in shown[:slot])
                    pair = (feed.returned_names[at], entries[place], place)
                    entries.append(definitions.get(pair) or reply.define_same(pair, tensor))
                else:
                    entries.append(reply.index(feed.returned_names[at], tensor))
                    raw.append(raw_bytes(tensor))
                tensors.append(tensor)
        if self.watch:
            self.observe_watched(session, entries, tensors)
        if not plan.addresses:
            return f"{head}{','.join(entries)}],{error_index}]"
        addresses = ",".join([str(tensor.data_ptr()) for tensor in tensors])
        return f"{head}{','.join(entries)}],{error_index},[{addresses}]]"

    def observe_watched(self, session: Session, entries: list[str], tensors: list[Any]) -> None:
        """All inputs and returned tensors of this sequence as they are now."""
        known = {id(tensor): place for place, tensor in reversed(list(enumerate(tensors)))}
        for name, tensor in (*session.inputs, *session.results):
            index = self.reply.index(name, tensor)
            place = known.setdefault(id(tensor), len(entries))
            if place != len(entries):
                entries.append(f"[{index},{place}]")
            else:
                entries.append(index)
                self.reply.raw.append(raw_bytes(tensor))
            tensors.append(tensor)


class TransformersSubject:
    """The subject `transformers`. Importing it can fail; that is said in the reply to the first request."""

    def __init__(self) -> None:
        self.plans: OrderedDict[tuple[str, Params], Plan] = OrderedDict()
        self.problem = ""
        self.version = ""
        self.variants: list[str] = []
        try:
            self.load()
        except MemoryError:
            raise
        except Exception as error:
            self.problem = (
                f"cannot import transformers in {sys.executable}: {type(error).__name__}: {str(error)[:300]}; "
                "install it there with: python -m pip install transformers torch"
            )

    def load(self) -> None:
        """Import the subject and make it quiet and single-threaded."""
        # Deprecation warnings are part of what is tested; thousands of them would only bury other messages.
        warnings.simplefilter("ignore")
        import torch  # noqa: PLC0415
        import transformers  # noqa: PLC0415
        from transformers import cache_utils  # noqa: PLC0415

        transformers.logging.set_verbosity_error()
        torch.set_num_threads(1)
        # Not inference mode: there torch does not count writes to tensors, see values.py.
        torch.set_grad_enabled(False)
        self.version = transformers.__version__
        if not hasattr(cache_utils, "DynamicLayer") or int(self.version.split(".")[0]) < 5:
            self.problem = (
                f"transformers {self.version} is too old: this adapter knows 5.12 and newer; "
                "choose another version with: python -m pip install 'transformers>=5.12'"
            )
            return
        from kvconform_adapter.transformers_caches import available_variants  # noqa: PLC0415

        self.variants = available_variants()

    def check(self) -> None:
        """Raise RequestError when the subject cannot be used."""
        if self.problem:
            raise RequestError(self.problem)

    def hello(self) -> dict[str, Any]:
        """Who the subject is and what it has."""
        self.check()
        import torch  # noqa: PLC0415

        return {
            "subject": "transformers",
            "version": self.version,
            "environment": {
                "python": platform.python_version(),
                "torch": str(torch.__version__),
                "platform": f"{platform.system()}-{platform.machine()}",
            },
            "variants": self.variants,
        }

    def plan(self, variant: str, params: Params) -> Plan:
        """The plan for a variant and its parameters, made once."""
        self.check()
        if variant not in self.variants:
            raise RequestError(f'field "variant": transformers {self.version} has no cache "{variant[:63]}"')
        key = (variant, params)
        plan = self.plans.get(key)
        if plan is None:
            from kvconform_adapter.transformers_calls import PlanMaker  # noqa: PLC0415

            plan = self.plans[key] = PlanMaker(params).make(variant)
            if len(self.plans) > PLANS_MAX:
                self.plans.popitem(last=False)
        else:
            self.plans.move_to_end(key)
        return plan

    def run(self, request: RunRequest) -> tuple[str, list[bytes]]:
        """Perform all sequences of a request."""
        plan = self.plan(request.variant, request.params)
        reply = Reply()
        runner = Runner(plan, request.params, reply)
        results = [
            runner.sequence(ops, numbers) for ops, numbers in zip(request.sequences, request.numbers, strict=True)
        ]
        return reply.body(results), reply.raw

    def script(self, request: ScriptRequest) -> str:
        """The stand-alone program for one case."""
        self.check()
        if request.variant not in self.variants:
            raise RequestError(f'field "variant": transformers {self.version} has no cache "{request.variant}"')
        from kvconform_adapter.transformers_script import write_script  # noqa: PLC0415

        return write_script(request, self.version)

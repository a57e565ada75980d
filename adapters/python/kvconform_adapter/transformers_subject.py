"""Drives transformers: performs the ops of a request and shows what the cache holds after each.

This is the inner loop of every run, so it avoids work: replies are written as text piece by piece, and a returned
tensor that is the stored one is not copied again.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvconform_adapter.formula import fold_all
from kvconform_adapter.reply import Reply, Table, Watch
from kvconform_adapter.request import ROWS_MAX, LayersRequest, Op, Origins, Params, RequestError, ScriptRequest
from kvconform_adapter.subject import LoadedSubject

if TYPE_CHECKING:
    from kvconform_adapter.transformers_calls import Plan, Session
    from kvconform_adapter.transformers_generation import GenerationPlan, GenerationRunner
    from kvconform_adapter.transformers_models import ModelPlan, ModelRunner
    from kvconform_adapter.values import TablePool


class Runner:
    """Runs sequences of one plan into one reply."""

    def __init__(self, plan: Plan, params: Params, reply: Reply[Table]) -> None:
        self.plan = plan
        self.params = params
        self.reply = reply
        self.watch = params.watch == 1
        # Inputs that depend on nothing but their tokens and rows are looked up together.
        self.plain = not plan.recurrent and all(
            feed.prepare is None and not feed.folded and not feed.constant for feed in plan.feeds
        )
        self.names: dict[int, tuple[list[list[str]], list[list[str]]]] = {}
        self.inputs: dict[tuple[int, int, int], tuple[list[list[Any]], list[tuple[Any, int]]]] = {}

    def sequence(self, ops: list[Op], numbers: list[int] | None, origins: Origins | None) -> str:
        """All steps of one sequence, as JSON."""
        del origins
        session = self.plan.open()
        if self.watch:
            session.inputs, session.results = Watch(self.reply), Watch(self.reply)
        repeated = numbers is not None and len(set(numbers)) != len(numbers)
        append, other = self.append, self.other
        steps = [
            append(session, argument, numbers, repeated) if name == "append" else other(session, name, argument)
            for name, argument in ops
        ]
        return f"[{','.join(steps)}]"

    def append(self, session: Session, count: Any, numbers: list[int] | None, repeated: bool) -> str:
        """One append, in all parts of all layers."""
        plan = self.plan
        observer_error = -1
        masks = []
        if plan.before_append is not None:
            plan.before_append(session)
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
        folds: tuple[int, ...] = ()
        if self.plain and numbers is None:
            inputs = self.take_inputs(session, count)
        else:
            inputs, folds = self.make_inputs(session, count, numbers, repeated)
        if self.watch:
            names, earlier_names = self.watched_names(session.appends)
            for feed_names, given in zip(names, inputs, strict=True):
                # A feed may return more than it takes.
                session.inputs.add(zip(feed_names, given, strict=False))
        returned = []
        error_index = -1
        try:
            for feed, given in zip(plan.feeds, inputs, strict=True):
                result = feed.call(session, given)
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
                pairs = zip(earlier_names[plan.feeds.index(feed)], result, strict=True)
                session.results.add([(name, tensor) for name, tensor in pairs if tensor is not None])
        session.appends += 1
        return self.observe(session, ",".join(masks), "null", returned, error_index, observer_error)

    def take_inputs(self, session: Session, count: int) -> list[list[Any]]:
        """As `make_inputs`, for a plan whose inputs are `plain`."""
        key = (session.start, count, session.rows)
        entry = self.inputs.get(key)
        if entry is not None:
            for tensor, version in entry[1]:
                if tensor._version != version:
                    break
            else:
                return entry[0]
        inputs = [[table.take(*key) for table in feed.tables] for feed in self.plan.feeds]
        self.inputs[key] = (inputs, [(tensor, tensor._version) for given in inputs for tensor in given])
        return inputs

    def make_inputs(
        self, session: Session, count: int, numbers: list[int] | None, repeated: bool
    ) -> tuple[list[list[Any]], tuple[int, ...]]:
        """The inputs of each feed, and the fold numbers after this append."""
        plan, start, rows = self.plan, session.start, session.rows
        folds = fold_all(session.folds, start, count, numbers) if plan.recurrent else ()
        inputs = []
        for feed in plan.feeds:
            if feed.folded:
                given = [table.take_state(folds, False) for table in feed.tables]
            elif feed.constant:
                given = [table.take(0, feed.constant, rows) for table in feed.tables]
            elif numbers is None:
                given = [table.take(start, count, rows) for table in feed.tables]
            else:
                wanted = numbers[start : start + count]
                given = [table.take_numbers(wanted, rows, repeated) for table in feed.tables]
            if feed.prepare is not None:
                given = [feed.prepare(session, tensor) for tensor in given]
            inputs.append(given)
        return inputs, folds

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
        table, raw, layers = reply.table, reply.raw, session.layers
        definitions, same, pack = table.definitions, table.same, table.pack
        entries: list[str] = []
        shown: list[Any] = []  # one for each stored tensor, None for one that does not exist
        for name, layer, fetch in plan.stored:
            tensor = fetch(layers[layer])
            shown.append(tensor)
            if tensor is None:
                continue
            key = (name, tensor.dtype, tensor.shape)
            index, fetch_bytes = definitions.get(key) or table.define(key, tensor)
            entries.append(index)
            raw.append(fetch_bytes(tensor.data_ptr()).raw if tensor.is_contiguous() else pack(tensor, fetch_bytes))
        complete = len(shown) == len(entries)
        for feed, result in returned:
            for at, tensor in enumerate(result):
                if tensor is None:
                    continue
                slot = feed.slots[at]
                if tensor is shown[slot]:
                    # What was not stored has no entry, so that entries may lie before their slot.
                    place = slot if complete else slot - sum(other is None for other in shown[:slot])
                    pair = (feed.returned_names[at], entries[place], place)
                    entries.append(same.get(pair) or table.define_same(pair, tensor))
                else:
                    index, fetch_bytes = table.show(feed.returned_names[at], tensor)
                    entries.append(index)
                    raw.append(
                        fetch_bytes(tensor.data_ptr()).raw if tensor.is_contiguous() else pack(tensor, fetch_bytes)
                    )
        if not self.watch and not plan.addresses and session.original is None:
            return f"{head}{','.join(entries)}],{error_index}]"
        # One for each entry.
        tensors = [tensor for tensor in shown if tensor is not None]
        for _, result in returned:
            tensors += [tensor for tensor in result if tensor is not None]
        if session.original is not None:
            self.observe_original(session.original, entries, tensors)
        if self.watch:
            places = {id(tensor): place for place, tensor in enumerate(tensors)}
            for watch in (session.inputs, session.results):
                entries += watch.entries(len(entries), places)
                tensors += watch.tensors
        if not plan.addresses:
            return f"{head}{','.join(entries)}],{error_index}]"
        addresses = ",".join([str(tensor.data_ptr()) for tensor in tensors])
        return f"{head}{','.join(entries)}],{error_index},[{addresses}]]"

    def observe_original(self, original: Session, entries: list[str], tensors: list[Any]) -> None:
        """The cache that was copied, as it is now."""
        from kvconform_adapter.transformers_calls import whole_numbers  # noqa: PLC0415

        table = self.reply.table
        held = [(name, fetch(original.layers[layer])) for name, layer, fetch in self.plan.stored]
        lengths = []
        for read in self.plan.lengths:
            try:
                lengths.append(-1 if read is None else int(read(original)))
            except MemoryError:
                raise
            except Exception:
                lengths.append(-1)
        held.append(("length", whole_numbers(tuple(lengths))))
        for name, tensor in held:
            if tensor is None:
                continue
            index, fetch_bytes = table.show(f"original.{name}", tensor)
            entries.append(index)
            tensors.append(tensor)
            self.reply.raw.append(
                fetch_bytes(tensor.data_ptr()).raw if tensor.is_contiguous() else table.pack(tensor, fetch_bytes)
            )

    def watched_names(self, number: int) -> tuple[list[list[str]], list[list[str]]]:
        """For each feed the names of the inputs and of the returned tensors of append `number`, as they are watched."""
        found = self.names.get(number)
        if found is None:
            found = self.names[number] = (
                [[f"input.{number}.{feed.prefix}{name}" for name in feed.names] for feed in self.plan.feeds],
                [[f"earlier.{number}.{feed.prefix}{name}" for name in feed.names] for feed in self.plan.feeds],
            )
        return found


class TransformersSubject(LoadedSubject["Plan | ModelPlan | GenerationPlan", Table]):
    """The subject `transformers`."""

    name = "transformers"
    packages = "transformers torch"
    module = "transformers"

    def __init__(self) -> None:
        self.unavailable: dict[str, str] = {}
        self.pool: TablePool
        super().__init__(Table())

    def load(self) -> None:
        """Import the subject and make it quiet and single-threaded."""
        # Deprecation warnings are part of what is tested; thousands of them would only bury other messages.
        warnings.simplefilter("ignore")
        import torch  # noqa: PLC0415
        import transformers  # noqa: PLC0415

        from kvconform_adapter.transformers_quantised import plain_compile  # noqa: PLC0415

        with plain_compile():
            from transformers import cache_utils  # noqa: PLC0415

        transformers.logging.set_verbosity_error()
        torch.set_num_threads(1)
        # Not inference mode: there torch does not count writes to tensors, see values.py.
        torch.set_grad_enabled(False)
        self.version = transformers.__version__
        if not hasattr(getattr(cache_utils, "DynamicLayer", None), "lazy_initialization"):
            self.problem = (
                f"transformers {self.version} is too old: this adapter knows 4.57 and newer; "
                "choose another version with: python -m pip install 'transformers>=4.57'"
            )
            return
        from kvconform_adapter.transformers_caches import (  # noqa: PLC0415
            available_variants,
            class_locations,
            unavailable_variants,
        )
        from kvconform_adapter.transformers_containers import (  # noqa: PLC0415
            available_containers,
            unavailable_containers,
        )
        from kvconform_adapter.values import TablePool  # noqa: PLC0415

        self.pool = TablePool()
        self.unavailable = unavailable_variants() | unavailable_containers()
        names = available_variants() + available_containers()
        self.variants = [name for name in names if name not in self.unavailable]
        self.locations = class_locations(self.variants)
        from kvconform_adapter.transformers_models import model_variants  # noqa: PLC0415

        self.variants += model_variants(str(Path(transformers.__file__).parent))

    def libraries(self) -> dict[str, str]:
        """The versions of what the subject stands on."""
        import torch  # noqa: PLC0415

        return {"torch": str(torch.__version__)}

    def hello(self) -> dict[str, Any]:
        """Who the subject is and what it has."""
        reply = super().hello() | {"offers": ["classes", "prepare", "places", "layers"]}
        return reply | {"unavailable": self.unavailable} if self.unavailable else reply

    def classes(self) -> list[str]:
        """All cache classes of the installation, driven or not."""
        self.check()
        import transformers  # noqa: PLC0415

        from kvconform_adapter.transformers_classes import cache_classes  # noqa: PLC0415

        return cache_classes(Path(transformers.__file__).parent)

    def make_plan(self, variant: str, params: Params) -> Plan | ModelPlan | GenerationPlan:
        """A plan for a variant that the subject has."""
        from kvconform_adapter.transformers_calls import PlanMaker  # noqa: PLC0415
        from kvconform_adapter.transformers_generation import FAMILY, GenerationPlan  # noqa: PLC0415
        from kvconform_adapter.transformers_models import ModelPlan, is_model  # noqa: PLC0415

        if variant.startswith(FAMILY):
            return GenerationPlan(variant, params)
        if is_model(variant):
            return ModelPlan(variant, params)
        return PlanMaker(params, self.pool).make(variant)

    def tidy(self) -> None:
        """Between two requests: forget what has become too much."""
        self.pool.tidy()
        super().tidy()

    def runner(
        self, plan: Plan | ModelPlan | GenerationPlan, params: Params, reply: Reply[Table]
    ) -> Runner | ModelRunner | GenerationRunner:
        """What performs the sequences of one request."""
        from kvconform_adapter.transformers_generation import GenerationPlan, GenerationRunner  # noqa: PLC0415
        from kvconform_adapter.transformers_models import ModelPlan, ModelRunner  # noqa: PLC0415

        if isinstance(plan, GenerationPlan):
            return GenerationRunner(plan, reply)
        return ModelRunner(plan, reply) if isinstance(plan, ModelPlan) else Runner(plan, params, reply)

    def knows_origins(self, variant: str) -> bool:
        """Whether the tokens of this variant can be given rows of their own."""
        from kvconform_adapter.transformers_models import is_model  # noqa: PLC0415

        return is_model(variant)

    def write(self, request: ScriptRequest) -> str:
        """The stand-alone program for a case of a variant that the subject has."""
        from kvconform_adapter.transformers_generation import FAMILY  # noqa: PLC0415
        from kvconform_adapter.transformers_generation_script import write_generation_script  # noqa: PLC0415
        from kvconform_adapter.transformers_model_script import write_model_script  # noqa: PLC0415
        from kvconform_adapter.transformers_models import is_model  # noqa: PLC0415
        from kvconform_adapter.transformers_script import write_script  # noqa: PLC0415

        if request.variant.startswith(FAMILY):
            return write_generation_script(request, self.version)
        if is_model(request.variant):
            return write_model_script(request, self.version)
        return write_script(request, self.version)

    def layers(self, request: LayersRequest) -> dict[str, Any]:
        """What the cache of a whole model is made of."""
        from kvconform_adapter.transformers_models import FAMILIES, ModelPlan  # noqa: PLC0415

        plan = self.plan(request.variant, request.params)
        if not isinstance(plan, ModelPlan):
            raise RequestError(
                f'field "variant": expected a whole model, whose name begins with one of {", ".join(FAMILIES)}'
            )
        return plan.describe_cache(self.variants)

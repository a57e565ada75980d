"""Drives mlx-lm: performs the ops of a request and shows what the cache holds after each.

mlx computes when it must. All arrays that one sequence shows are computed together at its end, which takes half the
time; until then they are names of their own, so that what the cache writes later does not show in them.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvconform_adapter.formula import fold_all
from kvconform_adapter.reply import WORDS, Descriptions, Reply
from kvconform_adapter.request import Op, Origins, Params, RequestError, ScriptRequest
from kvconform_adapter.subject import LoadedSubject

if TYPE_CHECKING:
    from kvconform_adapter.mlx_batches import Batch, BatchPlan
    from kvconform_adapter.mlx_calls import Leaf, Plan, Session
    from kvconform_adapter.mlx_values import TablePool


class Table(Descriptions):
    """The descriptions of mlx arrays."""

    def __init__(self) -> None:
        super().__init__()
        self.definitions: dict[Any, str] = {}

    def forget(self) -> None:
        """Begin anew."""
        super().forget()
        self.definitions.clear()

    def show(self, name: str, array: Any) -> str:
        """The index of a description."""
        shape = array.shape
        key = (name, array.dtype, shape if isinstance(shape, tuple) else tuple(shape))
        index = self.definitions.get(key)
        if index is None:
            word = str(array.dtype).removeprefix("mlx.core.")
            if word not in WORDS:
                raise RequestError(f"{name} is an array of type {word}, which the protocol cannot carry")
            index = self.definitions[key] = self.describe(name, word, shape)
        return index

    def show_number(self, name: str) -> str:
        """The index of the description of a tensor of one number."""
        index = self.definitions.get(name)
        if index is None:
            index = self.definitions[name] = self.describe(name, "int64", (1,))
        return index


def read_all(arrays: list[Any]) -> list[bytes]:
    """What a sequence showed, computed together."""
    import mlx.core as mx  # noqa: PLC0415

    mx.eval([array for array in arrays if not isinstance(array, int)])
    return [
        array.to_bytes(8, "little", signed=True) if isinstance(array, int) else bytes(memoryview(array))
        for array in arrays
    ]


class Runner:
    """Runs sequences of one plan into one reply."""

    def __init__(self, plan: Plan, params: Params, reply: Reply[Table]) -> None:
        self.plan = plan
        self.params = params
        self.reply = reply
        self.watch = params.watch == 1
        self.arrays: list[Any] = []
        """What the steps of the sequence so far show, in order."""

    def sequence(self, ops: list[Op], numbers: list[int] | None, origins: Origins | None) -> str:
        """All steps of one sequence, as JSON."""
        del origins
        session = self.plan.open()
        self.arrays = []
        steps = [
            self.append(session, argument, numbers) if name == "append" else self.other(session, name, argument)
            for name, argument in ops
        ]
        self.reply.raw += read_all(self.arrays)
        return f"[{','.join(steps)}]"

    def append(self, session: Session, count: Any, numbers: list[int] | None) -> str:
        """One append, cache after cache."""
        from kvconform_adapter.mlx_calls import append, ask_mask, spread_mask  # noqa: PLC0415

        plan = self.plan
        error_index = -1
        returned: list[tuple[str, Any]] = []
        folds = fold_all(session.folds, session.start, count, numbers) if plan.folds else ()
        inputs = [self.inputs(session, leaf, count, numbers, folds) for leaf in plan.leaves]
        session.trimmed = None
        try:
            masks = [
                ask_mask(session.layers[leaf.place], leaf, count, self.params.window)
                if leaf.settings.mask and count
                else None
                for leaf in plan.leaves
            ]
            for leaf, given, mask in zip(plan.leaves, inputs, masks, strict=True):
                result = append(session, leaf, given, count)
                returned += [(f"{leaf.prefix}returned.{name}", array) for name, array in result]
                if leaf.settings.mask and count and result[0][1] is not None:
                    seen = spread_mask(mask, session.rows, count, result[0][1].shape[2])
                    name = "mask" if leaf.settings.mask == "causal" else "window_mask"
                    returned.append((f"{leaf.prefix}returned.{name}", seen))
        except MemoryError:
            raise
        except Exception as error:
            error_index = self.reply.error(error)
            returned = []
        else:
            if plan.folds:
                session.folds = list(folds)
        session.start += count
        session.appends += 1
        return self.observe(session, ",".join(["null"] * len(plan.leaves)), "null", returned, error_index)

    def inputs(
        self, session: Session, leaf: Leaf, count: int, numbers: list[int] | None, folds: tuple[int, ...]
    ) -> list[Any]:
        """What one cache is fed."""
        from kvconform_adapter.mlx_calls import spread_of  # noqa: PLC0415

        start, rows = session.start, session.rows
        if leaf.variant.states:
            given = [table.take_state(folds) for table in leaf.tables]
            names = [f"states.{place}" for place in range(len(given))]
        else:
            names = ["keys", "values"]
            if numbers is None:
                given = [table.take(start, count, rows) for table in leaf.tables]
            else:
                given = [table.take_numbers(numbers[start : start + count], rows) for table in leaf.tables]
        if self.watch:
            session.inputs += [
                (f"input.{session.appends}.{leaf.prefix}{name}", array, spread_of(leaf.settings, name))
                for name, array in zip(names, given, strict=True)
            ]
        return given

    def other(self, session: Session, name: str, argument: Any) -> str:
        """One op that is no append."""
        from kvconform_adapter.mlx_calls import trim  # noqa: PLC0415

        claim = "null"
        error_index = -1
        session.trimmed = None
        try:
            if name == "trim":
                claim = "1" if self.plan.claim(session) else "0"
                trim(self.plan, session, argument)
            elif name in self.plan.ops:
                self.plan.ops[name](session)
            else:
                raise RequestError(f'the caches of mlx-lm have no op "{name}"')
        except (MemoryError, RequestError):
            raise
        except Exception as error:
            error_index = self.reply.error(error)
        return self.observe(session, "", claim, [], error_index, asked=name == "trim" and argument == 0)

    def observe(
        self,
        session: Session,
        masks: str,
        claim: str,
        returned: list[tuple[str, Any]],
        error_index: int,
        asked: bool = True,
    ) -> str:
        """One step, as JSON; its raw bytes are read at the end of the sequence. `asked`: as for list_numbers."""
        from kvconform_adapter.mlx_caches import Answers  # noqa: PLC0415
        from kvconform_adapter.mlx_calls import list_numbers, numbers, stored  # noqa: PLC0415

        held: list[tuple[str, Any]] = []
        lengths = []
        answers = Answers()
        outcome = int(error_index >= 0)
        try:
            for leaf, cache in zip(self.plan.leaves, session.layers, strict=True):
                lengths.append("null" if leaf.variant.states else str(int(cache.offset)))
                held += [(leaf.prefix + name, array) for name, array in stored(cache, leaf)]
                held += [(leaf.prefix + name, number) for name, number in numbers(session, leaf, answers)]
            for name, number in list_numbers(self.plan, session, asked, answers):
                held += [(leaf.prefix + name, number) for leaf in self.plan.leaves]
        except MemoryError:
            raise
        except Exception as error:
            error_index = self.reply.error(error, "reading it") if error_index < 0 else error_index
            outcome = 1
            lengths += ["null"] * (len(self.plan.leaves) - len(lengths))
        if answers.error is not None and error_index < 0:
            error_index = self.reply.error(answers.error)
        if session.trimmed is not None:
            held += [(f"{leaf.prefix}trimmed", session.trimmed) for leaf in self.plan.leaves if not leaf.variant.states]
        held += returned
        if session.original is not None:
            held += self.original(session.original)
        if self.watch:
            for name, array, spread in session.inputs:
                held.append((name, array[...] if spread is None else spread.undo(array)))
        entries = []
        table = self.reply.table
        for name, array in held:
            if array is None:
                continue
            entries.append(table.show_number(name) if isinstance(array, int) else table.show(name, array))
            self.arrays.append(array)
        return f"[{outcome},[{','.join(lengths)}],[{masks}],[],{claim},[{','.join(entries)}],{error_index}]"

    def original(self, original: Session) -> list[tuple[str, Any]]:
        """The cache that was copied, as it is now."""
        import mlx.core as mx  # noqa: PLC0415

        from kvconform_adapter.mlx_calls import stored  # noqa: PLC0415

        held: list[tuple[str, Any]] = []
        lengths = []
        for leaf, cache in zip(self.plan.leaves, original.layers, strict=True):
            lengths.append(-1 if leaf.variant.states else int(cache.offset))
            held += [(f"original.{leaf.prefix}{name}", array) for name, array in stored(cache, leaf)]
        return [*held, ("original.length", mx.array(lengths, dtype=mx.int64))]


class BatchRunner:
    """Runs sequences of a batch whose rows have lengths of their own into one reply."""

    def __init__(self, plan: BatchPlan, reply: Reply[Table]) -> None:
        self.plan = plan
        self.reply = reply
        self.arrays: list[Any] = []

    def sequence(self, ops: list[Op], numbers: list[int] | None, origins: Origins | None) -> str:
        """All steps of one sequence, as JSON."""
        del origins
        from kvconform_adapter.mlx_batches import Batch, tokens_of  # noqa: PLC0415

        if numbers is not None:
            raise RequestError('field "numbers": a batch with rows of their own lengths gets its tokens in order')
        batch = Batch(self.plan)
        self.arrays = []
        steps = []
        for name, argument in ops:
            steps.append(self.step(batch, name, argument))
            batch.start += tokens_of(name, argument)
            batch.used = batch.used or tokens_of(name, argument) > 0
        self.reply.raw += read_all(self.arrays)
        return f"[{','.join(steps)}]"

    def step(self, batch: Batch, name: str, argument: Any) -> str:
        """One op and what is seen after it, as JSON."""
        from kvconform_adapter.mlx_caches import Answers  # noqa: PLC0415

        claim = "null"
        error = -1
        batch.returned = []
        try:
            if name == "trim":
                claim = "1" if batch.claim() else "0"
            batch.perform(name, argument)
        except (MemoryError, RequestError):
            raise
        except Exception as raised:
            error = self.reply.error(raised)
            batch.returned = []
        answers = Answers()
        outcome = int(error >= 0)
        try:
            held: list[tuple[str, Any]] = [*batch.stored(), *batch.numbers(answers), *batch.returned]
            if batch.original is not None:
                held += [(f"original.{word}", array) for word, array in batch.original.stored()]
        except MemoryError:
            raise
        except Exception as raised:
            error = self.reply.error(raised, "reading it") if error < 0 else error
            outcome = 1
            held = []
        if answers.error is not None and error < 0:
            error = self.reply.error(answers.error)
        places = batch.positions() if batch.alone else [[] for _ in batch.plan.leaves]
        length = ",".join(str(place[0]) if place else "null" for place in places)
        masks = ",".join(["null"] * len(places)) if name == "append" else ""
        table = self.reply.table
        entries = ",".join(
            table.show_number(word) if isinstance(array, int) else table.show(word, array) for word, array in held
        )
        self.arrays += [array for _, array in held]
        return f"[{outcome},[{length}],[{masks}],[],{claim},[{entries}],{error}]"


class MlxSubject(LoadedSubject["Plan | BatchPlan", Table]):
    """The subject `mlx-lm`."""

    name = "mlx-lm"
    packages = "mlx-lm 'mlx[cpu]'"
    module = "mlx_lm"

    def __init__(self) -> None:
        self.batches: list[str] = []
        self.pool: TablePool
        super().__init__(Table())

    def load(self) -> None:
        """Import the subject; everything runs on the processor."""
        import mlx.core as mx  # noqa: PLC0415

        mx.set_default_device(mx.cpu)
        from kvconform_adapter.mlx_batches import OWNERS, available_batches  # noqa: PLC0415
        from kvconform_adapter.mlx_caches import VARIANTS, available_variants, class_locations  # noqa: PLC0415
        from kvconform_adapter.mlx_calls import LISTS  # noqa: PLC0415
        from kvconform_adapter.mlx_values import TablePool  # noqa: PLC0415

        self.version = importlib.metadata.version("mlx-lm")
        self.pool = TablePool()
        self.batches = available_batches()
        self.variants = [*available_variants(), *LISTS, *self.batches]
        owners = {name: VARIANTS[name].owner if name in VARIANTS else LISTS.get(name, name) for name in self.variants}
        owners |= OWNERS
        self.locations = class_locations(owners)

    def libraries(self) -> dict[str, str]:
        """The versions of what the subject stands on."""
        return {"mlx": importlib.metadata.version("mlx")}

    def classes(self) -> list[str]:
        """All cache classes of the installation, driven or not."""
        self.check()
        from kvconform_adapter.mlx_caches import load_caches  # noqa: PLC0415
        from kvconform_adapter.mlx_classes import cache_classes  # noqa: PLC0415

        return cache_classes(Path(load_caches().__file__).parent.parent)

    def make_plan(self, variant: str, params: Params) -> Plan | BatchPlan:
        """A plan for a variant that the subject has."""
        from kvconform_adapter.mlx_batches import make_batch_plan  # noqa: PLC0415
        from kvconform_adapter.mlx_calls import PlanMaker  # noqa: PLC0415

        if variant in self.batches:
            return make_batch_plan(variant, params, self.pool)
        return PlanMaker(params, self.pool).make(variant)

    def runner(self, plan: Plan | BatchPlan, params: Params, reply: Reply[Table]) -> Runner | BatchRunner:
        """What performs the sequences of one request."""
        from kvconform_adapter.mlx_batches import BatchPlan  # noqa: PLC0415

        return BatchRunner(plan, reply) if isinstance(plan, BatchPlan) else Runner(plan, params, reply)

    def write(self, request: ScriptRequest) -> str:
        """The stand-alone program for a case of a variant that the subject has."""
        from kvconform_adapter.mlx_batch_script import write_batch_script  # noqa: PLC0415
        from kvconform_adapter.mlx_script import write_script  # noqa: PLC0415

        if request.variant in self.batches:
            return write_batch_script(request, self.version)
        return write_script(request, self.version)

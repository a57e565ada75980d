"""Drives any class that holds keys and values: performs ops and shows what the cache holds after each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvconform_adapter.any_arrays import Array
from kvconform_adapter.any_calls import Refusal, crop, duplicate, held_by, length_of, restored
from kvconform_adapter.any_class import Found
from kvconform_adapter.any_describe import Describer, Description
from kvconform_adapter.any_script import write_script
from kvconform_adapter.any_spec import Told
from kvconform_adapter.any_values import Inputs
from kvconform_adapter.reply import WORDS, Descriptions, Reply
from kvconform_adapter.request import ROWS_MAX, Op, Origins, Params, RequestError, ScriptRequest
from kvconform_adapter.subject import LoadedSubject

Last = dict[str, tuple[str, bytes]]
"""What was shown last under a name."""


class Table(Descriptions):
    """The descriptions of arrays of any library."""

    def __init__(self) -> None:
        super().__init__()
        self.definitions: dict[tuple[str, str, Sequence[int]], str] = {}

    def forget(self) -> None:
        """Begin anew."""
        super().forget()
        self.definitions.clear()

    def show(self, name: str, word: str, shape: Sequence[int]) -> str:
        """The index of a description. Raises TypeError for numbers that the protocol cannot carry."""
        key = (name, word, shape)
        index = self.definitions.get(key)
        if index is None:
            if word not in WORDS:
                raise TypeError(f"{name} is an array of type {word}, expected one of {', '.join(WORDS)}")
            index = self.definitions[key] = self.describe(name, word, shape)
        return index


@dataclass
class Plan:
    """A description with its parameters: inputs and arguments are made once."""

    description: Description
    params: Params
    keys: Inputs
    values: Inputs
    arguments: dict[str, Any]


class Session:
    """One cache while a sequence runs. `held`: how many tokens it should hold, for callers that crop to a length."""

    __slots__ = ("appends", "cache", "held", "last", "original", "rows", "start", "watched")

    def __init__(self, plan: Plan) -> None:
        self.cache: Any = plan.description.found.owner(**plan.arguments)
        self.original: Any = None
        self.rows = plan.params.batch
        self.start = self.held = self.appends = 0
        self.watched: list[tuple[str, Array]] = []
        self.last: dict[str, tuple[str, bytes]] = {}
        """What was watched, as it was shown last."""


class Runner:
    """Runs sequences of one plan into one reply."""

    def __init__(self, plan: Plan, reply: Reply[Table]) -> None:
        self.plan = plan
        self.reply = reply
        self.calls = plan.description.calls
        self.library = plan.description.library
        self.axes = plan.description.axes
        self.watch = plan.params.watch == 1

    def sequence(self, ops: list[Op], numbers: list[int] | None, origins: Origins | None) -> str:
        """All steps of one sequence, as JSON."""
        del origins
        session = Session(self.plan)
        steps = [
            self.append(session, int(argument), numbers)  # type: ignore[arg-type]
            if name == "append"
            else self.other(session, name, argument)
            for name, argument in ops
        ]
        return f"[{','.join(steps)}]"

    def append(self, session: Session, count: int, numbers: list[int] | None) -> str:
        """One append."""
        start = session.start
        tokens = tuple(range(start, start + count) if numbers is None else numbers[start : start + count])
        inputs = [table.take(tokens, session.rows) for table in (self.plan.keys, self.plan.values)]
        mask, error = "null", -1
        if self.calls.mask is not None:
            try:
                length, offset = self.calls.mask.of(session.cache)(count)
                mask = f"[{int(length)},{int(offset)}]"
            except MemoryError:
                raise
            except Exception as raised:
                error = self.reply.error(raised, "get_mask_sizes")
        if self.watch:
            names = [f"input.{session.appends}.{name}" for name in ("keys", "values")]
            session.watched += zip(names, inputs, strict=True)
        returned: list[tuple[str, Any]] = []
        try:
            result = self.calls.ops["append"].of(session.cache)(*inputs)
        except MemoryError:
            raise
        except Exception as raised:
            error = self.reply.error(raised)
        else:
            session.held += count
            if self.plan.description.spec["views"][0].get("returned"):
                returned = self.pair(result)
        session.start += count
        if self.watch:
            session.watched += [(f"earlier.{session.appends}.{name}", array) for name, array in returned]
        session.appends += 1
        return self.observe(session, mask, [(f"returned.{name}", array) for name, array in returned], error)

    def pair(self, result: Any) -> list[tuple[str, Array]]:
        """What an append returned, as far as it is arrays."""
        if not isinstance(result, tuple | list) or len(result) != 2:
            return []
        found = zip(("keys", "values"), result, strict=True)
        return [(name, array) for name, array in found if self.library.is_array(array)]

    def other(self, session: Session, name: str, argument: Any) -> str:
        """One op that is no append."""
        error = -1
        try:
            self.perform(session, name, argument)
        except (MemoryError, RequestError):
            raise
        except Exception as raised:
            error = self.reply.error(raised)
        return self.observe(session, "", [], error)

    def perform(self, session: Session, name: str, argument: Any) -> None:
        """Raises what the cache raises."""
        calls = self.calls
        if name in ("crop", "trim"):
            count = -argument if name == "crop" else argument
            held = length_of(calls, session.cache) if calls.length is not None else session.held
            crop(calls, session.cache, count, held)
            session.held = max(0, session.held - count)
        elif name == "reset":
            calls.ops["reset"].of(session.cache)()
            session.held = 0
        elif name in ("reorder", "select"):
            if max(argument) >= session.rows or (name == "reorder" and len(argument) != session.rows):
                raise IndexError(f"{name} {list(argument)} does not fit {session.rows} rows")
            self.go_on(session, calls.ops[name].of(session.cache)(self.library.indices(argument)))
            session.rows = len(argument)
        elif name == "repeat":
            if session.rows * argument > ROWS_MAX:
                raise IndexError(f"a batch may have at most {ROWS_MAX} rows")
            self.go_on(session, calls.ops[name].of(session.cache)(argument))
            session.rows *= argument
        elif name == "copy":
            copied = duplicate(calls, session.cache)
            session.original, session.cache = session.cache, copied
        elif name == "pickle":
            session.cache = restored(session.cache, self.library)
        else:
            raise RequestError(f'{self.plan.description.found.name} has no op "{name}"')

    def go_on(self, session: Session, result: Any) -> None:
        """A method that says `False` has refused."""
        if result is False:
            raise Refusal("the method returned False")

    def observe(self, session: Session, mask: str, returned: list[tuple[str, Array]], error: int) -> str:
        """One step, as JSON; its raw bytes go into the reply."""
        length = "null"
        entries: list[str] = []
        try:
            if self.calls.length is not None:
                length = str(length_of(self.calls, session.cache))
            if self.plan.description.counts_held and length != "null":
                self.show_number(entries, "held", int(length))
                length = "null"
            held = zip(("keys", "values"), held_by(self.calls, session.cache), strict=True)
            for name, array in (*held, *returned):
                if array is not None:
                    self.show(entries, name, array)
        except Exception as raised:
            error = self.unread(raised, "reading it", error)
        if session.original is not None:
            try:
                self.observe_original(session.original, entries)
            except Exception as raised:
                error = self.unread(raised, "reading the cache that was copied", error)
        for name, array in session.watched:
            try:
                self.show(entries, name, array, session.last)
            except MemoryError:
                raise
            except Exception:
                # No array any more, and so not what it was: shown as one without elements.
                entries.append(self.reply.table.show(name, "float64", (0,)))
        return f"[{0 if error < 0 else 1},[{length}],[{mask}],[],null,[{','.join(entries)}],{error}]"

    def unread(self, raised: Exception, reading: str, error: int) -> int:
        """The error of a step in which something cannot be read: a fault of the cache, like an op that raises."""
        if isinstance(raised, MemoryError):
            raise raised
        return self.reply.error(raised, reading) if error < 0 else error

    def observe_original(self, original: Any, entries: list[str]) -> None:
        """The cache that was copied, as it is now."""
        reported = self.calls.length is not None and not self.plan.description.counts_held
        length = length_of(self.calls, original) if reported else -1
        held = held_by(self.calls, original)
        for name, array in zip(("keys", "values"), held, strict=True):
            if array is not None:
                self.show(entries, f"original.{name}", array)
        self.show_number(entries, "original.length", length)

    def show(self, entries: list[str], name: str, array: Any, last: Last | None = None) -> None:
        """Adds the entry of an array, which is not sent again while it is as `last` says.

        Raises TypeError or ValueError, and adds nothing, for what is none.
        """
        library = self.library
        before = None if last is None else last.pop(name, None)
        if not library.is_array(array):
            raise TypeError(f"{name} is {type(array).__name__}, expected an array of {library.name}")
        plain = self.axes.take(array)
        index = self.reply.table.show(name, library.word(plain), library.shape(plain))
        data = library.data(plain)
        if last is not None:
            last[name] = (index, data)
            if before == (index, data):
                entries.append(f"[{index},-1]")
                return
        entries.append(index)
        self.reply.raw.append(data)

    def show_number(self, entries: list[str], name: str, number: int) -> None:
        """Adds a number of the cache's own."""
        entries.append(self.reply.table.show(name, "int64", (1,)))
        self.reply.raw.append(number.to_bytes(8, "little", signed=True))


class AnySubject(LoadedSubject[Plan, Table]):
    """The subject that is one class."""

    name = "python"
    packages = ""

    def __init__(self, found: Found, told: Told) -> None:
        self.found = found
        self.told = told
        self.description: Description
        super().__init__(Table())

    def load(self) -> None:
        """Put the class to its first use. What is in the way is said in the reply to the first request."""
        self.name = self.found.subject  # type: ignore[misc]
        self.module = self.found.module.__name__  # type: ignore[misc]
        self.version = self.found.version()
        try:
            self.description = Describer(self.found, self.told).describe()
        except RequestError as error:
            self.problem = str(error)
            return
        self.variants = [self.found.variant]
        self.locations = self.found.locations()

    def libraries(self) -> dict[str, str]:
        """The version of the library, and what caches are made with."""
        arguments = ", ".join(f"{name}={value}" for name, value in self.description.arguments.template.items())
        library = self.description.library.name
        found = {} if library == "list" else {library: self.found.library_version(library)}
        return {**found, "made with": arguments}

    def hello(self) -> dict[str, Any]:
        """Who the subject is, what it must do, what was taken for granted, and what is not tested."""
        description = {} if self.problem else self.description.__dict__
        reply = super().hello() | {"offers": ["places"]}
        variant = self.found.variant
        reply |= {"specs": {variant: description["spec"]}, "contract": description["contract"]}
        return reply | {
            "assumptions": {variant: description["assumed"]},
            "untested": {variant: description["untested"]},
        }

    def classes(self) -> list[str]:
        """One class is all that is asked for."""
        self.check()
        return self.variants

    def make_plan(self, variant: str, params: Params) -> Plan:
        """A plan for the class."""
        keys, values = self.description.inputs(params)
        return Plan(
            self.description,
            params,
            keys,
            values,
            self.description.arguments.fill(params, self.description.library.dtypes),
        )

    def runner(self, plan: Plan, params: Params, reply: Reply[Table]) -> Runner:
        """What performs the sequences of one request."""
        return Runner(plan, reply)

    def write(self, request: ScriptRequest) -> str:
        """The stand-alone program for a case."""
        return write_script(request, self.description)

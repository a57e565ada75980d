"""What all subjects of this adapter do alike: they are loaded once, make a plan once, and run requests by it."""

from __future__ import annotations

import json
import platform
import sys
from abc import ABC, abstractmethod
from collections import OrderedDict
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from kvconform_adapter.places import Places
from kvconform_adapter.reply import Described, Reply
from kvconform_adapter.request import LayersRequest, Op, Origins, Params, RequestError, RunRequest, ScriptRequest

PLANS_MAX = 32
"""Plans kept, each with its tables of inputs."""


class Sequences(Protocol):
    """Performs sequences by one plan, into one reply. `origins` is None but for whole models."""

    def sequence(self, ops: list[Op], numbers: list[int] | None, origins: Origins | None) -> str:
        """All steps of one sequence, as JSON."""


Plan = TypeVar("Plan")


class LoadedSubject(ABC, Generic[Plan, Described]):
    """A subject. Importing it can fail; that is said in the reply to the first request."""

    name: ClassVar[str]
    packages: ClassVar[str]
    """What pip is told to install for it."""
    module: ClassVar[str]
    """What is imported of it."""

    def __init__(self, table: Described) -> None:
        self.plans: OrderedDict[tuple[str, Params], Plan] = OrderedDict()
        self.problem = ""
        self.version = ""
        self.variants: list[str] = []
        self.locations: dict[str, dict[str, str | int]] = {}
        self.table = table
        self.places: Places | None = None
        """Made when it is first asked for."""
        try:
            self.load()
        except MemoryError:
            raise
        except Exception as error:
            self.problem = (
                f"cannot import {self.name} in {sys.executable}: {type(error).__name__}: {str(error)[:300]}; "
                f"install it there with: python -m pip install {self.packages}"
            )

    @abstractmethod
    def load(self) -> None:
        """Import the subject and find its variants."""

    @abstractmethod
    def libraries(self) -> dict[str, str]:
        """The versions of what the subject stands on."""

    @abstractmethod
    def make_plan(self, variant: str, params: Params) -> Plan:
        """A plan for a variant that the subject has."""

    @abstractmethod
    def runner(self, plan: Plan, params: Params, reply: Reply[Described]) -> Sequences:
        """What performs the sequences of one request."""

    @abstractmethod
    def write(self, request: ScriptRequest) -> str:
        """The stand-alone program for a case of a variant that the subject has."""

    def check(self) -> None:
        """Raise RequestError when the subject cannot be used."""
        if self.problem:
            raise RequestError(self.problem)

    def check_variant(self, variant: str) -> None:
        """Raise RequestError when the subject cannot be used, or has no such variant."""
        self.check()
        if variant not in self.variants:
            raise RequestError(f'field "variant": {self.name} {self.version} has no cache "{variant[:63]}"')

    def hello(self) -> dict[str, Any]:
        """Who the subject is and what it has."""
        self.check()
        system = f"{platform.system()}-{platform.machine()}"
        return {
            "subject": self.name,
            "version": self.version,
            "environment": {"python": platform.python_version(), **self.libraries(), "platform": system},
            "variants": self.variants,
            "locations": self.locations,
            "offers": ["classes", "places"],
        }

    def plan(self, variant: str, params: Params) -> Plan:
        """The plan for a variant and its parameters, made once."""
        self.check_variant(variant)
        key = (variant, params)
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = self.make_plan(variant, params)
            if len(self.plans) > PLANS_MAX:
                self.plans.popitem(last=False)
        else:
            self.plans.move_to_end(key)
        return plan

    def knows_origins(self, variant: str) -> bool:
        """Whether the tokens of this variant can be given rows of their own."""
        del variant
        return False

    def tidy(self) -> None:
        """Between two requests: forget what has become too much."""
        self.table.tidy()

    def run(self, request: RunRequest) -> tuple[str, list[bytes]]:
        """Perform all sequences of a request."""
        plan = self.plan(request.variant, request.params)
        self.tidy()
        reply = Reply(self.table)
        runner = self.runner(plan, request.params, reply)
        if any(request.origins) and not self.knows_origins(request.variant):
            raise RequestError('field "numbers": this cache cannot be told which rows its rows stand for')
        if request.places:
            return self.run_watched(request, runner, reply)
        results = [
            runner.sequence(*sequence)
            for sequence in zip(request.sequences, request.numbers, request.origins, strict=True)
        ]
        return reply.body(results), reply.raw

    def run_watched(self, request: RunRequest, runner: Sequences, reply: Reply[Described]) -> tuple[str, list[bytes]]:
        """The same, and of each sequence the places that it was the first to come to."""
        if self.places is None:
            file = sys.modules[self.module].__file__
            if file is None:
                raise RequestError(f'field "places": {self.name} has no files to look at')
            self.places = Places(Path(file).parent)
        results, places = [], []
        for sequence in zip(request.sequences, request.numbers, request.origins, strict=True):
            with self.places.watch():
                results.append(runner.sequence(*sequence))
            places.append(self.places.take())
        return f'{reply.body(results)},"places":{json.dumps(places)}', reply.raw

    def sent(self) -> None:
        """What the last reply described need not be described again."""
        self.table.sent = len(self.table.texts)

    def script(self, request: ScriptRequest) -> str:
        """The stand-alone program for one case."""
        self.check_variant(request.variant)
        return self.write(request)

    def layers(self, request: LayersRequest) -> dict[str, Any]:
        """What the cache of a whole model is made of."""
        raise RequestError(f'field "request": {self.name} has no whole models, and "{request.variant}" no layers')

"""The sequences of one target as a Hypothesis state machine, judged by kvconform's own judge (oracle.c).

Hypothesis draws and shrinks; what may come next, and whether it was right, is asked of the oracle: the same ops,
the same ranges of arguments and the same checks as kvconform's own search has.
"""

from __future__ import annotations

import time
from typing import Any

from hypothesis import Phase, seed
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from hypothesis_settings import settings_for
from oracle import Found, Oracle

APPEND_MOST = 8
REPEAT_MOST = 3


class Failed(Exception):
    """A sequence broke what is looked for."""


class Machine(RuleBasedStateMachine):
    """One sequence: parameters, then ops. `oracle` and the counts are those of the class that hunt() makes."""

    oracle: Oracle
    examples = 0
    first: tuple[int, float] | None = None
    begun = 0.0
    report: tuple[int, int, str] = (0, 0, "")

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        """Parameters: the simplest value of each comes first."""
        cls = type(self)
        cls.examples += 1
        head = self.oracle.head
        chosen = {entry["name"]: data.draw(st.sampled_from(entry["values"])) for entry in head["parameters"]}
        chosen["parts"], chosen["layers"] = data.draw(st.sampled_from(head["combinations"]))
        answer = self.oracle.ask("start " + " ".join(str(value) for value in chosen.values()))
        self.rows, self.held = int(chosen["batch"]), 0
        self.kinds: list[int] = []
        if answer[0] == "ok":
            self.boundary, offered = int(answer[1]), int(answer[2])
            self.kinds = [at for at in range(len(head["kinds"])) if offered & 1 << at]

    def number(self, name: str, data: st.DataObject) -> Any:
        """An argument, edges first, as whoever writes such a machine by hand would."""
        most = max(APPEND_MOST, 2 * self.boundary + 2)
        if name in ("crop", "trim"):
            edges = (-1, 0, -self.held, -self.held - 1, 1)
            crop: int = data.draw(st.sampled_from(edges) | st.integers(-self.held - 4, self.held + 1))
            return crop if name == "crop" else -crop
        if name == "repeat":
            return data.draw(st.integers(1, REPEAT_MOST))
        if name == "record":
            return data.draw(st.integers(0, 1))
        if name == "extract":
            return data.draw(st.integers(0, self.rows - 1))
        if name == "append":
            sizes = (1, max(1, self.boundary - 1), max(1, self.boundary), self.boundary + 1)
            return data.draw(st.sampled_from(sizes) | st.integers(0, most))
        return data.draw(st.integers(0, most))

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        """Any op that the variant has. One that cannot stand here is left out, as in the other searches."""
        if not self.kinds:
            return
        at = data.draw(st.sampled_from(self.kinds))
        kind = self.oracle.head["kinds"][at]
        number = self.number(kind["name"], data) if kind["number"] else 0
        rows: list[int] = []
        if kind["rows"]:
            size = self.rows if kind["name"] == "reorder" else data.draw(st.integers(1, self.rows))
            rows = data.draw(st.lists(st.integers(0, self.rows - 1), min_size=size, max_size=size))
        elif kind["counts"]:
            size = self.rows if kind["name"] == "append_rows" else data.draw(st.integers(1, 2))
            most = max(APPEND_MOST, 2 * self.boundary + 2)
            rows = data.draw(st.lists(st.integers(0, most), min_size=size, max_size=size))
        answer = self.oracle.ask(" ".join(str(value) for value in ("op", at, number, *rows)))
        if answer[0] == "ok":
            self.held, self.rows = int(answer[1]), int(answer[2])

    def teardown(self) -> None:
        """The whole sequence is performed at once, which costs less than op by op."""
        if not getattr(self, "kinds", []):
            return
        verdict, *rest = self.oracle.ask("judge")
        if verdict != "fails":
            return
        cls = type(self)
        if cls.first is None:
            cls.first = (cls.examples, time.monotonic() - cls.begun)
        # Of what it runs the last that fails is the smallest: it runs its minimal example once more.
        cls.report = (int(rest[0]), int(rest[1]), " ".join(rest[2:]))
        raise Failed(cls.report[2])


def hunt(oracle: Oracle, chosen: int, limit: int) -> Found | None:
    """At most `limit` examples; None when nothing was found."""
    machine = seed(chosen)(type("Hunt", (Machine,), {"oracle": oracle, "begun": time.monotonic()}))
    try:
        run_state_machine_as_test(
            machine,
            settings=settings_for(
                limit, print_blob=False, report_multiple_bugs=False, phases=(Phase.generate, Phase.shrink)
            ),
        )
    except Failed:
        assert machine.first is not None
        number, seconds = machine.first
        ops, weight, text = machine.report
        return Found(number, seconds, ops, weight, text, time.monotonic() - machine.begun)
    return None

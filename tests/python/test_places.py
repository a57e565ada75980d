"""Places in the subject's code: told once, only when asked for, and the same in every process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kvconform_adapter.places import Places

from adapter_process import Adapter, adapter_environment

RUN: dict[str, Any] = {
    "request": "run",
    "variant": "DynamicLayer",
    "params": {"batch": 1, "heads": 1, "key_dim": 8, "value_dim": 10},
    "sequences": [[["append", 2]], [["append", 2]], [["append", 2], ["crop", -1]]],
}


def test_each_place_is_told_once() -> None:
    places = Places(Path(json.__file__).parent)
    with places.watch():
        json.loads("[1]")
    first = places.take()
    with places.watch():
        json.loads("[1]")
    assert first
    assert places.take() == []
    json.loads('{"a": 1}')
    with places.watch():
        json.dumps({"a": 1}, indent=1)
    new = places.take()
    assert new
    assert not set(new) & set(first)
    assert all(0 <= place < 2**32 for place in new)


def test_only_the_package_counts() -> None:
    places = Places(Path(__file__).parent / "nothing")
    with places.watch():
        json.dumps([1], indent=1)
    assert places.take() == []


@pytest.fixture
def fresh(interpreter: str) -> Iterator[Adapter]:
    """An adapter that has run nothing: what others have run in it is no place that is new."""
    with Adapter([interpreter, "-m", "kvconform_adapter", "transformers"], adapter_environment()) as process:
        yield process


def test_the_adapter_tells_when_it_is_asked(fresh: Adapter) -> None:
    assert "places" in fresh.hello["offers"]
    assert "places" not in fresh.ask(RUN)
    told = fresh.ask({**RUN, "places": 1})["places"]
    assert len(told) == 3
    assert told[0], "a request that did not ask has taken nothing away"
    assert told[1] == []
    assert told[2], "the crop came to lines of its own"
    assert fresh.ask({**RUN, "places": 1})["places"] == [[], [], []]
    assert "error" in fresh.ask({**RUN, "places": 2})


def test_places_are_the_same_in_every_process(interpreter: str) -> None:
    command = [interpreter, "-m", "kvconform_adapter", "transformers"]
    told = []
    for _ in range(2):
        with Adapter(command, adapter_environment()) as own:
            told.append(own.ask({**RUN, "places": 1})["places"])
    assert told[0] == told[1]

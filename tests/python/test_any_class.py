"""Classes of one's own, without any package: how they are found, called, read and described."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from kvconform_adapter.any_arrays import Axes, Lists
from kvconform_adapter.any_calls import crop_style, find_calls
from kvconform_adapter.any_class import Found, arguments_of, find
from kvconform_adapter.any_derived import numbers_of, rules_of
from kvconform_adapter.any_describe import Describer
from kvconform_adapter.any_spec import Told, read_file
from kvconform_adapter.any_values import digits, levels
from kvconform_adapter.request import Params, RequestError

HERE = Path(__file__).resolve().parent
CLASSES = HERE.parent / "any" / "plain_caches.py"


def found_class(owner: Any) -> Found:
    """As `find` would have it."""
    return Found(sys.modules[__name__], owner.__name__, owner, "")


@pytest.fixture(scope="module")
def window() -> Found:
    """A class of a file."""
    if "plain_caches" not in sys.modules:
        return find(f"{CLASSES}:Window")
    return Found(sys.modules["plain_caches"], "Window", sys.modules["plain_caches"].Window, "")


def test_axes_there_and_back() -> None:
    lists = Lists()
    plain = lists.make(list(range(24)), (1, 2, 3, 4), "float64")
    for names in (("tokens", "heads", "channels"), ("batch", "tokens", "channels", "heads"), Axes.ALL):
        axes = Axes(names, lists)
        given = axes.give(plain)
        sizes = dict(zip(Axes.ALL, (1, 2, 3, 4), strict=True))
        assert lists.shape(given) == tuple(sizes[name] for name in names)
        assert axes.take(given) == plain
    assert lists.turn([[]], (0, 1, 2), (0, 1, 2)) == []


@pytest.mark.parametrize("ragged", [[[1.0], [1.0, 2.0]], [[], [1.0]], [[1.0, [2.0]]], [[[1.0]], 2.0]])
def test_lists_of_no_shape(ragged: Any) -> None:
    with pytest.raises(ValueError, match="lists of different sizes"):
        Lists().shape(ragged)


def test_lists_of_no_numbers() -> None:
    with pytest.raises(TypeError, match="NoneType and float"):
        Lists().data([[1.0], [None]])


def test_what_a_cache_is_made_with_is_no_length() -> None:
    class Cache:
        def __init__(self, size: int) -> None:
            self.size = size
            self.keys: list[Any] = []
            self.values: list[Any] = []

        def append(self, keys: Any, values: Any) -> None:
            self.keys, self.values = keys, values

    made = Describer(found_class(Cache), Told(library="list")).describe()
    assert made.calls.length is None
    assert any(note.startswith("length: the class reports none") for note in made.untested)
    said = Describer(found_class(Cache), Told(library="list", length="held")).describe()
    assert said.calls.length is not None
    assert said.calls.length.name == "size"


def test_values_are_those_of_the_protocol() -> None:
    assert digits(0, 0, 0, 0, 8) == [1 + 5 * channel % 7 for channel in range(8)]
    assert digits(1, 9, 2, 1, 8) == [1 + (said + 3 + 5 * c) % 7 for c, said in enumerate((2, 1, 0, 0, 0, 0, 2, 1))]
    held = {
        tuple(levels(salt, token, row, head, 32))
        for salt in (0, 1)
        for token in (0, 1)
        for row in (0, 1)
        for head in (0, 1)
    }
    assert len(held) == 16
    assert all(set(cell) == {4, -4} and set(cell[8:16]) == {4, -4} for cell in held)


def test_arguments_by_their_names() -> None:
    class Cache:
        def __init__(self, sliding_window: int, num_sinks: int = 1, dtype: Any = None, eps: float = 0.5) -> None:
            pass

    made = arguments_of(found_class(Cache), {})
    assert made.template == {"sliding_window": "$window", "num_sinks": "$keep", "dtype": "$dtype"}
    assert made.fill(Params(window=3, keep=2), {"float32": float}) == {
        "sliding_window": 3,
        "num_sinks": 2,
        "dtype": float,
    }
    assert any("eps keeps its default" in note for note in made.notes)
    fixed = arguments_of(found_class(Cache), {"sliding_window": 4, "eps": 1})
    assert fixed.values == {"window": 4}
    with pytest.raises(RequestError, match="takes no argument width"):
        arguments_of(found_class(Cache), {"width": 1})
    with pytest.raises(RequestError, match=r"expected \$window"):
        arguments_of(found_class(Cache), {"eps": "$width"})


def test_crops_by_their_names() -> None:
    class Cache:
        def crop(self, max_length: int) -> None: ...
        def trim(self, n: int) -> None: ...
        def truncate(self, n: int) -> None: ...

    class Other:
        def crop(self, tokens_to_remove: int) -> None: ...

    assert [crop_style(Cache, name) for name in ("crop", "trim", "truncate")] == ["length - n", "n", "length - n"]
    assert crop_style(Other, "crop") == "-n"


def test_calls_that_were_said() -> None:
    class Cache:
        def take_in(self, layer_idx: int, keys: Any, values: Any) -> None: ...
        def drop(self, count: int) -> None: ...

    told = Told(file="f", calls={"append": "take_in", "crop": "drop(n)"})
    calls = find_calls(Cache, told)
    assert calls.ops["append"].spelled("keys, values") == "cache.take_in(keys, values, layer_idx=0)"
    assert (calls.ops["crop"].name, calls.ops["crop"].style) == ("drop", "n")
    for wrong in ({"append": "nothing"}, {"crop": "drop(2)"}, {"push": "drop"}):
        with pytest.raises(RequestError, match=r'^f: field "calls'):
            find_calls(Cache, Told(file="f", calls={"append": "take_in"} | wrong))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "expected an object"),
        ("{", "not JSON"),
        ("{}", 'field "schema"'),
        ('{"schema": "kvconform-class/1", "likes": "full"}', "unknown field"),
        ('{"schema": "kvconform-class/1", "axes": ["tokens", 1]}', 'field "axes"'),
        ('{"schema": "kvconform-class/1", "params": {"window": [1]}}', 'field "params.window"'),
        ('{"schema": "kvconform-class/1", "length": "long"}', 'field "length"'),
        ('{"schema": "kvconform-class/1", "rules": ["crop"]}', 'field "rules"'),
    ],
)
def test_spec_files_that_are_wrong(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "spec.jsonc"
    path.write_text(text)
    with pytest.raises(RequestError, match=said):
        read_file(str(path))


def test_a_spec_file_with_comments(tmp_path: Path) -> None:
    path = tmp_path / "spec.jsonc"
    path.write_text('// first\n{"schema": "kvconform-class/1",\n  // second\n  "like": "window"}\n')
    assert read_file(str(path)).like == "window"


def test_a_class_is_described(window: Found) -> None:
    made = Describer(window, Told()).describe()
    assert made.spec["ops"] == ["append", "trim", "reset", "copy", "pickle"]
    assert [view["rule"] for view in made.spec["views"]] == ["window", "window"]
    assert made.spec["basis"] == "inferred"
    assert made.spec["source"].startswith("assumed by kvconform: it keeps the newest")
    assert all(
        rule["basis"] == "inferred" and "assumed by kvconform: " in rule["source"] for rule in made.contract["rules"]
    )
    assert any("like window: its constructor takes window" in note for note in made.assumed)
    assert any(note.startswith("reorder, select, repeat: ") for note in made.untested)


def test_what_is_said_is_not_assumed(window: Found) -> None:
    rule = {"rule": "crop_positive", "value": "refuse", "source": "its docstring"}
    told = Told(file="mine.jsonc", like="window", source="its docstring", length="held", rules=[rule])
    made = Describer(window, told).describe()
    assert (made.spec["source"], made.spec.get("basis")) == ("its docstring", None)
    assert made.contract["rules"][-1] == rule | {"basis": "documented", "variants": ["Window"]}
    assert made.spec["length"] is False
    assert made.spec["views"][-1]["rule"] == "count"
    assert not any("crop_positive" in note for note in made.untested)


def test_the_contract_of_a_version() -> None:
    assert numbers_of("5.24.0") > numbers_of("5.9.1")
    contract, rules = rules_of("transformers", "5.24.0", "DynamicLayer")
    assert contract == "transformers-5.24"
    assert len({rule["rule"] for rule in rules}) == len(rules) > 5
    assert rules_of("transformers", "99.0", "DynamicLayer")[0] == contract
    with pytest.raises(RequestError, match="no contract covers"):
        rules_of("transformers", "1.0", "DynamicLayer")

"""Requests are read without torch and without the subject."""

from __future__ import annotations

import pytest
from kvconform_adapter.request import Params, RequestError, read_op, read_params, read_run, read_script


def test_ops() -> None:
    assert read_op(["append", 3]) == ("append", 3)
    assert read_op(["crop", -3]) == ("crop", -3)
    assert read_op(["reset"]) == ("reset", None)
    assert read_op(["reorder", [1, 0]]) == ("reorder", (1, 0))
    assert read_op(["record", 0]) == ("record", 0)
    for bare in ("offload", "prefetch", "initialize", "copy", "pickle"):
        assert read_op([bare]) == (bare, None)
    assert read_op(["append_rows", [0, 3]]) == ("append_rows", (0, 3))
    assert read_op(["merge", [1, 1]]) == ("merge", (1, 1))
    assert read_op(["extract", 1]) == ("extract", 1)
    assert read_op(["extend", [2]]) == ("extend", (2,))
    assert read_op(["split", 2, [0]]) == ("split", (2, 0))
    for wrong in (
        None,
        [],
        ["append_rows", 3],
        ["extract", [0]],
        ["extract", -1],
        ["extend", []],
        ["split", [0]],
        ["split", -1, [0]],
        ["split", 1, 0],
        ["append", True],
        ["append", "1"],
        ["reset", 1],
        ["reorder", []],
        ["select", [-1]],
        ["record", 2],
        ["copy", 1],
        ["initialise"],
        [["copy"]],
    ):
        with pytest.raises(RequestError):
            read_op(wrong)


def test_params_have_the_harness_defaults() -> None:
    assert read_params({}) == Params()
    assert read_params({"window": 1, "dtype": "float16"}) == Params(window=1, dtype="float16")


def test_run_and_script_name_what_is_missing() -> None:
    with pytest.raises(RequestError, match="sequences"):
        read_run({"variant": "DynamicLayer"})
    with pytest.raises(RequestError, match="variant"):
        read_run({"sequences": []})
    with pytest.raises(RequestError, match="ops"):
        read_script({"variant": "DynamicLayer"})
    assert read_script({"variant": "x", "ops": [["append", 1]], "expected": {"law": "MASK"}}).law == "MASK"


def test_rows_are_there_whichever_ops_before_were_refused() -> None:
    message = {"variant": "v", "params": {"batch": 2}}
    for ops in (
        [["select", [0]], ["reorder", [1, 0]]],
        [["select", [0]], ["reorder", [0]]],
        [["repeat", 2], ["reorder", [3, 2, 1, 0]]],
        [["extend", [1, 1]], ["select", [3]]],
        [["extract", 1], ["merge", [0, 0, 0]], ["select", [2]]],
    ):
        assert read_run({**message, "sequences": [ops]}).sequences
    for ops in ([["reorder", [0]]], [["select", [0]], ["select", [2]]], [["repeat", 2], ["select", [4]]]):
        with pytest.raises(RequestError, match="does not fit"):
            read_run({**message, "sequences": [ops]})

"""Stand-alone programs: exit 1 when the fault shows, 0 when it does not."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from adapter_process import Adapter

DONE = {"outcome": "done"}
RUNNER = Path(__file__).resolve().parents[1] / "real" / "run_scripts.py"


def case(variant: str, ops: list[list[Any]], expected: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The fields of a script request for the last op."""
    fields = {"params": {}, "step": len(ops) - 1, "title": 'a "title" \\ of\ntwo lines', **more}
    return {"request": "script", "variant": variant, "ops": ops, "expected": expected, **fields}


def state(length: list[int], **tensors: list[list[int]]) -> dict[str, Any]:
    """An op that is done and leaves this."""
    return {"outcome": "done", "length": length, "tensors": tensors}


ROWS = [[0, 1, 2]] * 4
TWO_ROWS = {"batch": 2, "heads": 2}
CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "right": (
        case("DynamicLayer", [["append", 3], ["crop", -1]], state([2], keys=[[0, 1]], values=[[0, 1]])),
        lambda v: 0,
    ),
    "wrong expectation": (case("DynamicLayer", [["append", 3]], state([3], keys=[[0, 2, 1]])), lambda v: 1),
    "crop removes too many": (
        case("DynamicLayer", [["append", 2], ["crop", -3]], state([0], keys=[[]], values=[[]])),
        lambda v: int(v < (5, 15)),
    ),
    "recording window, crop removes too many": (
        case(
            "DynamicSlidingWindowLayer",
            [["record", 1], ["append", 6], ["crop", -9]],
            state([0], keys=[[]]),
            params={"window": 4},
        ),
        lambda v: int(v <= (5, 24)),
    ),
    "unrecorded window refuses": (
        case(
            "DynamicSlidingWindowLayer",
            [["append", 6], ["crop", -1]],
            {"outcome": "refused", "length": [6], "tensors": {"keys": [[3, 4, 5]]}},
            params={"window": 4, "call": "container_keyword"},
        ),
        lambda v: 0,
    ),
    "index keys": (
        case("MiniMaxM3VLSparseCacheLayer", [["append", 3], ["crop", -1]], state([2], idx_keys=[[0, 1]])),
        lambda v: int(v < (5, 15)),
    ),
    "quantised tokens, cropped": (
        case(
            "Fp8QuantizedLayer",
            [["append", 2], ["append", 1], ["reorder", [1, 0]]],
            state([3], keys=ROWS[:2], values=ROWS[:2]),
            params={"batch": 2, "key_dim": 32, "value_dim": 64, "values": "two_levels"},
        ),
        lambda v: 0,
    ),
    "static buffer moves": (
        case("StaticLayer", [["append", 2], ["reorder", [1, 0]]], DONE, law="ADDRESS", params=TWO_ROWS),
        lambda v: 1,
    ),
    "static buffer stays": (case("StaticLayer", [["append", 2], ["append", 1]], DONE, law="ADDRESS"), lambda v: 0),
    "static buffer": (case("StaticLayer", [["append", 2], ["append", 1]], state([3], keys=[[0, 1, 2]])), lambda v: 0),
    "full static window": (
        case(
            "StaticSlidingWindowLayer",
            [["append", 2], ["append", 4]],
            state([6], **{"keys": [[3, 4, 5]], "returned.keys": [[0, 1, 2, 3, 4, 5]]}),
            params={"window": 3, "capacity": 8},
        ),
        lambda v: 0,
    ),
    "returned tensors": (
        case(
            "DynamicSlidingWindowLayer",
            [["append", 6], ["append", 1]],
            state([7], **{"returned.keys": [[3, 4, 5, 6]]}),
            params={"window": 4},
            law="RETURN",
        ),
        lambda v: 0,
    ),
    "mask": (
        case("DynamicSlidingWindowLayer", [["append", 6], ["append", 2]], DONE, params={"window": 4}, law="MASK"),
        lambda v: 0,
    ),
    "a reset writes to what was returned": (
        case("DynamicLayer", [["append", 2], ["reset"]], DONE, law="ALIAS", tensor="earlier.0.keys"),
        lambda v: int(v < (5, 20)),
    ),
    "inputs stay": (case("DynamicLayer", [["append", 2], ["crop", -1]], DONE, law="ALIAS"), lambda v: 0),
    "rows": (
        case(
            "DynamicIndexedLayer",
            [["append", 2], ["reorder", [2, 0, 1]], ["append", 1], ["select", [1, 2]], ["repeat", 2]],
            state([3], keys=ROWS, values=ROWS, indexer_keys=ROWS),
            params={"batch": 3, "heads": 2, "dtype": "bfloat16", "layout": "strided", "call": "keyword"},
        ),
        lambda v: 0,
    ),
    "layers": (
        case(
            "DynamicCache",
            [["append", 3], ["crop", -1]],
            {"outcome": "refused", "length": [3, 3], "tensors": {"layer0.keys": [[0, 1, 2]]}},
            params={"window": 2, "layers": "DynamicLayer+DynamicSlidingWindowLayer"},
        ),
        lambda v: 1,
    ),
    "convolution": (
        case(
            "LinearAttentionLayer",
            [["append", 2]],
            {"outcome": "done", "tensors": {"conv_states.0": [[0, 1]], "recurrent_states.0": [[0, 1]]}},
            params={"kernel": 3},
        ),
        lambda v: 0,
    ),
    "a container forgets rows": (
        case(
            "MiniMaxCache",
            [["append", 2], ["reorder", [1, 0]]],
            state([2], keys=[[0, 1]] * 2, linear_cache=[[0, 1]] * 2),
            params=TWO_ROWS,
        ),
        lambda v: 1,
    ),
    "blocks": (
        case(
            "DeepseekV4CSACache",
            [["append", 3], ["append", 2]],
            state(
                [5],
                **{
                    "buffer_kv.compressor": [[4]],
                    "overlap_gate.indexer": [[2, 3]],
                    "entry_count.indexer": [[2]],
                    "compressed_kv.compressor": [[1, 3]],
                    "returned.overlap_kv.compressor": [[0, 1]],
                    "returned.entry_count.compressor": [[2]],
                },
            ),
            params={"block": 2},
        ),
        lambda v: 0,
    ),
    "blocks are forgotten": (
        case(
            "DeepseekV4HCACache",
            [["append", 2], ["repeat", 2]],
            state([2], **{"compressed_kv.compressor": [[1]] * 2}),
            params={"block": 2},
        ),
        lambda v: 1,
    ),
    "a prefix stays": (
        case(
            "UnlimitedOcrStaticReferenceSlidingWindowLayer",
            [["append", 2], ["append", 4]],
            state([6], **{"keys": [[0, 1, 4, 5]], "returned.keys": [[0, 1, 2, 3, 4, 5]]}),
            params={"window": 2, "capacity": 8},
        ),
        lambda v: 0,
    ),
    "a declared prefix": (
        case(
            "UnlimitedOcrDynamicReferenceSlidingWindowLayer",
            [["append", 1], ["append", 5]],
            state([6], keys=[[0, 1, 4, 5]]),
            params={"window": 3, "keep": 2},
        ),
        lambda v: 0,
    ),
    **{
        f"kept through {call}": (
            case(
                "DynamicSlidingWindowLayer",
                [
                    ["initialize"],
                    ["record", 1],
                    ["append", 6],
                    ["copy"],
                    ["crop", -1],
                    ["offload"],
                    ["prefetch"],
                    ["pickle"],
                ],
                state([5], keys=[[2, 3, 4]] * 2, values=[[2, 3, 4]] * 2),
                params={"batch": 2, "value_dim": value_dim, "window": 4, "call": call},
            ),
            lambda v: int(v < (5, 15)),
        )
        for call, value_dim in (("position", 8), ("keyword", 9), ("container", 8), ("container_keyword", 8))
    },
    **{
        f"the original of a {variant}": (
            case(variant, [["append", 2], ["copy"], ["append", 1]], DONE, law="ISOLATION", params=params),
            lambda v: 0,
        )
        for variant, params in (
            ("StaticLayer", {}),
            ("LinearAttentionLayer", {"call": "container"}),
            ("DynamicCache", {"value_dim": 9, "layers": "DynamicLayer+DynamicSlidingWindowLayer"}),
            ("MiniMaxCache", {}),
            ("StaticCache", {"layers": "StaticLayer+StaticSlidingWindowLayer", "capacity": 4}),
            ("DynamicCache-lazy", {"layers": "DynamicLayer+DynamicLayer"}),
            ("EncoderDecoderCache", {"layers": "DynamicLayer+DynamicLayer"}),
            ("UnlimitedOcrStaticReferenceSlidingWindowLayer", {"capacity": 4, "window": 2}),
        )
    },
    **{
        f"two halves, kept through {call}": (
            case(
                "EncoderDecoderCache",
                [["initialize"], ["append", 2], ["offload"], ["prefetch"], ["copy"], ["pickle"], ["append", 1]],
                state([3, 3], **{"layer1.keys": [[0, 1, 2]], "layer1.cross_keys": [[0, 1]]}),
                params={"value_dim": value_dim, "layers": "DynamicLayer+DynamicLayer", "call": call},
            ),
            lambda v: 0,
        )
        for call, value_dim in (("position", 8), ("keyword", 9), ("keyword", 8))
    },
    "saved tensors that share memory": (
        case(
            "UnlimitedOcrStaticReferenceSlidingWindowLayer",
            [["append", 2], ["pickle"], ["append", 1]],
            state([3], keys=[[0, 1, 2]]),
            params={"capacity": 8, "window": 4},
        ),
        lambda v: 0,
    ),
    "several layers are initialised": (
        case(
            "DynamicCache",
            [["initialize"], ["append", 2], ["pickle"], ["append", 1]],
            state([3, 3], **{"layer0.keys": [[0, 1, 2]], "layer1.keys": [[2]]}),
            params={"window": 2, "value_dim": 9, "layers": "DynamicLayer+DynamicSlidingWindowLayer"},
        ),
        lambda v: 0,
    ),
    "an initialised cache cannot be cropped": (
        case("DynamicLayer", [["initialize"], ["crop", -1]], state([0], keys=[[]])),
        lambda v: 1,
    ),
    **{
        f"refused with {kinds}": (
            case(
                "DynamicSlidingWindowLayer",
                [["append", 6], ["crop", -1]],
                {"outcome": "refused", "length": [6], "tensors": {"keys": [[3, 4, 5]]}, "errors": kinds},
                params={"window": 4},
            ),
            lambda v, shown=shown: shown,
        )
        for kinds, shown in ((["RuntimeError"], 0), (["TypeError"], 1), (["TypeError", "RuntimeError"], 0))
    },
    "in inference mode": (
        case(
            "DynamicLayer",
            [["append", 2], ["crop", -1], ["copy"], ["select", [0, 0]], ["append", 1]],
            state([2], keys=[[0, 2], [0, 2]]),
            params={"call": "inference"},
        ),
        lambda v: 0,
    ),
    "atomic": (
        case("DynamicLayer", [["append", 2], ["crop", -1]], state([2], keys=[[0, 1]]), law="ATOMIC"),
        lambda v: 0,
    ),
}


@pytest.fixture(scope="module")
def outcomes(
    adapter: Adapter, interpreter: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[int, str]]:
    """The exit status and the output of the program of every case that this version has; imports take seconds, once."""
    folder = tmp_path_factory.mktemp("scripts")
    names = [name for name, (request, _) in CASES.items() if request["variant"] in adapter.hello["variants"]]
    for number, name in enumerate(names):
        reply = adapter.ask(CASES[name][0])
        assert "error" not in reply, (name, reply)
        assert "kvconform" not in reply["script"]
        (folder / f"{number}.py").write_text(reply["script"])
    done = subprocess.run([interpreter, str(RUNNER), str(folder)], capture_output=True, text=True, check=True)
    statuses = json.loads(done.stdout)
    return {
        name: (statuses[f"{number}.py"], (folder / f"{number}.py.out").read_text()) for number, name in enumerate(names)
    }


@pytest.mark.parametrize("name", CASES)
def test_exit_status(
    adapter: Adapter, outcomes: dict[str, tuple[int, str]], version: tuple[int, ...], name: str
) -> None:
    request, expected = CASES[name]
    if request["variant"] not in adapter.hello["variants"]:
        pytest.skip(f"transformers {adapter.hello['version']} has no {request['variant']}")
    status, printed = outcomes[name]
    assert "Traceback" not in printed
    assert status == expected(version), printed
    assert "THE FAULT SHOWS" in printed or status == 0


def test_says_why(adapter: Adapter) -> None:
    why = {"source": 'a "source" \\ of\ntwo lines', "basis": "inferred"}
    script = adapter.ask({**CASES["right"][0], **why})["script"]
    assert "\nNot documented, argued from: a 'source' / of two lines\n" in script


def test_calls_in_inference_mode(adapter: Adapter) -> None:
    mode = "        with torch.inference_mode():\n            call()\n"
    assert mode in adapter.ask(CASES["in inference mode"][0])["script"]
    assert "inference_mode" not in adapter.ask(CASES["right"][0])["script"]


def test_has_only_the_helpers_that_it_uses(adapter: Adapter) -> None:
    script = adapter.ask(CASES["right"][0])["script"]
    defined = re.findall(r"^def (\w+)", script, re.MULTILINE)
    assert [name for name in defined if len(re.findall(rf"\b{name}\b", script)) < 2] == []
    assert "masks" not in defined
    assert len(script.splitlines()) < 120


@pytest.mark.parametrize(
    "change",
    [
        {"ops": []},
        {"step": 9},
        {"expected": 1},
        {"expected": {"tensors": {"keys": "all"}}},
        {"expected": {"tensors": {"keys": [["x"]]}}},
        {"variant": "NoSuchLayer"},
        {"title": 4},
        {"ops": [["select", [7]]]},
    ],
)
def test_wrong_requests(adapter: Adapter, change: dict[str, Any]) -> None:
    reply = adapter.ask({**CASES["right"][0], "step": 0, **change})
    assert set(reply) == {"id", "error"}

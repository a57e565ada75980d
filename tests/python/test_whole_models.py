"""Whole models: which there are, what they predict, and the programs for their cases."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from kvconform_adapter.request import RequestError, read_numbers

from adapter_process import Adapter, Step, adapter_environment

KINDS = {"model": "eager+dynamic", "model-static": "eager+static", "model-quantised": "eager+quantised"}
PARAMS = {"batch": 2, "channels": 64, "window": 4, "dtype": "float64", "parts": "eager+dynamic"}


def run(adapter: Adapter, variant: str, sequences: list[Any], **more: Any) -> list[list[Step]]:
    """The steps of sequences on a model."""
    return adapter.run(variant, PARAMS, *sequences, **more)


def logits(step: Step) -> list[float]:
    """What a step predicts."""
    assert step.outcome == 0, step.error
    return step.values("returned.logits")


def test_numbers_may_name_the_rows_that_they_are_of() -> None:
    assert read_numbers([0, 4], 2) == ([0, 4], None)
    assert read_numbers([[0, [1, 0]], [4, [0, 1]]], 2) == ([0, 4], [[1, 0], [0, 1]])


@pytest.mark.parametrize("value", [[[0]], [[0, [1]]], [[0, [0, 1]], 1], [[0, "rows"]], [[0, [0, -1]]], [[-1, [0, 1]]]])
def test_numbers_with_rows_are_checked(value: object) -> None:
    with pytest.raises(RequestError, match="numbers"):
        read_numbers(value, 2)


def test_the_registry_names_the_models(adapter: Adapter) -> None:
    models = [name for name in adapter.hello["variants"] if name.startswith("model/")]
    assert len(models) >= 100
    assert {"model/llama", "model/gpt2", "model/t5", "model/mixtral"} <= set(models)


@pytest.mark.parametrize("name", ["llama", "t5"])
def test_what_is_left_is_all_that_counts(adapter: Adapter, name: str) -> None:
    sequences = [[["append", 3], ["crop", -1], ["append", 1]], [["append", 3]], [["append", 3]]]
    after, fresh, other = run(adapter, f"model/{name}", sequences, numbers=[None, [0, 1, 3], None])
    assert after[2].shapes["returned.logits"] == [2, 1, 64]
    seen, whole, wrong = logits(after[2]), logits(fresh[0]), logits(other[0])
    for row in range(2):
        part = slice((row * 3 + 2) * 64, (row + 1) * 3 * 64)
        assert seen[row * 64 : (row + 1) * 64] == pytest.approx(whole[part], abs=1e-9)
        assert seen[row * 64 : (row + 1) * 64] != pytest.approx(wrong[part], abs=1e-6)


def test_rows_of_other_rows(adapter: Adapter) -> None:
    sequences = [[["append", 2], ["reorder", [1, 0]], ["append", 1]], [["append", 3]]]
    numbers = [None, [[0, [1, 0]], [1, [1, 0]], [2, [0, 1]]]]
    after, fresh = run(adapter, "model/llama", sequences, numbers=numbers)
    assert logits(after[2]) == pytest.approx(
        [*logits(fresh[0])[2 * 64 : 3 * 64], *logits(fresh[0])[5 * 64 : 6 * 64]], abs=1e-9
    )


def test_only_models_know_rows_of_other_rows(adapter: Adapter) -> None:
    message = adapter.ask(
        {
            "request": "run",
            "variant": "DynamicLayer",
            "params": {"batch": 2, "heads": 1, "key_dim": 8, "value_dim": 10},
            "sequences": [[["append", 1]]],
            "numbers": [[[0, [1, 0]]]],
        }
    )
    assert "numbers" in message["error"]


def test_a_model_that_chooses_experts_says_how_close_it_was(adapter: Adapter) -> None:
    [[step]] = run(adapter, "model/mixtral", [[["append", 2]]])
    [margin] = step.values("returned.margin")
    assert 0 < margin < 1
    [[step]] = run(adapter, "model/llama", [[["append", 2]]])
    assert "returned.margin" not in step.shapes


def test_a_model_that_cannot_be_made_says_why(adapter: Adapter) -> None:
    message = adapter.ask({"request": "run", "variant": "model/blt", "params": PARAMS, "sequences": []})
    assert "small" in message["error"]
    assert "\n" not in message["error"]


def test_a_model_that_takes_one_word_at_a_time_is_fed_so(adapter: Adapter, interpreter: str, tmp_path: Path) -> None:
    ops = [["append", 2], ["append", 3]]
    split, single = run(adapter, "model/prophetnet", [ops, [["append", 2], *([["append", 1]] * 3)]])
    assert split[1].shapes["returned.logits"] == [2, 3, 64]
    seen, last = logits(split[1]), logits(single[3])
    assert [*seen[2 * 64 : 3 * 64], *seen[5 * 64 : 6 * 64]] == pytest.approx(last, abs=1e-12)
    done = run_program(adapter, interpreter, tmp_path, ops, "CHUNK", name="prophetnet")
    assert "append 3: done" in done.stdout, done.stderr


@pytest.mark.parametrize("name", ["llama4", "zamba2"])
def test_a_config_with_parts_and_one_with_kinds_of_layers(
    adapter: Adapter, interpreter: str, tmp_path: Path, name: str
) -> None:
    """The program makes the same model: of one with eyes the part for the text, of a hybrid a layer of each kind."""
    reply = adapter.ask({"request": "layers", "variant": f"model/{name}", "params": PARAMS})
    assert len({layer["class"] for layer in reply["layers"]}) == 2
    done = run_program(adapter, interpreter, tmp_path, [["append", 2], ["append", 1]], "RESUME", name=name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "largest difference" in done.stdout


@pytest.mark.parametrize(
    ("variant", "reason"),
    [
        ("model/openai-gpt", "keeps no cache"),
        ("model-static/gpt_neo", "_can_compile_fullgraph"),
        ("model-static/minimax", "cache of its own"),
        ("model-quantised/t5", "encoder"),
        ("model-quantised/mistral", "DynamicSlidingWindowLayer"),
    ],
)
def test_a_cache_that_a_model_has_not_is_absent(adapter: Adapter, variant: str, reason: str) -> None:
    params = PARAMS | {"parts": KINDS[variant.partition("/")[0]]}
    message = adapter.ask({"request": "run", "variant": variant, "params": params, "sequences": []})
    assert reason in str(message.get("absent"))
    assert "error" not in message


@pytest.mark.parametrize("name", ["llama", "t5"])
def test_a_static_cache_is_as_good_and_refuses_what_it_has_no_room_for(adapter: Adapter, name: str) -> None:
    ops = [["append", 3], ["append", 2], ["append", 8]]
    params = PARAMS | {"parts": KINDS["model-static"], "capacity": 12}
    [static] = adapter.run(f"model-static/{name}", params, ops)
    [grown] = adapter.run(f"model/{name}", PARAMS, ops)
    assert logits(static[1]) == pytest.approx(logits(grown[1]), abs=1e-9)
    assert grown[2].outcome == 0
    assert "IndexError" in str(static[2].error)


def test_a_quantised_cache_says_what_it_loses(adapter: Adapter) -> None:
    ops = [["append", 3], ["append", 2]]
    params = PARAMS | {"parts": KINDS["model-quantised"], "residual": 2}
    message = adapter.ask({"request": "run", "variant": "model-quantised/llama", "params": params, "sequences": []})
    if "optimum-quanto" in message.get("error", ""):
        pytest.skip(message["error"])
    [lossy] = adapter.run("model-quantised/llama", params, ops)
    [exact] = adapter.run("model/llama", PARAMS, ops)
    [loss] = lossy[1].values("returned.loss")
    assert 0 < loss < 0.1
    seen, right = logits(lossy[1]), logits(exact[1])
    apart = max(abs(one - other) for one, other in zip(seen, right, strict=True)) / max(map(abs, right))
    assert 0 < apart < 8 * loss
    assert "returned.loss" not in exact[1].shapes


def test_parts_of_another_cache_are_an_error(adapter: Adapter) -> None:
    message = adapter.ask({"request": "run", "variant": "model-static/llama", "params": PARAMS, "sequences": []})
    assert "params.parts" in message["error"]


@pytest.mark.parametrize("drafts", ["assistant", "lookup"])
@pytest.mark.parametrize("name", ["llama", "t5"])
def test_what_a_model_says_with_drafts_is_what_it_says_without(adapter: Adapter, name: str, drafts: str) -> None:
    params = {"batch": 1, "window": 4, "block": 3, "dtype": "float64", "parts": f"eager+{drafts}"}
    [steps] = adapter.run(f"model-generate/{name}", params, [["append", 3], ["append", 6], ["append", 2]])
    assert [step.outcome for step in steps] == [0, 0, 0], [step.error for step in steps]
    assert [step.values("agreed") for step in steps] == [[3], [9], [11]]


def test_a_model_that_refuses_drafts_says_so(adapter: Adapter) -> None:
    params = {"batch": 1, "window": 4, "block": 3, "dtype": "float64", "parts": "eager+lookup"}
    message = adapter.ask({"request": "run", "variant": "model-generate/mamba", "params": params, "sequences": []})
    assert "stateful" in message["absent"]


def test_where_drafts_change_what_is_said_the_program_shows_it_alone(
    adapter: Adapter, interpreter: str, tmp_path: Path
) -> None:
    params = {"batch": 1, "window": 4, "block": 1, "dtype": "float64", "parts": "eager+assistant"}
    ops = [["append", 1], ["append", 4]]
    [steps] = adapter.run("model-generate/cpmant", params, ops)
    [agreed] = steps[1].values("agreed")
    assert 1 <= agreed < 5
    asked = {"request": "script", "variant": "model-generate/cpmant", "params": params, "ops": ops, "step": 1}
    told = {"title": "other words", "source": "a test", "basis": "documented", "law": "RESUME", "expected": {}}
    file = tmp_path / "case.py"
    file.write_text(adapter.ask(asked | told)["script"])
    environment = {name: value for name, value in adapter_environment().items() if name != "PYTHONPATH"}
    done = subprocess.run([interpreter, str(file)], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"differ from word {int(agreed)} on" in done.stdout


def run_program(
    adapter: Adapter,
    interpreter: str,
    folder: Path,
    ops: list[Any],
    law: str,
    change: str = "",
    name: str = "llama",
    **expected: str,
) -> subprocess.CompletedProcess[str]:
    """The program for a case of a model without a fault; `change` stands before its first op."""
    script = adapter.ask(
        {
            "request": "script",
            "variant": f"model/{name}",
            "params": PARAMS,
            "ops": ops,
            "step": len(ops) - 1,
            "title": "nothing is wrong",
            "source": "a test",
            "basis": "documented",
            "law": law,
            "expected": expected,
        }
    )["script"]
    file = folder / "case.py"
    assert "\nseen = None\n" in script
    file.write_text(script.replace("\nseen = None\n", f"\n{change}\nseen = None\n"))
    environment = {name: value for name, value in adapter_environment().items() if name != "PYTHONPATH"}
    return subprocess.run([interpreter, str(file)], capture_output=True, text=True, env=environment, check=False)


def test_the_program_of_a_case_runs_alone(adapter: Adapter, interpreter: str, tmp_path: Path) -> None:
    ops = [["append", 3], ["reorder", [1, 0]], ["copy"], ["crop", -1], ["append", 2]]
    done = run_program(adapter, interpreter, tmp_path, ops, "RESUME")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "largest difference" in done.stdout


REFUSING = """\
def refuse(*given):
    raise NotImplementedError


DynamicCache.crop = DynamicCache.reset = DynamicCache.reorder_cache = DynamicCache.__deepcopy__ = refuse
"""


@pytest.mark.parametrize(
    "ops", [[["append", 3], ["crop", -1]], [["append", 3], ["reset"]], [["reorder", [1, 0]]], [["append", 3], ["copy"]]]
)
def test_a_program_that_ends_without_a_forward_looks_at_the_outcome(
    adapter: Adapter, interpreter: str, tmp_path: Path, ops: list[Any]
) -> None:
    right = run_program(adapter, interpreter, tmp_path, ops, "REFUSE", outcome="done")
    assert right.returncode == 0, right.stdout + right.stderr
    wrong = run_program(adapter, interpreter, tmp_path, ops, "REFUSE", REFUSING, outcome="done")
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    assert "NotImplementedError" in wrong.stdout


@pytest.mark.parametrize(
    ("name", "cache", "layers"),
    [
        ("llama", "DynamicCache", [("DynamicLayer", {})] * 2),
        ("t5", "EncoderDecoderCache", [("DynamicLayer", {})] * 2),
        ("gemma3_text", "DynamicCache", [("DynamicSlidingWindowLayer", {"window": 4}), ("DynamicLayer", {})]),
        (
            "mamba",
            "DynamicCache",
            [("LinearAttentionLayer", {"states": 1, "kernel": 4, "parts": "convolution+recurrent"})] * 2,
        ),
    ],
)
def test_the_layers_of_a_model(adapter: Adapter, name: str, cache: str, layers: list[tuple[str, Any]]) -> None:
    assert "layers" in adapter.hello["offers"]
    reply = adapter.ask({"request": "layers", "variant": f"model/{name}", "params": PARAMS | {"batch": 1}})
    assert reply["cache"] == cache
    assert [(layer["class"], layer["params"]) for layer in reply["layers"]] == layers
    assert [layer["variant"] for layer in reply["layers"]] == [name for name, _ in layers]


def test_only_models_have_layers(adapter: Adapter) -> None:
    reply = adapter.ask({"request": "layers", "variant": "DynamicLayer", "params": {}})
    assert "expected a whole model, whose name begins with one of model, " in reply["error"]

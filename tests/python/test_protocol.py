"""The loop: good requests, damaged ones, and what surrounds them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from adapter_process import TREE, Adapter, adapter_environment

PARAMS = {"batch": 1, "heads": 1, "key_dim": 8, "value_dim": 10}
RUN: dict[str, Any] = {"request": "run", "variant": "DynamicLayer", "params": PARAMS, "sequences": [[["append", 2]]]}


def schema(name: str) -> Any:
    """A validator for one schema of the tree."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    text = Path(TREE / "reports" / "schemas" / f"protocol-{name}.schema.json").read_text(encoding="utf-8")
    validator = jsonschema.Draft202012Validator
    validator.check_schema(json.loads(text))
    return validator(json.loads(text))


def test_hello_names_the_subject(adapter: Adapter) -> None:
    hello = adapter.hello
    assert hello["subject"] == "transformers"
    assert hello["protocol"] == 1
    assert {"DynamicLayer", "DynamicSlidingWindowLayer", "StaticLayer", "DynamicCache"} <= set(hello["variants"])
    assert all(isinstance(text, str) for text in hello["environment"].values())


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"request": "walk"}, "request"),
        ({"variant": "NoSuchLayer"}, "variant"),
        ({"variant": 3}, "variant"),
        ({"params": []}, "params"),
        ({"params": {"colour": 1}}, "colour"),
        ({"params": {"batch": 0}}, "batch"),
        ({"params": {"batch": True}}, "batch"),
        ({"params": {"dtype": "int8"}}, "dtype"),
        ({"params": {"parts": "wheels"}}, "wheels"),
        ({"sequences": 1}, "sequences"),
        ({"sequences": [[["append"]]]}, "append"),
        ({"sequences": [[["append", -1]]]}, "append"),
        ({"sequences": [[["append", 1.5]]]}, "append"),
        ({"sequences": [[["append", 200000]]]}, "append"),
        ({"sequences": [[["append", 100000], ["append", 100000]]]}, "tokens"),
        ({"sequences": [[["fly", 1]]]}, "fly"),
        ({"sequences": [[["append", 1], ["select", [5]]]]}, "select"),
        ({"sequences": [[["append", 1], ["reorder", [0, 0]]]]}, "reorder"),
        ({"params": {"batch": 2}, "sequences": [[["repeat", 1000]]]}, "rows"),
        ({"numbers": []}, "numbers"),
        ({"numbers": [[0]]}, "numbers"),
        ({"numbers": [[0, -1]]}, "numbers"),
        ({"variant": "DynamicCache"}, "layers"),
        ({"variant": "DynamicCache", "params": {"layers": "DynamicLayer+Nothing"}}, "Nothing"),
    ],
)
def test_a_wrong_request_is_answered_with_an_error(adapter: Adapter, change: dict[str, Any], word: str) -> None:
    reply = adapter.ask({**RUN, **change})
    assert set(reply) == {"id", "error"}
    assert word in reply["error"]
    assert "Traceback" not in reply["error"]
    assert "error" not in adapter.ask(RUN)


@pytest.mark.parametrize(
    "line",
    [b"", b"nonsense", b"[1]", b"{}", b'{"id": "x", "request": "hello"}', b'{"id": 1.5}', b"\xff\xfe", b"[" * 100000],
    ids=["empty", "nonsense", "list", "no id", "text id", "fraction", "not utf-8", "deep"],
)
def test_a_line_that_is_no_request_does_not_end_the_adapter(adapter: Adapter, line: bytes) -> None:
    reply = adapter.send(line)
    assert reply["id"] == -1
    assert reply["error"]
    assert "error" not in adapter.ask(RUN)


def test_a_line_that_is_too_long_is_skipped(adapter: Adapter) -> None:
    reply = adapter.send(b" " * ((3 << 20) + 7))
    assert "longer" in reply["error"]
    assert "error" not in adapter.ask(RUN)


def test_another_protocol_is_refused(adapter: Adapter) -> None:
    assert "version 1" in adapter.ask({"request": "hello", "protocol": 2})["error"]


def test_several_requests_may_be_on_their_way(interpreter: str) -> None:
    lines = [{"id": 0, "request": "hello", "protocol": 1}, {"id": 7, **RUN}, {"id": 8, **RUN}]
    done = subprocess.run(
        [interpreter, "-m", "kvconform_adapter", "transformers"],
        input=b"".join(json.dumps(line).encode() + b"\n" for line in lines),
        capture_output=True,
        env=adapter_environment(),
        check=True,
    )
    rest = done.stdout
    for number in (0, 7, 8):
        line, _, rest = rest.partition(b"\n")
        reply = json.loads(line)
        assert reply["id"] == number
        rest = rest[reply.get("bytes", 0) :]
    assert rest == b""


def test_a_subject_that_prints_and_warns_does_not_disturb_the_replies(interpreter: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("")
    package = tmp_path / "transformers"
    package.mkdir()
    (package / "__init__.py").write_text("import os\nprint('noise', flush=True)\nos.write(1, b'more noise')\n1 / 0\n")
    environment = adapter_environment()
    environment["PYTHONPATH"] = f"{tmp_path}:{environment['PYTHONPATH']}"
    done = subprocess.run(
        [interpreter, "-m", "kvconform_adapter", "transformers"],
        input=b'{"id": 0, "request": "hello", "protocol": 1}\n',
        capture_output=True,
        env=environment,
        check=True,
    )
    reply = json.loads(done.stdout)
    assert "cannot import transformers" in reply["error"]
    assert "ZeroDivisionError" in reply["error"]
    assert "pip install" in reply["error"]
    assert b"noise" in done.stderr


def test_a_wrong_command_line_says_what_is_right(interpreter: str) -> None:
    done = subprocess.run(
        [interpreter, "-m", "kvconform_adapter", "nothing"],
        capture_output=True,
        env=adapter_environment(),
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "usage:" in done.stderr
    assert done.stdout == ""


def test_messages_follow_their_schemas(adapter: Adapter) -> None:
    requests, replies = schema("request"), schema("reply")
    script = {
        "request": "script", "variant": "DynamicLayer", "params": PARAMS, "ops": [["append", 1]], "step": 0,
        "title": "", "expected": {"outcome": "done", "length": [1], "tensors": {"keys": [[0]]}},
    }  # fmt: skip
    static = {"variant": "StaticLayer", "params": {**PARAMS, "capacity": 4, "watch": 1}, "numbers": [[4, 5]]}
    for message in ({"request": "hello", "protocol": 1}, RUN, {**RUN, **static}, {**RUN, "places": 1}, script):
        requests.validate({"id": 1, **message})
        reply = adapter.ask(message)
        reply.pop("raw", None)
        assert "error" not in reply
        replies.validate(reply)
    replies.validate(adapter.send(b"nonsense"))
    assert not requests.is_valid({"id": 1, **RUN, "sequences": [[["append", -1]]]})
    assert not requests.is_valid({"id": 1, **RUN, "sequences": [[["reset", 1]]]})
    assert not requests.is_valid({"id": 1, **RUN, "places": True})
    assert not replies.is_valid({"id": 1, "tensors": [], "errors": [], "results": [[[2]]], "bytes": 0})

"""A pytest plugin: each law of kvconform as a test of a cache class of your own.

    pytest -p kvconform_pytest --kvconform my.module:MyCache

It needs pytest, and the program kvconform: of the same package, in PATH, or where KVCONFORM names it. The class must
be used as a layer of transformers is: `--kvconform-like transformers:DynamicLayer` says as which, else it is the
nearest one that it derives from. `--kvconform-baseline FILE` holds the findings that are known. kvconform starts this
file again as the interpreter of its adapter; there the class takes the place of that layer, and is judged by its spec
and contract. See docs/ci.md of kvconform.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SETTINGS = "KVCONFORM_PYTEST"
"""The environment variable that tells the adapter's process which class it serves."""
SUBJECT = "transformers"

CROPS = frozenset({"crop"})
NEEDED_OPS = {
    "HONEST": CROPS,
    "CLAMP": CROPS,
    "ZERO": CROPS,
    "RESUME": CROPS,
    "RESET": frozenset({"reset"}),
    "BATCH": frozenset({"reorder", "select", "repeat"}),
    "SAVE": frozenset({"copy", "pickle", "offload", "prefetch"}),
    "ISOLATION": frozenset({"copy"}),
}
"""Laws that speak of some ops only: one of them must have been run."""


@dataclass
class Judgement:
    """What came of the run of one class."""

    problem: str = ""
    ops: set[str] = field(default_factory=set)
    silent: dict[str, str] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    known: dict[str, list[str]] = field(default_factory=dict)
    """By law, what the baseline holds and is there."""
    known_ids: set[str] = field(default_factory=set)
    """Findings of this run among that."""
    gone: dict[str, list[str]] = field(default_factory=dict)
    """By law, what the baseline holds and should not any more."""


class LawBrokenError(Exception):
    """What a test of a law fails with."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of this plugin."""
    group = parser.getgroup("kvconform", "conformance of KV caches")
    group.addoption(
        "--kvconform",
        action="append",
        default=[],
        metavar="MODULE:CLASS",
        help="a cache class; each law is a test of it",
    )
    group.addoption(
        "--kvconform-like", metavar="transformers:LAYER", help="the layer as which it is used (its nearest base)"
    )
    group.addoption("--kvconform-budget", default="2000", metavar="N", help="sequences (2000)")
    group.addoption(
        "--kvconform-jobs", default="1", metavar="N", help="worker processes; each imports the class anew (1)"
    )
    group.addoption("--kvconform-baseline", metavar="FILE", help="known findings: their laws are expected to fail")
    group.addoption(
        "--kvconform-accept", metavar="REASON", help="take what is found into the baseline, and what is fixed out of it"
    )
    group.addoption("--kvconform-seed", default="1", metavar="N", help="the same seed gives the same sequences (1)")


def packaged() -> str:
    """The program of the package kvconform in this interpreter, or ""."""
    try:
        from kvconform import PROGRAM  # noqa: PLC0415
    except ImportError:
        return ""
    return str(PROGRAM)


def program() -> str:
    """The program: of KVCONFORM, of the package that this file came with, or in PATH; UsageError when there is none."""
    name = os.environ.get("KVCONFORM") or packaged() or "kvconform"
    found = shutil.which(name)
    if found is None:
        raise pytest.UsageError(f"--kvconform: there is no program {name}; put kvconform into PATH")
    return found


def ask(*words: str) -> list[str]:
    """The lines that a command of kvconform prints."""
    done = subprocess.run([program(), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise pytest.UsageError(f"kvconform {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def known_layers() -> set[str]:
    """The variants of transformers that kvconform has a spec for."""
    words = [line.split() for line in ask("list", "variants")]
    return {found[1] for found in words if found[0] == SUBJECT}


def class_of(text: str) -> type:
    """The class MODULE:CLASS; UsageError when there is none."""
    module, _, name = text.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for word in name.split("."):
            found = getattr(found, word)
    except (ImportError, AttributeError, ValueError) as error:
        raise pytest.UsageError(f"--kvconform {text}: {error}; expected MODULE:CLASS") from error
    if not isinstance(found, type):
        raise pytest.UsageError(f"--kvconform {text}: this is no class")
    return found


def interface(owner: type, like: str | None) -> tuple[str, str]:
    """The layer as which a class is used, or "" and the reason why that is not known."""
    known = known_layers()
    if like is not None:
        subject, _, name = like.partition(":")
        if subject != SUBJECT or name not in known:
            return (
                "",
                f"the interface of {like} is not known: expected {SUBJECT}: and a layer of `kvconform list variants`",
            )
        return name, ""
    for base in owner.__mro__:
        if base.__module__.split(".")[0] == SUBJECT and base.__name__ in known:
            return base.__name__, ""
    return "", f"{owner.__name__} derives from no layer that kvconform knows: --kvconform-like says as which it is used"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Adds the tests. Before others look at the items, so that -k and -m count for them too."""
    classes, baseline = config.getoption("--kvconform"), config.getoption("--kvconform-baseline")
    if baseline is not None and len(classes) != 1:
        raise pytest.UsageError(f"--kvconform-baseline {baseline}: expected one class, a baseline is of one")
    if baseline is None and config.getoption("--kvconform-accept") is not None:
        raise pytest.UsageError("--kvconform-accept: --kvconform-baseline says into which file")
    for text in classes:
        laws = [line.split(maxsplit=1) for line in ask("list", "laws")]
        cache = CacheUnderTest.of(session, text, config.getoption("--kvconform-like"))
        items.extend(LawItem.from_parent(cache, name=law, text=sentence) for law, sentence in laws)


class CacheUnderTest(pytest.Collector):
    """One class. It is run once, when the first of its laws is asked for."""

    owner: type
    spelled: str
    like: str
    unknown: str
    judgement: Judgement | None

    @classmethod
    def of(cls, session: pytest.Session, text: str, like: str | None) -> CacheUnderTest:
        """Finds the class and the interface that it has."""
        owner = class_of(text)
        found: CacheUnderTest = cls.from_parent(session, name=text, nodeid=f"kvconform::{text}")
        found.owner, found.spelled, found.judgement = owner, text, None
        found.like, found.unknown = interface(owner, like)
        return found

    def collect(self) -> Iterator[pytest.Item]:
        """Laws are added by the hook."""
        return iter(())

    def judge(self) -> Judgement:
        """Runs the class, once."""
        if self.judgement is None:
            self.judgement = self.run()
        return self.judgement

    def run(self) -> Judgement:
        """Starts kvconform and reads its result."""
        folder = self.config._tmp_path_factory.mktemp("kvconform")  # type: ignore[attr-defined]
        result, notes, python = folder / "result.json", folder / "notes.json", folder / "python"
        python.write_text(
            f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(__file__)} "$@"\n', encoding="utf-8"
        )
        python.chmod(0o755)
        settings = {"class": self.spelled, "like": self.like, "path": sys.path, "notes": str(notes)}
        option = self.config.getoption
        baseline, reason = option("--kvconform-baseline"), option("--kvconform-accept")
        words = [f"{SUBJECT}:{self.like}", "--python", str(python)]
        words += ["--budget", option("--kvconform-budget"), "--seed", option("--kvconform-seed")]
        words += ["--jobs", option("--kvconform-jobs")]
        words += [] if baseline is None else ["--baseline", baseline]
        environment = os.environ | {SETTINGS: json.dumps(settings)}
        if reason is not None:
            accepted = execute(
                ["baseline", "update", *words, "--add", "--remove-fixed", "--reason", reason], environment
            )
            if accepted.returncode != 0:
                return Judgement(problem=accepted.stderr.strip())
        verb = ["run", "--quiet"] if baseline is None else ["gate"]
        done = execute([*verb, *words, "--json", str(result)], environment)
        if done.returncode not in (0, 1) or not result.exists():
            return Judgement(problem=not_run(result, done.stderr) or f"kvconform ended with status {done.returncode}")
        judgement = Judgement(silent=json.loads(notes.read_text(encoding="utf-8")))
        for run in json.loads(result.read_text(encoding="utf-8"))["runs"]:
            judgement.ops |= {entry["op"] for entry in run["coverage"] if entry["count"] > 0}
            judgement.findings += run["findings"]
        if baseline is not None:
            compare(judgement, Path(baseline), f"{SUBJECT}:{self.like}", done)
        return judgement


def execute(words: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a command of kvconform to its end."""
    return subprocess.run([program(), *words], capture_output=True, text=True, check=False, env=environment)


def told(gate: str, states: str) -> set[str]:
    """The ids of what the gate tells in one of these states."""
    found = re.findall(rf"^(?:{states}): .*\n(?:  .*\n)*?  id:   (\S+)$", gate, re.MULTILINE)
    return set(found)


def compare(judgement: Judgement, baseline: Path, target: str, gate: subprocess.CompletedProcess[str]) -> None:
    """Sets what was found against the baseline, as the gate says."""
    new, gone = told(gate.stdout, "new|flaky"), told(gate.stdout, "fixed|matches nothing|expired")
    # It may not pass for known what was told in words that are not known here.
    if gate.returncode == 1 and not told(gate.stdout, "new") and not gone:
        judgement.problem = f"kvconform gate: {gate.stdout.partition(chr(10))[0]}"
    for entry in json.loads(baseline.read_text(encoding="utf-8"))["entries"]:
        if entry["target"] == target:
            of_law = (judgement.gone if entry["id"] in gone else judgement.known).setdefault(entry["law"], [])
            of_law.append(f"{entry['title']} ({entry['id']}: {entry.get('reason') or entry.get('address')})")
    judgement.known_ids = {finding["id"] for finding in judgement.findings} - new


def not_run(result: Path, complaint: str) -> str:
    """Why a class could not be run."""
    if result.exists():
        runs = json.loads(result.read_text(encoding="utf-8"))["runs"]
        return "; ".join(run["reason"] for run in runs if run["reason"]) or complaint.strip()
    return complaint.strip()


def spelled(finding: dict[str, Any]) -> str:
    """A finding in the words of its report."""
    case = finding["case"]
    ops = ", ".join(" ".join(str(word) for word in op) for op in case["ops"])
    other = ", ".join(f"{name} {value}" for name, value in case["params"].items())
    lines = [finding["title"], f"  case:   {ops}", f"  with:   {other}", f"  id:     {finding['id']}"]
    return "\n".join([*lines, f"  source: {finding['source']} ({finding['basis']})"])


class LawItem(pytest.Item):
    """One law."""

    def __init__(self, text: str, **more: Any) -> None:
        super().__init__(**more)
        self.text = text

    @property
    def cache(self) -> CacheUnderTest:
        """The class that is tested."""
        assert isinstance(self.parent, CacheUnderTest)
        return self.parent

    def runtest(self) -> None:
        """Fails when the law is broken, and when the class could not be run; what was not judged is skipped."""
        if self.cache.unknown:
            pytest.skip(self.cache.unknown)
        judgement = self.cache.judge()
        if judgement.problem:
            raise LawBrokenError(f"it could not be run: {judgement.problem}")
        found = [finding for finding in judgement.findings if self.name in (finding["law"], *finding["also"])]
        steady = [finding for finding in found if not finding["flaky"]]
        needed = NEEDED_OPS.get(self.name, frozenset({"append"}))
        new = [finding for finding in steady if finding["id"] not in judgement.known_ids]
        if not new:
            self.look_at_known(judgement, steady)
        if new:
            new.sort(key=lambda finding: finding["law"] != self.name)
            raise LawBrokenError(f"{self.text}\n\n" + "\n\n".join(map(spelled, new)))
        if found:
            pytest.skip("flaky: " + "; ".join(finding["title"] for finding in found))
        if self.name in judgement.silent:
            pytest.skip(judgement.silent[self.name])
        if not needed & judgement.ops:
            pytest.skip(f"not judged: no {', '.join(sorted(needed))} was run")

    def look_at_known(self, judgement: Judgement, met: list[dict[str, Any]]) -> None:
        """Of a law that nothing new breaks: fails when a known fault is gone, and xfails when one is there."""
        known = judgement.known.get(self.name) or [finding["title"] for finding in met]
        if self.name in judgement.gone:
            gone = "\n".join(judgement.gone[self.name])
            raise LawBrokenError(f"fixed or expired: take it out of the baseline with --kvconform-accept\n\n{gone}")
        if known:
            pytest.xfail("known: " + "; ".join(known))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What is broken, without a trace through this plugin."""
        if isinstance(excinfo.value, LawBrokenError):
            return f"{self.cache.spelled} as {SUBJECT}:{self.cache.like}, {self.name}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Where the class is written."""
        try:
            place = inspect.getsourcefile(self.cache.owner) or __file__
            line: int | None = inspect.getsourcelines(self.cache.owner)[1] - 1
        except (OSError, TypeError):
            place, line = __file__, None
        return place, line, f"{self.cache.spelled} {self.name}"


# ---- In the process of the adapter, which kvconform starts with its own folder of adapters in PYTHONPATH


def silent_laws(variant: Any, owner: type, container: type) -> dict[str, str]:
    """The laws that such a class is never judged by, each with the reason."""
    found = {}
    if not variant.index:
        found["INDEX"] = "such a cache has no index tensors"
    if not (variant.linear or variant.blocks):
        found["STATE"] = "such a cache has no states"
    if not variant.static:
        found["ADDRESS"] = "such a cache has no static buffers"
    if not hasattr(owner, "is_croppable"):
        found["HONEST"] = "the class makes no claim (is_croppable)"
    if not hasattr(container, "get_query_offset"):
        found["POSITION"] = "this version of transformers announces no positions"
    return found


def serve_class() -> None:
    """Speaks the adapter protocol for the class."""
    from kvconform_adapter.protocol import Channel, serve  # noqa: PLC0415
    from kvconform_adapter.request import RequestError  # noqa: PLC0415
    from kvconform_adapter.transformers_subject import TransformersSubject  # noqa: PLC0415

    settings = json.loads(os.environ[SETTINGS])
    channel = Channel.take_standard_streams()
    sys.path += [place for place in settings["path"] if place not in sys.path]

    class ClassSubject(TransformersSubject):
        """transformers with one layer, which is the class."""

        def hello(self) -> dict[str, Any]:
            reply = super().hello()
            if settings["like"] not in reply["variants"]:
                raise RequestError(f"transformers {self.version} has no {settings['like']}")
            reply |= {"variants": [settings["like"]], "locations": {}, "unavailable": {}, "offers": ["prepare"]}
            reply["environment"]["class"] = settings["class"]
            return reply

        def script(self, request: Any) -> str:
            raise RequestError("no programs are written for a class that is not of transformers")

    subject = ClassSubject()
    if not subject.problem:
        from kvconform_adapter.transformers_caches import CACHE_UTILS, VARIANTS, load_class  # noqa: PLC0415

        try:
            owner = class_of(settings["class"])
            variant = VARIANTS[settings["like"]]
        except (pytest.UsageError, KeyError) as error:
            subject.problem = f"{settings['class']} cannot be used as {settings['like']}: {error}"
        else:
            notes = Path(settings["notes"])
            own = notes.with_name(f"{notes.name}.{os.getpid()}")
            own.write_text(json.dumps(silent_laws(variant, owner, load_class(CACHE_UTILS, "Cache"))), encoding="utf-8")
            os.replace(own, notes)
            setattr(importlib.import_module(variant.module), variant.name, owner)
            load_class.cache_clear()
    serve(channel, subject)


if __name__ == "__main__":
    serve_class()

"""Puts small mistakes into transformers' cache_utils.py, one at a time, and asks the gate whether it sees them.

    python3 bench/mutation.py --python PYTHON --work DIR

PYTHON is an interpreter that has transformers. Each mutant (mutants.py) is written into a copy of the package whose
other files are links, and the gate is run on the variants of the class that it changes, against a baseline that the
unchanged copy passes: first the nearest variants with few sequences, then all of them with more, until it fails. A
mutant that it never fails on has survived; why that is right, or what is missing, stands in survivors.json. DIR
keeps baselines and outcomes, so that a run that was stopped goes on; the copy lies in a temporary folder. Adapters
are forked from one that has torch imported (warm_server.py).

Writes DIR/mutation.json, and with --table FILE the tables of docs/mutation.md. One core is used.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fnmatch
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mutants
from mutants import Mutant
from page import replace_between

TREE = Path(__file__).resolve().parents[1]
SURVIVORS = Path(__file__).resolve().with_name("survivors.json")
MODULE = "cache_utils.py"
CORE = re.compile(r"crop|update\w*|reset|reorder_cache|batch_(select_indices|repeat_interleave)|_apply_pending_reorder")
"""Methods of which every mutant that changes behaviour must be killed."""
STEPS = ((1, 300), (4, 1000))
"""How many variants, and sequences for each: most mutants need no more than the first."""
VERDICTS = ("equivalent", "not observable", "open")
CONTAINERS = ("Cache", "DynamicCache", "StaticCache", "QuantizedCache", "EncoderDecoderCache")
ANSWER_SECONDS = 20
ATTEMPTS = 4
NOTHING = '{"schema": "kvconform-baseline/1", "entries": []}\n'
GATE_SECONDS = 600


@dataclass
class Outcome:
    """What came of a mutant. `told`: how it was seen, or how the run ended."""

    identifier: str
    line: int
    change: str
    outcome: str
    """`killed` by the gate, `no start` (the adapter did not come up with it), or `survived`."""
    told: str
    variants: list[str]
    sequences: int
    seconds: float


class Package:
    """A copy of a package in a folder: links, but for the module that is changed."""

    def __init__(self, original: Path, folder: Path) -> None:
        self.folder = folder
        copied = folder / original.name
        copied.mkdir()
        for entry in original.iterdir():
            if entry.name not in (MODULE, "__pycache__"):
                (copied / entry.name).symlink_to(entry)
        self.module = copied / MODULE
        self.text = (original / MODULE).read_text(encoding="utf-8")
        self.write(self.text)

    def write(self, text: str) -> None:
        """The module, in one step: an adapter that is just starting sees the one or the other."""
        beside = self.module.with_suffix(".new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self.module)


class Gate:
    """kvconform's gate on one variant, with adapters of a warm server."""

    def __init__(self, program: str, python: str, folder: Path, work: Path) -> None:
        self.program, self.python, self.folder, self.work = program, python, folder, work
        self.environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        self.environment.setdefault("KVCONFORM_DATA", str(TREE))
        self.socket = folder / "adapters"
        self.passed: set[tuple[str, int]] = set()

    @contextlib.contextmanager
    def warm(self) -> Iterator[None]:
        """While it lasts the server runs."""
        here = Path(__file__).resolve().parent
        adapters = Path(self.environment["KVCONFORM_DATA"]) / "adapters" / "python"
        command = [self.python, str(here / "warm_server.py"), str(self.socket), str(adapters)]
        # In a group of its own: Ctrl-C is for this program, which ends it by closing its input.
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, env=self.environment, stdin=pipe, stdout=pipe, text=True, start_new_session=True
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            if server.stdout.readline() != "ready\n":
                raise SystemExit(f"mutation: {self.python} could not import transformers")
            try:
                yield
            finally:
                server.stdin.close()

    def call(self, words: list[str], variant: str, budget: int) -> tuple[int, str]:
        """Exit status and output of kvconform."""
        client = Path(__file__).resolve().with_name("warm_client.py")
        target = f"exec:'{self.python}' -I -S '{client}' '{self.socket}'"
        command = [self.program, *words, target, "--variant", variant, "--baseline", str(self.baseline(variant))]
        command += ["--budget", str(budget), "--jobs", "1", "--timeout", str(ANSWER_SECONDS)]
        try:
            done = subprocess.run(
                command, env=self.environment, capture_output=True, text=True, check=False, timeout=GATE_SECONDS
            )
        except subprocess.TimeoutExpired:
            return 124, f"no verdict within {GATE_SECONDS} s"
        return done.returncode, done.stdout or done.stderr

    def baseline(self, variant: str) -> Path:
        """What the unchanged class shows."""
        return self.work / f"baseline-{variant}.json"

    def prepare(self, variant: str, budget: int) -> bool:
        """Accept what the unchanged class shows. False when this variant cannot be run here."""
        if (variant, budget) in self.passed:
            return True
        for _ in range(ATTEMPTS):
            if self.baseline(variant).exists():
                status, said = self.call(["gate"], variant, budget)
                if status == 0:
                    self.passed.add((variant, budget))
                    return True
            words = ["baseline", "update", "--add", "--reason", "there without a change"]
            status, said = self.call(words, variant, budget)
            if status == 3:
                return False
            if status == 0 and not self.baseline(variant).exists():
                self.baseline(variant).write_text(NOTHING, encoding="utf-8")
        raise SystemExit(f"mutation: {variant} without a change does not pass the gate: {said}")


def seen(output: str) -> str:
    """The first thing that the gate has against a mutant, in a line."""
    told = re.search(r"^(new|fixed|flaky): (.*)", output, re.MULTILINE)
    name = re.search(r"^  id:   (.*)", output, re.MULTILINE)
    if told is None:
        lines = [line for line in output.splitlines() if line.strip()]
        return lines[-1][:160] if lines else "nothing was said"
    return f"{told.group(1)} {name.group(1) if name else ''}: {told.group(2)}"[:160]


class Mutation:
    """The run over all mutants."""

    def __init__(self, gate: Gate, package: Package, variants: list[str], log: Path) -> None:
        self.gate, self.package, self.log = gate, package, log
        self.variants = variants
        self.missing: set[str] = set()
        self.done: dict[str, Outcome] = {}
        self.digest = hashlib.sha256(package.text.encode()).hexdigest()[:16]
        if log.exists():
            for line in log.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                if entry.pop("module") == self.digest:
                    self.done[entry["identifier"]] = Outcome(**entry)

    def concerned(self, place: str) -> list[str]:
        """Variants that use a class, nearest first. Containers are run for their own code."""
        found: list[str] = []
        for name in mutants.heirs(self.package.text, place):
            found += [variant for variant in self.variants if variant == name]
            if place in CONTAINERS:
                found += [variant for variant in self.variants if variant.startswith(name + "-")]
        return found

    def try_one(self, mutant: Mutant) -> Outcome:
        """Run the gate until it fails."""
        start = time.monotonic()
        outcome, told, tried, sequences = "survived", "", list[str](), 0
        variants = self.concerned(mutant.place)
        changed = mutant.apply(self.package.text)
        for number, budget in STEPS:
            for variant in variants[:number]:
                if variant in self.missing:
                    continue
                self.package.write(self.package.text)
                if not self.gate.prepare(variant, budget):
                    self.missing.add(variant)
                    continue
                self.package.write(changed)
                status, output = self.gate.call(["gate"], variant, budget)
                tried += [variant] if variant not in tried else []
                sequences += budget
                if status == 0:
                    continue
                if status not in (1, 3, 124):
                    raise SystemExit(f"mutation: {mutant.identifier}: exit status {status}: {output}")
                outcome, told = ("killed", seen(output)) if status != 3 else ("no start", seen(output))
                break
            if outcome != "survived":
                break
        self.package.write(self.package.text)
        taken = time.monotonic() - start
        return Outcome(mutant.identifier, mutant.line, mutant.told(), outcome, told, tried, sequences, round(taken, 1))

    def run(self, chosen: list[Mutant], again: bool) -> None:
        """All that were not tried before; `again`: those that survived too."""
        with self.log.open("a", encoding="utf-8") as log:
            for at, mutant in enumerate(chosen):
                before = self.done.get(mutant.identifier)
                if before is not None and not (again and before.outcome == "survived"):
                    continue
                outcome = self.try_one(mutant)
                self.done[mutant.identifier] = outcome
                log.write(json.dumps({"module": self.digest, **dataclasses.asdict(outcome)}) + "\n")
                log.flush()
                where = f"{at + 1}/{len(chosen)} {outcome.outcome} {outcome.identifier} line {outcome.line}"
                print(f"{where}: {outcome.change} ({outcome.told}; {outcome.seconds:.1f} s)", flush=True)


def reasons() -> dict[str, dict[str, str]]:
    """Why mutants survive, by patterns of their names."""
    read: dict[str, dict[str, str]] = json.loads(SURVIVORS.read_text(encoding="utf-8"))
    for pattern, entry in read.items():
        if set(entry) != {"verdict", "reason"} or entry["verdict"] not in VERDICTS:
            expected = f"expected a reason and a verdict, one of {', '.join(VERDICTS)}"
            raise SystemExit(f"mutation: {SURVIVORS.name}: {pattern}: {expected}")
    return read


def reason_of(identifier: str, known: dict[str, dict[str, str]]) -> dict[str, str]:
    """The entry that names a survivor, its own name before patterns."""
    for pattern, entry in known.items():
        if pattern == identifier:
            return entry
    for pattern, entry in known.items():
        if fnmatch.fnmatchcase(identifier, pattern):
            return entry
    return {"verdict": "unexplained", "reason": ""}


def summary(found: list[Outcome], core: set[str]) -> dict[str, Any]:
    """Counts, and each survivor with its reason."""
    known = reasons()
    survivors = [
        {**dataclasses.asdict(outcome), "core": outcome.identifier in core, **reason_of(outcome.identifier, known)}
        for outcome in found
        if outcome.outcome == "survived"
    ]
    return {
        "mutants": len(found),
        "outcomes": dict(Counter(outcome.outcome for outcome in found)),
        "core": {
            "mutants": sum(outcome.identifier in core for outcome in found),
            "outcomes": dict(Counter(outcome.outcome for outcome in found if outcome.identifier in core)),
        },
        "verdicts": dict(Counter(entry["verdict"] for entry in survivors)),
        "core_verdicts": dict(Counter(entry["verdict"] for entry in survivors if entry["core"])),
        "seconds": round(sum(outcome.seconds for outcome in found), 1),
        "survivors": survivors,
    }


def tables(found: list[Outcome], told: dict[str, Any]) -> str:
    """Markdown: outcomes by class, and the survivors."""
    lines = ["| class | mutants | killed | did not start | survived |", "|---|---:|---:|---:|---:|"]
    places: dict[str, Counter[str]] = {}
    for outcome in found:
        places.setdefault(outcome.identifier.partition(".")[0], Counter())[outcome.outcome] += 1
    for place, counts in [*places.items(), ("all", Counter(told["outcomes"]))]:
        numbers = [counts.total(), *(counts[name] for name in ("killed", "no start", "survived"))]
        lines.append(f"| `{place}` | " + " | ".join(map(str, numbers)) + " |")
    lines += ["", "| survivor | line | change | verdict | reason |", "|---|---:|---|---|---|"]
    for entry in told["survivors"]:
        change = entry["change"].replace("|", "\\|")
        why = f"{entry['verdict']} | {entry['reason']}"
        lines.append(f"| `{entry['identifier']}` | {entry['line']} | `{change}` | {why} |")
    return "\n".join(lines) + "\n"


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Does the gate see small mistakes in transformers' caches?")
    parser.add_argument("--kvconform", default="kvconform", help="the program")
    parser.add_argument("--python", required=True, help="an interpreter that has transformers")
    parser.add_argument("--work", required=True, type=Path, help="folder that keeps baselines and outcomes")
    parser.add_argument("--only", default="*", help="pattern of CLASS.METHOD/OPERATOR/N")
    parser.add_argument("--core", action="store_true", help="only methods that crop, update, reset or reorder")
    parser.add_argument("--every", type=int, default=1, help="only every Nth of them")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    parser.add_argument("--report", action="store_true", help="run nothing: say what DIR holds")
    parser.add_argument("--table", type=Path, help="Markdown page to put the tables into")
    return parser.parse_args()


def main() -> int:
    """Returns 1 when a survivor has no reason."""
    arguments = parse()
    where = "import transformers; print(transformers.__path__[0]); print(transformers.__version__)"
    asked = subprocess.run([arguments.python, "-c", where], stdout=subprocess.PIPE, text=True, check=True)
    original, version = Path(asked.stdout.splitlines()[0]), asked.stdout.splitlines()[1]
    arguments.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        package = Package(original, Path(temporary))
        every = mutants.mutants(package.text)
        core = {mutant.identifier for mutant in every if CORE.fullmatch(mutant.method)}
        chosen = [mutant for mutant in every if fnmatch.fnmatchcase(mutant.identifier, arguments.only)]
        chosen = [mutant for mutant in chosen if not arguments.core or mutant.identifier in core][:: arguments.every]
        if arguments.list:
            for mutant in chosen:
                print(f"{mutant.identifier} line {mutant.line}: {mutant.told()}")
            return 0
        gate = Gate(arguments.kvconform, arguments.python, Path(temporary), arguments.work.resolve())
        command = [arguments.kvconform, "list", "variants"]
        listed = subprocess.run(command, env=gate.environment, stdout=subprocess.PIPE, text=True, check=True).stdout
        variants = [line.split()[1] for line in listed.splitlines() if line.startswith("transformers ")]
        mutation = Mutation(gate, package, variants, arguments.work / "mutants.jsonl")
        before = len(mutation.done)
        if not arguments.report:
            with gate.warm():
                mutation.run(chosen, arguments.again)
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            print(f"{len(mutation.done) - before} more, {used.ru_utime + used.ru_stime:.0f} s of a processor")
    found = [mutation.done[mutant.identifier] for mutant in chosen if mutant.identifier in mutation.done]
    told = summary(found, core)
    document = {"schema": "kvconform-mutation/1", "transformers": version, "module": mutation.digest, **told}
    (arguments.work / "mutation.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if arguments.table is not None:
        replace_between(arguments.table, "mutation", tables(found, told))
    print(json.dumps({name: value for name, value in told.items() if name != "survivors"}))
    return 1 if any(entry["verdict"] == "unexplained" for entry in told["survivors"]) else 0


if __name__ == "__main__":
    sys.exit(main())

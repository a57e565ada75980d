"""How soon is a known fault found, and how small is the case? kvconform beside Hypothesis and plain random testing.

    python3 bench/detection.py --oracle PROGRAM --json FILE [--table docs/detection.md]

Needs Hypothesis, but with --machine-seeds 0. Faults are the built-in caches that are broken on purpose and, with
--transformers, the cases of cases/transformers on the newest version that shows them. All searches make their own
sequences of the same ops, with arguments from the same ranges and parameters from the same lists, of at most twenty
ops, and all are judged by kvconform's judge (oracle.c): what is compared is the search and the shrinking. Of a
cache with several faults only failures like that of the case count; others end a sequence and nothing else.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.metadata
import io
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oracle import Found, Oracle
from page import replace_between

TREE = Path(__file__).resolve().parents[1]
VERSIONS = ((5, 12, 1), (5, 24, 0))
SEARCHES = ("kvconform", "hypothesis", "random")
ORDER = ("sooner", "equal", "later")
SIZES = ("smaller", "equal", "larger")
SURE = 0.05
"""A difference is one when chance alone makes it in fewer than so many of 1."""


@dataclass(frozen=True)
class Fault:
    """What is looked for. `like`: the case whose failure counts; None where any does."""

    name: str
    target: str
    like: Path | None = None


@dataclass
class Measured:
    """One fault, the runs of each search in the order of the seeds; None: not found."""

    fault: str
    runs: dict[str, list[Found | None]] = field(default_factory=dict)

    def numbers(self, search: str, limit: int) -> list[float]:
        """Sequences to the first failure; one more than the limit when there was none."""
        return [run.number if run is not None else limit + 1 for run in self.runs[search]]


def built_in(program: str, environment: dict[str, str]) -> list[Fault]:
    """All built-in caches that are broken on purpose."""
    command = [program, "list", "faults"]
    listed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    names = [line.split()[0] for line in listed.splitlines() if line[:1].isalpha() and "+" in line.split()[0]]
    return [Fault(name, "builtin:" + name) for name in names]


def released() -> list[Fault]:
    """Each case of transformers on the newest version that shows it; of those with the same law and op the first."""
    found: dict[tuple[str, str, str], Fault] = {}
    for path in sorted((TREE / "cases" / "transformers").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        broken = []
        expected = case.get("expect", {})
        # One word is said of all versions.
        if isinstance(expected, str):
            expected = {".".join(str(part) for part in VERSIONS[1]): expected}
        for version, outcome in expected.items():
            number = tuple(int(part) for part in version.split("."))
            if outcome not in ("conforms", "absent", "impossible") and VERSIONS[0] <= number <= VERSIONS[1]:
                broken.append((number, version, outcome))
        if broken:
            _, version, law = max(broken)
            key = (case["variant"], law, case["ops"][-1][0])
            target = f"transformers@{version}:{case['variant']}"
            found.setdefault(key, Fault(f"{version} {path.stem}", target, path))
    return list(found.values())


def read(answer: list[str], total: float) -> Found | None:
    """`found NUMBER SECONDS [fails OPS WEIGHT LAW op, ...]`."""
    if answer[0] != "found":
        return None
    ops, weight = (int(answer[4]), int(answer[5])) if len(answer) > 3 else (0, 0)
    return Found(int(answer[1]), float(answer[2]), ops, weight, " ".join(answer[6:]), total)


def searched(oracle: Oracle, command: str, seed: int, limit: int) -> Found | None:
    """A search that the oracle makes itself."""
    start = time.monotonic()
    return read(oracle.ask(f"{command} {seed} {limit}"), time.monotonic() - start)


def explored(oracle: Oracle, seed: int, limit: int) -> Found | None:
    """kvconform: its sequences to the first failure, and what a run that ends there reports.

    With other faults about, a run may leave their triggers out before it comes to this one: then a whole run counts.
    """
    quick = searched(oracle, "generator", seed, limit)
    run = searched(oracle, "explore", seed, quick.number if quick is not None else limit)
    if run is None and quick is not None:
        run = searched(oracle, "explore", seed, limit)
    if run is not None and quick is not None and quick.number <= run.number:
        run.number, run.seconds = quick.number, quick.seconds
    return run


def silent_hunt(oracle: Oracle, seed: int, limit: int) -> Found | None:
    """Hypothesis prints what it finds. It is needed here and nowhere else."""
    from machine import hunt  # noqa: PLC0415

    with contextlib.redirect_stdout(io.StringIO()):
        return hunt(oracle, seed, limit)


def measure(fault: Fault, machine: bool, arguments: argparse.Namespace, environment: dict[str, str]) -> Measured:
    """All searches on one fault, in turn for each seed."""
    command = [arguments.oracle] + (["--like", str(fault.like)] if fault.like is not None else []) + [fault.target]
    oracle = Oracle(command, environment)
    measured = Measured(fault.name)
    ways: dict[str, Callable[[int], Found | None]] = {
        "kvconform": lambda seed: explored(oracle, seed, arguments.limit),
        "hypothesis": lambda seed: silent_hunt(oracle, seed, arguments.examples),
        "random": lambda seed: searched(oracle, "random", seed, arguments.limit),
    }
    try:
        for seed in range(1, arguments.seeds + 1):
            for search, way in ways.items():
                if search != "hypothesis" or (machine and seed <= arguments.machine_seeds):
                    measured.runs.setdefault(search, []).append(way(seed))
    finally:
        oracle.close()
    return measured


def chance(ours: list[float], theirs: list[float]) -> float:
    """How likely such a difference is by chance: rank sums (Mann, Whitney), with ties, as a normal distribution."""
    both = sorted(ours + theirs)
    rank = {value: both.index(value) + (both.count(value) + 1) / 2 for value in both}
    m, n = len(ours), len(theirs)
    above = sum(rank[value] for value in ours) - m * (m + 1) / 2
    ties = sum(both.count(value) ** 3 - both.count(value) for value in set(both))
    total = m + n
    variance = m * n / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    distance = max(0.0, abs(above - m * n / 2) - 0.5)
    return math.erfc(distance / math.sqrt(2 * variance))


def compared(ours: list[float], theirs: list[float]) -> str:
    """`sooner`, `later`, or `equal` when the medians are or chance may have made the difference."""
    mine, other = statistics.median(ours), statistics.median(theirs)
    if mine == other or chance(ours, theirs) >= SURE:
        return "equal"
    return "sooner" if mine < other else "later"


def size(run: Found) -> tuple[int, int]:
    """Of its case, as docs/design.md has it: ops, then the sum of their arguments."""
    return run.ops, run.weight


def smallest(runs: list[Found | None]) -> list[tuple[int, int]]:
    """Sizes of the reported cases, in order."""
    return sorted(size(run) for run in runs if run is not None)


def verdicts(one: Measured, other: str, limit: int, examples: int) -> dict[str, str]:
    """kvconform against another search on one fault. Numbers are cut at the smaller limit: both had as many."""
    limits = {"hypothesis": examples}
    most = min(limit, limits.get(other, limit))
    mine = [min(number, most + 1.0) for number in one.numbers("kvconform", limit)]
    theirs = [min(number, most + 1.0) for number in one.numbers(other, limits.get(other, limit))]
    answer = {"sequences": compared(mine, theirs)}
    spent = [[run.seconds for run in one.runs[search] if run is not None] for search in ("kvconform", other)]
    answer["seconds"] = compared(*spent) if all(spent) else "-"
    ours, others = smallest(one.runs["kvconform"]), smallest(one.runs[other])
    if ours and others:
        mid, mate = ours[len(ours) // 2], others[len(others) // 2]
        answer["size"] = "smaller" if mid < mate else "equal" if mid == mate else "larger"
    else:
        answer["size"] = "-"
    return answer


def shown(values: list[float], unit: float = 1.0, digits: int = 0) -> str:
    """A median."""
    return f"{statistics.median(values) * unit:,.{digits}f}" if values else "-"


def tables(found: list[Measured], limit: int, examples: int) -> str:
    """Markdown: the counts, where another was first, and one line for each fault of a release."""
    lines = [
        "| kvconform beside | faults | sequences: sooner, equal, later | time: same | case: smaller, equal, larger |",
        "|---|---:|---:|---:|---:|",
    ]
    behind: list[tuple[Measured, str, dict[str, str]]] = []
    for other in SEARCHES[1:]:
        judged = [(one, verdicts(one, other, limit, examples)) for one in found if one.runs.get(other)]
        counts = {
            key: ", ".join(str(sum(verdict[key] == word for _, verdict in judged)) for word in words)
            for key, words in {"sequences": ORDER, "seconds": ORDER, "size": SIZES}.items()
        }
        lines.append(f"| {other} | {len(judged)} | {counts['sequences']} | {counts['seconds']} | {counts['size']} |")
        worse = {"sequences": ORDER[-1], "size": SIZES[-1]}
        behind += [(one, other, verdict) for one, verdict in judged if any(verdict[key] == worse[key] for key in worse)]
    missed = {search: sum(not any(one.runs[search]) for one in found if one.runs.get(search)) for search in SEARCHES}
    told = ", ".join(f"{missed[search]} by {search}" for search in SEARCHES)
    lines += ["", f"Found with no seed: {told}.", ""]
    lines += ["| kvconform behind | beside | sequences | size |", "|---|---|---|---|"]
    for one, other, verdict in behind:
        most = examples if other == "hypothesis" else limit
        numbers = (
            f"{shown(one.numbers('kvconform', limit))}, {shown(one.numbers(other, most))} ({verdict['sequences']})"
        )
        lines.append(f"| `{one.fault}` | {other} | {numbers} | {verdict['size']} |")
    lines += ["", "| fault | search | found | sequences | ms to the first failure | case: ops, sum |"]
    lines += ["|---|---|---:|---:|---:|---|"]
    for one in found:
        for search in SEARCHES:
            runs = one.runs.get(search, [])
            if " " not in one.fault or not runs:
                continue
            hits = [run for run in runs if run is not None]
            sizes = smallest(runs)
            middle = "{}, {}".format(*sizes[len(sizes) // 2]) if sizes else "-"
            numbers, spent = shown([run.number for run in hits]), shown([run.seconds for run in hits], 1000, 1)
            lines.append(f"| {one.fault} | {search} | {len(hits)} of {len(runs)} | {numbers} | {spent} | {middle} |")
    return "\n".join(lines) + "\n"


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="How soon is a known fault found, and how small is its case?")
    parser.add_argument("--kvconform", default="kvconform", help="the program, which lists the faults")
    parser.add_argument("--oracle", required=True, help="bench/oracle")
    parser.add_argument(
        "--transformers", action="store_true", help="faults of releases of transformers, not the built-in ones"
    )
    parser.add_argument("--only", default="", help="a part of the names of the faults")
    parser.add_argument("--every", type=int, default=1, help="only every Nth of them")
    parser.add_argument("--seeds", type=int, default=15)
    parser.add_argument("--machine-seeds", type=int, default=5, help="of them for Hypothesis, which takes longest")
    parser.add_argument("--machine-every", type=int, default=1, help="Hypothesis only on every Nth fault")
    parser.add_argument("--limit", type=int, default=5000, help="sequences of kvconform and of random testing")
    parser.add_argument("--examples", type=int, default=500, help="examples of Hypothesis")
    parser.add_argument(
        "--json", type=Path, required=True, help="what was measured; what stands there is not measured again"
    )
    parser.add_argument("--report", action="store_true", help="measure nothing: say what FILE holds")
    parser.add_argument("--table", type=Path, help="Markdown page to put the tables into")
    return parser.parse_args()


def version_of(package: str) -> str:
    """Empty when it is not there."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def as_json(one: Measured) -> dict[str, Any]:
    """One line of the file."""
    return dataclasses.asdict(one)


def from_json(entry: dict[str, Any]) -> Measured:
    """The same back."""
    runs = {search: [Found(**run) if run else None for run in every] for search, every in entry["runs"].items()}
    return Measured(entry["fault"], runs)


def main() -> int:
    """Returns 1 when kvconform missed a fault with every seed."""
    arguments = parse()
    environment = dict(os.environ)
    environment.setdefault("KVCONFORM_DATA", str(TREE))
    faults = released() if arguments.transformers else built_in(arguments.kvconform, environment)
    faults = [fault for fault in faults if arguments.only in fault.name][:: arguments.every]
    settings = {name: getattr(arguments, name) for name in ("limit", "examples", "seeds", "machine_seeds")}
    document: dict[str, Any] = {"schema": "kvconform-detection/1", "hypothesis": version_of("hypothesis")}
    document |= {**settings, "faults": []}
    if arguments.json.exists():
        document = json.loads(arguments.json.read_text(encoding="utf-8"))
        if {name: document[name] for name in settings} != settings:
            raise SystemExit(f"detection: --json {arguments.json}: made with other limits or seeds; give another file")
    found = [from_json(entry) for entry in document["faults"]]
    known = {one.fault for one in found}
    for at, fault in enumerate(faults):
        if fault.name in known or arguments.report:
            continue
        one = measure(fault, at % arguments.machine_every == 0, arguments, environment)
        found.append(one)
        document["faults"].append(as_json(one))
        arguments.json.write_text(json.dumps(document) + "\n", encoding="utf-8")
        told = [f"{search} {shown([run.number for run in one.runs.get(search, []) if run])}" for search in SEARCHES]
        print(f"{fault.name}: sequences {', '.join(told)}", flush=True)
    text = tables(found, arguments.limit, arguments.examples)
    print(text)
    if arguments.table is not None:
        replace_between(arguments.table, "detection", text)
    return 1 if any(all(run is None for run in one.runs["kvconform"]) for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())

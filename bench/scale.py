"""Measures how the cost of kvconform grows with what it is given, and prints the exponent of each growth.

Processor seconds of all processes against the tokens of a sequence, heads, rows, findings in a report and results
merged; the exponent is the slope on logarithmic axes over the points that cost at least twice what the smallest does
(1: linear, 0: no growth). Then memory along one long run, how long a first answer takes, and a run in N parts beside
the run as a whole: the same result, and how many more processor seconds. Needs nothing but the standard library.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOKENS = (1, 10, 100, 1_000, 10_000, 100_000)
HEADS = (1, 2, 4, 8, 16, 32, 64)
ROWS = (1, 2, 3, 4, 5, 6, 7)
FINDINGS = (1, 10, 100, 1_000, 10_000)
RESULTS = (1, 10, 100, 1_000)
PARTS = 16
FINDINGS_IN_RUN = 100
STARTS = 15
WIDE = 400  # tokens, where heads and rows are many


class Scale:
    """Programs, folders and what was measured."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.kvconform = str(Path(arguments.kvconform).resolve())
        self.rounds = arguments.rounds
        self.folder = folder
        self.environment = dict(os.environ, KVCONFORM_DATA=str(Path(__file__).resolve().parent.parent))

    def call(self, *words: str) -> float:
        """Processor seconds of one call, which may have findings and nothing worse."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [self.kvconform, *words], capture_output=True, text=True, env=self.environment, cwd=self.folder, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 1):
            said = done.stderr[-2000:]
            raise SystemExit(f"scale: kvconform {' '.join(words)}: exit status {done.returncode}\n{said}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def growth(self, name: str, sizes: tuple[int, ...], prepare: Callable[[int], list[str]]) -> dict[str, Any]:
        """Costs of a call for each size, the median of several rounds in turn."""
        commands = {size: prepare(size) for size in sizes}
        seconds: dict[int, list[float]] = {size: [] for size in sizes}
        for _ in range(self.rounds):
            for size, command in commands.items():
                seconds[size].append(self.call(*command))
        cost = {size: statistics.median(found) for size, found in seconds.items()}
        exponent = slope([(size, spent) for size, spent in cost.items() if spent >= 2 * cost[sizes[0]]])
        text = "too cheap to say" if exponent is None else f"exponent {exponent:.2f}"
        print(f"{name}: {text}")
        for size, spent in cost.items():
            print(f"  {size:>9,} {1e3 * spent:10.1f} ms")
        return {"milliseconds": {str(size): 1e3 * spent for size, spent in cost.items()}, "exponent": exponent}

    def case(self, tokens: int, **params: int) -> list[str]:
        """The command that runs a sequence of so many tokens with fifteen rollbacks."""
        ops: list[list[Any]] = [["append", tokens]]
        ops += [op for _ in range(15) for op in (["crop", -1], ["append", 1])]
        path = self.folder / f"{tokens}-{'-'.join(f'{name}-{value}' for name, value in params.items())}.json"
        case = {"schema": "kvconform-case/1", "subject": "builtin", "variant": "full", "params": params, "ops": ops}
        path.write_text(json.dumps(case), encoding="utf-8")
        return ["replay", str(path)]

    def report(self, findings: int) -> list[str]:
        """The command that writes reports of one result with so many findings, of as many versions as that takes."""
        template = self.folder / "findings.json"
        if not template.exists():
            self.call("run", "builtin:full+*", "--budget", "300", "--quiet", "--json", str(template))
        result = json.loads(template.read_text(encoding="utf-8"))
        run = next(run for run in result["runs"] if run["findings"])
        runs = []
        for first in range(0, findings, FINDINGS_IN_RUN):
            part = copy.deepcopy(run)
            part["version"] = str(1 + first // FINDINGS_IN_RUN)
            finding = part["findings"][0]
            part["findings"] = []
            for number in range(first, min(first + FINDINGS_IN_RUN, findings)):
                part["findings"].append({**finding, "id": f"{finding['law']}-{number:08x}"})
            runs.append(part)
        result["runs"] = runs
        path = self.folder / f"findings-{findings}.json"
        path.write_text(json.dumps(result), encoding="utf-8")
        return ["report", str(path), "-o", str(self.folder / f"report-{findings}"), "--quiet"]

    def merge(self, results: int) -> list[str]:
        """The command that makes the whole of so many parts of a run."""
        folder = self.folder / f"parts-{results}"
        folder.mkdir()
        for part in range(1, results + 1):
            words = ["run", "builtin:full", "--budget", str(10 * results), "--portion", "10", "--jobs", "1", "--quiet"]
            self.call(*words, "--shard", f"{part}/{results}", "--json", str(folder / f"{part}.json"))
        paths = [str(folder / f"{part}.json") for part in range(1, results + 1)]
        return ["report", *paths, "-o", str(self.folder / f"merged-{results}"), "--quiet"]

    def memory(self, ops: int) -> dict[str, Any]:
        """Largest resident memory of any process of one run, early and at its end."""
        sequences = max(ops // 6, 1000)
        command = [self.kvconform, "run", "builtin:full", "--budget", str(sequences), "--portion", str(sequences)]
        json_path = self.folder / "long.json"
        command += ["--jobs", "1", "--quiet", "--json", str(json_path)]
        started = time.monotonic()
        process = subprocess.Popen(command, env=self.environment, cwd=self.folder, stdout=subprocess.DEVNULL)
        samples = []
        while process.poll() is None:
            time.sleep(0.05)
            held = [resident(pid) for pid in family(process.pid)]
            samples.append((time.monotonic() - started, max(held, default=0)))
        if process.returncode != 0:
            raise SystemExit(f"scale: {' '.join(command)}: exit status {process.returncode}")
        if not samples or samples[0][0] > samples[-1][0] / 10:
            raise SystemExit(f"scale: --ops {ops}: over before memory could be followed; give more")
        performed = json.loads(json_path.read_text(encoding="utf-8"))["runs"][0]["ops"]
        early = max(kib for when, kib in samples if when <= samples[-1][0] / 10) / 1024
        late = max(kib for _, kib in samples) / 1024
        print(f"memory over {performed:,} ops: {early:.1f} MiB in the first tenth, {late:.1f} MiB at most")
        return {"ops": performed, "first_tenth_mib": early, "most_mib": late}

    def start(self) -> dict[str, float]:
        """Milliseconds of the clock until a run of one sequence for each variant has ended."""
        found = {}
        for target in ("builtin:full", "builtin"):
            spent = []
            for _ in range(STARTS):
                begun = time.monotonic()
                self.call("run", target, "--budget", "1", "--quiet")
                spent.append(1e3 * (time.monotonic() - begun))
            found[target] = min(spent)
            middle = statistics.median(spent)
            print(f"start: {target}, one sequence for each variant: {min(spent):.0f} ms at best, {middle:.0f} ms")
        return found

    def parts(self, sequences: int) -> dict[str, Any]:
        """A run in N parts beside the run as a whole."""
        words = ["run", "builtin:full", "--budget", str(sequences), "--portion", str(sequences // PARTS), "--quiet"]
        whole = self.call(*words, "--jobs", "1", "--json", "whole.json")
        spent = [
            self.call(*words, "--jobs", "1", "--shard", f"{part}/{PARTS}", "--json", f"part-{part}.json")
            for part in range(1, PARTS + 1)
        ]
        merging = self.call("report", *(f"part-{part}.json" for part in range(1, PARTS + 1)), "-o", "whole", "--quiet")
        self.call("report", "whole.json", "-o", "single", "--quiet")
        same = facts(self.folder / "whole" / "merged.json") == facts(self.folder / "single" / "merged.json")
        if not same:
            raise SystemExit("scale: the parts of a run do not make the same result as the run as a whole")
        ratio = (sum(spent) + merging) / whole
        print(f"one run in {PARTS} parts: the same result, {ratio:.2f} of the processor seconds of the whole; ", end="")
        print(f"the longest part {max(spent) * PARTS / sum(spent):.2f} of the mean, merging {merging:.2f} s")
        return {"parts": PARTS, "ratio": ratio, "longest": max(spent) * PARTS / sum(spent), "merging_seconds": merging}


def facts(path: Path) -> Any:
    """A result without what two runs never share: times, and the command line."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: clean(held) for key, held in value.items() if key not in ("seconds", "at", "command")}
        return [clean(held) for held in value] if isinstance(value, list) else value

    return clean(json.loads(path.read_text(encoding="utf-8")))


def slope(points: list[tuple[int, float]]) -> float | None:
    """Of the line through the points on logarithmic axes; None for fewer than two."""
    if len(points) < 2:
        return None
    return statistics.linear_regression([math.log(x) for x, _ in points], [math.log(y) for _, y in points]).slope


def family(pid: int) -> list[int]:
    """A process and those that it started."""
    found = [pid]
    for parent in found:
        try:
            text = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii")
        except OSError:
            continue
        found += [int(child) for child in text.split()]
    return found


def resident(pid: int) -> int:
    """KiB that a process holds, 0 when it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")), 0)


def read_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measures how the cost of kvconform grows.")
    parser.add_argument("--kvconform", default="bin/kvconform", help="the program")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    parser.add_argument("--most", type=int, default=100_000, help="leave out what is larger than this")
    parser.add_argument("--ops", type=int, default=100_000_000, help="ops of the run whose memory is followed")
    parser.add_argument("--sequences", type=int, default=3_200_000, help="of the run that is done in parts")
    parser.add_argument("--json", default="", help="file for the numbers")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: expected at least 1")
    return arguments


def main() -> int:
    """Exit status 0, or a message."""
    arguments = read_arguments()
    result: dict[str, Any] = {"schema": "kvconform-scale/1", "rounds": arguments.rounds}

    def up_to(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(size for size in sizes if size <= max(arguments.most, sizes[0]))

    with tempfile.TemporaryDirectory(prefix="kvconform-scale-") as folder:
        scale = Scale(arguments, Path(folder))
        result["start_ms"] = scale.start()
        result["tokens"] = scale.growth("tokens of a sequence", up_to(TOKENS), lambda size: scale.case(size, batch=1))
        result["heads"] = scale.growth("heads", up_to(HEADS), lambda size: scale.case(WIDE, batch=1, heads=size))
        result["rows"] = scale.growth("rows", up_to(ROWS), lambda size: scale.case(WIDE, batch=size, heads=2))
        result["findings"] = scale.growth("findings in a report", up_to(FINDINGS), scale.report)
        result["results"] = scale.growth("results merged", up_to(RESULTS), scale.merge)
        result["parts"] = scale.parts(arguments.sequences)
        result["memory"] = scale.memory(arguments.ops)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures kvconform beside other ways to do the same work, in one run, and prints ratios.

On `DynamicLayer` and `DynamicSlidingWindowLayer` of transformers with all their laws, with one worker and with two:

* a bare Python loop that makes the same calls for the same sequences and checks nothing (bare_loop.py),
* that loop with the cheapest checks that are written by hand: the last token and the length,
* for the first, the same property as a Hypothesis state machine (state_machine.py).

The same bare loop for `KVCache` and `RotatingKVCache` of mlx-lm (bare_mlx_loop.py).

Seconds there are seconds of the clock, as a user waits for them; the processor seconds for one op, which other programs
on the machine touch less, stand beside them.

On built-in caches and on the example plugin, a bare C loop on the same table of functions (bare_plugin.c), and how much
more the same calls cost when kvconform makes them and checks what is shown (the plugin interface), without and with
judging it. On built-in caches RapidCheck too, which draws and runs ops of the same kinds and is lent kvconform's judge
(rapidcheck.cpp; left out where configure did not find it).

Everything is measured in turn, round after round, so that what else the machine does meets all alike; ratios are those
of the medians. The rate of kvconform is that between two budgets, which leaves out how long it takes to start. Needs
nothing but the standard library; the Python that runs transformers needs torch, transformers and hypothesis.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MLX = ("KVCache", "RotatingKVCache")
LAYERS = ("DynamicLayer", "DynamicSlidingWindowLayer")
FIRST = 10_000
"""Sequences of the smaller budget: past the exhaustive stage, so that all loops run the same random ones."""
BUILTIN = ("full", "window", "fixed", "fixed_window", "indexed", "ring", "blocks", "convolution", "recurrent", "cross")
MEMORY_LIMIT_MB = 64
BUILTIN_RATE = 3_000_000
BUILTIN_OF_BARE = 0.2
BUILTIN_OF_RAPIDCHECK = 10
RAPIDCHECK_CASES = 50_000
INTERFACE_LIMIT_US = 0.3
MEMORY_BUDGETS = (20_000, 2_000_000)


@dataclass
class Series:
    """Seconds for one op, one number for each round."""

    name: str
    seconds: list[float] = field(default_factory=list)

    def add(self, ops: float, seconds: float) -> None:
        """One round."""
        self.seconds.append(seconds / ops)

    @property
    def median(self) -> float:
        """Of the seconds for one op."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Distance of the slowest from the fastest round, as a part of the median."""
        return (max(self.seconds) - min(self.seconds)) / self.median

    def as_json(self) -> dict[str, Any]:
        """Median, spread and every round."""
        return {"ops_per_second": 1 / self.median, "spread": self.spread, "seconds_per_op": self.seconds}

    def line(self) -> str:
        """For people."""
        return f"  {self.name:34} {1 / self.median:14,.0f} ops/s   spread {self.spread:4.0%}"


class Bench:
    """Programs, folders and what was measured."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.kvconform = arguments.kvconform
        self.programs = Path(arguments.programs)
        self.python = arguments.python
        self.mlx = arguments.mlx
        self.rounds = arguments.rounds
        self.has_rapidcheck = (self.programs / "rapidcheck").exists()
        self.source = Path(__file__).resolve().parent
        self.environment = dict(os.environ, KVCONFORM_DATA=str(self.source.parent))
        self.folder = folder

    def call(self, command: list[str]) -> str:
        """Standard output of a program that must succeed."""
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        if done.returncode != 0:
            raise SystemExit(f"bench: {' '.join(command)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
        return done.stdout

    def kvconform_run(self, target: str, sequences: int, jobs: int = 1) -> tuple[dict[str, Any], float]:
        """The run's entry of the result, and the processor seconds of all processes."""
        result = self.folder / "result.json"
        command = [self.kvconform, "run", target, "--budget", str(sequences), "--jobs", str(jobs), "--quiet"]
        python = self.mlx if target.startswith("mlx-lm") else self.python
        command += ["--json", str(result)] + (["--python", python] if python else [])
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 1):
            raise SystemExit(f"bench: {' '.join(command)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
        entry = json.loads(result.read_text(encoding="utf-8"))["runs"][0]
        if entry["status"] not in ("conforms", "findings"):
            raise SystemExit(f"bench: {target}: {entry['status']}: {entry.get('reason', '')}")
        return entry, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def kvconform_rate(self, target: str, sequences: int, jobs: int = 1) -> tuple[int, float, float]:
        """Checked ops, seconds and processor seconds between the two budgets."""
        small, small_processor = self.kvconform_run(target, FIRST, jobs)
        large, large_processor = self.kvconform_run(target, FIRST + sequences, jobs)
        return (
            large["ops"] - small["ops"],
            large["seconds"] - small["seconds"],
            large_processor - small_processor,
        )

    def python_loop(self, python: str, script: list[str], series: Series, processor: Series) -> None:
        """One round of a program that prints its ops and seconds."""
        found = json.loads(self.call([python, str(self.source / script[0]), *script[1:]]))
        series.add(found["ops"], found["seconds"])
        processor.add(found["ops"], found["processor_seconds"])

    def transformers(self, variant: str, sequences: int, examples: int) -> dict[str, Any]:
        """One layer beside a bare loop and, for DynamicLayer, a state machine."""
        version = self.call([self.python, "-c", "import transformers; print(transformers.__version__)"]).strip()
        requests = self.folder / "requests.jsonl"
        span = [str(FIRST), str(FIRST + sequences)]
        command = [str(self.programs / "requests"), "transformers", version, variant, "1", *span]
        requests.write_text(self.call(command), encoding="utf-8")
        checked = ("kvconform, one worker", "kvconform, two workers")
        names = (*checked, "bare Python loop", "the loop with few checks", "Hypothesis state machine")
        one, two, bare, few, machine = (Series(name) for name in names)
        spent = [Series(name) for name in names]
        for _ in range(self.rounds):
            for jobs, series in ((1, one), (2, two)):
                ops, seconds, used = self.kvconform_rate(f"transformers:{variant}", sequences, jobs)
                series.add(ops, seconds)
                spent[jobs - 1].add(ops, used)
            self.python_loop(self.python, ["bare_loop.py", str(requests)], bare, spent[2])
            self.python_loop(self.python, ["bare_loop.py", str(requests), "checked"], few, spent[3])
            if variant == "DynamicLayer":
                self.python_loop(self.python, ["state_machine.py", str(examples)], machine, spent[4])
        print(f"transformers {version} {variant}, checked with all its laws")
        result: dict[str, Any] = {"version": version}
        for series, processor in zip((one, two, bare, few, machine), spent, strict=True):
            if series.seconds:
                print(series.line() + f"   {1e6 * processor.median:5.1f} us of a processor for one op")
                entry = {**series.as_json(), "processor_seconds_per_op": processor.seconds}
                result[series.name.replace(",", "").replace(" ", "_")] = entry
        result["ratios"] = ratios = {
            "one worker of the bare loop": bare.median / one.median,
            "one worker of few checks": few.median / one.median,
            "two workers of one": one.median / two.median,
            "processor seconds of the bare loop": spent[2].median / spent[0].median,
        }
        if machine.seconds:
            ratios["one worker of Hypothesis"] = machine.median / one.median
        for name, ratio in ratios.items():
            print(f"  {name:34} {ratio:14.2f}")
        return result

    def mlx_lm(self, variant: str, sequences: int) -> dict[str, Any]:
        """One cache of mlx-lm beside a bare loop, with one worker."""
        ask = "from importlib.metadata import version; print(version('mlx-lm'))"
        version = self.call([self.mlx, "-c", ask]).strip()
        requests = self.folder / "requests.jsonl"
        span = [str(FIRST), str(FIRST + sequences)]
        command = [str(self.programs / "requests"), "mlx-lm", version, variant, "1", *span]
        requests.write_text(self.call(command), encoding="utf-8")
        checked, bare = Series("kvconform, one worker"), Series("bare Python loop")
        spent = [Series(checked.name), Series(bare.name)]
        for _ in range(self.rounds):
            ops, seconds, used = self.kvconform_rate(f"mlx-lm:{variant}", sequences)
            checked.add(ops, seconds)
            spent[0].add(ops, used)
            self.python_loop(self.mlx, ["bare_mlx_loop.py", str(requests)], bare, spent[1])
        print(f"mlx-lm {version} {variant}, checked with all its laws")
        for series, processor in zip((checked, bare), spent, strict=True):
            print(series.line() + f"   {1e6 * processor.median:5.1f} us of a processor for one op")
        ratios = {
            "one worker of the bare loop": bare.median / checked.median,
            "processor seconds of the bare loop": spent[1].median / spent[0].median,
        }
        for name, ratio in ratios.items():
            print(f"  {name:34} {ratio:14.2f}")
        return {
            "version": version,
            "kvconform": checked.as_json(),
            "bare_loop": bare.as_json(),
            "ratios": ratios,
        }

    def builtin(self, variant: str, sequences: int) -> dict[str, Any]:
        """A built-in cache beside a bare loop and RapidCheck: checked ops for each second of processor time."""
        checked, bare, rapid = Series(f"builtin:{variant}"), Series("bare C loop"), Series("RapidCheck")
        span = [str(FIRST), str(FIRST + sequences)]
        for _ in range(self.rounds):
            ops, _, processor = self.kvconform_rate(f"builtin:{variant}", sequences)
            checked.add(ops, processor)
            found = json.loads(self.call([str(self.programs / "bare_plugin"), "builtin", variant, "1", *span]))
            bare.add(found["ops"], found["seconds"])
            if self.has_rapidcheck:
                cases = str(min(sequences, RAPIDCHECK_CASES))
                found = json.loads(self.call([str(self.programs / "rapidcheck"), variant, "1", cases]))
                rapid.add(found["ops"], found["seconds"])
        line = checked.line() + f"   {bare.median / checked.median:.2f} of the bare C loop"
        result = {
            "kvconform": checked.as_json(),
            "bare_loop": bare.as_json(),
            "kvconform_of_bare_loop": bare.median / checked.median,
        }
        if rapid.seconds:
            line += f"   {rapid.median / checked.median:.1f} times RapidCheck"
            result["rapidcheck"] = rapid.as_json()
            result["kvconform_of_rapidcheck"] = rapid.median / checked.median
        print(line)
        return result

    def plugin(self, target: str, path: str, variant: str, sequences: int) -> dict[str, Any]:
        """What the plugin interface costs for one op over a bare loop, in processor microseconds."""
        names = ("bare C loop", "the same calls by the driver", "all of it, judged")
        bare, driver, judged = (Series(name) for name in names)
        span = [str(FIRST), str(FIRST + sequences)]
        for _ in range(self.rounds):
            found = json.loads(self.call([str(self.programs / "bare_plugin"), path, variant, "1", *span]))
            bare.add(found["ops"], found["seconds"])
            driver.add(found["ops"], found["driver_seconds"])
            ops, _, processor = self.kvconform_rate(target, sequences)
            judged.add(ops, processor)
        overhead = [more - less for more, less in zip(driver.seconds, bare.seconds, strict=True)]
        microseconds = 1e6 * statistics.median(overhead)
        print(
            f"  {Path(target).name:34} {microseconds:6.3f} us over {1e6 * bare.median:.3f} us, a ratio of"
            f" {driver.median / bare.median:.2f}; judged: {1e6 * (judged.median - bare.median):.3f} us over it,"
            f" {judged.median / bare.median:.2f}"
        )
        return {
            "bare_loop": bare.as_json(),
            "driver": driver.as_json(),
            "judged": judged.as_json(),
            "overhead_us": microseconds,
            "ratio": driver.median / bare.median,
        }

    def memory(self) -> dict[str, float]:
        """Peak resident memory of the harness, main process and worker, by number of sequences."""
        found = {}
        for sequences in MEMORY_BUDGETS:
            program = "import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
            program += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
            command = [self.kvconform, "run", "builtin:full", "--budget", str(sequences), "--jobs", "1", "--quiet"]
            # The peak of the larger of the two processes: the worker is a child of the main process.
            kib = int(re.sub(r"\D", "", self.call([sys.executable, "-c", program, *command])))
            found[str(sequences)] = kib / 1024
            print(f"  {sequences:>9,} sequences: at most {kib / 1024:.1f} MiB in a process (limit {MEMORY_LIMIT_MB})")
        return found


def read_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measures kvconform beside other ways to do the same work.")
    parser.add_argument("--kvconform", default="bin/kvconform", help="the program")
    parser.add_argument(
        "--programs", default="bench", help="folder of bare_plugin and requests (make bench builds them)"
    )
    parser.add_argument("--python", default="", help="a Python with torch, transformers and hypothesis; else only C")
    parser.add_argument("--mlx", default="", help="a Python with mlx-lm")
    parser.add_argument("--only", default="", choices=["", "mlx-lm"], help="measure just this")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the median counts")
    parser.add_argument("--sequences", type=int, default=40_000, help="sequences for the Python loops")
    parser.add_argument("--examples", type=int, default=600, help="examples for the state machine")
    parser.add_argument("--builtin-sequences", type=int, default=300_000, help="sequences for the C loops")
    parser.add_argument("--json", default="", help="file for the numbers")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: expected at least 1")
    return arguments


def measure(bench: Bench, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measures all and prints as it goes."""
    result: dict[str, Any] = {"schema": "kvconform-bench/1", "rounds": arguments.rounds}
    if arguments.mlx:
        result["mlx-lm"] = {variant: bench.mlx_lm(variant, arguments.sequences) for variant in MLX}
    else:
        print("no --mlx: mlx-lm is not measured")
    if arguments.only:
        return result
    if arguments.python:
        result["transformers"] = {
            variant: bench.transformers(variant, arguments.sequences, arguments.examples) for variant in LAYERS
        }
    else:
        print("no --python: transformers is not measured")
    print(
        f"built-in caches, checked ops for each second of one core (targets: at least {BUILTIN_RATE:,},"
        f" {BUILTIN_OF_BARE} of the bare C loop, {BUILTIN_OF_RAPIDCHECK} times RapidCheck)"
    )
    if not bench.has_rapidcheck:
        print("  RapidCheck is not installed (Debian package: librapidcheck-dev), or was not when configure ran")
    result["builtin"] = {variant: bench.builtin(variant, arguments.builtin_sequences) for variant in BUILTIN}
    print(f"plugin interface, for one op (target: at most {INTERFACE_LIMIT_US} us over the bare loop)")
    example = str((bench.programs / "my_cache.so").resolve())
    result["plugin"] = {
        "builtin:full": bench.plugin("builtin:full", "builtin", "full", arguments.builtin_sequences),
        "my_cache": bench.plugin(f"plugin:{example}", example, "Full", arguments.builtin_sequences),
    }
    print("memory of the harness")
    result["memory_mib"] = bench.memory()
    return result


def main() -> int:
    """Exit status 0, or a message."""
    arguments = read_arguments()
    with tempfile.TemporaryDirectory(prefix="kvconform-bench-") as folder:
        result = measure(Bench(arguments, Path(folder)), arguments)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

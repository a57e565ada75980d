"""Runs stand-alone programs one after another in processes that have torch and transformers already.

    python run_scripts.py FOLDER

Importing both takes several seconds, a program itself a fraction of one. So this process imports them once and forks a
child for each program of the folder, which runs it as `python FILE` would: under the name `__main__`, with its path in
`sys.argv`, in a process that nothing was run in before. What a program prints lies in FILE.out afterwards. Prints one
JSON object, from the name of the file to the exit status; a program that was ended by a signal has its negative number,
one that took too long -14 (SIGALRM).
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import traceback
from pathlib import Path

import torch
import transformers.cache_utils  # noqa: F401

JOBS = 2
SECONDS = 120
NO_STATUS = 70
"""For a program that ends with a text instead of a number; `python FILE` would say 1, which is kept for faults."""


def perform(path: Path) -> int:
    """Runs a program in this process, which is a child; gives its exit status."""
    signal.alarm(SECONDS)
    out = os.open(f"{path}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.argv = [str(path)]
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else NO_STATUS if end.code else 0
    except BaseException:
        traceback.print_exc()
        return NO_STATUS
    return 0


def start(path: Path) -> int:
    """Forks the child for a program; gives its process number."""
    child = os.fork()
    if child == 0:
        status = NO_STATUS
        try:
            status = perform(path)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            # Not sys.exit: what this process would clean up belongs to the parent.
            os._exit(status)
    return child


def main() -> None:
    """Runs all programs of the folder, JOBS at a time."""
    torch.set_num_threads(1)  # before the first fork: threads of a parent are not in its children
    waiting = sorted(Path(sys.argv[1]).glob("*.py"))
    running: dict[int, str] = {}
    statuses: dict[str, int] = {}
    while waiting or running:
        while waiting and len(running) < JOBS:
            path = waiting.pop(0)
            running[start(path)] = path.name
        child, status = os.wait()
        statuses[running.pop(child)] = os.waitstatus_to_exitcode(status)
    print(json.dumps(statuses))


if __name__ == "__main__":
    main()

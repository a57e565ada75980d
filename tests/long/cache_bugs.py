"""cache_bugs.py PYTHON [--of-class] [NUMBER...]: does the gate see a bug that is put into transformers 5.24.0?

PYTHON is an interpreter that has that version. Each bug is one change of cache_utils.py in a copy of the package; the
gate must fail with the class that has it, one of the laws that it can be said to break, and a case of few ops, and it
must pass on an unchanged copy. `--of-class` runs the gate on the class alone, and not on everything. The baseline is
that of BASELINE; KVCONFORM names the program. One line for each, with the time, which is not judged.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
BASELINE = TREE / "tests" / "long" / "transformers-5.24.json"
PROGRAM = os.environ.get("KVCONFORM", "kvconform")
OPS_MAX = 5
BUDGET = "2000"


@dataclass(frozen=True)
class Bug:
    """One change: `old` becomes `new` in the text of class `place`; class `shown` (its own, or a user) tells it."""

    place: str
    old: str
    new: str
    shown: str
    laws: str


BUGS = (
    # Wrong slices
    Bug(
        "DynamicLayer",
        "self.values = self.values[..., : -abs(tokens_to_remove), :]",
        "self.values = self.values[..., abs(tokens_to_remove) :, :]",
        "DynamicLayer",
        "HONEST VALUES",
    ),
    Bug(
        "DynamicSlidingWindowLayer",
        "            self.keys = full_key_states[:, :, -self.sliding_window + 1 :, :]\n",
        "            self.keys = full_key_states[:, :, -self.sliding_window + 2 :, :]\n",
        "DynamicSlidingWindowLayer",
        "KEYS RETURN",
    ),
    Bug(
        "StaticSlidingWindowLayer",
        "self.values.copy_(full_value_states[:, :, -self.max_cache_len :, :])",
        "self.values.copy_(full_value_states[:, :, : self.max_cache_len, :])",
        "StaticSlidingWindowLayer",
        "VALUES RETURN",
    ),
    Bug(
        "LinearAttentionLayer",
        "self.conv_states[state_idx].copy_(full_conv_states[..., -self.conv_kernel_size[state_idx] :])",
        "self.conv_states[state_idx].copy_(full_conv_states[..., : self.conv_kernel_size[state_idx]])",
        "LinearAttentionLayer",
        "STATE RETURN",
    ),
    # A forgotten clamp, a forgotten case
    Bug(
        "DynamicSlidingWindowLayer",
        "kv_offset = max(self.cumulative_length - self.sliding_window + 1, 0)",
        "kv_offset = self.cumulative_length - self.sliding_window + 1",
        "DynamicSlidingWindowLayer",
        "MASK",
    ),
    Bug(
        "DynamicLayer",
        "if tokens_to_remove == 0 or not self.is_initialized:",
        "if not self.is_initialized:",
        "DynamicLayer",
        "ZERO",
    ),
    Bug(
        "DynamicLayer",
        "if tokens_to_remove > 0:",
        "if tokens_to_remove > 1:",
        "DynamicLayer",
        "REFUSE",
    ),
    # Forgotten tensors
    Bug(
        "DynamicIndexedLayer",
        "self.indexer_keys = self.indexer_keys.index_select(0, beam_idx.to(self.indexer_keys.device))",
        "pass",
        "DynamicIndexedLayer",
        "BATCH INDEX",
    ),
    Bug(
        "DynamicIndexedLayer",
        "self.indexer_keys = self.indexer_keys[:, : -abs(tokens_to_remove), :]",
        "pass",
        "DynamicIndexedLayer",
        "HONEST INDEX",
    ),
    Bug(
        "StaticIndexedLayer",
        "self.indexer_cumulative_length.zero_()",
        "pass",
        "StaticIndexedLayer",
        "RESET",
    ),
    Bug(
        "LinearAttentionCacheLayerMixin",
        "self.recurrent_states[i] = self.recurrent_states[i].index_select(0, beam_idx.to(self.device))",
        "pass",
        "LinearAttentionLayer",
        "BATCH STATE",
    ),
    Bug(
        "Fp8QuantizedLayer",
        "self._quantized_values = (quantized_values.index_select(0, beam_idx), value_scale)",
        "self._quantized_values = (quantized_values, value_scale)",
        "Fp8QuantizedLayer",
        "BATCH VALUES",
    ),
    # Stale counters
    Bug(
        "DynamicSlidingWindowLayer",
        "self.cumulative_length = self.cumulative_length - tokens_to_remove",
        "pass",
        "DynamicSlidingWindowLayer",
        "HONEST LENGTH CLAMP",
    ),
    Bug(
        "StaticLayer",
        "self.cumulative_length.add_(kv_length)",
        "self.cumulative_length.add_(1)",
        "StaticLayer",
        "LENGTH",
    ),
    Bug(
        "StaticSlidingWindowLayer",
        "super().reset()\n        self.cumulative_length_int = 0",
        "super().reset()",
        "StaticSlidingWindowLayer",
        "RESET LENGTH",
    ),
    Bug(
        "StaticIndexedLayer",
        "self.indexer_cumulative_length.add_(seq_len)",
        "self.indexer_cumulative_length.add_(self.cumulative_length * 0 + 1)",
        "StaticIndexedLayer",
        "INDEX",
    ),
    # Swapped dimensions and rows
    Bug(
        "DynamicIndexedLayer",
        "self.indexer_position_ids = self.indexer_position_ids[:, indices, :]",
        "self.indexer_position_ids = self.indexer_position_ids[indices, :, :]",
        "DynamicIndexedLayer",
        "BATCH INDEX REFUSE",
    ),
    Bug(
        "DynamicLayer",
        "self.keys = self.keys.repeat_interleave(repeats, dim=0)",
        "self.keys = self.keys.repeat(repeats, 1, 1, 1)",
        "DynamicLayer",
        "BATCH",
    ),
    Bug(
        "StaticSlidingWindowLayer",
        "new_keys = self.keys.roll(-1, dims=-2)",
        "new_keys = self.keys.roll(1, dims=-2)",
        "StaticSlidingWindowLayer",
        "KEYS RETURN",
    ),
    # A buffer that moves
    Bug(
        "StaticLayer",
        "self.keys.index_copy_(2, cache_position, key_states)",
        "self.keys = self.keys.index_copy(2, cache_position, key_states)",
        "StaticLayer",
        "ADDRESS",
    ),
)


def changed(text: str, bug: Bug) -> str:
    """The module with the bug. What it changes must stand there once."""
    start = text.index(f"\nclass {bug.place}(")
    end = text.find("\nclass ", start + 1)
    body = text[start:end]
    assert body.count(bug.old) == 1, f"{bug.place}: {body.count(bug.old)} times: {bug.old}"
    return text[:start] + body.replace(bug.old, bug.new) + text[end:]


def copied(package: Path, folder: Path) -> Path:
    """A copy of a package whose files are links, so that one of them can be another."""
    return Path(
        shutil.copytree(package, folder / package.name, copy_function=os.symlink, ignore=lambda *_: ["__pycache__"])
    )


def gate(python: str, folder: Path, target: str) -> tuple[int, str, float]:
    """Run the gate on the package in `folder`. Exit status, output and seconds."""
    start = time.monotonic()
    done = subprocess.run(
        [PROGRAM, "gate", target, "--python", python, "--baseline", str(BASELINE), "--budget", BUDGET],
        env=os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout or done.stderr, time.monotonic() - start


def told(output: str) -> list[tuple[str, str, int]]:
    """What is new: class, law and number of ops of the case."""
    found = re.findall(
        r"^new: .*\n  in:   transformers:([\w-]+).*\n  case: (.*)\n  id:   ([A-Z]+)-", output, re.MULTILINE
    )
    return [(name, law, len(re.sub(r"\[[^]]*\]", "[]", case).split(", "))) for name, case, law in found]


def main() -> int:
    """Returns 0 when every bug was named and the unchanged package passed."""
    words = sys.argv[1:]
    of_class = "--of-class" in words
    words = [word for word in words if word != "--of-class"]
    python, chosen = words[0], [int(word) for word in words[1:]] or range(len(BUGS) + 1)
    where = "import transformers; print(transformers.__path__[0])"
    package = Path(subprocess.run([python, "-c", where], stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
    missed = 0
    with tempfile.TemporaryDirectory() as temporary:
        module = copied(package, Path(temporary)) / "cache_utils.py"
        text = (package / "cache_utils.py").read_text(encoding="utf-8")
        for number in chosen:
            bug = BUGS[number - 1] if number > 0 else None
            module.unlink()
            module.write_text(changed(text, bug) if bug else text, encoding="utf-8")
            target = f"transformers:{bug.shown if bug else 'Dynamic*'}" if of_class else "transformers"
            status, output, seconds = gate(python, Path(temporary), target)
            new = told(output)
            if bug is None:
                good, what = status == 0, "unchanged"
            else:
                right = [
                    law for name, law, ops in new if name == bug.shown and law in bug.laws.split() and ops <= OPS_MAX
                ]
                good, what = status == 1 and bool(right), f"{bug.place}: {bug.new.strip().splitlines()[-1][:60]}"
            missed += not good
            laws = " ".join(sorted({f"{law} of {name}" for name, law, _ in new}))
            print(
                f"{'ok' if good else 'MISSED'} {number} {what}: {laws or output.splitlines()[0]} ({seconds:.0f} s)",
                flush=True,
            )
            if not good:
                print(output)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

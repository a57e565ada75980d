"""workflow.py KIND FILE OTHER [NAME=VALUE...]: run the shell steps of a CI file as they stand.

They are run in the folder that this is called in. KIND `github` runs the steps of each job of a workflow that use an
action, whose file is OTHER, with what GitHub sets; `gitlab` the scripts of each job, with OTHER as the address of
kvconform; `pre-commit` the hooks of a configuration, whose definitions are in OTHER. NAME=VALUE changes what a job
gives to the action. Each step is named, with its exit status; the status is that of the worst. The files are read as
the part of YAML that they are written in.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

Line = tuple[int, str]
TEST_FOLDER = Path("runner")
"""What belongs to the machine that runs a job and not to the repository."""


def read_scalar(text: str) -> Any:
    """One value on one line."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [read_scalar(word) for word in text[1:-1].split(",") if word.strip()]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def read_block(lines: list[Line], indent: int, folded: bool) -> str:
    """The lines behind `|` or `>-`."""
    taken = []
    while lines and (not lines[0][1] or lines[0][0] > indent):
        taken.append(lines.pop(0))
    least = min((place for place, text in taken if text), default=0)
    texts = [" " * (place - least) + text if text else "" for place, text in taken]
    return " ".join(texts) if folded else "\n".join(texts) + "\n"


def read_value(text: str, lines: list[Line], indent: int) -> Any:
    """What stands behind `key:`: on the same line, or further in on those that follow."""
    if text in ("|", ">-"):
        return read_block(lines, indent, text == ">-")
    if text:
        return read_scalar(text)
    if lines and (lines[0][0] > indent or (lines[0][0] == indent and lines[0][1].startswith("- "))):
        return read_node(lines, lines[0][0])
    return None


def read_node(lines: list[Line], indent: int) -> Any:
    """A list or a mapping at one depth."""
    items: list[Any] = []
    fields: dict[str, Any] = {}
    while lines and (not lines[0][1] or lines[0][0] == indent):
        text = lines.pop(0)[1]
        if not text:
            continue
        if text.startswith("- "):
            inner = text[2:].strip()
            if re.match(r"[\w-]+:( |$)", inner):
                lines.insert(0, (indent + 2, inner))
                items.append(read_node(lines, indent + 2))
            else:
                items.append(read_scalar(inner))
        else:
            key, _, rest = text.partition(":")
            fields[key.strip()] = read_value(rest.strip(), lines, indent)
    return items or fields


def read_yaml(path: Path) -> Any:
    """A whole file."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        lines.append((len(line) - len(line.lstrip()), "" if text.startswith("# ") else text))
    found = next(place for place, text in lines if text)
    return read_node(lines, found)


def filled(text: str, values: dict[str, str]) -> str:
    """`text` with its expressions worked out."""
    return re.sub(r"\$\{\{ *([^}]*?) *\}\}", lambda match: values[match.group(1)], text)


def perform(name: str, command: list[str], settings: dict[str, str]) -> int:
    """Run one step and say what came of it."""
    print(f"- {name}", flush=True)
    status = subprocess.run(command, env=os.environ | settings, check=False).returncode
    if status != 0:
        print(f"exit {status}", flush=True)
    return status


def run_action(action: Path, given: dict[str, str]) -> int:
    """The shell steps of a composite action, as GitHub runs them."""
    definition = read_yaml(action)
    machine = TEST_FOLDER.resolve()
    (machine / "temporary").mkdir(parents=True, exist_ok=True)
    settings = {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(action.resolve().parent),
        "GITHUB_STEP_SUMMARY": str(machine / "summary.md"),
        "GITHUB_WORKSPACE": os.getcwd(),
        "RUNNER_TEMP": str(machine / "temporary"),
    }
    (machine / "summary.md").write_text("", encoding="utf-8")
    values = {f"inputs.{name}": str(field.get("default", "")) for name, field in definition["inputs"].items()}
    unknown = [name for name in given if f"inputs.{name}" not in values]
    if unknown:
        print(f"the action has no input {unknown[0]}")
        return 2
    values |= {f"inputs.{name}": value for name, value in given.items()}
    values |= {"runner.temp": settings["RUNNER_TEMP"], "runner.os": "Linux", "runner.arch": "X64"}
    worst = 0
    for step in definition["runs"]["steps"]:
        condition = step.get("if", "")
        wanted = worst == 0 or "!cancelled()" in condition
        for name in re.findall(r"inputs\.(\w+) != ''", condition):
            wanted &= values[f"inputs.{name}"] != ""
        for value in (step.get("with") or {}).values():
            filled(value, values)
        if "run" not in step or not wanted:
            continue
        own = {name: filled(value, values) for name, value in (step.get("env") or {}).items()}
        shell = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", filled(step["run"], values)]
        worst = max(worst, perform(step["name"], shell, settings | own))
    return worst


def run_github(workflow: Path, action: Path, changes: dict[str, str]) -> int:
    """All jobs of a workflow."""
    worst = 0
    for job in read_yaml(workflow)["jobs"].values():
        for step in job["steps"]:
            if not step["uses"].startswith("actions/"):
                given = {
                    name: filled(value, {"github.event_name == 'schedule'": "false"})
                    for name, value in step["with"].items()
                }
                worst = max(worst, run_action(action, given | changes))
    return worst


def run_gitlab(path: Path, source: str) -> int:
    """All jobs: GitLab puts their lines into one shell."""
    worst = 0
    for name, job in read_yaml(path).items():
        builds = TEST_FOLDER.resolve() / "builds"
        builds.mkdir(parents=True, exist_ok=True)
        settings = {
            "CI": "true",
            "GITLAB_CI": "true",
            "CI_BUILDS_DIR": str(builds),
            "CI_PROJECT_DIR": os.getcwd(),
            "KVCONFORM_SOURCE": source,
        }
        settings |= {
            key: re.sub(r"\$(\w+)", lambda match: settings[match.group(1)], value)  # noqa: B023
            for key, value in job["variables"].items()
        }
        lines = "\n".join(["set -eo pipefail", *job["before_script"], *job["script"]])
        worst = max(worst, perform(name, ["bash", "-c", lines], settings))
        missing = [
            path
            for path in [*job["artifacts"]["paths"], *job["artifacts"]["reports"].values()]
            if not Path(path).exists()
        ]
        if missing:
            print(f"there is no {missing[0]}")
            worst = max(worst, 1)
    return worst


def run_hooks(path: Path, definitions: Path) -> int:
    """All hooks, from the repository that defines them."""
    defined = {hook["id"]: hook for hook in read_yaml(definitions)}
    worst = 0
    for repository in read_yaml(path)["repos"]:
        for hook in repository["hooks"]:
            definition = defined[hook["id"]]
            words = shlex.split(definition["entry"])
            words[0] = str(definitions.resolve().parent / words[0])
            worst = max(worst, perform(definition["name"], words + hook["args"], {}))
    return worst


def main() -> int:
    """Returns the worst exit status of a step."""
    changes = dict(word.split("=", 1) for word in sys.argv[4:])
    kind, path, other = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    if kind == "github":
        return run_github(path, Path(other), changes)
    return run_gitlab(path, other) if kind == "gitlab" else run_hooks(path, Path(other))


if __name__ == "__main__":
    sys.exit(main())

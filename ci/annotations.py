"""annotations.py SARIF BASELINE PACKAGES: leave in a report what code scanning can show on a change.

That is what the baseline does not hold and has a place in a file. PACKAGES is the folder of the repository in which
the subject's packages lie; paths of the report are below it, those that are written back below the repository.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def place_of(result: dict[str, Any]) -> dict[str, Any] | None:
    """Where a result lies: `uri` and `uriBaseId`; None when it is told in no file."""
    for location in result.get("locations", []):
        found = location.get("physicalLocation", {}).get("artifactLocation")
        if isinstance(found, dict) and "uri" in found:
            return found
    return None


def known_ids(baseline: Path) -> set[str]:
    """The ids that a baseline holds."""
    return {entry["id"] for entry in json.loads(baseline.read_text(encoding="utf-8"))["entries"]}


def main() -> int:
    """Rewrite the report. Returns the exit status."""
    if len(sys.argv) != 4:
        sys.stderr.write("usage: annotations.py SARIF BASELINE PACKAGES\n")
        return 2
    report, baseline, packages = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].strip("/")
    known = known_ids(baseline)
    document = json.loads(report.read_text(encoding="utf-8"))
    for run in document["runs"]:
        kept = []
        for result in run["results"]:
            place = place_of(result)
            # The fingerprint is SUBJECT/VARIANT/ID.
            if place is None or result["partialFingerprints"]["kvconform/v1"].rpartition("/")[2] in known:
                continue
            if packages not in ("", "."):
                place["uri"] = f"{packages}/{place['uri']}"
            place.pop("uriBaseId", None)
            kept.append(result)
        run["results"] = kept
        run.pop("originalUriBaseIds", None)
    written = report.with_name(report.name + ".part")
    written.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    os.replace(written, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())

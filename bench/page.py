"""Generated text in a page that is otherwise written by hand."""

from __future__ import annotations

from pathlib import Path


def replace_between(path: Path, program: str, text: str) -> None:
    """Put what `program` made between its two marks in a page."""
    begin, end = f"<!-- made by bench/{program}.py -->\n", "<!-- end -->\n"
    page = path.read_text(encoding="utf-8")
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{program}: --table {path}: expected the lines {begin.strip()} and {end.strip()}")
    path.write_text(before + begin + "\n" + text + "\n" + end + after, encoding="utf-8")

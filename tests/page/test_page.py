"""The page in a browser: wide and narrow, in both colour schemes, on paper, without JavaScript, by keyboard."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import TREE

LONGEST_PAGE = 12 << 20
SLOWEST_LOAD = 20.0
"""Seconds, on a busy machine; a page that is too large takes minutes."""

OPEN_ALL = "for (const part of document.querySelectorAll('details')) part.open = true"
SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
DEAD_LINKS = (
    "[...document.querySelectorAll('a[href]')].map(link => link.getAttribute('href'))"
    ".filter(to => !to.startsWith('#') || !document.getElementById(decodeURIComponent(to.slice(1))))"
)
WIDTHS = (320, 1280)

Open = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Opens a page in a window of its own; what the page asks for, says or shows beside itself fails the test."""
    contexts = []
    unwanted: list[str] = []

    def refuse(dialog: Any) -> None:
        unwanted.append(dialog.message)
        dialog.dismiss()

    def make(folder: Path, width: int = 1280, **settings: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **settings)
        contexts.append(context)
        page = context.new_page()
        address = (folder / "report.html").as_uri()
        page.on("request", lambda request: unwanted.extend({request.url.split("#")[0]} - {address}))
        page.on("dialog", refuse)
        page.on("console", lambda message: unwanted.append(message.text))
        page.on("pageerror", lambda error: unwanted.append(str(error)))
        page.goto(address)
        return page

    yield make
    for context in contexts:
        context.close()
    assert unwanted == []


def violations(page: Any) -> list[str]:
    """What axe finds wrong by the rules of WCAG 2.1 A and AA."""
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
    answer = Axe().run(page, options={"runOnly": {"type": "tag", "values": rules}}).response
    assert answer["passes"], "axe has judged nothing"
    return [
        f"{rule['id']}: {node['html'][:200]}: {node.get('failureSummary', '')[:300]}"
        for rule in answer["violations"]
        for node in rule["nodes"][:5]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_is_accessible(open_page: Open, sample: Path, models: Path, scheme: str, width: int) -> None:
    for folder in (sample, models):
        page = open_page(folder, width, color_scheme=scheme)
        page.evaluate(OPEN_ALL)  # what is folded up is not judged
        assert violations(page) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_fits_the_screen(open_page: Open, sample: Path, models: Path, hostile: Path, width: int) -> None:
    for folder in (sample, models, hostile):
        page = open_page(folder, width)
        assert not page.evaluate(SIDEWAYS)
        if folder != hostile:
            page.evaluate(OPEN_ALL)
            assert not page.evaluate(SIDEWAYS)


def test_schemes_differ(open_page: Open, sample: Path) -> None:
    colours = {
        open_page(sample, color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    }
    assert len(colours) == 2


def test_says_what_is_wrong(open_page: Open, sample: Path) -> None:
    page = open_page(sample)
    card = page.locator("details.card", has_text="crop(-3) on 2 tokens leaves a stale token").first
    assert card.get_attribute("open") is not None, "a report with few findings shows them"
    assert card.locator(".steps li").all_inner_texts() == ["append 2 tokens 0\u20131", "crop -3 ✗ wrong here"]
    lane = card.locator(".lane").first
    assert lane.locator(".first").inner_text() == "0"
    assert "first wrong cell at position 0: too many" in (lane.get_attribute("aria-label") or "")
    assert "token 0 is there, nothing should be" in card.locator("figcaption").first.inner_text()
    assert "Documented: Cache documentation: crop removes the newest tokens" in card.inner_text()
    assert "5.14.1" in card.locator(".versions .hit").inner_text()
    card.locator("summary", has_text="The same as tables").click()
    cells = card.locator("table.positions tbody tr").first.locator("th, td").all_inner_texts()
    assert [cell.strip() for cell in cells] == ["0", "∅", "0", "+ too many (▲ first)"]
    card.locator("summary", has_text="Script").click()
    assert card.locator("pre.copy").first.inner_text().startswith("import torch\n")


def test_one_entry_for_all_versions(open_page: Open, sample: Path) -> None:
    page = open_page(sample)
    cards = page.locator("details.card", has_text="crop(-1) on a cache that was never used raises TypeError")
    assert cards.count() == 1
    assert [text.split()[1] for text in cards.locator(".versions .hit").all_inner_texts()] == ["5.14.1", "5.24.0"]


def test_matrix_leads_to_the_findings(open_page: Open, sample: Path) -> None:
    page = open_page(sample)
    row = page.locator("table.matrix tbody tr", has_text="DynamicIndexedLayer").first
    assert row.locator("td").first.inner_text().split() == ["✗", "2", "findings"]
    row.locator("td a").first.click()
    target = page.locator(page.evaluate("location.hash"))
    assert target.inner_text().startswith("DynamicIndexedLayer")
    assert target.bounding_box()["y"] < 900


def test_links_lead_somewhere(open_page: Open, sample: Path, models: Path, hostile: Path) -> None:
    for folder in (sample, models, hostile):
        assert open_page(folder).evaluate(DEAD_LINKS) == []
    for folder in (sample, models):
        twice = open_page(folder).evaluate(
            "[...document.querySelectorAll('[id]')].map(part => part.id)"
            ".filter((id, at, all) => all.indexOf(id) !== at)"
        )
        assert twice == []


def rows(page: Any) -> list[str]:
    """The names in the table of whole models, as far as they are to be seen."""
    names = page.locator(".models tbody tr:visible th").all_inner_texts()
    return [name.split("\n")[0] for name in names]


def test_models_stand_apart_from_classes(open_page: Open, models: Path) -> None:
    page = open_page(models)
    classes = page.locator("section[aria-labelledby=matrix] tbody th").all_inner_texts()
    assert classes == ["RightLayer", "StaleLayer"]
    assert rows(page) == ["alpha", "beta", "delta", "gamma", "iota", "kappa", "omega"]
    alpha = page.locator(".models tbody tr").first
    assert alpha.locator(".says").inner_text() == "StaleLayer, RightLayer"
    assert [cell.split() for cell in alpha.locator("td").all_inner_texts()] == [
        ["✓", "0", "conforms"],
        ["✗", "1", "finding"],
    ]


@pytest.mark.parametrize("script", [True, False])
def test_a_part_of_the_models_is_chosen(open_page: Open, models: Path, script: bool) -> None:
    page = open_page(models, java_script_enabled=script)
    choices = {
        "all 7": 7,
        "with findings 4": ["alpha", "beta", "delta", "iota"],
        "changed 4": ["alpha", "beta", "iota", "kappa"],
        "right in all 1": ["gamma"],
        "not run somewhere 2": ["kappa", "omega"],
    }
    labels = page.locator(".pick label")
    assert [label.strip() for label in labels.all_inner_texts()] == list(choices)
    for number, expected in enumerate(choices.values()):
        labels.nth(number).click()
        assert rows(page) == expected if isinstance(expected, list) else len(rows(page)) == expected


def test_models_are_chosen_by_keyboard(open_page: Open, models: Path) -> None:
    page = open_page(models)
    page.locator(".pick input").first.focus()
    page.keyboard.press("ArrowRight")
    assert rows(page) == ["alpha", "beta", "delta", "iota"]
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_what_changed_from_version_to_version(open_page: Open, models: Path) -> None:
    page = open_page(models)
    assert page.locator("#models ~ h3").first.inner_text() == "2 against 1"
    assert page.locator("#models ~ ul li").all_inner_texts() == [
        "✗ 1 model has a finding that it had not: alpha",
        "✓ 1 model has lost a finding: beta",
        "+ 1 model is new: iota",
        "+ 1 model can be run for the first time: kappa",
    ]


def test_faults_of_layers_and_of_models_lead_to_each_other(open_page: Open, models: Path) -> None:
    page = open_page(models)
    faults = page.locator("table", has_text="Models whose case shows the fault").locator("tbody tr")
    assert [row.split("\t") for row in faults.all_inner_texts()] == [
        ["ElsewhereLayer RESET-00000001", "RESET", "1: delta"],
        ["StaleLayer LENGTH-f1f4066b", "LENGTH", "3: alpha, beta, iota"],
    ]
    faults.nth(1).locator("a", has_text="LENGTH").click()
    layer = page.locator("details.card").first
    assert layer.locator("dt:text-is('Reaches') + dd").inner_text() == "alpha, beta, iota"
    layer.locator("dt:text-is('Reaches') + dd a").first.click()
    assert page.locator(page.evaluate("location.hash")).inner_text().startswith("model/alpha")
    card = page.locator("details.card").nth(1)
    if card.get_attribute("open") is None:
        card.locator("summary").first.click()
    assert card.locator("dt:text-is('Follows from') + dd").inner_text() == "StaleLayer LENGTH-f1f4066b"
    assert "is_croppable had said that it could be cropped" in card.locator("dt:text-is('Model') + dd").inner_text()
    card.locator("dt:text-is('Follows from') + dd a").click()
    assert page.evaluate("location.hash") == "#finding-LENGTH-f1f4066b"


@pytest.mark.parametrize("name", ["runtimes", "transformers"])
def test_published_pages_can_be_read(open_page: Open, name: str) -> None:
    """Those of `reports/` are large: they fit narrow and wide, ask for nothing, and their links lead somewhere."""
    for width in WIDTHS:
        begun = time.monotonic()
        page = open_page(TREE / "reports" / name, width)
        assert time.monotonic() - begun < SLOWEST_LOAD
        assert not page.evaluate(SIDEWAYS)
        page.evaluate(OPEN_ALL)
        assert not page.evaluate(SIDEWAYS)
    assert page.evaluate("document.querySelectorAll('a[href]').length") > 0
    assert page.evaluate(DEAD_LINKS) == []


def test_works_without_javascript(open_page: Open, sample: Path) -> None:
    page = open_page(sample, java_script_enabled=False)
    part = page.locator("#coverage ~ details").first
    assert not part.locator("table").first.is_visible()
    part.locator("summary").click()
    assert part.locator("table").first.is_visible()
    script = page.locator("details.card details.part", has_text="Script for a bug report").first
    assert not script.locator("pre").is_visible()
    script.locator("summary").click()
    assert script.locator("pre").is_visible()


def test_works_by_keyboard(open_page: Open, sample: Path) -> None:
    page = open_page(sample)
    page.keyboard.press("Tab")
    skip = page.locator("a.skip")
    assert skip.evaluate("link => link === document.activeElement")
    assert skip.bounding_box()["x"] >= 0, "the link is seen once it has the focus"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    opened = 0
    for _ in range(200):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "(() => { const on = document.activeElement, style = getComputedStyle(on); return {name: on.tagName,"
            " part: on.parentElement && on.parentElement.className, seen: style.outlineStyle !== 'none'}; })()"
        )
        if focused["name"] == "BODY":
            break
        assert focused["seen"], focused
        if focused["name"] == "SUMMARY" and focused["part"] == "part":
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.parentElement.open")
            opened += 1
    assert opened >= 3


def test_prints_what_is_folded_up(open_page: Open, sample: Path, tmp_path: Path) -> None:
    page = open_page(sample)
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = false")
    law = page.locator("details.card dt", has_text="Law broken").first
    assert not law.is_visible()
    page.emulate_media(media="print")
    assert law.bounding_box()["height"] > 0
    assert not page.locator("nav").is_visible()
    page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 10_000


def test_hostile_results_stay_harmless_and_quick(open_page: Open, hostile: Path) -> None:
    assert (hostile / "report.html").stat().st_size < LONGEST_PAGE
    started = time.monotonic()
    page = open_page(hostile)
    assert page.evaluate("document.scripts.length + document.images.length") == 0
    assert page.evaluate("document.querySelectorAll('*').length") < 200_000
    text = page.evaluate("document.body.textContent")
    assert not any(mark in text for mark in "\u202e\u2066\x1b")
    assert "</script><script>alert(1)</script>\\u202egnp.exe\\u2066<img" in text
    card = page.locator("details.card").nth(40)
    card.locator("summary").first.click()
    assert card.locator("dl").first.is_visible()
    page.locator("footer a").click()
    assert time.monotonic() - started < SLOWEST_LOAD

"""The pages of ``evaluate --report`` and ``dedup --report``: what they hold, and how they fit a phone and a desk."""

import os
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from kernelsketch.cli import _report
from kernelsketch.cli._dedup_report import Cluster, Member, dedup_page
from kernelsketch.cli._dedup_results import Departures
from kernelsketch.cli._ranking import Ranking
from kernelsketch.cli._report import report_page
from kernelsketch.cli._svg import bars, matrix

LONG = "a_very_long_name_of_a_column_or_of_a_class_without_any_space"
LINES = {"accuracy": "91.50 % ± 1.39", "calibration error": "0.0433, expected (ECE, 15 bins)"}
PHONE, DESK = 390, 1440


def evaluation(n, monkeypatch):
    """The page of a model with n classes; the last one and one column have long names."""
    monkeypatch.setattr(_report, "column_facts", lambda model: model.columns_)
    shares = (0.9, 0.06, 0.04)
    columns = [{"name": name, "importance": share} for name, share in zip(("age", LONG, "town"), shares, strict=True)]
    labels = [*range(n - 1), LONG]
    facts = {
        "rows": 12 * n,
        "positive": LONG if n == 2 else None,
        "classes": [
            {"label": label, "rows": 12, "precision": 1.0, "recall": 0.9, "f1": None, "auc": 0.9}
            | {"average_precision": 0.8}
            for label in labels
        ],
        "slices": [{"column": LONG, "kind": "values", "slices": [slice_of(LONG), slice_of(None)]}],
        "confusion": (12_345 * np.eye(n, dtype=int)).tolist(),
        "calibration": [{"predicted": x, "observed": x, "rows": 7} for x in (0.0, 0.4, 1.0)],
    }
    return report_page("m.safetensors", "x.csv", SimpleNamespace(columns_=columns), facts, LINES, scores_of(n))


def slice_of(value):
    names = ("accuracy", "log_loss", "observed", "predicted")
    scores = {f"{name}{end}": 0.5 for name in names for end in ("", "_standard_error")}
    return {"value": value, "rows": 12, "few_rows": True, **scores}


def scores_of(n):
    """Values of rows, and which class is the positive one."""
    ranking, y = Ranking(n, 10**6), np.arange(12 * n) % n
    values = np.random.default_rng(0).normal(size=(12 * n, n)) + np.eye(n)[y]
    ranking.add(y, values[:, 1] if n == 2 else values, np.ones(len(y)))
    return SimpleNamespace(ranking=ranking, positive=1 if n == 2 else None)


def numbers(monkeypatch):
    facts = {"rows": 2}
    return report_page(
        "m.safetensors", "x.csv", object(), facts, LINES, SimpleNamespace(points=[(-1e6, -2e6), (3e6, 4e6)])
    )


def near_duplicates(monkeypatch):
    gone = [Member("b" * 200, f"one {LONG * 3} three", 0.9)]
    cluster = Cluster("a", f"one {LONG * 3} two", 120, gone, 8, ["c" * 90, "d"], 9)
    went = Departures(*(np.array(mask, bool) for mask in ([0, 1, 1, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1])))
    similarity = np.array([1, 1, 0.9, 0.4])
    return dedup_page(["in.jsonl"], {"documents": "9, of which 3 stay"}, np.array([2, 3]), similarity, went, [cluster])


PAGES = {
    "two classes": lambda patch: evaluation(2, patch),
    "ten classes": lambda patch: evaluation(10, patch),
    "twenty classes": lambda patch: evaluation(20, patch),
    "numbers": numbers,
    "near-duplicates": near_duplicates,
}


def test_bars_have_whole_names_and_values():
    page = bars([LONG, "<b>"], [0.75, 0.25])
    assert f"<dt>{LONG}</dt>" in page
    assert "<dt>&lt;b&gt;</dt>" in page
    assert re.findall(r"--length:([\d.]+).*?([\d.]+ %)", page) == [("1.000", "75.0 %"), ("0.333", "25.0 %")]
    assert bars(["none"], [0.0]).count("0.0 %") == 1


@pytest.mark.parametrize(("n", "shown"), [(3, "9,900"), (20, "9.9k")])
def test_counts_fit_their_cells(n, shown):
    found = matrix([str(i) for i in range(n)], 9_900 * np.eye(n, dtype=int))
    assert found.count(f">{shown}</text>") == n
    assert "12k</text>" in matrix(["a", "b"], np.array([[12_345, 0], [0, 1]]))


def test_a_title_names_a_few_files():
    page = dedup_page([f"{i}.jsonl" for i in range(9)], {}, np.array([]), np.array([]), None, [])
    assert "<h1>Near-duplicates in 0.jsonl, 1.jsonl, 2.jsonl, 6 more</h1>" in page


@pytest.fixture(scope="module")
def browser():
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with driver.sync_playwright() as started:
        found = started.chromium.launch(executable_path=program, args=["--no-sandbox"] if as_root else [])
        yield found
        found.close()


# What leaves the page, apart from boxes that scroll and say so by a shade; and text that leaves its plot.
BEYOND = """[...document.querySelectorAll("body *")].filter((e) => {
  const r = e.getBoundingClientRect(), box = e.closest(".plot");
  if (box && box !== e && box.scrollWidth > box.clientWidth + 1) return false;
  return r.width && (r.right > innerWidth + 1 || r.left < -1);
}).length + [...document.querySelectorAll("svg text")].filter((e) => {
  const r = e.getBoundingClientRect(), plot = e.closest("svg").getBoundingClientRect();
  return r.left < plot.left - 1 || r.right > plot.right + 1 || r.top < plot.top - 1 || r.bottom > plot.bottom + 1;
}).length"""
SCROLLS = "[...document.querySelectorAll('.plot')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"


@pytest.mark.slow
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_leaves_the_page(browser, tmp_path, monkeypatch, name, width):
    path = tmp_path / "page.html"
    path.write_text(PAGES[name](monkeypatch))
    tab = browser.new_page(viewport={"width": width, "height": 800})
    tab.goto(path.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert tab.evaluate(BEYOND) == 0
    if name in ("numbers", "near-duplicates") or width == DESK:
        assert tab.evaluate(SCROLLS) == 0
    tab.close()


@pytest.mark.slow
def test_values_of_bars_are_in_sight_on_a_phone(browser, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text(evaluation(2, monkeypatch))
    tab = browser.new_page(viewport={"width": PHONE, "height": 800})
    tab.goto(path.as_uri())
    ends = """[...document.querySelectorAll(".bars dd")].map((e) => {
      const range = document.createRange(); range.selectNodeContents(e); return range.getBoundingClientRect().right})"""
    assert len(tab.evaluate(ends)) == 3
    assert max(tab.evaluate(ends)) < PHONE
    tab.close()

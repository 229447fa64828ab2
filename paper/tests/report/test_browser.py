"""The page in a real browser: it draws, it reacts, and it fits a phone.

Screenshots go to the folder named by KERNELSKETCH_SCREENSHOTS, or to pytest's own.
"""

import os
import shutil
from itertools import combinations
from pathlib import Path

import pytest

from kernelsketch_paper.drawing import Plot, Ranking
from kernelsketch_paper.experiments import Row
from kernelsketch_paper.report import write_report
from kernelsketch_paper.report._parts import Table

pytestmark = pytest.mark.slow

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 375, "height": 780}


@pytest.fixture(scope="module")
def browser():
    if BROWSER is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with driver.sync_playwright() as started:
        found = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"] if as_root else [])
        yield found
        found.close()


@pytest.fixture(scope="module")
def report(results, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    return write_report(results, out), (out / "report.html").as_uri()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = Path(os.environ.get("KERNELSKETCH_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def visit(browser, report):
    """The page in a new tab. At the end nothing may have been said on the console or asked of the network."""
    said, asked, contexts = [], [], []

    def go(viewport=WIDE, scheme="light", url=report[1]):
        contexts.append(browser.new_context(viewport=viewport, color_scheme=scheme, reduced_motion="reduce"))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        return page

    yield go
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith("file:")] == []


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_everything_is_drawn(visit, report, pictures):
    page = visit()
    for plot in report[0].all(Plot):
        figure = page.locator(f"#plot-{plot.key}")
        assert figure.locator(".canvas > svg .series").count() >= 1, plot.key
        assert figure.locator(".legend button").count() >= 1
        assert plot.title in figure.locator(".canvas > svg").get_attribute("aria-label")
    assert page.locator(".plot").count() == len(report[0].all(Plot))
    assert page.locator("main table").count() == len(report[0].all(Table))
    assert page.locator(".ranks svg").count() == len(report[0].all(Ranking))
    page.screenshot(path=pictures / "light.png", full_page=True)


def test_themes(visit, pictures):
    page = visit(scheme="dark")
    dark = background(page)
    page.screenshot(path=pictures / "dark.png", full_page=True)
    page.click("#theme")
    light = background(page)
    assert light != dark
    page.reload()
    assert background(page) == light  # kept
    assert page.locator("#theme").inner_text() == "Dark"
    assert background(visit(scheme="light")) == light


def test_a_legend_hides_and_shows(visit):
    page = visit()
    figure = page.locator("#plot-kernels")
    before = figure.locator(".series").count()
    button = figure.locator(".legend button").first
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    assert figure.locator(".series").count() == before - 1
    for other in figure.locator(".legend button").all()[1:]:
        other.click()
    assert "All series are hidden." in figure.locator("svg").first.inner_html()
    button.click()
    assert figure.locator(".series").count() == 1


def test_values_by_pointer_and_by_keys(visit):
    page = visit()
    canvas = page.locator("#plot-kernels .canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "GMM" in canvas.locator(".tip").inner_text()
    page.mouse.move(0, 0)
    assert canvas.locator(".tip").count() == 0
    canvas.locator("svg").first.focus()
    page.keyboard.press("ArrowRight")
    assert canvas.locator(".tip").inner_text().startswith("C = 0.01")
    assert "GMM" in page.locator("#plot-kernels [aria-live]").inner_text()


def test_datasets_views_and_numbers(visit):
    page = visit()
    figure = page.locator("#plot-hashing")
    figure.locator("select").first.select_option("Letter")
    figure.locator("select").nth(1).select_option("b = 1, k = 128 to 4096")
    assert "Letter, b = 1, k = 128 to 4096" in figure.locator(".canvas > svg").get_attribute("aria-label")
    figure.locator("summary").click()
    table = figure.locator("details table")
    table.wait_for()
    assert table.locator("tbody tr").count() == 6
    assert "GCWS k = 4096" in table.locator("thead").inner_text()


def test_tables_switch_and_sort(visit):
    page = visit()
    table = page.locator("#tab-table-1")
    assert table.locator("thead .by-cv:visible").count() == 0
    table.locator("label", has_text="cross-validation").click()
    assert table.locator("thead .by-cv:visible").count() > 0
    assert table.locator("thead .by-test:visible").count() == 0
    spans = "[...document.querySelectorAll('#tab-table-1 thead tr:first-child th')].reduce((n, t) => n + t.colSpan, 0)"
    shown = "[...document.querySelectorAll('#tab-table-1 tbody tr:first-child > *')].filter(c => c.offsetWidth).length"
    assert page.evaluate(spans) == page.evaluate(shown)
    heading = table.locator("thead button", has_text="paper").first
    heading.click()
    values = [float(v) for v in table.locator("tbody td:nth-child(2)").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    assert table.locator("[aria-sort=descending]").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scroll(visit, pictures, scheme):
    page = visit(PHONE, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    wide = """[...document.querySelectorAll("main *")].filter((e) =>
        !e.closest(".scroll, .canvas svg, .quiet") && e.getBoundingClientRect().right > innerWidth + 1).length"""
    assert page.evaluate(wide) == 0
    assert page.evaluate("document.querySelector('#tab-table-1 .scroll').scrollWidth") > PHONE["width"]
    page.screenshot(path=pictures / f"phone-{scheme}.png", full_page=True)


def test_tables_wider_than_the_page_say_so(visit):
    page = visit({"width": 1280, "height": 900})
    boxes = page.evaluate(
        """[...document.querySelectorAll(".scroll")].map((box) => {
          const item = box.closest(".item");
          const hint = getComputedStyle(item.querySelector(":scope > .caption") ?? item, "::after").content;
          return [box.scrollWidth > box.clientWidth + 1, hint.includes("sideways")];
        })"""
    )
    assert any(wide for wide, _ in boxes)
    assert all(wide == told for wide, told in boxes)


def test_table_4_fits_on_a_laptop_and_says_when_it_does_not(visit):
    page = visit({"width": 1280, "height": 900})
    box = "document.querySelector('#tab-table-4 .scroll')"
    assert page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth + 1")
    page.locator("#tab-table-4 .switch label", has_text="both").click()
    page.wait_for_function("document.querySelector('#tab-table-4').classList.contains('wide')")
    page.locator("#tab-table-4 .switch label", has_text="test rows").click()
    page.wait_for_function("!document.querySelector('#tab-table-4').classList.contains('wide')")


def lefts(page, selector):
    return page.evaluate(f"[...document.querySelectorAll('{selector}')].map((e) => e.getBoundingClientRect().left)")


def test_a_phone_has_one_column_of_numbers_and_paragraphs_instead_of_long_cells(visit):
    page = visit(PHONE)
    assert len(set(lefts(page, ".headline li"))) == 1
    assert len(set(lefts(visit(), ".headline li"))) > 2
    stacked = "document.querySelector('#tab-not-run-table .scroll')"
    assert page.evaluate(f"{stacked}.scrollWidth <= {stacked}.clientWidth + 1")
    before = "getComputedStyle(document.querySelector('#tab-not-run-table tbody td:not(.long)'), '::before').content"
    assert "rows" in page.evaluate(before)


def test_names_of_rankings_do_not_leave_the_page(visit):
    names = """[...document.querySelectorAll(".ranks text")].map((t) => t.getBoundingClientRect())
        .filter((r) => r.left < 0 || r.right > innerWidth).length"""
    page = visit(PHONE)
    assert page.evaluate(names) == 0
    page.set_viewport_size(WIDE)
    page.wait_for_function("document.querySelector('.ranks svg').viewBox.baseVal.width === 640")
    assert page.evaluate(names) == 0


def test_tables_that_fit_are_shown_whole(visit):
    """A box that scrolls would hide the last row; its headings stay in sight as the page scrolls."""
    page = visit()
    cut = """[...document.querySelectorAll(".item:not(.wide) .scroll")]
        .filter((box) => box.scrollHeight > box.clientHeight + 1).length"""
    page.wait_for_function("document.querySelectorAll('.scroll.whole').length > 3")
    assert page.evaluate(cut) == 0
    table = page.locator("#tab-table-3 table")
    page.evaluate("document.querySelector('#tab-table-3 tbody tr:nth-child(6)').scrollIntoView({block: 'start'})")
    bar = page.locator(".toc").bounding_box()
    assert abs(table.locator("thead").bounding_box()["y"] - (bar["y"] + bar["height"])) < 3


@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_names_beside_points_do_not_overlap(visit, store, tmp_path, viewport):
    """All methods reach 100 % in about the same time."""
    methods = ("linear", "rbf", "gmm", "gcws", "nrff", "nystroem", "trees", "lightgbm")
    same = {"scaling": "minmax", "split": 0, "C": 1.0, "accuracy": 100.0, "cv_accuracy": 100.0}
    rows = [Row("comparison", "CTG", m, "own", **same, train_seconds=1 + i / 20) for i, m in enumerate(methods)]
    write_report(store(tmp_path, rows), tmp_path)
    page = visit(viewport, url=(tmp_path / "report.html").as_uri())
    boxes = page.evaluate(
        """[...document.querySelectorAll("#plot-cost svg .name")].map((e) => e.getBoundingClientRect().toJSON())"""
    )
    assert len(boxes) >= 2
    for a, b in combinations(boxes, 2):
        assert a["right"] < b["left"] or b["right"] < a["left"] or abs(a["top"] - b["top"]) > 10


@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_a_far_difference_is_an_arrow_with_its_value(visit, store, tmp_path, viewport):
    rows = [
        Row("kernels", "CTG", "gmm", "libsvm", accuracy=88.61, C=1.0),
        Row("kernels", "CTG", "linear", "liblinear", accuracy=94.58, C=1.0),  # 60.59 in the paper
    ]
    write_report(store(tmp_path, rows), tmp_path)
    page = visit(viewport, url=(tmp_path / "report.html").as_uri())
    figure = page.locator("#plot-differences")
    assert figure.locator(".beyond").count() == 1
    assert figure.locator(".series .name").all_text_contents() == ["+33.99"]
    assert figure.locator("[data-series=GMM] .mark").count() == 1
    inside = """[...document.querySelectorAll("#plot-differences .canvas svg .series *")]
        .every((e) => e.getBoundingClientRect().right <= innerWidth)"""
    assert page.evaluate(inside)
    figure.locator(".canvas svg").first.focus()
    page.keyboard.press("ArrowUp")
    assert "+33.99" in figure.locator(".tip").inner_text()
    figure.locator("summary").click()
    assert "33.99" in figure.locator("details table").inner_text()

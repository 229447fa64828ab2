"""The report as files: whole, safe, and honest about what is missing."""

import csv
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from kernelsketch.exceptions import InputError
from kernelsketch_paper.drawing import Panel, Plot, Ranking, Series, draw_plot
from kernelsketch_paper.experiments import Row
from kernelsketch_paper.report import FILES, write_report
from kernelsketch_paper.report._contents import assemble, load
from kernelsketch_paper.report._figures import as_csv
from kernelsketch_paper.report._format import as_markdown, as_tidy
from kernelsketch_paper.report._page import as_page
from kernelsketch_paper.report._parts import Table

EVIL = '<img src=x onerror="alert(1)">&"\'</script>`|$title'
VOID = {"meta", "img", "br", "input", "link", "hr"}


class Page(HTMLParser):
    """Checks that tags are balanced, and collects them with their attributes and the text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def report(results):
    return assemble(*load(results))


@pytest.fixture(scope="module")
def page(results, report):
    return as_page(report, load(results)[1]).decode()


def test_three_files(results, tmp_path):
    found = write_report(results, tmp_path / "a" / "b")
    assert sorted(p.name for p in (tmp_path / "a" / "b").iterdir()) == sorted(FILES)
    assert found.headlines
    assert (tmp_path / "a" / "b" / "report.html").stat().st_size < 2_000_000


def test_the_page_is_self_contained_and_well_formed(page):
    found = Page(page)
    for tag, attributes in found.tags:
        assert tag not in ("link", "img", "iframe")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
        assert not any(name.startswith("on") for name in attributes)
        assert "style" not in attributes
    outside = re.findall(r"https?://[^\"' )]+", page)
    assert set(outside) <= {"http://www.w3.org/2000/svg"}
    ids = [a["id"] for _, a in found.tags if "id" in a]
    assert len(ids) == len(set(ids))
    hrefs = {a["href"][1:] for t, a in found.tags if t == "a"}
    assert hrefs <= set(ids)
    assert all("scope" in a for t, a in found.tags if t == "th")


def test_every_table_plot_and_ranking_is_there(page, report):
    for table in report.all(Table):
        assert f'id="tab-{table.key}"' in page
    for ranking in report.all(Ranking):
        assert f'id="ranking-{ranking.key}"' in page
    rankings = json.loads(re.search(r'id="rankings">(.*?)</script>', page, re.S)[1])
    assert [(r["key"], len(r["ranks"])) for r in rankings] == [(r.key, len(r.methods)) for r in report.all(Ranking)]
    plots = json.loads(re.search(r'id="plots">(.*?)</script>', page, re.S)[1])
    assert [p["key"] for p in plots] == [p.key for p in report.all(Plot)]
    for plot in plots:
        assert f'id="plot-{plot["key"]}"' in page
    shown = {(t.key) for t in report.all(Table)}
    assert shown >= {"table-1", "table-2", "table-3", "table-4", "table-5", "samples-needed", "losses", "not-run-table"}


def test_rows_of_a_table_have_as_many_cells_as_headings(page):
    for table in re.findall(r"<table.*?</table>", page, re.S):
        head, body = table.split("<tbody>")
        columns = len(re.findall(r"data-column=", head))
        spans = sum(int(n) for n in re.findall(r'colspan="(\d+)"', head)) + head.count('rowspan="2"')
        assert spans in (0, columns)
        for row in re.findall(r"<tr>(.*?)</tr>", body, re.S):
            assert len(re.findall(r"<t[dh]", row)) == columns


def test_values_are_escaped(make):
    rows = [replace(r, dataset=EVIL, solver=EVIL) for r in make() if r.dataset in ("Car", "Letter")]
    rows += [replace(r, method=EVIL, scaling=EVIL) for r in rows if r.experiment == "comparison"]
    provenance = {"machine": EVIL, "notes": [EVIL], "not_run": {EVIL: EVIL}, EVIL: {EVIL: [EVIL]}}
    report = assemble(rows, provenance)
    text = as_page(report, provenance).decode()
    assert "<img" not in text
    assert text.count("<script") == text.count("</script>") == 3
    found = Page(text)
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    assert "".join(found.text).count(EVIL.replace("`", "")) + "".join(found.text).count(EVIL) > 5  # shown as it is
    assert "<img" not in as_markdown(report).decode()


@pytest.mark.parametrize("left_out", ["kernels", "hashing", "time", "tunable", "comparison"])
def test_a_missing_experiment_is_said(make, left_out):
    names = [n for n in ("kernels", "hashing", "time", "tunable", "comparison") if n != left_out]
    report = assemble(make(*names), {})
    section = next(s for s in report.sections if s.key == left_out)
    assert section.missing == (
        f"There are no results of the experiment \u201c{left_out}\u201d yet: `kernelsketch reproduce` makes them."
    )
    page = as_page(report, {}).decode()
    Page(page)
    assert f"experiment \u201c{left_out}\u201d yet: <code>kernelsketch reproduce</code>" in page
    assert "There is no provenance.json beside the results." in page
    assert left_out in as_markdown(report).decode()


def test_a_single_row_makes_a_report():
    report = assemble([Row("kernels", "Car", "gmm", "libsvm", accuracy=98.0, C=1.0)], {"commit": None, "seconds": "?"})
    Page(as_page(report, {"commit": None, "seconds": "?"}).decode())
    assert next(f for f in report.headlines if "GMM agrees" in f.label).value == "1 of 1"
    assert "56" in {f.value for f in report.headlines}


def test_what_was_not_run_has_its_reason(report):
    table = next(t for t in report.all(Table) if t.key == "not-run-table")
    assert {r["dataset"]: r["why"] for r in table.rows}["RCV1"] == "47,236 features: no room in memory"
    assert len(table.rows) == 2


def test_tidy_numbers(report):
    lines = list(csv.DictReader(as_tidy(report).decode().splitlines()))
    cells = {(line["table"], line["row"], line["column"]): line for line in lines}
    assert len(cells) == len(lines)
    table = next(t for t in report.all(Table) if t.key == "table-1")
    car = cells["table-1", "Car", "gmm_test"]
    assert float(car["value"]) == pytest.approx(table.rows[0]["gmm_test"].mean, abs=1e-3)
    assert (car["n"], float(car["sd"])) == ("3", pytest.approx(table.rows[0]["gmm_test"].sd, abs=1e-3))
    assert float(cells["table-1", "Car", "gmm_paper"]["value"]) == 98.96
    assert ("ranks-minmax", "all", "nemenyi") in cells


def test_markdown_tables_keep_their_shape(report):
    lines = as_markdown(report).decode().splitlines()
    for at, line in enumerate(lines):
        if line.startswith("|--"):
            assert lines[at - 1].count(" | ") == line.count("|") - 2
    assert lines[0] == f"# {report.title}"
    assert "(report.html shows this plot.)" in lines  # of all datasets together
    assert not any("1 datasets" in line for line in lines)


def test_results_that_cannot_be_used(make, store, tmp_path):
    with pytest.raises(InputError, match=r"results\.csv does not exist"):
        load(tmp_path)
    store(tmp_path, [])
    with pytest.raises(InputError, match="has no rows yet"):
        load(tmp_path)
    store(tmp_path, make("tunable"))
    good = (tmp_path / "results.csv").read_text()
    for bad, words in (
        (good + "x,y\n", "is not a table of results"),
        (good.replace("96.", "abc"), "is not a table of results"),
        (good.rstrip() + ",1,2\n", "too many cells"),
        (good[5:], "does not have the columns"),
    ):
        (tmp_path / "results.csv").write_text(bad)
        with pytest.raises(InputError, match=words):
            load(tmp_path)
    (tmp_path / "results.csv").write_text(good)
    for bad, words in (
        ("{", "is not JSON"),
        ("[]", "must hold a JSON object, got list"),
        ('{"notes": {}}', "'notes' has the wrong type"),
    ):
        (tmp_path / "provenance.json").write_text(bad)
        with pytest.raises(InputError, match=words):
            load(tmp_path)


SOME = Row("kernels", "Car", "gmm", "libsvm", accuracy=98.0, C=1.0)
WHOLE = {"scale": "standard", "rows": None, "datasets": [], "verified": True, "cells_done": 9, "cells_planned": 9}
PARTS = [
    ({"scale": "quick", "rows": 600}, "at most 600 training rows"),
    ({"datasets": ["Car"]}, "Only some datasets were chosen"),
    ({"verified": False}, "Checksums of the datasets were not compared"),
]


@pytest.mark.parametrize(("part", "sentence"), PARTS)
def test_partial_results_get_a_banner_and_no_verdict(part, sentence):
    provenance = {**WHOLE, **part}
    report = assemble([SOME], provenance)
    text, page = as_markdown(report).decode(), as_page(report, provenance).decode()
    for found in (text, page):
        assert sentence in found
        assert "no verdict on the paper" in found
        assert "agrees with the paper" not in found
    assert text.index(sentence) < text.index("##")
    assert page.index(sentence) < page.index("<main")


@pytest.mark.parametrize("name", ["G-Text", "my.csv"])
def test_rows_that_are_not_of_the_paper_are_named(name):
    report = assemble([SOME, replace(SOME, dataset=name)], WHOLE)
    assert any(name in line for line in report.banner)
    assert not any("agrees" in found.label for found in report.headlines)


def test_whole_results_have_a_verdict_and_say_what_is_missing():
    report = assemble([SOME], WHOLE)
    assert report.banner == ()
    assert report.headlines[0].label == "datasets: GMM agrees with the paper"
    report = assemble([SOME], {**WHOLE, "cells_done": 7})
    assert report.banner == ("2 of 9 planned cells have no result.",)
    assert report.headlines[0].label == "datasets: GMM agrees with the paper"


def test_a_run_of_one_dataset_does_not_list_the_others():
    report = assemble([SOME], {**WHOLE, "datasets": ["Car"]})
    section = next(s for s in report.sections if s.key == "not-run")
    assert section.items == ()
    report = assemble([SOME], {**WHOLE, "datasets": ["Car", "Letter"], "not_run": {"Letter": "its file is broken"}})
    section = next(s for s in report.sections if s.key == "not-run")
    assert [row["dataset"] for row in section.items[0].rows] == ["Letter"]


def test_provenance_is_readable():
    """The line about the commit is never cut in the middle of a word, and nothing is shown as None."""
    provenance = {"commit": "unknown (no git checkout)", "seconds": 90.0, "rows": None}
    report = assemble([SOME], provenance)
    text = as_markdown(report).decode()
    assert "no reason" not in text
    assert "\n()\n" not in text
    assert "| time of all cells | 1 min 30 s |" in text
    assert "None" not in text
    assert "commit unknown (no git checkout)" in as_page(report, provenance).decode()


FAR = [
    Row("kernels", "CTG", "gmm", "libsvm", accuracy=88.61, C=1.0),
    Row("kernels", "CTG", "linear", "liblinear", accuracy=94.58, C=1.0),  # 60.59 in the paper
]


def test_a_far_difference_leaves_room_for_the_others_and_keeps_its_number():
    report = assemble(FAR, WHOLE)
    plot = next(p for p in report.all(Plot) if p.key == "differences")
    assert "Arrows are differences of more than 5 points." in plot.caption
    shown = json.loads(re.search(r'id="plots">(.*?)</script>', as_page(report, WHOLE).decode())[1])
    (found,) = [p for p in shown if p["key"] == "differences"]
    assert found["limit"] == 5.0
    assert [s["points"] for s in found["panels"][0]["series"] if s["name"] == "linear"] == [[[33.99, 0.0]]]
    assert b"linear,33.99,CTG" in as_csv(plot.panels)
    axes = draw_plot(plot).axes[0]
    assert axes.get_xlim()[1] < 6
    assert [text.get_text() for text in axes.texts] == ["+33.99"]
    near = next(p for p in assemble([SOME], WHOLE).all(Plot) if p.key == "differences")
    assert "Arrows" not in near.caption


def test_far_differences_of_one_dataset_stand_side_by_side():
    series = [Series(name, name, ((x, 0.0, None),), "none") for name, x in (("gmm", 9.0), ("rbf", 8.0), ("linear", -7))]
    panel = Panel("all", "", tuple(series), ("CTG",))
    axes = draw_plot(Plot("differences", "", "", "x", "", (panel,), x_log=False, band=1.0, limit=5.0)).axes[0]
    assert [text.get_text() for text in axes.texts] == ["+9.00", "+8.00", "\u22127.00"]
    first, second, third = (text.xy[0] for text in axes.texts)
    assert (first, third) == (5.0, -5.0)
    assert second < first - 0.5


def test_tables_with_long_texts_become_paragraphs_on_a_phone():
    """Then each cell needs the heading of its column."""
    note = "Its file is not here, and it is not downloaded by itself."
    page = as_page(assemble([SOME], {**WHOLE, "not_run": {"RCV1": note, "SensIT": "no"}}), WHOLE).decode()
    table = page.split('id="tab-not-run-table"')[1].split("</table>")[0]
    assert 'class="sortable stack"' in table
    assert re.findall(r'<td class="text long" data-value="[^"]*" data-label="reason">', table)
    assert table.count("long") == table.count('data-label="reason"')  # short reasons too, so that lines are alike
    costs = page.split('id="tab-table-1"')[1].split("</table>")[0]
    assert "stack" not in costs

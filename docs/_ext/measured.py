"""Tables of measurements: every number comes from a CSV file in ``benchmarks/results`` or ``paper/results``.

In a page, ``.. measured:: NAME`` makes the table ``NAME`` below while Sphinx builds. The README has the tables
``headline`` and ``cores`` as text; two commands keep them right::

    python docs/_ext/measured.py --check    # exit status 1 if the README differs from the measurements
    python docs/_ext/measured.py --write    # put the measured table into the README
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import measured_mixed as mixed

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
TABULAR = ROOT / "paper" / "results"  # the folder of tabular.csv
README = ROOT / "README.md"
IN_README, END = ("headline", "cores"), "<!-- end -->"

Cells = list[str]


class Table(NamedTuple):
    """One table: its column heads, and a function that makes its rows from the CSV files."""

    head: Cells
    rows: Callable[[], Iterator[Cells]]


@cache
def measured(area: str) -> dict[tuple[str, str], dict[str, str]]:
    """Return the rows of ``results/AREA.csv`` by problem and method."""
    with (RESULTS / f"{area}.csv").open(newline="") as file:
        return {(row["problem"], row["method"]): row for row in csv.DictReader(file)}


class Result:
    """One method on one problem, with its numbers as text."""

    def __init__(self, area: str, problem: str, method: str) -> None:
        self.row = measured(area)[problem, method]

    def number(self, column: str) -> float:
        return float(self.row[column])

    @property
    def seconds(self) -> str:
        """Three digits, with the unit: "17.7 s", "58 ms"."""
        value = self.number("seconds")
        return f"{three_digits(1e3 * value)} ms" if value < 0.1 else f"{three_digits(value)} s"

    @property
    def nanoseconds(self) -> str:
        """Nanoseconds per elementary step, the inverse of the rate."""
        return f"{three_digits(1 / self.number('rate_giga'), 2)} ns"

    @property
    def faster(self) -> str:
        value = self.number("ratio_to_peer")
        return f"{value:.0f}x" if value >= 9.95 else f"{value:.1f}x"

    @property
    def difference(self) -> str:
        return f"{self.number('difference_from_peer'):.0e}".replace("e-0", "e-")

    @property
    def error(self) -> str:
        return f"{self.number('difference_from_peer'):.1f}"

    @property
    def accuracy(self) -> str:
        return f"{self.number('difference_from_peer'):.2f} %"

    @property
    def recall(self) -> str:
        return f"{1 - self.number('difference_from_peer'):.2f}"

    @property
    def memory(self) -> str:
        value = self.number("extra_memory_mib")
        return "under 1 MiB" if value < 1 else f"{value:,.0f} MiB"

    @property
    def rate(self) -> str:
        """Text or data per second."""
        return f"{1e3 * self.number('rate_giga'):.0f} MB/s"


def three_digits(value: float, digits: int = 3) -> str:
    """Round to three digits (or to ``digits``) without an exponent: 17.7, 0.584, 241."""
    places = max(0, digits - 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{min(places, digits)}f}"


def with_two(one: str, two: str) -> str:
    """Return a number and, in parentheses, a second one: that for two threads, or a number of splits."""
    return f"{one} ({two})"


def headline() -> Iterator[Cells]:
    name = "float32 5000 x 5000, d=784"
    peer, ours = Result("gmm", name, "scikit-learn manhattan_distances"), Result("gmm", name, "gmm_kernel(X, Y)")
    quality = f"differs by at most {ours.difference}"
    yield ["Exact kernel matrix, 5,000 x 5,000 rows, 784 features", f"scikit-learn, {peer.seconds}",
           f"`gmm_kernel`, {ours.seconds}", ours.faster, quality]  # fmt: skip
    name = "MNIST-like, k=1024"
    peer, ours = Result("gcws", name, "datasketch minhash_many"), Result("gcws", name, "GCWS.codes")
    errors = peer.error, Result("gcws", name, "GCWS.signatures").error
    quality = f"error of estimates {errors[0]} and {errors[1]} standard errors"
    yield ["Weighted MinHash of 10,000 rows, 1,024 hashes per row", f"datasketch, {peer.seconds}",
           f"`GCWS`, {ours.seconds}", ours.faster, quality]  # fmt: skip
    name = "Letter, ten values of C"
    peer, ours = Result("linear", name, "LinearSVC"), Result("linear", name, "GCWSClassifierCV")
    quality = f"{peer.accuracy} and {ours.accuracy} test accuracy"
    yield ["Linear SVM on hashed rows, ten values of C (Letter, 15,000 rows)", f"LIBLINEAR, {peer.seconds}",
           f"`GCWSClassifierCV`, {ours.seconds}", ours.faster, quality]  # fmt: skip
    name = "MNIST: 1000 queries, 10 neighbours of 60000 rows"
    peer, ours = Result("index", name, "gmm_kernel and argpartition"), Result("index", name, "GCWSIndex.kneighbors")
    yield ["Ten nearest of 60,000 rows for 1,000 queries (MNIST)", f"exact scan, {peer.seconds}",
           f"`GCWSIndex`, {ours.seconds}", ours.faster, f"recall {ours.recall}"]  # fmt: skip
    name = "near duplicates: pairs of similarity .8 among 50000 rows"
    peer = Result("index", name, "gmm_kernel and threshold")
    ours = Result("index", name, "GCWSIndex.fit and query_pairs")
    yield ["All near-duplicate pairs among 50,000 rows", f"exact scan, {peer.seconds}",
           f"`GCWSIndex`, {ours.seconds}", ours.faster, f"recall {ours.recall}"]  # fmt: skip
    name = "train: 1000000 x 100, k=256, 933 MB"
    peer = Result("command", name, "load_svmlight_file, fit")
    ours = Result("command", name, "kernelsketch train --memory 500MB")
    quality = f"the same duality gap; {peer.memory} and {ours.memory} of memory"
    yield ["Training from 933 MB of LIBSVM text, 1,000,000 rows", f"all rows in memory, {peer.seconds}",
           f"`kernelsketch train`, {ours.seconds}", ours.faster, quality]  # fmt: skip


def kernels() -> Iterator[Cells]:
    problems = {
        "float32 5000 x 5000, d=784": "float32, 5000 x 5000 rows, 784 features",
        "float32 5000 x 5000, d=64": "float32, 5000 x 5000 rows, 64 features",
        "of X with itself, 5000 x 5000, d=784": "``gmm_kernel(X)``, 5000 rows, 784 features",
        "of X with itself, 5000 x 5000, d=64": "``gmm_kernel(X)``, 5000 rows, 64 features",
        "integers 0..255 in float32, 5000 x 5000, d=784": "integers from 0 to 255, 5000 x 5000 rows, 784 features",
        "CSR 3000 x 3000, d=100000, 100 nonzeros": "CSR, 3000 x 3000 rows, 100 nonzeros of 100,000 features",
        "CSR 3000 x 3000, d=100000, 100 nonzeros, Zipf": "the same with word frequencies (Zipf)",
    }
    for name, label in problems.items():
        peer = Result("gmm", name, "scikit-learn manhattan_distances")
        method = "gmm_kernel(X)" if "itself" in name else "gmm_kernel(X, Y)"
        ours = Result("gmm", name, method)
        if (name, f"{method}, two threads") in measured("gmm"):
            two = Result("gmm", name, f"{method}, two threads")
            cells = [with_two(ours.seconds, two.seconds), with_two(ours.faster, two.faster)]
        else:
            cells = [ours.seconds, ours.faster]
        yield [label, peer.seconds, *cells, ours.difference, peer.memory, ours.memory]


def hashing() -> Iterator[Cells]:
    kinds = {
        "Letter-like": "16 dense features",
        "MNIST-like": "784 features, 19 % nonzero",
        "text-like": "100 nonzeros of 100,000 features",
    }
    for kind, label in kinds.items():
        for k in 64, 256, 1024:
            name = f"{kind}, k={k}"
            peer, ours = Result("gcws", name, "datasketch minhash_many"), Result("gcws", name, "GCWS.codes")
            two, samples = Result("gcws", name, "GCWS.codes, two threads"), Result("gcws", name, "GCWS.signatures")
            yield [f"{label}, k = {k}", peer.nanoseconds, with_two(ours.nanoseconds, two.nanoseconds),
                   with_two(ours.faster, two.faster), f"{peer.error} / {samples.error}"]  # fmt: skip


_LINEAR = {
    "digits, 1200 rows, C=1": ("digits, 1200 rows, 10 classes", "digits, memory of training"),
    "MNIST-5k, 5000 rows, C=1": ("MNIST, 5000 rows, 10 classes", "MNIST-5k, memory of training"),
    "MNIST-60k, 60000 rows, C=1": ("MNIST, 60,000 rows, 10 classes", "MNIST-60k, memory of training"),
    "Letter, 15000 rows, C=1": ("Letter, 15,000 rows, 26 classes", "Letter, memory of training"),
    "Covertype-50k, 50000 rows, C=1": ("Covertype, 50,000 rows, 7 classes", "Covertype-50k, memory of training"),
}


def learning() -> Iterator[Cells]:
    for name, (label, memory) in _LINEAR.items():
        peer, ours = Result("linear", name, "LinearSVC"), Result("linear", name, "GCWSClassifier")
        two = Result("linear", name, "GCWSClassifier, two threads")
        excess = f"{peer.difference} / {ours.difference}"
        yield [label, peer.seconds, with_two(ours.seconds, two.seconds), with_two(ours.faster, two.faster), excess,
               Result("learning", memory, "LinearSVC, one pass").memory,
               Result("learning", memory, "GCWSClassifier").memory]  # fmt: skip


def path() -> Iterator[Cells]:
    for data, label in ("digits", "digits"), ("MNIST-5k", "MNIST, 5000 rows"), ("Letter", "Letter, 15,000 rows"):
        peer = Result("linear", f"{data}, ten values of C", "LinearSVC")
        ours = Result("linear", f"{data}, ten values of C", "GCWSClassifierCV")
        yield [label, peer.seconds, peer.accuracy, ours.seconds, ours.accuracy, ours.faster]


def fourier() -> Iterator[Cells]:
    problems = [f"{d} features, k={k}" for d in (16, 64, 784) for k in (256, 1024, 4096)]
    problems += [name for name, method in measured("fourier") if method == "NRFF" and name not in problems]
    for name in problems:
        peer = Result("fourier", name, "RBFSampler, rows normalized before")
        ours, two = Result("fourier", name, "NRFF"), Result("fourier", name, "NRFF, two threads")
        yield [name.replace("k=", "k = "), peer.nanoseconds, with_two(ours.nanoseconds, two.nanoseconds),
               with_two(ours.faster, two.faster), f"{peer.error} / {ours.error}"]  # fmt: skip


def neighbors() -> Iterator[Cells]:
    scans = {
        "MNIST: 1000 queries, 10 neighbours of 60000 rows": "MNIST, 60,000 rows",
        "planted text: 1000 queries, 10 neighbours of 100000 rows": "text with planted neighbours, 100,000 rows",
        "Sector: 1000 queries, 10 neighbours of 8619 rows": "Sector (text), 8,619 rows",
    }
    for name, label in scans.items():
        peer, ours = Result("index", name, "gmm_kernel and argpartition"), Result("index", name, "GCWSIndex.kneighbors")
        two = Result("index", name, "GCWSIndex.kneighbors, two threads")
        yield [label, "exact scan", peer.seconds, with_two(ours.seconds, two.seconds),
               with_two(ours.faster, two.faster), ours.recall]  # fmt: skip
    name = "near duplicates: pairs of similarity .8 among 50000 rows"
    peer = Result("index", name, "gmm_kernel and threshold")
    ours = Result("index", name, "GCWSIndex.fit and query_pairs")
    yield ["near-duplicates among 50,000 rows, building included", "exact scan", peer.seconds, ours.seconds,
           ours.faster, ours.recall]  # fmt: skip
    for name, label, method in (
        ("building from 20000 rows of 300 features", "building, 20,000 rows", "GCWSIndex.fit (hashing included)"),
        ("200 queries, the nearest of 20000 rows of 300 features", "200 queries, 20,000 rows", "GCWSIndex.kneighbors"),
    ):
        peer, ours = Result("index", name, "datasketch MinHashLSH (hashes given)"), Result("index", name, method)
        recall = "" if math.isnan(ours.number("difference_from_peer")) else ours.recall
        yield [label, "datasketch MinHashLSH", peer.seconds, ours.seconds, ours.faster, recall]


def files() -> Iterator[Cells]:
    peers = {"csv": "pandas.read_csv", "libsvm": "scikit-learn load_svmlight_file"}
    for area, kind in ("libsvm", "LIBSVM"), ("csv", "CSV"):
        for name, method in measured(area):
            if method == "open_rows":
                peer, ours = Result(area, name, peers[area]), Result(area, name, method)
                yield [f"read {kind}: {name}", peers[area].split()[-1], peer.rate, ours.rate, ours.faster]
    for name, method in measured("libsvm"):
        if method == "writer":
            peer, ours = Result("libsvm", name, "scikit-learn dump_svmlight_file"), Result("libsvm", name, method)
            label = name.removeprefix("writing ")
            yield [f"write LIBSVM: {label}", "dump_svmlight_file", peer.rate, ours.rate, ours.faster]


def out_of_core() -> Iterator[Cells]:
    for area in "command", "blocks":
        for name, method in measured(area):
            ours = Result(area, name, method)
            task = "fit" if area == "blocks" else name.partition(":")[0]
            yield [task, method, ours.seconds, ours.memory, ours.faster]


def spark() -> Iterator[Cells]:
    for name, method in measured("spark"):
        ours = Result("spark", name, method)
        ratio = ours.faster if not name.startswith("a pass") else ""
        yield [name.replace("k=", "k = "), method, ours.seconds, f"{ours.number('rate_giga'):.2f}", ratio]


@cache
def by_threads(cores: int) -> dict[str, dict[int, dict[str, str]]]:
    """Return the rows of ``results/threads_N_cores.csv`` by work and number of threads."""
    found: dict[str, dict[int, dict[str, str]]] = {}
    with (RESULTS / f"threads_{cores}_cores.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["work"], {})[int(row["threads"])] = row
    return found


def speed_up(rows: dict[int, dict[str, str]], threads: int) -> str:
    return f"{float(rows[threads]['speed_up']):.1f}x" if threads in rows else ""


def threads() -> Iterator[Cells]:
    for work, rows in by_threads(16).items():
        seconds = f"{three_digits(float(rows[1]['seconds']))} s"
        yield [work, seconds, *(speed_up(rows, n) for n in (2, 4, 8, 16)), speed_up(by_threads(2).get(work, {}), 2)]


def many_cores() -> Iterator[Cells]:
    """What one thread and 16 threads say about more of them: the time is s + p / n."""
    for work, rows in by_threads(16).items():
        one, sixteen = float(rows[1]["seconds"]), float(rows[16]["seconds"])
        alone = max(0.0, (16 * sixteen - one) / 15)
        more = [one / (alone + (one - alone) / n) for n in (64, 128)]
        yield [work, f"{100 * alone / one:.1f} %", speed_up(rows, 16), *(f"{value:.0f}x" for value in more)]


def cores() -> Iterator[Cells]:
    shown = {
        "GMM matrix, float32, 6000 x 6000 x 784": "Exact kernel matrix, 6,000 x 6,000 rows, 784 features",
        "GCWS codes, MNIST 60,000, k=1024": "Hashing, MNIST, 60,000 rows, 1,024 hashes",
        "learning, 10 classes, MNIST 60,000, k=1024": "Learning, 10 classes, MNIST",
        "learning, 2 classes, MNIST 60,000, k=1024": "Learning, 2 classes, MNIST",
        "learning, 2 classes, Covertype 500,000, k=512": "Learning, 2 classes, Covertype, 500,000 rows",
        "prediction, MNIST 60,000, k=1024": "Prediction, MNIST",
        "index: 10,000 queries, MNIST 60,000": "10,000 queries to the index, MNIST",
    }
    for work, label in shown.items():
        two, sixteen = by_threads(2)[work], by_threads(16)[work]
        times = [
            f"{three_digits(float(rows[n]['seconds']))} s"
            for rows, n in ((two, 1), (two, 2), (sixteen, 1), (sixteen, 16))
        ]
        yield [label, *times[:2], speed_up(two, 2), *times[2:], speed_up(sixteen, 16)]


def svc() -> Iterator[Cells]:
    """Yield each model on each dataset, with the C that has the smaller log-loss."""
    with (RESULTS / "svc.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for dataset, model in dict.fromkeys((row["dataset"], row["model"]) for row in rows):
        tried = [row for row in rows if (row["dataset"], row["model"]) == (dataset, model)]
        best = min(tried, key=lambda row: float(row["log_loss"]))
        yield [dataset, f"``{model}``", f"{three_digits(float(best['fit_seconds']))} s",
               f"{three_digits(float(best['predict_us_per_row']))} µs", f"{float(best['accuracy']):.1f} %",
               f"{float(best['log_loss']):.3f}"]  # fmt: skip


ROW_TIMES = ["dict", "array", "one_row_frame", "frame_of_1000", "onnx_row", "onnx_1000"]


def table_rows() -> Iterator[Cells]:
    """Yield the microseconds per row of predictors of models of tables."""
    with (RESULTS / "table_predictors.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            times = (row[f"{name}_us"] for name in ROW_TIMES)
            yield [
                row["table"],
                row["columns"],
                row["trees"],
                *(f"{float(time):.0f}" if time else "-" for time in times),
            ]


PEERS = ["LightGBM", "HistGradientBoosting", "CatBoost", "SVM"]
MEASURES = ["mean rank", "log-loss", "calibration error", "points to LightGBM", "datasets ahead / behind", "worst",
            "time to train", "time per row"]  # fmt: skip


def studies() -> Iterator[Any]:
    """The study of tables by task, with the means, ranks and differences that the report of the paper shows."""
    from kernelsketch_paper.report._tabular import TASKS, Study, read_tabular

    rows = read_tabular(TABULAR)
    yield from (study for task in TASKS if (study := Study(task, rows)).shared().models)


def fixed(value: float | None, digits: int = 2, sign: str = "") -> str:
    """Return a number with some decimals; zero has no sign, and a missing number is blank."""
    if value is None:
        return ""
    text = f"{value:{sign}.{digits}f}"
    return text if float(text) else text.lstrip("+-")


def tabular() -> Iterator[Cells]:
    """Yield one row per measure, with a column per model, because all measures in one row would be too wide."""
    from kernelsketch_paper.report._tabular_section import summary_lines

    for study in studies():
        score = "accuracy, %" if study.task.sign > 0 else "RMSE, %"
        found = {line["model"]: summary(line) for line in summary_lines(study)}
        for at, measure in enumerate([score, *MEASURES]):
            cells = [found[model][at] if model in found else "" for model in ["ours", *PEERS]]
            if any(cells):
                yield [f"{study.task.name}: {measure}", *cells]


def summary(line: dict[str, Any]) -> Cells:
    """Return the measures of one model: its score, and those that MEASURES names."""
    against = [""] * 3
    if line.get("lead") is not None:
        error = f" ± {fixed(line['lead_error'])}" if line["lead_error"] is not None else ""
        counts = f"{line['ahead']} / {line['behind']}"
        against = [fixed(line["lead"], 2, "+") + error, counts, fixed(line["worst"], 2, "+")]
    times = [f"{three_digits(value)} {unit}" if (value := line[name]) is not None else ""
             for name, unit in (("fit", "s"), ("row_us", "µs"))]  # fmt: skip
    return [fixed(line["accuracy"]), fixed(line["rank"]), fixed(line["log_loss"], 3),
            fixed(line["calibration_error"], 3), *against, *times]  # fmt: skip


def tabular_datasets() -> Iterator[Cells]:
    from kernelsketch_paper.report._tabular_section import dataset_lines

    for study in studies():
        for line in dataset_lines(study):
            label = line["dataset"] if study.task.sign > 0 else f"{line['dataset']} (RMSE)"
            scores = [line.get(model) for model in ["ours", *PEERS]]
            most = max((score.n for score in scores if score is not None), default=0)
            shown = ["" if score is None else fixed(score.mean) if score.n == most
                     else with_two(fixed(score.mean), str(score.n)) for score in scores]  # fmt: skip
            yield [label, *shown, fixed(line["lead"], 2, "+")]


FASTER = "times as fast"
TABLES = {
    "headline": Table(["Task", "Today", "kernelsketch", "Times as fast", "Quality"], headline),
    "kernels": Table(["rows", "scikit-learn", "``gmm_kernel``", FASTER, "largest difference",
                      "extra memory, scikit-learn", "extra memory, ours"], kernels),
    "hashing": Table(["rows", "datasketch", "``GCWS.codes``", FASTER, "error, theirs / ours"], hashing),
    "learning": Table(["data", "LIBLINEAR", "``GCWSClassifier``", FASTER, "excess, theirs / ours",
                       "extra memory, LIBLINEAR", "extra memory, ours"], learning),
    "path": Table(["data", "``LinearSVC``", "best accuracy", "``GCWSClassifierCV``", "best accuracy", FASTER], path),
    "fourier": Table(["rows", "``RBFSampler``", "``NRFF``", FASTER, "error, theirs / ours"], fourier),
    "neighbors": Table(["data", "peer", "time of the peer", "``GCWSIndex``", FASTER, "recall"], neighbors),
    "files": Table(["task", "peer", "rate of the peer", "kernelsketch", FASTER], files),
    "out-of-core": Table(["task", "method", "time", "memory", FASTER], out_of_core),
    "spark": Table(["task", "method", "time", "G steps per second", "times as fast as one process"], spark),
    "threads": Table(["work", "one thread", "2 threads", "4", "8", "16", "2 of 2 cores"], threads),
    "many-cores": Table(["work", "one thread's share", "16 cores", "64, at best", "128, at best"], many_cores),
    "svc": Table(["data", "model", "training", "prediction of a row", "accuracy", "log-loss"], svc),
    "table-rows": Table(["table", "columns", "trees", "one dict", "one array", "data frame of one row",
                         "data frame of 1,000", "ONNX, one row", "ONNX, 1,000"], table_rows),
    "cores": Table(["Work", "2 cores: 1 thread", "2 threads", "Times as fast", "16 cores: 1 thread", "16 threads",
                    "Times as fast"], cores),
    "tabular": Table(["measure", "ours", *PEERS], tabular),
    "tabular-datasets": Table(["data", "ours", *PEERS, "ours - LightGBM"], tabular_datasets),
    "mixed-new": Table(mixed.HEADS, lambda: mixed.standings(RESULTS / "mixed_tables.csv", new=True)),
    "mixed-older": Table(mixed.HEADS, lambda: mixed.standings(RESULTS / "mixed_tables.csv", new=False)),
    "mixed-against-new": Table(mixed.AGAINST, lambda: mixed.differences(RESULTS / "mixed_tables.csv", new=True)),
    "mixed-against-older": Table(mixed.AGAINST, lambda: mixed.differences(RESULTS / "mixed_tables.csv", new=False)),
    "mixed-tables": Table(["table", *mixed.SHOWN], lambda: mixed.tables(RESULTS / "mixed_tables.csv")),
}  # fmt: skip


def as_markdown(table: Table) -> str:
    lines = [table.head, ["---"] * len(table.head), *table.rows()]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def as_list_table(table: Table) -> list[str]:
    """Return the table as lines of reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for cells in [table.head, *table.rows()]:
        lines += [f"   {'* -' if n == 0 else '  -'} {cell}".rstrip() for n, cell in enumerate(cells)]
    return [*lines, ""]


def with_tables(text: str) -> str:
    """Return the README with the measured tables in their places."""
    for name in IN_README:
        mark = f"<!-- measured: {name} -->"
        before, begin, rest = text.partition(mark)
        _, end, after = rest.partition(END)
        if not begin or not end:
            raise SystemExit(f"{README} has no lines {mark!r} and {END!r} for the table between them.")
        text = f"{before}{mark}\n\n{as_markdown(TABLES[name])}\n{END}{after}"
    return text


def main(arguments: list[str]) -> int:
    if arguments not in (["--check"], ["--write"]):
        print(__doc__)
        return 2
    text = README.read_text()
    right = with_tables(text)
    if arguments == ["--write"]:
        README.write_text(right)
    elif text != right:
        print("The tables of README.md differ from benchmarks/results: run  python docs/_ext/measured.py --write")
        return 1
    return 0


def setup(app: Any) -> dict[str, Any]:
    from docutils import nodes
    from docutils.parsers.rst import Directive
    from docutils.statemachine import StringList

    class Measured(Directive):
        """``.. measured:: NAME``: the table of that name."""

        required_arguments = 1

        def run(self) -> list[nodes.Node]:
            if self.arguments[0] not in TABLES:
                raise self.error(f"measured: {self.arguments[0]!r} is not one of {', '.join(TABLES)}.")
            environment = self.state.document.settings.env
            for file in *RESULTS.glob("*.csv"), TABULAR / "tabular.csv":
                environment.note_dependency(str(file))
            lines = as_list_table(TABLES[self.arguments[0]])
            node = nodes.container(classes=["measured"])
            self.state.nested_parse(StringList(lines, source="measured"), self.content_offset, node)
            return [node]

    app.add_directive("measured", Measured)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

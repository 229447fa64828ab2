"""Put the report together: its sections, their text, and what is missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelsketch.exceptions import InputError

from ..drawing import Plot
from ..experiments import Row, published, read_results
from ._claims import claims_table
from ._comparison import comparison_table, losses, methods_of, ranking, scalings, scores, tunable_table
from ._costs import cost_table, time_table, timed
from ._hashing import against_exact, fewer_samples, hashed, needed_table, solver_table, storage_table
from ._notes import Notes, inconsistencies, read_notes
from ._parts import Column, Headline, Item, Report, Section, Table
from ._plots import (
    cost_plot,
    differences_plot,
    hashing_plots,
    kernel_points,
    kernels_plot,
    noise_plot,
    samples_plots,
    time_plot,
)
from ._provenance import provenance_table, read_provenance, reasons, remarks
from ._scope import Scope, scope_of, stand_ins
from ._tables import (
    NUMBERED,
    TOLERANCE,
    Accuracy,
    accuracies,
    agreement,
    error_table,
    larger_differences,
    paper_tables,
    paper_value,
)
from ._tabular import Measurement, read_tabular
from ._tabular_section import tabular_section

TITLE = "Linearized GMM kernels, measured again"
LEAD = (
    "The experiments of Ping Li, Linearized GMM Kernels and Normalized Random Fourier Features (KDD 2017), run with "
    "kernelsketch. The report shows the published numbers beside the measured ones, and adds a comparison with scaled "
    "features and other methods."
)

SHORT = {
    "kernels": "Kernels",
    "hashing": "Hashing",
    "time": "Time",
    "mnist": "MNIST",
    "tunable": "Parameters",
    "comparison": "Comparison",
    "tabular": "Tables",
    "losses": "Losses",
    "claims": "Figures",
    "not-run": "Not run",
    "paper": "The paper",
    "made": "How measured",
}


def load(folder: Path) -> tuple[list[Row], dict[str, Any], list[Measurement]]:
    """Read results, how they were made, and the study of tables. InputError says why they cannot be used."""
    folder = Path(folder)
    try:
        rows = read_results(folder)
        found = read_provenance(folder)
        tabular = read_tabular(folder)
    except OSError as error:
        raise InputError(
            f"Results cannot be read from {folder}: {error.strerror or error}. Choose another folder with --results."
        ) from None
    except KeyError:  # a line has more cells than there are columns
        raise InputError(
            f"{folder / 'results.csv'} has lines with too many cells. It is damaged: run `kernelsketch reproduce`."
        ) from None
    if not rows:
        raise InputError(f"{folder / 'results.csv'} has no rows yet: run `kernelsketch reproduce` first.")
    return rows, found, tabular


def assemble(
    rows: list[Row], provenance: dict[str, Any], tabular: list[Measurement] | None = None, notes: Notes | None = None
) -> Report:
    """Return the report of some results."""
    notes = read_notes() if notes is None else notes
    scope = scope_of(rows, provenance)
    kernels = accuracies(rows)
    compared = {scaling: scores(rows, scaling) for scaling in scalings(rows)}
    sections = (
        _kernels(rows, kernels, notes, scope),
        _hashing(rows),
        _time(rows),
        _mnist(kernels),
        _tunable(rows),
        _comparison(rows, compared),
        tabular_section(tabular or []),
        _losses(kernels, compared),
        _claims(rows, kernels, scope),
        _not_run(rows, provenance),
        Section("paper", "Where the paper contradicts itself", items=(inconsistencies(notes),)),
        _made(provenance),
    )
    named = tuple(replace(section, short=SHORT.get(section.key, "")) for section in sections)
    return Report(TITLE, LEAD, _headlines(rows, kernels, provenance, scope), named, scope.banner)


def missing(experiment: str) -> str:
    """Return the sentence that stands in place of an experiment without results."""
    return f"There are no results of the experiment \u201c{experiment}\u201d yet: `kernelsketch reproduce` makes them."


def _headlines(
    rows: list[Row], kernels: dict[str, Accuracy], provenance: dict[str, Any], scope: Scope
) -> tuple[Headline, ...]:
    headlines = []
    for kernel, name in (("gmm", "GMM"), ("rbf", "RBF"), ("linear", "Linear")) if scope.has_verdict else ():
        found = agreement(kernels, kernel)
        if found.of:
            detail = f"Within {TOLERANCE:.1f} point, or within 2 standard deviations over random splits."
            headlines.append(
                Headline(f"{found.within} of {found.of}", f"datasets: {name} agrees with the paper", detail)
            )
    pairs = [(g.mean, r.mean) for a in kernels.values() if (g := a.get("gmm")) and (r := a.get("rbf"))]
    if pairs:
        paper = [(p.gmm, p.rbf) for p in published().values() if p.gmm is not None and p.rbf is not None]
        won = sum(gmm > rbf for gmm, rbf in paper)
        ahead = sum(gmm > rbf for gmm, rbf in pairs)
        theirs = f"{won} of {len(paper)} in the paper. " if scope.has_verdict else ""
        detail = f"{theirs}As in the paper, features are not scaled."
        headlines.append(Headline(f"{ahead} of {len(pairs)}", "datasets: GMM is ahead of the best RBF", detail))
    wins, of = fewer_samples(hashed(rows))
    if of:
        detail = "To close 90 % of the gap between the linear kernel and the exact kernel."
        headlines.append(Headline(f"{wins} of {of}", "datasets: GCWS needs fewer samples than NRFF", detail))
    if scope.has_verdict:
        absent = _absent(rows, provenance)
        headlines.append(Headline(str(len(absent)), "datasets of the paper were not run", _why(absent)))
    return tuple(headlines)


def _kernels(rows: list[Row], found: dict[str, Accuracy], notes: Notes, scope: Scope) -> Section:
    if not found:
        return Section("kernels", "Kernel SVMs", missing=missing("kernels"))
    kernels = ("gmm", "rbf", "linear")
    text = tuple(agreement(found, kernel).sentence() for kernel in kernels) if scope.has_verdict else ()
    about = (
        "The paper chooses C, and gamma of the RBF kernel, on the test rows. The columns named measured do the same. "
        "The columns named by CV choose by cross-validation within the training rows, as one has to in practice."
    )
    tables = [table for table in paper_tables(found, notes.datasets) if _any_measured(table)]
    items: list[Item] = [*tables, kernels_plot(kernel_points(rows))]
    if scope.has_verdict:
        compared = differences_plot(found), larger_differences(found, notes.differences, kernel_points(rows))
        items = [*compared, *items]
    return Section("kernels", "Kernel SVMs", (*text, about), tuple(items))


def _any_measured(table: Table) -> bool:
    return any(row[f"{kernel}_test"] is not None for row in table.rows for kernel in ("linear", "rbf", "gmm"))


def _hashing(rows: list[Row]) -> Section:
    found = hashed(rows)
    if not found:
        return Section("hashing", "Hashing: GCWS against NRFF", missing=missing("hashing"))
    wins, of = fewer_samples(found)
    text = [
        "GCWS approximates the GMM kernel by a linear one, and NRFF does so for the RBF kernel. The question is how "
        "many samples each of them needs."
    ]
    if of:
        text.append(f"To close 90 % of its gap, GCWS needs fewer samples than NRFF on {wins} of {of} datasets.")
    solvers = solver_table(rows)
    names = sorted({f"{m.upper()} by {s}" for h in found.values() for m, s in h.solvers.items()})
    text.append(f"Solvers: {', '.join(names)}.")
    tables = [against_exact(found), needed_table(found), storage_table(found), *([solvers] if solvers.rows else [])]
    plots = hashing_plots(found, kernel_points(rows))
    by_samples = samples_plots(found)
    items: list[Item] = [*by_samples[:1], *(t for t in tables[:2] if t.rows), *plots, *by_samples[1:], *tables[2:]]
    return Section("hashing", "Hashing: GCWS against NRFF", tuple(text), tuple(items))


def _time(rows: list[Row]) -> Section:
    if not timed(rows):
        return Section("time", "Training time", missing=missing("time"))
    return Section("time", "Training time", items=(time_plot(rows), time_table(rows)))


def _mnist(found: dict[str, Accuracy]) -> Section:
    names = {d for d, p in published().items() if p.table == NUMBERED[2][0]}
    if not names & set(found) and not stand_ins(found, "mnist"):
        return Section("mnist", "Variants of MNIST: error rates", missing="No variant of MNIST was run.")
    plot = noise_plot(found)
    items: list[Item] = [plot] if plot.panels else []
    return Section("mnist", "Variants of MNIST: error rates", items=(*items, error_table(found)))


def _tunable(rows: list[Row]) -> Section:
    table = tunable_table(rows)
    if not table.rows:
        return Section("tunable", "GMM with parameters", missing=missing("tunable"))
    text = (
        "The kernel can have a power p of the features, an exponential with gamma, or both. The table shows what "
        "tuning them adds to the kernel without parameters."
    )
    return Section("tunable", "GMM with parameters", (text,), (table,))


def _comparison(rows: list[Row], compared: dict[str, Any]) -> Section:
    title = "A comparison with scaled features"
    if not compared:
        return Section("comparison", title, missing=missing("comparison"))
    text = [
        "The paper gives raw features to the RBF and the linear kernel, which is not how they are used in practice. "
        "Here every method gets scaled features and settings by cross-validation, and boosted trees take part. GCWS "
        "and NRFF are the hashed kernels."
    ]
    most = max((row.n_train or 0 for row in rows if row.experiment == "comparison"), default=0)
    text += [f"The training sets of this comparison have at most {most:,} rows."] if most else []
    items: list[Item] = []
    for scaling, found in compared.items():
        items.append(comparison_table(found, scaling))
        ranks = ranking(found, scaling)
        if ranks is not None:
            items.append(ranks)
        else:
            text.append(f"Ranks ({scaling}) need at least three methods on two datasets, so they are left out.")
    methods = tuple(dict.fromkeys(m for found in compared.values() for m in methods_of(found)))
    costs = cost_table(rows, methods)
    plot = cost_plot(rows, compared)
    items += [plot] if plot.panels else []
    items += [costs] if costs.rows else []
    return Section("comparison", title, tuple(text), tuple(items))


def _losses(kernels: dict[str, Accuracy], compared: dict[str, Any]) -> Section:
    table = losses(kernels, compared)
    if not kernels and not compared:
        return Section("losses", "Where GMM loses", missing="There is nothing to compare yet.")
    n = len({(row["dataset"], row["where"]) for row in table.rows})
    text = f"The number of losses is {n}." if n else "GMM is ahead on all datasets that were run."
    return Section("losses", "Where GMM loses", (text,), (table,) if table.rows else ())


def _claims(rows: list[Row], kernels: dict[str, Accuracy], scope: Scope) -> Section:
    title = "What the paper says about its figures"
    if not scope.has_verdict:
        return Section("claims", title, missing="These results are partial, so they are not compared with it.")
    table = claims_table(kernels, hashed(rows), rows)
    seen = [row["seen"] for row in table.rows]
    text = (
        f"Of {len(seen)} statements, the results show {seen.count('yes')} and do not show {seen.count('no')}; "
        f"{seen.count('not measured')} were not measured."
    )
    return Section("claims", title, (text,), (table,))


def _absent(rows: list[Row], provenance: dict[str, Any]) -> dict[str, str]:
    """Return the datasets of the paper without a result, and those that the runner left out, each with the reason."""
    seen = {row.dataset for row in rows if row.experiment in ("kernels", "hashing")}
    given = reasons(provenance)
    asked = provenance.get("datasets") or published()
    found = {
        name: given.get(name, "it was not part of this run")
        for name in published()
        if name in asked and name not in seen
    }
    return found | {name: why for name, why in given.items() if name not in found}


def _why(absent: dict[str, str]) -> str:
    """Return the most frequent reason in words, if most datasets share it."""
    if not absent:
        return "All of them have results."
    reason, count = Counter(absent.values()).most_common(1)[0]
    if count == len(absent):
        return f"The reason: {reason}."
    return f"{count} of them because {reason}." if count > len(absent) / 2 else "The table of these datasets says why."


def _not_run(rows: list[Row], provenance: dict[str, Any]) -> Section:
    absent = _absent(rows, provenance)
    if not absent:
        whole = "All chosen datasets have results."
        return Section("not-run", "What was not run", (whole,))
    lines: list[dict[str, Any]] = []
    for name, why in absent.items():
        known = published().get(name)
        lines.append({"dataset": name, "why": why, "rows": None if known is None else known.n_train + known.n_test})
        lines[-1]["gmm"] = paper_value(known, "gmm")
    columns = (
        Column("dataset", "dataset"),
        Column("rows", "rows", "count"),
        Column("gmm", "GMM in the paper", "percent"),
        Column("why", "reason"),
    )
    caption = "Datasets without results, or with some results left out."
    table = Table("not-run-table", "Datasets and reasons", caption, columns, lines)
    return Section("not-run", "What was not run", items=(table,))


def _made(provenance: dict[str, Any]) -> Section:
    if not provenance:
        return Section("made", "How it was measured", missing="There is no provenance.json beside the results.")
    table = provenance_table(provenance)
    return Section("made", "How it was measured", remarks(provenance), (table,) if table.rows else ())


def plots_of(report: Report) -> list[Plot]:
    """Return the plots of a report that have something to show."""
    return [plot for plot in report.all(Plot) if plot.panels]

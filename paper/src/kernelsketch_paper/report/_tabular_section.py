"""The section on tables of data: what ``_tabular`` computes, as tables, diagrams of ranks and sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._comparison import rank_tests
from ._format import signed
from ._parts import Column, Item, Section, Table
from ._tabular import FILE, OURS, PEER, TASKS, Lead, Measurement, Study

KEY, TITLE = "tabular", "Tables of data"
MISSING = f"There is no study of tables beside the results: `python benchmarks/compare_tabular.py` writes {FILE}."
ABOUT = (
    "The tabular models of kernelsketch against tuned boosted trees and support vector machines. Ours are "
    "GCWSTabularClassifier and GCWSTabularRegressor with their defaults. LightGBM and HistGradientBoosting choose "
    "among four settings by 3-fold cross-validation, CatBoost has its defaults, and support vector machines get "
    "standardized columns and choose among nine settings by 3-fold cross-validation on at most 3,000 rows."
)
BETTER = {"accuracy": 1, "rank": -1, "log_loss": -1, "calibration_error": -1, "fit": -1, "row_us": -1}


def tabular_section(rows: list[Measurement]) -> Section:
    """Return the section; it says so if there are no results."""
    if not rows:
        return Section(KEY, TITLE, missing=MISSING)
    text = [ABOUT, _measured(rows)]
    items: list[Item] = []
    for task in TASKS:
        study = Study(task, rows)
        if not study.shared().models:
            text.append(f"There are no results for {task.name} yet.")
            continue
        text.append(" ".join(sentences(study)))
        text += gaps(study)
        title = f"Average ranks on tables, {task.name}"
        ranks = rank_tests(f"ranks-{KEY}-{task.name}", title, study.shared().models, study.table())
        items += [summary_table(study), *([ranks] if ranks else []), dataset_table(study)]
    return Section(KEY, TITLE, tuple(text), tuple(items))


def _measured(rows: list[Measurement]) -> str:
    most = max((row.n_train or 0 for row in rows), default=0)
    n_splits = len({row.split for row in rows})
    limit = f"on at most {most:,} rows" if most else "on rows whose number is not recorded"
    return (
        f"Models train {limit}, with one thread each. There are up to {n_splits} splits of each dataset; the first is "
        "the official one, if there is one. All settings are chosen on the training rows alone, and the time to train "
        "includes that."
    )


def summary_lines(study: Study) -> list[dict[str, Any]]:
    """Return one line per model: means, ranks, the differences to LightGBM, and times."""
    scores, ranks = study.averages(), study.ranks()
    losses, errors = study.averages("log_loss"), study.averages("calibration_error")
    fits, times = study.medians("fit_seconds"), study.medians("row_us")
    lines: list[dict[str, Any]] = []
    for model in study.models:
        line: dict[str, Any] = {"model": model}
        line["accuracy"] = 100 * scores[model] if model in scores else None
        line |= {"rank": ranks.get(model), "log_loss": losses.get(model), "calibration_error": errors.get(model)}
        line |= {"fit": fits.get(model), "row_us": round(times[model], 1) if model in times else None}
        lead = study.lead(model)
        if lead is not None:
            line |= {"lead": lead.mean, "lead_error": lead.error, "worst": lead.worst}
            line |= {"ahead": len(lead.ahead), "behind": len(lead.behind)}
        lines.append(line)
    return lines


def summary_table(study: Study) -> Table:
    """Return the summary with one model per line."""
    lines = summary_lines(study)
    better = BETTER | {"accuracy": study.task.sign}
    best: list[set[str]] = [set() for _ in lines]
    for key, sign in better.items():
        known = [sign * line[key] for line in lines if line[key] is not None]
        for at, line in enumerate(lines):
            if len(known) > 1 and line[key] is not None and sign * line[key] == max(known):
                best[at].add(key)
    columns = [
        Column("model", "model"),
        Column("accuracy", study.task.label, "percent"),
        Column("rank", "rank", "percent"),
    ]
    if study.task.name == "classification":
        columns += [
            Column("log_loss", "log-loss", "decimal"),
            Column("calibration_error", "calibration error", "decimal"),
        ]
    group = f"difference to {PEER}"
    columns += [
        Column("lead", "mean", "points", group),
        Column("lead_error", "standard error", "percent", group),
        Column("ahead", "datasets ahead", "count", group),
        Column("behind", "datasets behind", "count", group),
        Column("worst", "worst", "points", group),
        Column("fit", "to train", "seconds", "median, one thread"),
        Column("row_us", "µs per row", "number", "median, one thread"),
    ]
    n = len(study.shared().splits)
    caption = (
        f"Mean {_score(study)}, and average rank (1 is best), over the {_datasets(n)} on which all models share "
        "splits, and over these splits. The other means and the medians are taken in the same way from the datasets "
        f"that have these numbers. A difference to {PEER}, in points, takes the datasets and splits that both models "
        "have; its standard error is over datasets."
    )
    kept = tuple(c for c in columns if any(line.get(c.key) is not None for line in lines))
    title = f"Tables, {study.task.name}: the models"
    return Table(f"{KEY}-{study.task.name}-summary", title, caption, kept, lines, best=[frozenset(b) for b in best])


def dataset_lines(study: Study) -> list[dict[str, Any]]:
    """Return one line per dataset: its size, the score of each model, and ours minus LightGBM in points."""
    lead = study.lead(OURS)
    lines: list[dict[str, Any]] = []
    for dataset in study.datasets:
        own = [row for row in study.rows if row.dataset == dataset]
        line: dict[str, Any] = {"dataset": dataset}
        for size in ("n_train", "n_features"):
            line[size] = max((v for row in own if (v := getattr(row, size)) is not None), default=None)
        line |= {model: study.score(dataset, model) for model in study.models}
        line["lead"] = None if lead is None else lead.points.get(dataset)
        if any(line[model] is not None for model in study.models):
            lines.append(line)
    return lines


def dataset_table(study: Study) -> Table:
    """Return the scores with one dataset per line. The best is bold among models that have all splits."""
    lines, score = dataset_lines(study), _score(study)
    best = []
    for line in lines:
        known = {m: line[m] for m in study.models if line[m] is not None}
        most = max(value.n for value in known.values())
        rounded = {m: study.task.sign * round(value.mean, 2) for m, value in known.items() if value.n == most}
        best.append(frozenset(m for m, v in rounded.items() if v == max(rounded.values()) and len(known) > 1))
    columns = (
        Column("dataset", "dataset"),
        Column("n_train", "training rows", "count"),
        Column("n_features", "columns", "count"),
        *(Column(model, model, "score") for model in study.models),
        Column("lead", f"{OURS} - {PEER}", "points"),
    )
    caption = (
        f"{score[0].upper()}{score[1:]}: mean ± standard deviation over splits. The best is bold, among the models "
        "that have all splits of the dataset. The difference, in points, takes the splits that both have."
    )
    kept = tuple(c for c in columns if any(line.get(c.key) is not None for line in lines))
    return Table(
        f"{KEY}-{study.task.name}", f"Tables, {study.task.name}: the datasets", caption, kept, lines, best=best
    )


def _score(study: Study) -> str:
    if study.task.sign > 0:
        return "accuracy on the test rows in percent"
    return (
        "root mean square error on the test rows in percent of the standard deviation of the targets (less is better)"
    )


def sentences(study: Study) -> list[str]:
    """Return what the numbers say of ours and LightGBM, and the order of all models by rank."""
    name = study.task.name.capitalize()
    lead = study.lead(OURS)
    if lead is None:
        found = [f"{name}: there is no dataset with results of {OURS} and of {PEER} yet."]
    else:
        found = [*_ahead(name, lead), _mean(study, lead)]
        losses = study.lead(OURS, column="log_loss")
        if losses is not None:
            below, above, of = len(losses.ahead), len(losses.behind), len(losses.points)
            found.append(
                f"Of {_datasets(of)}, the log-loss of {OURS} is lower on {below} and that of {PEER} on {above}."
            )
        fit, predict = study.ratio("fit_seconds"), study.ratio("row_us")
        if fit and predict:
            found.append(
                f"In the median over datasets, {OURS} takes {fit:.2g} times as long as {PEER} to train, and "
                f"{predict:.2g} times as long to predict."
            )
    ranks = study.ranks()
    if len(ranks) > 1:
        n = len(study.shared().splits)
        order = sorted(ranks, key=lambda model: ranks[model])
        listed = ", ".join(f"{model} {ranks[model]:.2f}" for model in order)
        found.append(f"Average ranks over the {_datasets(n)} on which all models share splits: {listed}.")
    return found


def _ahead(name: str, lead: Lead) -> list[str]:
    n, wins, losses = len(lead.points), len(lead.ahead), len(lead.behind)
    found = [f"{name}: {OURS} is ahead of {PEER} on {wins} of {_datasets(n)}" + _listed(lead, lead.ahead[:3], wins)]
    found.append(f"{PEER} is ahead on {losses}" + _listed(lead, lead.behind, losses))
    equal = n - wins - losses
    return [*found, f"They are equal on {equal}."] if equal else found


def _listed(lead: Lead, names: tuple[str, ...], of: int) -> str:
    """Return the datasets with their differences as the end of a sentence."""
    if not names:
        return "."
    start = ", by most on" if len(names) < of else ":"
    return f"{start} {_and(f'{name} ({signed(lead.points[name])})' for name in names)}."


def _mean(study: Study, lead: Lead) -> str:
    n = len(lead.points)
    above = "higher" if lead.mean > 0 else "lower"
    text = f"Over {_datasets(n)} the {study.task.label} of {OURS} is {abs(lead.mean):.2f} points {above} on average"
    if lead.error is None:
        return f"{text}."
    chance = "" if abs(lead.mean) > 2 * lead.error else ", which may be chance"
    return f"{text} (standard error {lead.error:.2f}){chance}."


def gaps(study: Study) -> list[str]:
    """Return which models lack datasets or splits."""
    found = []
    absent = {m: [d for d in study.datasets if not study.splits(d, m)] for m in study.models}
    listed = [f"{model} on {_and(names)}" for model, names in absent.items() if names]
    if listed:
        found.append(f"No result for {study.task.name}: {'; '.join(listed)}.")
    every = {d: set.union(*(study.splits(d, m) for m in study.models)) for d in study.datasets}
    fewer = {m: sum(0 < len(study.splits(d, m)) < len(every[d]) for d in study.datasets) for m in study.models}
    short = [f"{model} on {_datasets(n)}" for model, n in fewer.items() if n]
    if short:
        found.append(f"Fewer splits than other models for {study.task.name}: {', '.join(short)}.")
    return found


def _datasets(n: int) -> str:
    return f"{n} dataset" if n == 1 else f"{n} datasets"


def _and(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last

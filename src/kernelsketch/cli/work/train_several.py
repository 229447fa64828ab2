"""What ``kernelsketch train`` saves and prints about a model of several labels: one output per label."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ...formats import RowStream
from .._options import label_of
from .._progress import format_duration
from ..commands.train import Train
from .train_table import saved_facts, saved_lines


def save_several(model: Any, task: Train, stream: RowStream, rows: int) -> dict[str, Any]:
    """Save a model of several labels with their columns, and return facts about it."""
    labels = [label_of(stream, task), *task.labels[1:]]
    for one, label in zip(model.estimators_, labels, strict=True):
        one.model_.fitted_ = replace(one.model_.fitted_, label_column=label)
    outputs = [
        {
            "label": label,
            "held_out_metric": one.held_out_metric_,
            "held_out_score": _known(one.held_out_score_),
            "held_out_standard_error": _known(one.held_out_error_),
            "C": float(one.model_.C),
            "trees_share": one.trees_share_,
        }
        for one, label in zip(model.estimators_, labels, strict=True)
    ]
    return {**saved_facts(model, task, rows), "effort": model.effort, "outputs": outputs}


def _known(score: float) -> float | None:
    return float(score) if math.isfinite(score) else None


def several_lines(facts: dict[str, Any], stream: RowStream) -> dict[str, str]:
    sampled = f"; {facts['training_rows']:,} rows at random train" if facts["training_rows"] < facts["rows"] else ""
    lines = {"data": f"{facts['rows']:,} rows, {facts['n_features']:,} columns ({stream.format}){sampled}"}
    for output in facts["outputs"]:
        score, error = output["held_out_score"], output["held_out_standard_error"]
        margin = "" if error is None else f" ± {error:.4f}"
        score = f"{output['held_out_metric']} {'unknown' if score is None else f'{score:.4f}{margin}'}"
        lines[f"label {output['label']}"] = f"{score} on held-out rows, C={output['C']:g}"
    return {**lines, "time": f"{format_duration(facts['learn_seconds'])} for learning", **saved_lines(facts)}

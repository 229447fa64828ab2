"""What ``kernelsketch train`` saves and prints about a model of several labels: one output per label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...formats import RowStream
from .._options import label_of
from .._progress import format_duration
from .._results import format_bytes
from ..commands.train import Train


def save_several(model: Any, task: Train, stream: RowStream, rows: int) -> dict[str, Any]:
    """Save a model of several labels with their columns, and return facts about it."""
    labels = [label_of(stream, task), *task.labels[1:]]
    for one, label in zip(model.estimators_, labels, strict=True):
        one.model_.fitted_ = replace(one.model_.fitted_, label_column=label)
    model.save(task.model)
    outputs = [
        {
            "label": label,
            "held_out_metric": one.held_out_metric_,
            "held_out_score": one.held_out_score_,
            "held_out_standard_error": one.held_out_error_,
            "C": float(one.model_.C),
            "trees_share": one.trees_share_,
        }
        for one, label in zip(model.estimators_, labels, strict=True)
    ]
    return {
        "model": str(task.model),
        "estimator": type(model).__name__,
        "bytes": task.model.stat().st_size,
        "rows": rows,
        "n_features": int(model.n_features_in_),
        "effort": model.effort,
        "outputs": outputs,
    }


def several_lines(facts: dict[str, Any], stream: RowStream) -> dict[str, str]:
    sampled = f"; {facts['training_rows']:,} rows at random train" if facts["training_rows"] < facts["rows"] else ""
    lines = {"data": f"{facts['rows']:,} rows, {facts['n_features']:,} columns ({stream.format}){sampled}"}
    for output in facts["outputs"]:
        score = f"{output['held_out_metric']} {output['held_out_score']:.4f} ± {output['held_out_standard_error']:.4f}"
        lines[f"label {output['label']}"] = f"{score} on held-out rows, C={output['C']:g}"
    peak = {} if facts["peak_bytes"] is None else {"memory": f"{format_bytes(facts['peak_bytes'])} at the peak"}
    time = f"{format_duration(facts['learn_seconds'])} for learning"
    return {**lines, "time": time, **peak, "model": f"{facts['model']}, {format_bytes(facts['bytes'])}"}

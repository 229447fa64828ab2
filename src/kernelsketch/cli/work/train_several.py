"""What ``kernelsketch train`` saves and prints about a model of several labels: one output per label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...formats import RowStream
from .._label_facts import label_facts, label_lines
from .._options import label_of
from .._progress import format_duration
from ..commands.train import Train
from .train_table import saved_facts, saved_lines


def save_several(model: Any, task: Train, stream: RowStream, rows: int) -> dict[str, Any]:
    """Save a model of several labels with their columns, and return facts about it."""
    labels = [label_of(stream, task), *task.labels[1:]]
    for one, label in zip(model.estimators_, labels, strict=True):
        one.model_.fitted_ = replace(one.model_.fitted_, label_column=label)
    outputs = [label_facts(one, label) for one, label in zip(model.estimators_, labels, strict=True)]
    return {**saved_facts(model, task, rows), "effort": model.effort, "outputs": outputs}


def several_lines(facts: dict[str, Any], stream: RowStream) -> dict[str, str]:
    sampled = f"; {facts['training_rows']:,} rows at random train" if facts["training_rows"] < facts["rows"] else ""
    return {
        "data": f"{facts['rows']:,} rows, {facts['n_features']:,} columns ({stream.format}){sampled}",
        **label_lines(facts["outputs"]),
        "time": f"{format_duration(facts['learn_seconds'])} for learning",
        **saved_lines(facts),
    }

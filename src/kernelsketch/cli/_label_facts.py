"""What commands print about the outputs of a model of several labels."""

from __future__ import annotations

import math
from typing import Any


def label_facts(output: Any, label: str | int | None) -> dict[str, Any]:
    """Return facts about the model of one label of several."""
    return {
        "label": label,
        "held_out_metric": output.held_out_metric_,
        "held_out_score": _known(output.held_out_score_),
        "held_out_standard_error": _known(output.held_out_error_),
        "C": float(output.model_.C),
        "trees_share": output.trees_share_,
    }


def _known(score: float) -> float | None:
    return float(score) if math.isfinite(score) else None


def label_lines(outputs: list[dict[str, Any]]) -> dict[str, str]:
    """Return the held-out score and C of each label as lines."""
    lines = {}
    for output in outputs:
        score, error = output["held_out_score"], output["held_out_standard_error"]
        margin = "" if error is None else f" ± {error:.4f}"
        shown = f"{output['held_out_metric']} {'unknown' if score is None else f'{score:.4f}{margin}'}"
        lines[f"label {output['label']}"] = f"{shown} on held-out rows, C={output['C']:g}"
    return lines

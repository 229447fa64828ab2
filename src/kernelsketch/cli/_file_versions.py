"""Versions of files: what a file of an earlier version lacks, and what a model can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..storage import Schema


def version_facts(header: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return the version of a file and the current one, and what files of its version do not have."""
    found = int(header["format_version"])
    return {
        "file_version": found,
        "current_version": schema.version,
        "is_current": found == schema.version,
        "lacks": list(schema.lacks[found - 1 :]) or None,
    }


def version_lines(facts: dict[str, Any], path: str, upgraded: str | None) -> dict[str, str]:
    """Return the same as lines; the facts have them no longer."""
    names = ("file_version", "current_version", "is_current", "lacks")
    found, current, is_current, lacks = (facts.pop(name, None) for name in names)
    if found is None:
        return {}
    if is_current:
        return {"file version": f"{found}, current"}
    lines = {"file version": f"{found}, but {current} is current"}
    if lacks:
        lines["it lacks"] = "; ".join(lacks)
    how = f"kernelsketch info {path} --upgrade NEW" if upgraded is None else f"written to {upgraded}"
    return {**lines, "upgrade": f"{how}; to get what the file lacks, train again"}


def abilities(model: Any) -> list[str]:
    """Return what a model of a file can do, in words, by the options of commands."""
    inner = getattr(model, "model_", model)
    found = ["predict"]
    if hasattr(model, "predict_proba"):
        found.append("predict --proba")
    if inner is not model:
        found.append("predict --explain")
        if getattr(model, "_intervals", None) is not None:  # held-out rows of the fit, which older files lack
            found.append("predict --interval")
    elif can_continue(model):
        found.append("train --continue")
    return found


def can_continue(model: Any) -> bool:
    """Return whether a model can learn from new rows alone."""
    return not why_not(model)


def why_not(model: Any) -> str:
    """Return what keeps a model from learning from new rows alone; an empty text if nothing does."""
    if hasattr(model, "columns_"):
        return (
            "is a model of a table. Its columns, their weights, C, the calibration and the trees were chosen from all "
            "rows together, and new rows alone cannot correct them"
        )
    if not hasattr(type(model), "partial_fit"):
        return f"is a {type(model).__name__}, which chose C={float(model.C_):g} from all rows"
    reasons = {
        "calibrates probabilities, for which it needs all rows": getattr(model, "probability", None) is not None,
        "weights classes by their frequencies among all rows": getattr(model, "class_weight", None) == "balanced",
        "scales columns by what it found in all rows": model.fitted_.scaling is not None,
        "does not say how many rows the model was trained on, so that new rows cannot be weighed against them": (
            model.training_.rows is None and model.training_.stream is None
        ),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")

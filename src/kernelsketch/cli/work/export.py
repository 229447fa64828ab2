"""``kernelsketch export``: load a model as a predictor and write it in another form."""

from __future__ import annotations

import re
from pathlib import Path

from ...serving import Predictor
from ...storage import write_atomically
from .._results import format_bytes, print_facts


def export(model: Path, output: Path, name: str | None) -> None:
    predictor = Predictor.load(model)
    if output.suffix == ".onnx":
        content = predictor.to_onnx()
    else:
        name = re.sub("[^A-Za-z0-9_]", "_", output.stem) if name is None else name
        content = predictor.to_c(name if re.match("[A-Za-z]", name) else f"model_{name}").encode()
    write_atomically(output, content)
    print_facts({"model": repr(predictor), "output": f"{output}, {format_bytes(len(content))}"})

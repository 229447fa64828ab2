"""``kernelsketch export``: load a model as a predictor and write it in another form."""

from __future__ import annotations

import re

from ...serving import Predictor
from ...storage import write_atomically
from .._progress import ProgressMeter
from .._results import format_bytes, print_facts, print_json
from ..commands.export import Export


def export(task: Export) -> None:
    with ProgressMeter("exporting", task.quiet) as meter:
        predictor = Predictor.load(task.model)
        if task.output.suffix == ".onnx":
            content = predictor.to_onnx()
        else:
            name = re.sub("[^A-Za-z0-9_]", "_", task.output.stem) if task.name is None else task.name
            content = predictor.to_c(name if re.match("[A-Za-z]", name) else f"model_{name}").encode()
        write_atomically(task.output, content)
    if task.json:
        facts = {"model": str(task.model), "predictor": repr(predictor), "output": str(task.output)}
        print_json(facts | {"bytes": len(content), "seconds": meter.seconds})
    else:
        print_facts({"model": repr(predictor), "output": f"{task.output}, {format_bytes(len(content))}"})

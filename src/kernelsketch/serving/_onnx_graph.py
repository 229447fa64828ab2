"""``OnnxGraph``: nodes and constants of an ONNX graph, and the outputs that classifiers have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count
from typing import Any

import numpy as np

from .._array import Array
from ..exceptions import InputError, MissingExtraError
from ._model_file import stored_versions

OPSET, ML_OPSET = 17, 3
WHOLE_LABELS = np.iinfo(np.int64)  # the least one stands for rows without a prediction


class OnnxGraph:
    """Nodes and constants, with names that are made up. A call adds a node with one output and returns its name.

    Parameters
    ----------
    taken : collection of str
        Names of the inputs, which outputs must not have: they get an underscore.
    """

    def __init__(self, taken: Collection[str] = ()) -> None:
        try:
            import onnx
        except ImportError:
            raise MissingExtraError("onnx", "onnx") from None
        self._onnx, self._numbers, self._taken = onnx, count(), set(taken)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[tuple[str, str, list[Any]]] = []

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = self._name()
        self._nodes.append(self._onnx.helper.make_node(op, inputs, [name], **attributes))
        return name

    def ml(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of the operators for machine learning."""
        return self(op, *inputs, domain="ai.onnx.ml", **attributes)

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        name = self._name()
        self._constants.append(self.tensor(value, dtype, name))
        return name

    def tensor(self, value: Any, dtype: Any, name: str | None = None) -> Any:
        """Return an array as an attribute of a node."""
        return self._onnx.numpy_helper.from_array(np.asarray(value, dtype), name)

    def cast(self, x: str, dtype: Any) -> str:
        return self("Cast", x, to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def rounded(self, x: str) -> str:
        """Round float64 to the nearest float32, as float64."""
        return self.cast(self.cast(x, np.float32), np.float64)

    def taken(self, x: str, places: Sequence[int] | Array | int, axis: int = 1) -> str:
        """Take some places of an axis, or one, without which it then is."""
        return self("Gather", x, self.constant(places, np.int64), axis=axis)

    def joined(self, parts: Sequence[str], axis: int = 1) -> str:
        return parts[0] if len(parts) == 1 else self("Concat", *parts, axis=axis)

    def every(self, x: str) -> str:
        """Return whether all flags of rows are set, (rows, 1)."""
        return self.cast(self("ReduceMin", self.cast(x, np.float64), axes=[1], keepdims=1), bool)

    def summed(self, x: str, count: int, axis: int = 1) -> str:
        """Return sums over an axis of ``count`` numbers, from the first to the last: no other order, no extra bits."""
        sums = self("CumSum", x, self.constant(axis, np.int64))
        return self.taken(sums, count - 1, axis)

    def without(self, x: str, invalid: str | None) -> str:
        """Return values that are NaN in the rows (rows, 1) that have no prediction."""
        return x if invalid is None else self("Where", invalid, self.constant(np.nan), x)

    def label(self, classes: Array, number: str, invalid: str | None) -> None:
        """Add the output of labels for the numbers of classes (rows,): the least integer or "" where there is none."""
        is_whole = classes.dtype.kind in "iu" and int(classes.max()) <= WHOLE_LABELS.max
        labels = classes.tolist() if is_whole else [str(label) for label in classes.tolist()]
        for label in [] if is_whole else labels:
            if (ascii_text := label.encode("utf-8", "backslashreplace").decode()) != label:
                raise InputError(
                    f"the class '{ascii_text}' has a lone surrogate, which ONNX cannot store: fit the model with "
                    "another label."
                )
        labels.append(WHOLE_LABELS.min if is_whole else "")
        if invalid is not None:
            flags = self("Squeeze", invalid, self.constant([1], np.int64))
            number = self("Where", flags, self.constant(len(classes), np.int64), number)
        found = self("Gather", self.constant(labels, np.int64 if is_whole else object), number)
        self.output("label", "int64" if is_whole else "string", [], found)

    def output(self, name: str, kind: str, shape: list[int], x: str) -> None:
        """Make a value an output, of a shape after the rows."""
        while name in self._taken:
            name += "_"
        self._nodes.append(self._onnx.helper.make_node("Identity", [x], [name]))
        self._outputs.append((name, kind, ["rows", *shape]))

    def model(self, inputs: Sequence[tuple[str, str, list[int]]]) -> bytes:
        """Return the graph as the bytes of a file, for inputs with their types and their shapes after the rows."""
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        names = {"double": kinds.DOUBLE, "int64": kinds.INT64, "string": kinds.STRING}

        def infos(values: Any) -> list[Any]:
            return [helper.make_tensor_value_info(name, names[kind], shape) for name, kind, shape in values]

        read = {name for node in self._nodes for name in node.input}
        constants = [constant for constant in self._constants if constant.name in read]
        given = [(name, kind, ["rows", *shape]) for name, kind, shape in inputs]
        graph = helper.make_graph(self._nodes, "kernelsketch", infos(given), infos(self._outputs), constants)
        domains = {"": OPSET}
        if any(node.domain for node in self._nodes):
            domains["ai.onnx.ml"] = ML_OPSET
        opsets = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
        made = helper.make_model(graph, opset_imports=opsets, producer_name="kernelsketch", ir_version=8)
        made.producer_version = stored_versions()["kernelsketch"]
        self._onnx.checker.check_model(made, full_check=True)
        return bytes(made.SerializeToString())

    def _name(self) -> str:
        return next(name for i in self._numbers if (name := f"kernelsketch/{i}") not in self._taken)

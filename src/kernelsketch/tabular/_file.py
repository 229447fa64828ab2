"""Files of tabular models: columns, views and the linear model in one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..exceptions import InputError, ParameterError
from ..serving import MODEL_SCHEMA, LinearModel, stored_model, stored_versions
from ..storage import OPTIONAL, Field, Schema, Tensor, Tensors, Text, With, load_file, nested, read_header, save_file
from ._choices import CHOICES, DROPPED, INFINITY
from ._columns import DATE_PARTS, ColumnPlan, TablePlan
from ._effort import effort_of
from ._features import ABSENT, Features
from ._frame import CATEGORY, DATE, NUMBER
from ._free_text import restored_texts, stored_texts
from ._model import TableModel
from ._notation import check_notation
from ._root_link import RootLink
from ._statistics import Levels, Statistics
from ._trees import NODE_TYPES, Trees
from ._views import LARGEST, VIEWS, Scales, Views

if TYPE_CHECKING:
    from ._intervals import Intervals

TABULAR_FORMAT = "kernelsketch.tabular"
SEVERAL_FORMAT = "kernelsketch.tabular.several"
OUTPUT, MOST_OUTPUTS = "output_", 1000
MODEL = "model"
FLAGS = ("has_other", "has_missing", "is_number")
SCALES = ("unit", "low", "high", "mean", "spread")
KINDS = (NUMBER, DATE, CATEGORY)
TREES = "trees."  # begins the names of the tensors of boosted trees
_MODEL = nested(MODEL_SCHEMA, MODEL)
SPREAD = "intervals.spread."  # begins those of the trees of the spread of errors


def _tensors_of_trees(start: str, of: str = "") -> dict[str, Tensor]:
    """Return the tensors of trees; ``of`` ends the names of their dimensions."""
    there = With(start + "baseline")
    return {
        start + "baseline": Tensor("f8", (f"outputs{of}",), OPTIONAL, finite=True),
        start + "roots": Tensor("i4", (f"trees{of}",), there),
        **{
            start + name: Tensor(np.dtype(dtype).str[1:], (f"nodes{of}",), there, finite=name == "value")
            for name, dtype in NODE_TYPES.items()
        },
    }


_TREES = _tensors_of_trees(TREES)

TABULAR_SCHEMA = Schema(
    kind="a tabular model",
    format=TABULAR_FORMAT,
    version=4,
    lacks=(
        "more than three views, the temperature of probabilities",
        "cycles of dates, free text, mean targets of categories",
        "rows for explanations, intervals, choices about columns, thresholds, counts",
    ),
    fields={
        "estimator": Field(str),
        "parameters": Field(dict),
        "effort": Field(dict, required=False),  # the work of the fit; if it is not there, that of the name
        "named": Field(bool),  # whether the columns had names
        "infinity": Field(str, required=False),  # one of INFINITY; "error" if it is not there
        "views": Field(str),  # their names, with commas between them
        "trees_share": Field(float, 0, 1),  # of the boosted trees in the blend; 0 if there are none
        "temperature": Field(float, 0.01, 100, required=False),  # that divides decision values; 1 if it is not there
        "threshold": Field(float, 0, 1, required=False),  # of the probability of the second of two classes
        "scoring": Field(str, required=False),  # name of the score of held-out rows; if it is not there, the usual one
        "held_out_score": Field(float, most=1, required=False),  # not known if it is not there
        "held_out_error": Field(float, 0, required=False),  # of the score; not known if it is not there
        "held_out_scores": Field(dict, required=False),  # numbers by name
        "exponent": Field(int, -1100, 1100),  # the targets of a regressor are multiples of this power of 2
        "versions": Field(dict),
        **_MODEL.fields,
    },
    tensors={
        "column_names": Text("columns", "always"),
        "column_kinds": Tensor("u1", ("columns",)),
        "column_treatments": Text("columns", "always"),
        "column_missing": Tensor("i8", ("columns",)),
        "column_flags": Tensor("u1", ("columns", len(FLAGS))),
        "column_parts": Tensor("u1", ("columns", "date parts")),  # the first ones of DATE_PARTS
        "column_choices": Tensor("u1", ("columns",), OPTIONAL),  # numbers in CHOICES, if the user made some
        "column_notations": Text("columns"),  # if one of them is not the plain one
        "category_counts": Tensor("i8", ("columns",)),
        "categories": Text("categories"),
        "text_counts": Tensor("i8", ("columns", 3), OPTIONAL),  # words, shingles and components
        "text_words": Text("text words", With("text_counts")),
        "text_shingles": Tensor("i8", ("text shingles",), With("text_counts")),
        "text_idf": Tensor("f4", ("text shingles",), With("text_counts"), finite=True),
        "text_directions": Tensor("f4", ("text directions",), With("text_counts"), finite=True),
        "means.values": Tensor("f8", ("levels of means", "folds", "outputs"), OPTIONAL, finite=True),
        "means.columns": Tensor("i8", ("columns with means",), With("means.values")),
        "means.counts": Tensor("i8", ("columns with means",), With("means.values")),  # of categories with names
        "means.names": Text("categories with means"),
        "link": Tensor("f8", ("numbers of a link",), OPTIONAL, finite=True),  # those of RootLink
        "importances": Tensor("f8", ("columns",), finite=True),
        "background.numbers": Tensor("f8", ("background rows", "feature numbers"), OPTIONAL),
        "background.positions": Tensor("i4", ("background rows", "columns with flags"), With("background.numbers")),
        "scale.is_number": Tensor("u1", ("features",)),
        **{f"scale.{name}": Tensor("f8", ("numbers",), finite=True) for name in SCALES},
        "scale.quantiles": Tensor("f8", ("levels", "numbers"), finite=True),
        "component_mean": Tensor("f8", ("features",), finite=True),
        "directions": Tensor("f8", ("features", "components"), finite=True),
        "weights": Tensor("f4", ("view columns",), finite=True),
        **_TREES,
        "intervals.scores": Tensor("f8", ("scores",), OPTIONAL, finite=True),  # of held-out rows, ascending
        **_tensors_of_trees(SPREAD, " of the spread"),
        **_MODEL.tensors,
    },
    sizes=_MODEL.sizes,
    rules=_MODEL.rules,
)


class Persistent:
    """A tabular model that can be written to a file and read from it."""

    def save(self, path: Any, *, background: bool = True) -> None:
        """Write the fitted model to a safetensors file atomically: the preparation of columns and the linear model.

        Parameters
        ----------
        path : str or path
            By convention it ends in ``.safetensors``.
        background : bool, default=True
            Whether the file has the features of up to 64 training rows, with which ``explain`` compares. If these must
            not leave your hands, pass False, and some rows to ``explain``.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        save_tabular(self, Path(path), background=background)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model that :meth:`save` wrote. Its predictions are the same to the last bit.

        Loading runs nothing that the file contains. A damaged or hostile file raises an
        :class:`~kernelsketch.exceptions.InputError`.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        model : an estimator of this class
        """
        model: Self = read_tabular(Path(path), {cls.__name__: cls})
        return model


def save_tabular(model: Any, path: Path, *, background: bool = True) -> None:
    """Write a fitted model atomically."""
    if not model._has_several:
        return save_file(path, TABULAR_SCHEMA, *_content(model, background))
    outputs = model.estimators_
    whole: dict[str, Any] = {"estimator": type(model).__name__, "n_outputs": len(outputs)}
    whole["parameters"] = _parameters(model, outputs[0].model_.random_state)
    tensors: Tensors = {}
    for i, one in enumerate(outputs):
        name = f"{OUTPUT}{i}"
        whole[name], inner = _content(one, background)
        tensors |= {f"{name}.{key}": tensor for key, tensor in inner.items()}
    return save_file(path, _schema_of_several(len(outputs)), whole, tensors)


def _schema_of_several(n_outputs: int) -> Schema:
    """Return the schema of a file with a model per output."""
    parts = [nested(TABULAR_SCHEMA, f"{OUTPUT}{i}") for i in range(n_outputs)]
    fields = {"estimator": Field(str), "parameters": Field(dict), "n_outputs": Field(int, n_outputs, n_outputs)}
    return Schema(
        kind="a tabular model of several outputs",
        format=SEVERAL_FORMAT,
        version=1,
        fields=fields | {name: field for part in parts for name, field in part.fields.items()},
        tensors={name: tensor for part in parts for name, tensor in part.tensors.items()},
        sizes={name: size for part in parts for name, size in part.sizes.items()},
        rules=tuple(rule for part in parts for rule in part.rules),
    )


def _content(model: Any, background: bool) -> tuple[dict[str, Any], Tensors]:
    """Return the header and the tensors of a model of one output."""
    from ..linear import estimator_content

    plan, views, scales = model._plan, model._views, model._views.scales
    header, inner = estimator_content(model.model_)
    columns = plan.columns
    tensors: Tensors = {
        "column_names": [column.name for column in columns],
        "column_kinds": np.array([KINDS.index(column.kind) for column in columns], np.uint8),
        "column_treatments": [column.treatment for column in columns],
        "column_missing": np.array([column.n_missing for column in columns], np.int64),
        "column_flags": np.array([[getattr(column, flag) for flag in FLAGS] for column in columns], np.uint8),
        "column_parts": np.array([[part in column.parts for part in DATE_PARTS] for column in columns], np.uint8),
        "category_counts": np.array([len(column.categories) for column in columns], np.int64),
        "importances": model.feature_importances_,
        "scale.is_number": scales.is_number.astype(np.uint8),
        **{f"scale.{name}": getattr(scales, name) for name in (*SCALES, "quantiles")},
        "component_mean": views.mean,
        "directions": views.directions,
        "weights": np.concatenate(views.weights),
        **{f"{MODEL}.{name}": tensor for name, tensor in inner.items()},
    }
    if model._trees is not None:
        tensors |= {name: getattr(model._trees, name.removeprefix(TREES)) for name in _TREES}
    if model._intervals is not None:
        tensors |= _intervals_tensors(model._intervals)
    categories = [category for column in columns for category in column.categories]
    if categories:
        tensors["categories"] = categories
    kept = getattr(model, "_background", None)
    if background and kept is not None:
        tensors |= {"background.numbers": kept.numbers, "background.positions": kept.positions}
    tensors |= stored_texts([column.text for column in columns])
    if plan.statistics is not None:
        tensors |= _means_tensors(plan.statistics)
    if any(column.notation for column in columns):
        tensors["column_notations"] = [column.notation for column in columns]
    if any(column.choice for column in columns):
        tensors["column_choices"] = np.array([CHOICES.index(column.choice) for column in columns], np.uint8)
    whole = {
        "estimator": type(model).__name__,
        "parameters": _parameters(model, model.model_.random_state),
        "effort": model.effort_,
        "named": plan.named,
        "infinity": plan.infinity,
        "views": ",".join(views.names),
        "trees_share": float(model.trees_share_),
        "temperature": float(model._temperature),
        "held_out_scores": model.held_out_scores_,
        "exponent": model._exponent,
        "versions": stored_versions(),
        MODEL: header,
    }
    if np.isfinite(model.held_out_error_):
        whole["held_out_error"] = float(model.held_out_error_)
    if np.isfinite(model.held_out_score_):
        whole["held_out_score"] = float(model.held_out_score_)
    if getattr(model, "threshold_", None) is not None:
        whole["threshold"] = float(model.threshold_)
    if model._scored is not None:
        whole["scoring"] = model._scored
    if model._link is not None:
        tensors["link"] = np.array(model._link)
    return whole, tensors


def _intervals_tensors(intervals: Intervals) -> Tensors:
    found: Tensors = {"intervals.scores": intervals.scores}
    if intervals.spread is not None:
        names = (*NODE_TYPES, "roots", "baseline")
        found |= {SPREAD + name: getattr(intervals.spread, name) for name in names}
    return found


def _means_tensors(statistics: Statistics) -> Tensors:
    levels = statistics.levels
    tensors: Tensors = {
        "means.values": np.concatenate(statistics.means),
        "means.columns": np.array(levels.columns, np.int64),
        "means.counts": np.array([len(names) for names in levels.names], np.int64),
    }
    names = [name for names in levels.names for name in names]
    return tensors | {"means.names": names} if names else tensors


def _parameters(model: Any, seed: Any) -> dict[str, Any]:
    """Return the parameters as a header can hold them. The linear model holds class_weight and the seed."""
    kept: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        if name == "random_state":
            kept[name] = int(seed)
        elif isinstance(value, dict) and name == "effort":
            kept[name] = effort_of(value).settings()
        elif name != "class_weight":
            kept[name] = _plain(value)
    return kept


def _plain(value: Any) -> Any:
    """Return a parameter, whose arrays are lists then, as a header can hold it."""
    if value is None or isinstance(value, str) or not hasattr(value, "__len__"):
        return value.item() if isinstance(value, np.generic) else value
    return [_plain(item) for item in value]


def read_tabular(path: Path, kinds: dict[str, Any]) -> Any:
    """Read a tabular model of one of the classes in ``kinds``, which are given by name."""

    def kind_of(header: dict[str, Any]) -> Any:
        name = header["estimator"]
        if name not in kinds:
            raise InputError(f"{path} holds a {name[:60]}: read it with kernelsketch.load_model.")
        return kinds[name]

    def restore(header: dict[str, Any], tensors: Tensors) -> Any:
        return _restore(kind_of(header), header, tensors, str(path))

    def restore_several(header: dict[str, Any], tensors: Tensors) -> Any:
        return _restore_several(kind_of(header), header, tensors, str(path))

    header = read_header(path)
    if header.get("format") != SEVERAL_FORMAT:
        return load_file(path, TABULAR_SCHEMA, restore)
    n_outputs = header.get("n_outputs")
    if type(n_outputs) is not int or not 2 <= n_outputs <= MOST_OUTPUTS:
        raise InputError(f"{path} is damaged: n_outputs is {repr(n_outputs)[:60]}.")
    return load_file(path, _schema_of_several(n_outputs), restore_several)


def _restore_several(kind: Any, header: dict[str, Any], tensors: Tensors, path: str) -> Any:
    fitted = []
    for i in range(header["n_outputs"]):
        start = f"{OUTPUT}{i}."
        inner = {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
        head = header[f"{OUTPUT}{i}"]
        if head["estimator"] != kind.__name__:
            raise InputError(f"{path} is damaged: its outputs are not all of one class of models.")
        fitted.append(_restore(kind, head, inner, path))
    columns = [[column.name for column in one.columns_] for one in fitted]
    if any(names != columns[0] for names in columns) or len({one._plan.named for one in fitted}) > 1:
        raise InputError(f"{path} is damaged: its outputs have different columns.")
    parameters = dict(header["parameters"])
    if hasattr(fitted[0], "classes_"):
        parameters["class_weight"] = fitted[0].class_weight
    model = kind(**parameters)
    model._validate_params()
    model._set_outputs(fitted)
    if hasattr(fitted[0], "classes_"):
        if any(one.classes_.tolist() != [0, 1] for one in fitted):
            raise InputError(f"{path} is damaged: an output of several labels has other classes than 0 and 1.")
        model.classes_ = fitted[0].classes_
    return model


def _restore(kind: Any, header: dict[str, Any], tensors: Tensors, path: str) -> Any:
    from ..linear import LINEAR_MODELS, restored_model
    from ._goals import CLASS_SCORES, NUMBER_SCORES  # need SciPy and scikit-learn

    head = restored_model(header[MODEL], _inner(tensors), path, LINEAR_MODELS)
    if hasattr(head, "classes_") and head.probability is None:
        raise InputError(f"{path} is damaged: its linear model has no probabilities.")
    parameters = dict(header["parameters"])
    if hasattr(head, "class_weight") and hasattr(kind, "predict_proba"):
        parameters["class_weight"] = head.class_weight
    model = kind(**parameters)
    model._validate_params()
    try:
        model.effort_ = effort_of(header.get("effort", model.effort)).settings()
        effort_of(model.effort)
    except ParameterError as error:
        raise InputError(f"{path} is damaged: {error}") from None
    table = _table_model(head.fitted_, header, tensors, path)
    plan = table.plan
    model._plan, model._views, model.model_ = plan, table.views, head
    model._trees, model.trees_share_ = table.trees, table.share
    model._temperature, model._exponent, model._link = table.temperature, table.exponent, table.link
    model._intervals = _intervals(plan, head, tensors)
    model.held_out_score_ = float(header.get("held_out_score", np.nan))
    is_class, model._scored = hasattr(head, "classes_"), header.get("scoring")
    if model._scored is not None and model._scored not in (CLASS_SCORES if is_class else NUMBER_SCORES):
        raise InputError(f"{path} is damaged: scoring={model._scored[:60]!r} is not known.")
    if is_class:
        model.threshold_ = table.threshold
    else:
        model._loss = model.loss if table.link is None else "poisson"
    model.held_out_error_ = float(header.get("held_out_error", np.nan))
    model.held_out_scores_ = _scores(header.get("held_out_scores", {}), path)
    model.n_features_in_ = len(plan.columns)
    model._importances = tensors["importances"]
    model._background = _background(plan, tensors)
    if plan.named:
        model.feature_names_in_ = np.array([column.name for column in plan.columns], dtype=object)
    if hasattr(head, "classes_"):
        model.classes_ = head.classes_
    return model


def _background(plan: TablePlan, tensors: Tensors) -> Features | None:
    """Return the features of the training rows that explanations compare with, if the file has them."""
    if "background.numbers" not in tensors:
        return None
    numbers, positions = tensors["background.numbers"], tensors["background.positions"]
    is_number, starts = plan.layout
    ends = np.append(starts[1:], len(is_number))[: len(starts)]
    flags = np.array([(~is_number[start:end]).sum() for start, end in zip(starts, ends, strict=True)], np.int64)
    fits = len(numbers) > 0 and numbers.shape[1] == is_number.sum() and positions.shape[1] == len(starts)
    if not fits or np.isinf(numbers).any() or (positions < ABSENT).any() or (positions >= flags).any():
        raise InputError("the background rows do not fit the columns.")
    return Features(is_number, np.asfortranarray(numbers), starts, np.asfortranarray(positions))


def read_table_model(path: Path) -> TableModel:
    """Read what predictions need of a tabular model, without scikit-learn."""

    def restore(header: dict[str, Any], tensors: Tensors) -> TableModel:
        linear = stored_model(header[MODEL], _inner(tensors), str(path))
        if linear.classes is not None and linear.calibration is None:
            raise InputError(f"{path} is damaged: its linear model has no probabilities.")
        return _table_model(linear, header, tensors, str(path))

    return load_file(path, TABULAR_SCHEMA, restore)


def _inner(tensors: Tensors) -> Tensors:
    """Return the tensors of the linear model."""
    start = f"{MODEL}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}


def _table_model(linear: LinearModel, header: dict[str, Any], tensors: Tensors, path: str) -> TableModel:
    columns, n_outputs = tuple(_columns(tensors)), len(linear.weights)
    infinity, threshold = header.get("infinity", "error"), header.get("threshold")
    if infinity not in INFINITY:
        raise InputError(f"{path} is damaged: infinity={infinity[:60]!r} is not known.")
    if threshold is not None and (linear.classes is None or len(linear.classes) != 2):
        raise InputError(f"{path} is damaged: it has a threshold, but not two classes.")
    plan = TablePlan(columns, header["named"], _statistics(columns, n_outputs, tensors), infinity)
    views, trees, share = (
        _views(plan, header["views"], tensors),
        _trees(plan, n_outputs, tensors),
        header["trees_share"],
    )
    if not views.is_bounded() or not (np.abs(linear.intercepts) < LARGEST).all():
        raise InputError(f"{path} is damaged: its scales give numbers that single precision cannot hold.")
    if sum(views.widths) != linear.n_features or len(tensors["importances"]) != len(plan.columns):
        raise InputError(f"{path} is damaged: its views do not fit its linear model.")
    if (trees is None) != (share == 0) or share >= 1:
        raise InputError(f"{path} is damaged: its trees do not fit trees_share={share}.")
    temperature, exponent = float(header.get("temperature", 1.0)), int(header["exponent"])
    link = tensors.get("link")
    if link is not None and (linear.classes is not None or len(link) != 3 or not (link[1:] >= 0).all()):
        raise InputError(f"{path} is damaged: its link from roots to counts is not one.")
    root = None if link is None else RootLink(*map(float, link))
    return TableModel(plan, views, linear, trees, float(share), temperature, exponent, root, threshold)


def _scores(stored: dict[str, Any], path: str) -> dict[str, float]:
    """Return the scores of held-out rows by name."""
    if not all(type(score) in (int, float) and 0 <= score <= sys.float_info.max for score in stored.values()):
        raise InputError(f"{path} is damaged: held_out_scores has a value that is no score.")
    return {name: float(score) for name, score in stored.items()}


def _trees(plan: TablePlan, n_outputs: int, tensors: Tensors) -> Trees | None:
    if TREES + "baseline" not in tensors:
        return None
    trees = Trees(**{name.removeprefix(TREES): tensors[name] for name in _TREES})
    if trees.n_outputs != n_outputs or trees.n_features > len(plan.features):
        raise InputError("the trees do not fit the columns or the classes.")
    return trees


def _intervals(plan: TablePlan, head: Any, tensors: Tensors) -> Intervals | None:
    if "intervals.scores" not in tensors:
        return None
    from ._intervals import Intervals  # learns from trees, which needs SciPy

    scores, spread = tensors["intervals.scores"], None
    if SPREAD + "baseline" in tensors:
        spread = Trees(**{name: tensors[SPREAD + name] for name in (*NODE_TYPES, "roots", "baseline")})
        if hasattr(head, "classes_") or spread.n_outputs != 1 or spread.n_features > len(plan.features):
            raise InputError("the spread of the errors does not fit the columns.")
    if not len(scores) or (np.diff(scores) < 0).any():
        raise InputError("the scores of held-out rows are not in ascending order.")
    return Intervals(scores, spread)


def _statistics(columns: tuple[ColumnPlan, ...], n_outputs: int, tensors: Tensors) -> Statistics | None:
    names = tensors.get("means.names", [])
    if "means.values" not in tensors:
        if names:
            raise InputError("the mean targets do not fit the columns.")
        return None
    values, owners, counts = (tensors[f"means.{name}"] for name in ("values", "columns", "counts"))
    ends = np.cumsum(counts + 1)
    known = len(owners) > 0 and (np.diff(owners) > 0).all() and owners[0] >= 0 and owners[-1] < len(columns)
    fits = (counts >= 0).all() and counts.sum() == len(names) and len(ends) > 0 and ends[-1] == len(values)
    if not (known and fits and values.shape[2] == n_outputs and values.shape[1] > 0):
        raise InputError("the mean targets do not fit the columns.")
    if any(columns[i].kind != CATEGORY or not columns[i].is_used for i in owners):
        raise InputError("a column that has no categories has mean targets.")
    parts = np.split(np.array(names, object), np.cumsum(counts)[:-1])
    levels = Levels(tuple(owners.tolist()), tuple(tuple(part.tolist()) for part in parts))
    return Statistics(levels, tuple(np.split(values, ends[:-1])))


def _columns(tensors: Tensors) -> list[ColumnPlan]:
    categories, notations = tensors.get("categories", []), tensors.get("column_notations")
    ends, parts = np.cumsum(tensors["category_counts"]), tensors["column_parts"]
    if parts.shape[1] > len(DATE_PARTS):
        raise InputError(f"column_parts has {parts.shape[1]} parts of dates, of which {len(DATE_PARTS)} are known.")
    if (tensors["category_counts"] < 0).any() or (ends[-1] if len(ends) else 0) != len(categories):
        raise InputError("the categories do not fit the columns.")
    texts = restored_texts(tensors, len(ends))
    choices = tensors.get("column_choices", np.zeros(len(ends), np.uint8))
    if (choices >= len(CHOICES)).any():
        raise InputError("column_choices has a choice that is not known.")
    found = []
    for i, name in enumerate(tensors["column_names"]):
        start = int(ends[i] - tensors["category_counts"][i])
        found.append(
            ColumnPlan(
                name,
                KINDS[int(tensors["column_kinds"][i])],
                tensors["column_treatments"][i],
                int(tensors["column_missing"][i]),
                categories=tuple(categories[start : int(ends[i])]),
                parts=tuple(part for part, there in zip(DATE_PARTS, parts[i], strict=False) if there),
                notation=notations[i] if notations else "",
                text=texts[i],
                choice=CHOICES[choices[i]],
                **{flag: bool(there) for flag, there in zip(FLAGS, tensors["column_flags"][i], strict=True)},
            )
        )
        _check_kind(found[-1])
    return found


def _check_kind(column: ColumnPlan) -> None:
    """Refuse a column that makes features which its kind does not have, or a choice about it does not allow."""
    if (column.choice == DROPPED and column.is_used) or (column.choice == CATEGORY and column.kind != CATEGORY):
        raise InputError(f"column {column.name!r} is a {column.kind}, which does not fit the choice {column.choice!r}.")
    kinds = {
        NUMBER: column.is_number,
        DATE: bool(column.parts),
        CATEGORY: column.has_other or bool(column.categories or column.text),
    }
    if any(there and kind != column.kind for kind, there in kinds.items()):
        raise InputError(f"column {column.name!r} has features that a {column.kind} does not have.")
    if not (check_notation(column.notation, column.kind == DATE) if column.kind != CATEGORY else not column.notation):
        raise InputError(f"column {column.name!r} has the notation {column.notation[:60]!r}, which is not known.")


def _views(plan: TablePlan, stored: str, tensors: Tensors) -> Views:
    names = tuple(stored.split(","))
    is_number = tensors["scale.is_number"].astype(bool)
    scales = Scales(
        is_number,
        *(tensors[f"scale.{name}"] for name in (*SCALES, "quantiles")),
    )
    n_features, n_components = tensors["directions"].shape
    widths = [n_features + (n_components if name == "components" else 0) for name in names]
    known = all(name in VIEWS for name in names)
    fits = n_features == len(plan.features) and int(is_number.sum()) == len(scales.unit)
    if not (known and fits and sum(widths) == len(tensors["weights"]) and len(scales.quantiles) > 1):
        raise InputError("the views do not fit the columns.")
    weights = np.split(tensors["weights"], np.cumsum(widths)[:-1])
    return Views(names, scales, tensors["component_mean"], tensors["directions"], tuple(weights))

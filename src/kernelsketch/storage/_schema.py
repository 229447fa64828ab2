"""Schemas: what a kind of file must hold, written down as data and checked in one place.

A :class:`Schema` lists the fields of the header and the tensors of a file. Dimensions of tensors have names: every
dimension of one name has one size in a file, and ``sizes`` ties names to fields of the header. What a table cannot
express is a :class:`Rule`. Every error names the field or tensor, what it is, and what it should be.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from ..exceptions import InputError
from ._container import TensorInfo

Header = Mapping[str, Any]

# What our files hold, by their formats, and what loads them, for messages about a file of another kind.
CONTENTS = {
    "kernelsketch.GCWSIndex": ("an index", "GCWSIndex.load(path)"),
    "kernelsketch.GCWSIndex.folder": ("the list of an index folder", "GCWSIndex.load(folder)"),
    "kernelsketch.DocumentCollection": ("a collection of documents", "DocumentCollection(folder)"),
    "kernelsketch.PackedCodes": ("packed codes", "PackedCodes.load(path)"),
    "kernelsketch.model": ("a model on codes", "kernelsketch.load_model(path)"),
    "kernelsketch.tabular": ("a tabular model", "kernelsketch.load_model(path)"),
    "kernelsketch.tabular.several": ("a tabular model of several outputs", "kernelsketch.load_model(path)"),
}


@dataclass(frozen=True)
class Field:
    """A field of the header.

    ``type`` is int, float (finite; whole numbers are allowed), str, bool or dict. Numbers lie from ``least`` to
    ``most`` and above ``above``; a str is one of ``choices``. A dict has exactly ``fields``, or any content if these
    are None: the code that reads it checks it then. ``newest`` is the largest value that this version can read.
    """

    type: type
    least: float | None = None
    most: float | None = None
    above: float | None = None
    choices: tuple[str, ...] | None = None
    newest: int | None = None
    required: bool = True
    nullable: bool = False
    fields: Mapping[str, Field] | None = None


class When(NamedTuple):
    """The tensor is present exactly when a field of the header has one of the values; no values: when it has any."""

    path: str
    values: tuple[Any, ...] = ()


class With(NamedTuple):
    """The tensor is present exactly when another one is."""

    tensor: str


ALWAYS, OPTIONAL = "always", "optional"
TEXT = "text"  # the dtype of a list of strings
Presence = str | When | With


@dataclass(frozen=True)
class Tensor:
    """A tensor: its allowed dtypes, as in ``"f4 f8"``, and its dimensions: names, ``"name + 1"``, or numbers.

    ``finite`` and ``ascending`` hold for its values. They are checked in files that are mapped, too, so only small
    tensors of such files should have them.
    """

    dtypes: str
    dims: tuple[str | int, ...]
    present: Presence = ALWAYS
    finite: bool = False
    ascending: bool = False


def Text(dim: str, present: Presence = OPTIONAL) -> Tensor:  # noqa: N802
    """Return a list of strings of length ``dim``. A file holds it as two tensors: UTF-8 bytes, and ``NAME_ends``."""
    return Tensor(TEXT, (dim,), present)


class Rule(NamedTuple):
    """A condition on the header and the sizes of dimensions; ``text`` is the error where it does not hold."""

    text: str
    holds: Callable[[Header, Mapping[str, int]], bool]


@dataclass(frozen=True)
class Schema:
    """What a kind of file holds; ``kind`` is what messages call it.

    ``lacks`` says for each earlier version, from the first, what its files do not have and the next version does.
    """

    kind: str
    format: str
    version: int
    fields: Mapping[str, Field]
    tensors: Mapping[str, Tensor]
    sizes: Mapping[str, str | Callable[[Header], int]] = field(default_factory=dict)
    rules: Sequence[Rule] = ()
    lacks: Sequence[str] = ()

    @cached_property
    def stored(self) -> dict[str, Tensor]:
        """The tensors of the container: each Text is two of them."""
        found: dict[str, Tensor] = {}
        for name, tensor in self.tensors.items():
            if tensor.dtypes == TEXT:
                found[name] = Tensor("u1", (f"bytes of {name}",), tensor.present)
                found[ends_of(name)] = Tensor("i8", tensor.dims, With(name))
            else:
                found[name] = tensor
        return found

    def check(self, header: Header, tensors: Mapping[str, TensorInfo], prefix: str) -> None:
        """Refuse a header or tensors that are not those of the schema; messages begin with ``prefix``."""
        check_format(self, header, prefix)
        own = {name: Field(str, required=False) for name in ("sha256", "header_sha256")}
        own |= {"format": Field(str), "format_version": Field(int, 1, newest=self.version)}
        _check_fields(header, {**own, **self.fields}, prefix)
        stored = self.stored
        for name in tensors:
            if name not in stored:
                raise InputError(f"{prefix}: it has an unknown tensor {name[:60]!r}.")
        for name, tensor in stored.items():
            _check_presence(name, tensor.present, header, tensors, prefix)
        sizes = self._sizes(header)
        for name, tensor in stored.items():
            if name in tensors:
                _check_tensor(name, tensor, tensors[name], sizes, prefix)
        for rule in self.rules:
            if not rule.holds(header, sizes):
                raise InputError(f"{prefix}: {rule.text}.")

    def _sizes(self, header: Header) -> dict[str, int]:
        return {
            dim: int(value_at(header, source)) if isinstance(source, str) else int(source(header))
            for dim, source in self.sizes.items()
        }

    def check_values(self, tensors: Mapping[str, Array], prefix: str) -> None:
        """Refuse tensors whose values are not finite or not ascending, where the schema requires it."""
        for name, tensor in self.stored.items():
            if name in tensors and tensor.finite and not np.isfinite(tensors[name]).all():
                raise InputError(f"{prefix}: {name} has values that are not finite.")
            if name in tensors and tensor.ascending and not (tensors[name][1:] > tensors[name][:-1]).all():
                raise InputError(f"{prefix}: {name} is not strictly ascending.")


def nested(schema: Schema, name: str) -> Schema:
    """Return a schema whose content is that of another under a name: a field that holds its header, and tensors whose
    names begin with ``name.``, for a kind of file that holds an object of another kind.
    """
    start = f"{name}."

    def moved(present: Presence) -> Presence:
        if isinstance(present, When):
            return present._replace(path=start + present.path)
        return With(start + present.tensor) if isinstance(present, With) else present

    def dims(tensor: Tensor) -> tuple[str | int, ...]:
        return tuple(dim if isinstance(dim, int) else start + dim for dim in tensor.dims)

    def inner(source: str | Callable[[Header], int]) -> str | Callable[[Header], int]:
        return start + source if isinstance(source, str) else lambda header: source(header[name])

    def own(sizes: Mapping[str, int]) -> dict[str, int]:
        return {dim.removeprefix(start): size for dim, size in sizes.items() if dim.startswith(start)}

    def rule(of: Rule) -> Rule:
        return Rule(of.text, lambda header, sizes: of.holds(header[name], own(sizes)))

    return replace(
        schema,
        fields={name: Field(dict, fields=schema.fields)},
        tensors={
            start + key: replace(tensor, present=moved(tensor.present), dims=dims(tensor))
            for key, tensor in schema.tensors.items()
        },
        sizes={start + dim: inner(source) for dim, source in schema.sizes.items()},
        rules=tuple(map(rule, schema.rules)),
    )


def check_format(schema: Schema, header: Header, prefix: str) -> None:
    """Refuse a file of another kind."""
    found = header.get("format")
    if found != schema.format:
        path = prefix.removesuffix(" is damaged")
        raise InputError(f"{path} does not hold {schema.kind}: {content_in_words(found)}.")


def content_in_words(format: Any) -> str:
    """Return what a file of a format holds and how to load it, as the end of a message about another one."""
    if isinstance(format, str) and format in CONTENTS:
        return "it holds {}: load it with {}".format(*CONTENTS[format])
    return f"it is of format {format[:60]!r}" if isinstance(format, str) else "its header names no format"


def ends_of(name: str) -> str:
    """Return the name of the tensor with the ends of the strings of a Text."""
    return f"{name}_ends"


def value_at(header: Any, path: str) -> Any:
    """Return the value of a field by its path, as in ``"hash.seed"``; None if it is not there."""
    for name in path.split("."):
        header = header.get(name) if isinstance(header, Mapping) else None
    return header


def _check_fields(values: Header, fields: Mapping[str, Field], prefix: str, parent: str = "") -> None:
    for name, wanted in fields.items():  # versions come first: a newer file may have other fields
        if name in values:
            _check_field(values[name], wanted, prefix, parent + name)
        elif wanted.required:
            raise InputError(f"{prefix}: the field {parent + name} is missing from its header.")
    for name in values:
        if name not in fields:
            raise InputError(f"{prefix}: its header has an unknown field {(parent + str(name))[:60]!r}.")


def _check_field(value: Any, wanted: Field, prefix: str, path: str) -> None:
    if value is None and wanted.nullable:
        return
    problem = _problem(value, wanted)
    if problem:
        raise InputError(f"{prefix}: {path} is {repr(value)[:60]}, which is not {problem}.")
    if wanted.newest is not None and value > wanted.newest:
        file = prefix.removesuffix(" is damaged")
        raise InputError(
            f"{file} was written by a newer kernelsketch: {path} is {value}, and this version reads up to "
            f"{wanted.newest}. Update kernelsketch to read it."
        )
    if wanted.type is dict and wanted.fields is not None:
        _check_fields(value, wanted.fields, prefix, f"{path}.")


def _problem(value: Any, wanted: Field) -> str | None:
    """Return what the value should be, or None if it is."""
    if wanted.type is float:
        good = type(value) in (int, float) and abs(value) <= sys.float_info.max and math.isfinite(value)
    else:
        good = type(value) is wanted.type
    if good and wanted.type in (int, float):
        good = wanted.least is None or value >= wanted.least
        good = good and (wanted.most is None or value <= wanted.most) and (wanted.above is None or value > wanted.above)
    if good and wanted.choices is not None:
        good = value in wanted.choices
    return None if good else _description(wanted)


def _description(wanted: Field) -> str:
    if wanted.choices is not None:
        return f"one of {', '.join(map(repr, wanted.choices))}"
    nouns = {int: "a whole number", float: "a finite number", str: "a string", bool: "true or false", dict: "an object"}
    limits = [
        f"{word} {limit}"
        for word, limit in (("above", wanted.above), ("from", wanted.least), ("to", wanted.most))
        if limit is not None
    ]
    return " ".join([nouns[wanted.type], *limits])


def _check_presence(
    name: str, present: Presence, header: Header, tensors: Mapping[str, TensorInfo], prefix: str
) -> None:
    there = name in tensors
    if present == ALWAYS:
        expected, reason = True, ""
    elif isinstance(present, When):
        value = value_at(header, present.path)
        expected = value in present.values if present.values else value is not None
        reason = f", while {present.path} is {repr(value)[:60]}"
    elif isinstance(present, With):
        expected = present.tensor in tensors
        reason = f", while the tensor {present.tensor} is {'present' if expected else 'not'}"
    else:
        return
    if there != expected:
        raise InputError(f"{prefix}: the tensor {name} is {'missing' if expected else 'not expected'}{reason}.")


def _check_tensor(name: str, wanted: Tensor, found: TensorInfo, sizes: dict[str, int], prefix: str) -> None:
    """Compare the dimensions with the sizes so far, and add new ones to them."""
    dtypes = wanted.dtypes.split()
    if found.dtype.str[1:] not in dtypes:
        allowed = ", ".join(str(np.dtype(dtype)) for dtype in dtypes)
        raise InputError(f"{prefix}: the tensor {name} holds {found.dtype}, which is not one of {allowed}.")
    shown = f"({', '.join(map(str, wanted.dims))})"
    if len(found.shape) != len(wanted.dims):
        raise InputError(f"{prefix}: the tensor {name} has shape {found.shape}, which is not {shown}.")
    for dim, size in zip(wanted.dims, found.shape, strict=True):
        if isinstance(dim, int):
            expected = dim
        else:
            base, _, more = dim.partition(" + ")
            expected = sizes.setdefault(base, size - int(more or 0)) + int(more or 0)
        if size != expected:
            raise InputError(
                f"{prefix}: the tensor {name} has shape {found.shape}, which is not {shown}: {dim} is {expected} here."
            )

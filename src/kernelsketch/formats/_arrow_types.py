"""The types of the columns of several Parquet or Arrow files that are parts of one table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..exceptions import InputError, Setting
from ._arrow import pyarrow_module


class SharedTypes:
    """The type that each column of several files has, by schemas with the names of their files.

    Integers and floats, texts and dictionaries of texts, and dates of several resolutions count as one type; a column
    without any value has every type. ``unlike`` are the optional columns that have several types.
    """

    def __init__(self, schemas: list[tuple[str, Any]], dropped: Collection[Any], optional: Collection[str]) -> None:
        self._pa, self._optional = pyarrow_module("pyarrow"), optional
        self.unlike: set[str] = set()
        self._found: dict[str, tuple[str, Any]] = {}
        for file, schema in schemas:
            for field in schema:
                if field.name in dropped:
                    continue
                known = self._found.get(field.name)
                self._found[field.name] = (file, field.type) if known is None else self._joined(known, file, field)

    def _joined(self, known: tuple[str, Any], file: str, field: Any) -> tuple[str, Any]:
        types, (first, kind) = self._pa.types, known
        if kind.equals(field.type) or types.is_null(field.type):
            return known
        if types.is_null(kind):
            return file, field.type
        if self._is_text(kind) and self._is_text(field.type):
            return first, self._pa.large_string()
        numbers = [types.is_integer(one) or types.is_floating(one) for one in (kind, field.type)]
        dates = [types.is_date(one) or types.is_timestamp(one) for one in (kind, field.type)]
        if all(numbers) or all(dates):
            schemas = [self._pa.schema([self._pa.field(field.name, one)]) for one in (kind, field.type)]
            try:
                joined = self._pa.unify_schemas(schemas, promote_options="permissive")
                return first, joined.field(0).type
            except self._pa.ArrowException:
                pass
        if field.name in self._optional:
            self.unlike.add(field.name)
            return known
        raise InputError(
            f"{file}: column {field.name!r} holds {field.type}, but {kind} in {first}: write all parts with one type, "
            "or leave the column out with ",
            Setting("drop", field.name),
            ".",
        )

    def _is_text(self, kind: Any) -> bool:
        types = self._pa.types
        inner = kind.value_type if types.is_dictionary(kind) else kind
        return types.is_string(inner) or types.is_large_string(inner) or str(inner) == "string_view"

    def cast(self, table: Any, name: str) -> Any:
        """Return a table of some of the columns with these types."""
        pa = self._pa
        schema = pa.schema([pa.field(column, self._found[column][1]) for column in table.column_names])
        if all(mine.equals(other) for mine, other in zip(table.schema.types, schema.types, strict=True)):
            return table
        try:
            return table.cast(schema)
        except pa.ArrowException as error:
            raise InputError(
                f"{name}: a column cannot have the type that it has in the other parts: {error}. Write all parts with "
                "one type."
            ) from None

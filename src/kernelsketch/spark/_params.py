"""Parameters of Spark ML, read from the scikit-learn classes."""

from __future__ import annotations

from inspect import signature
from typing import Any, ClassVar

from pyspark.ml.param import Param, Params, TypeConverters

from ..exceptions import InputError, InputTypeError

_BY_NAME = {
    "center": TypeConverters.toListFloat,
    "gamma": TypeConverters.toFloat,
    "max_iter": TypeConverters.toInt,
    "n_features": TypeConverters.toInt,
    "n_partitions": TypeConverters.toInt,
}
_BY_TYPE = {
    bool: TypeConverters.toBoolean,
    int: TypeConverters.toInt,
    float: TypeConverters.toFloat,
    str: TypeConverters.toString,
}


class LocalParams(Params):
    """Params with the names and defaults of a single-machine class, and a few of our own.

    A subclass names the class (``_local``), what of it has no use on a cluster (``_without``), and what is added or has
    another default (``_own``: name to default, and a line of text).
    """

    _local: ClassVar[Any]
    _without: ClassVar[frozenset[str]]
    _own: ClassVar[dict[str, tuple[Any, str]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_local" not in cls.__dict__:
            return
        for name, default in cls.local_defaults().items():
            text = cls._own[name][1] if name in cls._own else f"{name} of kernelsketch.{cls._local.__name__}"
            setattr(cls, name, Param(Params._dummy(), name, text, _converter(name, default)))

    def __init__(self, **given: Any) -> None:
        super().__init__()
        self._setDefault(**self.local_defaults())
        self.setParams(**given)

    @classmethod
    def local_defaults(cls) -> dict[str, Any]:
        """Names and defaults, the scikit-learn class's own first."""
        theirs = {name: p.default for name, p in signature(cls._local).parameters.items() if name not in cls._without}
        return {**theirs, **{name: default for name, (default, _) in cls._own.items()}}

    def setParams(self, **given: Any) -> Any:  # noqa: N802  (Spark's name)
        """Set parameters by name.

        Parameters
        ----------
        **given
            Names of parameters and their values; None takes a parameter back to its default, if that is None.

        Returns
        -------
        self
        """
        for name, value in given.items():
            if not self.hasParam(name):
                known = ", ".join(sorted(param.name for param in self.params))
                raise InputTypeError(f"{type(self).__name__} has no parameter {name!r}: it has {known}.")
            param = self.getParam(name)
            if value is not None:
                self._set(**{name: value})  # which names the parameter where the value is of no use
            elif self._defaultParamMap.get(param) is None:
                self.clear(param)
            else:
                raise InputError(
                    f"{name}=None cannot be used on a cluster, where all workers must agree: give a value."
                )
        return self

    def local_values(self) -> dict[str, Any]:
        """Values of the parameters that the scikit-learn class has."""
        theirs = signature(self._local).parameters
        return {name: self.getOrDefault(name) for name in self.local_defaults() if name in theirs}

    def check_option(self, name: str, allowed: tuple[str, ...]) -> str:
        value = str(self.getOrDefault(name))
        if value not in allowed:
            raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
        return value


def _converter(name: str, default: Any) -> Any:
    return _BY_NAME.get(name) or _BY_TYPE[type(default)]
